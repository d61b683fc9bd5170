//! What MELD must reach in the shipped scenarios of `scenarios/meld/`, as bounds on means over ten seeds.

use crate::repeated;
use scenario::{FlowResult, RunResult};

const REPEATS: u64 = 10;
/// Base round-trip time, ms.
const BASE: f64 = 55.0;

fn runs(scenario: &str, set: &[(&str, &str)]) -> Vec<RunResult> {
    repeated(&format!("meld/{scenario}"), set, REPEATS)
}

/// The mean over the runs of what is measured of a flow.
fn mean(runs: &[RunResult], name: &str, measure: impl Fn(&FlowResult) -> f64) -> f64 {
    let of = |run: &RunResult| {
        let flow = run.flows.iter().find(|flow| flow.name == name);
        measure(flow.expect("a flow of that name"))
    };
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

struct Download {
    mbps: f64,
    rtt: f64,
}

fn download(transport: &str, cc: &str, meld: &str) -> Download {
    let set = [("transport", transport), ("cc", cc), ("meld", meld)];
    let runs = runs("download-20m", &set);
    Download {
        mbps: mean(&runs, "download", |flow| flow.goodput.as_mbps_f64()),
        rtt: mean(&runs, "download", |flow| flow.rtt.mean),
    }
}

/// Sections 5 and figure 3: a ping of 560 kbit/s loses 0.8 % of its packets.
#[test]
fn the_radio_loses_as_much_as_the_papers() {
    let runs = runs("ping", &[]);
    let lost = mean(&runs, "ping", |flow| flow.lost as f64 / 6000.0);
    assert!((0.007..=0.009).contains(&lost), "{lost}");
    let clear = self::runs("ping", &[("loss", "0%"), ("duration", "10 s")]);
    assert!(mean(&clear, "ping", |flow| flow.lost as f64) < 0.5);
}

#[test]
fn newreno_over_quic_gains_what_the_paper_reports() {
    let [off, de, me] = ["off", "de", "me"].map(|meld| download("quic", "newreno", meld));
    let gain = |with: &Download| with.mbps / off.mbps - 1.0;
    assert!(gain(&de) >= 1.0, "DE {}", gain(&de));
    assert!(gain(&me) >= 0.8, "ME {}", gain(&me));
    // the overshoot of slow start decides, which the seed does: 1.5 x the base is kept in some seeds only
    assert!(me.rtt <= 2.0 * BASE, "ME {} ms", me.rtt);
    assert!(de.rtt >= 2.0 * me.rtt, "DE {} ms", de.rtt);
}

#[test]
fn cubic_over_quic_gains() {
    let [off, de, me] = ["off", "de", "me"].map(|meld| download("quic", "cubic", meld));
    for (name, with) in [("DE", &de), ("ME", &me)] {
        assert!(with.mbps >= 1.05 * off.mbps, "{name}: {}", with.mbps);
    }
    assert!(me.rtt > off.rtt && me.rtt <= 1.5 * BASE, "ME {} ms", me.rtt);
}

/// The mean time of 500 kB, beside a long download or alone, seconds, and what the long one has, Mbit/s.
fn short(meld: &str, long: &str) -> (f64, f64) {
    let set = [
        ("transport", "tcp"),
        ("cc", "newreno"),
        ("meld", meld),
        ("long", long),
    ];
    let runs = runs("mixed-short-long", &set);
    let time = mean(&runs, "short", |flow| flow.load_time.mean / 1e3);
    (time, mean(&runs, "long", |flow| flow.goodput.as_mbps_f64()))
}

#[test]
fn a_download_that_yields_costs_a_short_flow_little_time_and_little_itself() {
    let (alone, _) = short("yield", "absent");
    let (beside, long) = short("yield", "beside");
    let (shared, whole) = short("default", "beside");
    assert!(beside <= 1.3 * alone, "{beside} s, alone {alone} s");
    assert!(beside <= 0.8 * shared, "{beside} s, shared {shared} s");
    assert!(long >= 0.98 * whole, "{long} Mbit/s of {whole}");
}

#[test]
fn default_gains_with_at_most_the_delay_of_me() {
    for transport in ["quic", "tcp"] {
        let [off, me, default] =
            ["off", "me", "default"].map(|meld| download(transport, "newreno", meld));
        assert!(
            default.mbps > 1.2 * off.mbps,
            "{transport}: {}",
            default.mbps
        );
        let limit = me.rtt.max(1.5 * BASE);
        assert!(default.rtt <= limit, "{transport}: {} ms", default.rtt);
    }
}
