//! `run --world lab`: what comes out has sane bounds.

use crate::{brimful, is_root, output, scenario, stderr};
use serde_json::Value;

/// 5 MB by Cubic and 5 MB by BBR over 4G: 5 s.
fn short(pep: &str, more: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario("oai-fast.toml"));
    let pep = format!("pep={pep}");
    command.args(["--world", "lab", "--json", "--set", &pep]);
    command.args(["--set", "flow.cubic.app.size=5 MB"]);
    command.args(["--set", "flow.bbr.app.size=5 MB"]);
    command.args(more);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

fn flows(summary: &Value) -> &Vec<Value> {
    summary["flows"].as_array().expect("flows")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn the_proxy_keeps_the_link_full_and_the_queue_short() {
    if !is_root("the_proxy_keeps_the_link_full_and_the_queue_short") {
        return;
    }
    let (none, default) = (short("none", &[]), short("default", &[]));
    for summary in [&none, &default] {
        assert_eq!(summary["world"], "lab");
        let capacity = number(&summary["link"]["capacity_bps"]);
        let utilisation = number(&summary["link"]["utilisation"]);
        // 25 PRBs at MCS 28: 18.3 Mbit/s
        assert!((17e6..19.5e6).contains(&capacity), "{capacity}");
        assert!((0.85..=1.0).contains(&utilisation), "{utilisation}");
        let delivered: f64 = flows(summary)
            .iter()
            .map(|f| number(&f["delivered_bytes"]))
            .sum();
        assert_eq!(delivered, 10e6);
        let goodput = delivered * 8.0 / number(&summary["elapsed_s"]);
        // one block in ten is sent twice: 16.0 Mbit/s are left of it
        assert!((0.85 * 16.0e6..16.5e6).contains(&goodput), "{goodput}");
        assert_eq!(number(&summary["real_time"]["scale"]), 1.0);
        assert!(number(&summary["real_time"]["lateness_ms"]["p99"]) > 0.0);
    }
    for (without, with) in flows(&none).iter().zip(flows(&default)) {
        let median = |flow: &Value| number(&flow["rtt_ms"]["p50"]);
        assert!(
            median(with) >= 50.0,
            "no less than the path's: {}",
            median(with)
        );
        assert!(
            median(without) - 50.0 >= 5.0 * (median(with) - 50.0),
            "queueing delay, {} ms of RTT without and {} with",
            median(without),
            median(with)
        );
    }
}

#[test]
fn what_is_scaled_down_says_so() {
    if !is_root("what_is_scaled_down_says_so") {
        return;
    }
    let summary = short("none", &["--lab-scale", "2"]);
    let scale = number(&summary["real_time"]["scale"]);
    assert_eq!(
        scale,
        6.0 / 25.0,
        "the widest carrier of LTE that is at most half as wide"
    );
    let note = summary["real_time"]["notes"][0].as_str().expect("a note");
    assert!(note.contains("scaled to 0.240"), "{note}");
    let capacity = number(&summary["link"]["capacity_bps"]);
    assert!((4e6..4.8e6).contains(&capacity), "{capacity}");
    let delivered: f64 = flows(&summary)
        .iter()
        .map(|f| number(&f["delivered_bytes"]))
        .sum();
    assert_eq!(delivered, 10e6 * scale);
}

#[test]
fn labs_side_by_side_do_not_disturb_each_other() {
    if !is_root("labs_side_by_side_do_not_disturb_each_other") {
        return;
    }
    let goodputs: Vec<f64> = std::thread::scope(|scope| {
        let runs: Vec<_> = ["split", "default"]
            .map(|pep| scope.spawn(move || short(pep, &[])))
            .into_iter()
            .collect();
        let summaries = runs.into_iter().map(|run| run.join().expect("a run"));
        summaries.map(|s| number(&s["elapsed_s"])).collect()
    });
    for elapsed in goodputs {
        // 10 MB at 16 Mbit/s, and what the beginning takes
        assert!((5.0..6.5).contains(&elapsed), "{elapsed} s");
    }
}
