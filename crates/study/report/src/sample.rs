//! Made-up results for tests.

use crate::Variant;
use scenario::{
    Distribution, FlowResult, LinkResult, Metric, Overrides, QueueResult, RunResult, Series,
    Summary, load_str,
};
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
        add(name, Metric::Received, wave(380e6, phase, steps));
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
        unit: None,
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
        real_time: None,
        tunnel: None,
        unsplit: None,
        handovers: Vec::new(),
    }
}

/// The summary of made-up results, as if of some scenario.
pub(crate) fn summary(runs: &[RunResult]) -> Summary {
    let text = "[path]\nrtt = \"10 ms\"\n[link]\nrate = \"1 Gbit/s\"\n[flow.cubic]\n\
                app = { kind = \"continuous\" }\n";
    let points = load_str(text, &Overrides::default()).expect("a scenario");
    Summary::of(&points[0].experiment, "sim", runs, "0.1.0")
}

/// Calls `check` with variants of these results.
pub(crate) fn with(results: &[(&str, &[RunResult])], check: impl FnOnce(&[Variant<'_>])) {
    let summaries: Vec<_> = results.iter().map(|(_, runs)| summary(runs)).collect();
    let variants: Vec<Variant<'_>> = results
        .iter()
        .zip(&summaries)
        .map(|((label, runs), summary)| Variant {
            label: (*label).to_owned(),
            summary,
            runs,
        })
        .collect();
    check(&variants);
}
