//! What mode `default` must do in the shipped scenarios of `scenarios/rapid/`, as bounds.
#![allow(missing_docs, reason = "a test")]

use scenario::{Distribution, FlowResult, Overrides, RunResult, load};
use std::path::Path;

const RTTS_MS: [u32; 5] = [1, 2, 4, 8, 10];

/// Seconds that the radio of `fast-embb-los` needs for both downloads of 200 MB: transport blocks of
/// 106576 bit, 8000 a second, of which headers (IP and TCP 52 B, PDCP, RLC and MAC 8 B to a segment
/// of 1440 B) leave 96 %.
const EMBB_LINK_TIME_S: f64 = 400e6 * 8.0 / (106_576.0 * 8_000.0 * 1440.0 / 1500.0);

fn run(scenario: &str, set: &[(&str, &str)]) -> RunResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/rapid");
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let points = load(&folder.join(scenario).with_extension("toml"), &overrides)
        .unwrap_or_else(|error| panic!("{error}"));
    let experiment = &points[0].experiment;
    sim::run(experiment, experiment.seed).unwrap_or_else(|error| panic!("{error}"))
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result
        .flows
        .iter()
        .find(|flow| flow.name == name)
        .expect("a flow of that name")
}

fn completion(flow: &FlowResult) -> f64 {
    flow.completion
        .unwrap_or_else(|| panic!("{} did not finish", flow.name))
        .as_secs_f64()
}

fn rlc_drops(result: &RunResult) -> u64 {
    result
        .queues
        .iter()
        .filter(|q| q.name.starts_with("rlc/"))
        .map(|q| q.drops)
        .sum()
}

/// Mean RTT above the base, ms.
fn increase(rtt: &Distribution, base_ms: f64) -> f64 {
    (rtt.mean - base_ms).max(0.001)
}

#[test]
fn fast_embb_los_is_fair_quick_and_short_at_every_rtt() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let base = f64::from(rtt_ms);
        let plain = run("fast-embb-los", &[("rtt", &rtt), ("pep", "none")]);
        let result = run("fast-embb-los", &[("rtt", &rtt), ("pep", "default")]);
        let (cubic, bbr) = (flow(&result, "cubic"), flow(&result, "bbr"));

        let ratio = cubic.goodput.as_mbps_f64() / bbr.goodput.as_mbps_f64();
        assert!(
            (0.9..=1.1).contains(&ratio),
            "{rtt}: goodputs differ by {ratio}"
        );
        let done = completion(cubic).max(completion(bbr));
        assert!(
            done <= 1.08 * EMBB_LINK_TIME_S,
            "{rtt}: both done after {done} s"
        );
        assert!(
            done >= EMBB_LINK_TIME_S * 0.995,
            "{rtt}: {done} s is faster than the link"
        );
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
        for (flow, without) in [(cubic, flow(&plain, "cubic")), (bbr, flow(&plain, "bbr"))] {
            assert!(
                flow.rtt.p95 <= base + 3.0,
                "{rtt}: {} p95 {}",
                flow.name,
                flow.rtt.p95
            );
            assert!(
                flow.rtt.min >= base * 0.9,
                "{rtt}: {} min {}",
                flow.name,
                flow.rtt.min
            );
            // BBR's RTT without the proxy is that of its time alone, too: Cubic's is what both see
            if flow.name == "cubic" {
                let factor = increase(&without.rtt, base) / increase(&flow.rtt, base);
                assert!(
                    factor >= 10.0,
                    "{rtt}: delay increase only {factor} times smaller"
                );
            }
        }
    }
}

#[test]
fn oai_fast_shares_the_4g_link_and_keeps_it_short() {
    let result = run("oai-fast", &[("pep", "default")]);
    for name in ["cubic", "bbr"] {
        let flow = flow(&result, name);
        let goodput = flow.goodput.as_mbps_f64();
        assert!((7.8..=8.3).contains(&goodput), "{name}: {goodput} Mbit/s");
        assert!(flow.rtt.p90 < 100.0, "{name}: p90 {} ms", flow.rtt.p90);
    }
    assert_eq!(rlc_drops(&result), 0);
}

#[test]
fn oai_short_is_over_within_1_2_seconds() {
    let without = completion(flow(&run("oai-short", &[("pep", "none")]), "ssh"));
    let with = completion(flow(&run("oai-short", &[("pep", "default")]), "ssh"));
    assert!((0.25..=1.2).contains(&with), "{with} s");
    assert!(without > 2.5 * with, "{without} s without, {with} s with");
}

