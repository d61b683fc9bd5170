//! A radio that gives opportunities at random, as recorded ones come, and one that gives them steadily.

use super::*;
use scenario::{Overrides, load};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SCENARIO: &str = r#"
name = "bursty"
description = "A download over recorded opportunities"
duration = "60 s"
sample-interval = "1 s"
[path]
rtt = "50 ms"
rate = "1 Gbit/s"
buffer = "12.5 MB"
[pep]
mode = "default"
report-period = "1 ms"
report-delay = "1 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
[ue.phone]
channel = { kind = "trace", file = "opportunities", format = "mahimahi" }
[[ue.phone.bearer]]
downlink-buffer = "3 MB"
[flow.bulk]
cc = "cubic"
app = { kind = "continuous" }
"#;
const BASE_MS: f64 = 50.0;
const MS: u64 = 60_000;

/// A folder with the scenario and its trace of these times, ms.
fn written(name: &str, times: impl Iterator<Item = u64>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut lines = String::new();
    for time in times {
        writeln!(lines, "{time}").expect("a string");
    }
    std::fs::write(folder.join("opportunities"), lines).expect("a trace");
    let scenario = folder.join("bursty.toml");
    std::fs::write(&scenario, SCENARIO).expect("a scenario");
    scenario
}

/// Opportunities of 1500 B at times that are independent of each other, so many a second (Poisson).
fn at_random(a_second: f64, seed: u64) -> impl Iterator<Item = u64> {
    // PCG's multiplier and increment; the upper half of the state is good enough here
    let mut state = seed;
    let mut time = 0.0_f64;
    std::iter::from_fn(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 32) as f64 + 0.5) / f64::from(u32::MAX);
        time -= uniform.min(1.0).ln() * 1000.0 / a_second;
        (time < MS as f64).then_some(time as u64)
    })
}

fn run_of(scenario: &Path, set: &[(&str, &str)]) -> RunResult {
    let overrides = Overrides {
        set: set.iter().map(|&(k, v)| (k.into(), v.into())).collect(),
        ..Overrides::default()
    };
    let mut points = load(scenario, &overrides).unwrap_or_else(|error| panic!("{error}"));
    crate::simulate(&points.swap_remove(0).experiment, 1)
}

const WITHOUT: &[(&str, &str)] = &[("pep.without", "[\"variation\"]")];

#[test]
fn a_radio_of_random_opportunities_is_used_at_a_bounded_delay() {
    // Mbit/s, in opportunities of 1500 B a second
    for (mbps, a_second) in [(2, 166.7), (5, 416.7)] {
        for seed in [1, 2] {
            let name = format!("{mbps} Mbit/s, seed {seed}");
            let scenario = written(&format!("random-{mbps}-{seed}"), at_random(a_second, seed));
            let plain = run_of(&scenario, &[("pep.mode", "none")]);
            let without = run_of(&scenario, WITHOUT);
            let with = run_of(&scenario, &[]);
            let used = |run: &RunResult| run.link.utilisation / plain.link.utilisation;
            assert!(used(&without) < 0.93, "{name}: nothing to be gained");
            // 3 % may be lost, and 0.33 s of the rate in 60 s; the start takes its part
            assert!(used(&with) >= 0.96, "{name}: {}", used(&with));
            let p95 = flow(&with, "bulk").rtt.p95;
            assert!(p95 <= BASE_MS + 100.0, "{name}: {p95} ms");
        }
    }
}

#[test]
fn a_steady_radio_is_as_without_the_part() {
    let scenario = written("steady", 1..=MS);
    let with = run_of(&scenario, &[]);
    let bulk = flow(&with, "bulk");
    assert!(with.link.utilisation >= 0.985, "{}", with.link.utilisation);
    assert!(bulk.rtt.p95 <= BASE_MS + 10.0, "{} ms", bulk.rtt.p95);
    let without = run_of(&scenario, WITHOUT);
    assert_eq!(bulk.delivered, flow(&without, "bulk").delivered);
}

#[test]
fn less_is_used_at_less_delay_where_that_is_the_goal() {
    let scenario = written("goals", at_random(166.7, 3));
    let run = |utilisation: &str, delay: &str| {
        let goals = [
            ("pep.utilisation-goal", utilisation),
            ("pep.delay-goal", delay),
        ];
        let run = run_of(&scenario, &goals);
        (run.link.utilisation, flow(&run, "bulk").rtt.p95)
    };
    let (low, high) = (run("0.9", "100 ms"), run("0.97", "100 ms"));
    assert!(
        low.0 + 0.03 < high.0 && low.1 + 10.0 < high.1,
        "{low:?} {high:?}"
    );
    let bounded = run("0.999", "10 ms");
    assert!(bounded.1 < high.1, "{bounded:?} {high:?}");
}
