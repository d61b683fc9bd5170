//! The page as a whole, from made-up results.

use super::*;
use crate::Variant;
use scenario::{Distribution, FlowResult, LinkResult, Metric, QueueResult, RunResult, Series};
use units::{BitRate, Bytes, Duration, Instant};

/// A wave with bursts; `level` sets its height, `phase` moves it.
fn wave(level: f64, phase: f64, steps: u32) -> Vec<(Instant, f64)> {
    let at = |i: u32| Instant::from_nanos(u64::from(i) * 10_000_000);
    let value = |i: u32| {
        let t = 20.0 * f64::from(i) / f64::from(steps) + phase;
        level * (1.0 + 0.3 * t.sin() + 0.1 * (9.0 * t).sin() * (3.1 * t).cos())
    };
    (0..steps).map(|i| (at(i), value(i))).collect()
}

fn distribution(scale: f64) -> Distribution {
    let cdf: Vec<(f64, f64)> = (1..=100)
        .map(|i| f64::from(i) / 100.0)
        .map(|share| (scale * (1.0 + share + 4.0 * share.powi(12)), share))
        .collect();
    Distribution {
        count: 10_000,
        min: scale,
        mean: scale * 1.9,
        p50: scale * 1.5,
        p90: scale * 3.0,
        p95: scale * 4.1,
        p99: scale * 5.5,
        max: scale * 6.0,
        cdf,
    }
}

pub(crate) fn run(seed: u64, delay: f64, steps: u32) -> RunResult {
    let names = ["cubic", "bbr"];
    let mut series = Vec::new();
    let mut add = |entity: &str, metric, points| {
        series.push(Series {
            entity: entity.to_owned(),
            metric,
            points,
        });
    };
    add("cell", Metric::Capacity, wave(800e6, 0.2, steps));
    for (i, name) in names.iter().enumerate() {
        let phase = i as f64 * 2.0 + seed as f64;
        add(name, Metric::Goodput, wave(380e6, phase, steps));
        add(name, Metric::Rtt, wave(delay * 1.5, phase, steps));
        add(
            name,
            Metric::BytesInFlight,
            wave(60e3 * delay, phase, steps),
        );
        add(name, Metric::Cwnd, wave(80e3 * delay, phase, steps));
        add(name, Metric::ReceiveWindow, wave(6e6, 0.0, steps));
        add(name, Metric::RanWindow, wave(90e3, phase, steps));
        let slow = wave(0.5, phase, steps).into_iter();
        add(
            name,
            Metric::IsSlow,
            slow.map(|(t, v)| (t, f64::from(u8::from(v > 0.5))))
                .collect(),
        );
    }
    add(
        "rlc/ue1/drb1",
        Metric::QueueBytes,
        wave(50e3 * delay, 1.0, steps),
    );
    add("wan/up", Metric::QueueBytes, wave(0.0, 1.0, steps));
    add("ue1", Metric::Prb, wave(60.0, 1.0, steps));
    let cqi = wave(10.0, 0.0, steps)
        .into_iter()
        .map(|(t, v)| (t, v.round().min(15.0)));
    add("ue1", Metric::Cqi, cqi.collect());
    RunResult {
        seed,
        elapsed: Duration::from_millis(u64::from(steps) * 10),
        flows: names
            .iter()
            .map(|name| FlowResult {
                name: (*name).to_owned(),
                cc: (*name).to_owned(),
                delivered: Bytes::new(200_000_000),
                goodput: BitRate::from_bps(384_500_000 + seed * 1000),
                rtt: distribution(delay),
                owd: distribution(delay / 2.0),
                completion: Some(Duration::from_millis(4160)),
                retransmits: 12,
                lost: 3,
                ..FlowResult::default()
            })
            .collect(),
        queues: vec![
            QueueResult {
                name: "rlc/ue1/drb1".to_owned(),
                mean_bytes: 40e3 * delay,
                p99_bytes: 90e3 * delay,
                max_bytes: 95e3 * delay,
                sojourn: distribution(delay),
                drops: 3,
            },
            QueueResult {
                name: "wan/up".to_owned(),
                ..QueueResult::default()
            },
        ],
        link: LinkResult {
            utilisation: 0.974,
            capacity: BitRate::from_mbps(812),
        },
        series,
        events: 1_000_000,
        packet_hops: 2_000_000,
        wall: core::time::Duration::from_millis(300),
    }
}

fn report<'a>(variants: Vec<Variant<'a>>) -> Report<'a> {
    Report {
        title: "fast-embb-los",
        description: "Two downloads of 200 MB over a mmWave cell in line of sight",
        world: "sim",
        version: "0.1.0",
        seed: 1,
        repeats: variants[0].runs.len() as u32,
        settings: vec![("rtt".to_owned(), "1 ms".to_owned())],
        variants,
    }
}

fn variant<'a>(label: &str, runs: &'a [RunResult]) -> Variant<'a> {
    Variant {
        label: label.to_owned(),
        runs,
    }
}

#[test]
fn a_page_has_every_figure_and_stays_small() {
    let (a, b, c) = (
        [run(1, 40.0, 20_000)],
        [run(1, 2.0, 20_000)],
        [run(1, 1.0, 20_000)],
    );
    let report = report(vec![
        variant("pep=none", &a),
        variant("pep=paper", &b),
        variant("pep=default", &c),
    ]);
    let page = html(&report);
    for id in [
        "goodput",
        "rtt-cdf",
        "rtt",
        "in-flight",
        "windows",
        "queues",
        "slow",
        "prb",
        "cqi",
    ] {
        assert!(
            page.contains(&format!("<section class=\"figure\" id=\"{id}\">")),
            "{id}"
        );
    }
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    assert!(!page.contains("wan/up"), "empty queues are not drawn");
    assert_eq!(page, html(&report), "the same results give the same page");
}

#[test]
fn a_page_asks_for_nothing_from_elsewhere() {
    let runs = [run(1, 2.0, 100)];
    let page = html(&report(vec![variant("", &runs)]));
    for word in [
        "src=",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    // the name space of SVG is an identifier, never fetched
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    assert_eq!(
        addresses,
        page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_cannot_bring_markup() {
    let evil = "</script><script>alert(1)</script>\"'&";
    let mut runs = [run(1, 2.0, 100)];
    for flow in &mut runs[0].flows {
        flow.name = evil.to_owned();
        flow.cc = evil.to_owned();
    }
    for queue in &mut runs[0].queues {
        queue.name = evil.to_owned();
    }
    for series in &mut runs[0].series {
        series.entity = evil.to_owned();
    }
    let mut report = report(vec![variant(evil, &runs), variant(evil, &runs)]);
    report.title = evil;
    report.description = evil;
    report.world = evil;
    report.version = evil;
    report.settings = vec![(evil.to_owned(), evil.to_owned())];
    let page = html(&report);
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(!page.contains("alert(1)</script>"));
}

#[test]
fn a_run_without_anything_still_gives_a_page() {
    let runs = [RunResult::default()];
    let page = html(&report(vec![variant("", &runs)]));
    assert!(page.contains("recorded no time series"));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn many_flows_are_cut_and_said_so() {
    let mut result = run(1, 2.0, 2000);
    for i in 0..100 {
        let mut flow = result.flows[0].clone();
        flow.name = format!("flow{i}");
        result.flows.push(flow);
        for s in 0..6 {
            let mut series = result.series[1 + s].clone();
            series.entity = format!("flow{i}");
            result.series.push(series);
        }
    }
    let runs = [result];
    let page = html(&report(vec![variant("", &runs)]));
    assert!(page.contains("The first 10 of 102 are drawn"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}