#[test]
fn oai_udp_8m_keeps_its_rate_and_tcp_gets_the_rest() {
    for cc in ["cubic", "bbr"] {
        let result = run("oai-udp-8m", &[("pep", "default"), ("cc", cc)]);
        let udp = flow(&result, "udp");
        assert!(
            (7.95..=8.01).contains(&udp.goodput.as_mbps_f64()),
            "{cc}: {}",
            udp.goodput
        );
        assert_eq!(udp.lost, 0, "{cc}");
        let bulk = flow(&result, "bulk");
        assert!(
            (7.6..=8.3).contains(&bulk.goodput.as_mbps_f64()),
            "{cc}: {}",
            bulk.goodput
        );
    }
    // figure 12: Cubic's delay increase without the proxy is five times as large, or more
    let without = run("oai-udp-8m", &[("pep", "none")]);
    let with = run("oai-udp-8m", &[("pep", "default")]);
    let factor =
        increase(&flow(&without, "bulk").rtt, 50.0) / increase(&flow(&with, "bulk").rtt, 50.0);
    assert!(factor >= 5.0, "{factor}");
}

#[test]
fn oai_udp_150k_keeps_its_rate_and_its_delay_falls_fivefold() {
    let without = run("oai-udp-150k", &[("pep", "none")]);
    let with = run("oai-udp-150k", &[("pep", "default")]);
    let udp = flow(&with, "udp");
    assert!(
        (0.149..=0.151).contains(&udp.goodput.as_mbps_f64()),
        "{}",
        udp.goodput
    );
    assert_eq!(udp.lost, 0);
    let factor = flow(&without, "udp").owd.mean / udp.owd.mean;
    assert!(factor >= 5.0, "one-way delay only {factor} times smaller");
    let tcp = flow(&with, "bulk").goodput.as_mbps_f64();
    assert!((15.0..=16.1).contains(&tcp), "{tcp} Mbit/s");
}

#[test]
fn paper_mode_shares_equally_and_moves_every_byte() {
    for rtt in ["1 ms", "10 ms"] {
        let result = run("fast-embb-los", &[("rtt", rtt), ("pep", "paper")]);
        let (cubic, bbr) = (flow(&result, "cubic"), flow(&result, "bbr"));
        let ratio = cubic.goodput.as_mbps_f64() / bbr.goodput.as_mbps_f64();
        assert!((0.9..=1.1).contains(&ratio), "{rtt}: {ratio}");
        assert_eq!(cubic.delivered.get(), 200_000_000);
        assert_eq!(bbr.delivered.get(), 200_000_000);
    }
}

#[test]
fn mixed_los_gives_the_slow_flow_all_it_asks_for_and_the_rest_to_the_download() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let result = run("mixed-los", &[("rtt", &rtt), ("pep", "default")]);
        let (bulk, web) = (flow(&result, "bulk"), flow(&result, "web"));
        let asked = web.goodput.as_mbps_f64();
        assert!((15.5..=16.1).contains(&asked), "{rtt}: {asked} Mbit/s");
        assert!(
            web.load_time.max <= 1200.0,
            "{rtt}: {} ms",
            web.load_time.max
        );
        let link = 400e6 * 8.0 / EMBB_LINK_TIME_S / 1e6;
        assert!(
            bulk.goodput.as_mbps_f64() >= 0.95 * (link - asked),
            "{rtt}: {}",
            bulk.goodput
        );
        assert!(
            bulk.rtt.p95 <= f64::from(rtt_ms) + 3.0,
            "{rtt}: {}",
            bulk.rtt.p95
        );
    }
}

#[test]
fn scalability_gives_25_flows_the_same_and_drops_nothing() {
    for rtt in ["2 ms", "8 ms"] {
        let result = run("scalability", &[("rtt", rtt), ("pep", "default")]);
        let rates: Vec<f64> = result
            .flows
            .iter()
            .map(|f| f.goodput.as_mbps_f64())
            .collect();
        let (sum, squares) = (
            rates.iter().sum::<f64>(),
            rates.iter().map(|r| r * r).sum::<f64>(),
        );
        assert_eq!(rates.len(), 25);
        let jain = sum * sum / (25.0 * squares);
        assert!(jain >= 0.99, "{rtt}: {jain}");
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
    }
}

#[test]
fn three_ccas_end_together() {
    let result = run("three-ccas", &[("pep", "default")]);
    let times: Vec<f64> = result.flows.iter().map(completion).collect();
    let (least, most) = times
        .iter()
        .fold((f64::MAX, 0f64), |(l, m), t| (l.min(*t), m.max(*t)));
    assert!(most <= 1.07 * least, "{times:?}");
}
