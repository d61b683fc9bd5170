//! `run --world lab`: every byte arrives, and results keep to what is physically possible.

use crate::{brimful, has_root, output, scenario, stderr};
use serde_json::Value;

/// 2 MB by Cubic and 2 MB by BBR over 4G.
fn short(pep: &str, more: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario("oai-fast.toml"));
    let pep = format!("pep={pep}");
    command.args(["--world", "lab", "--json", "--set", &pep]);
    command.args(["--set", "flow.cubic.app.size=2 MB"]);
    command.args(["--set", "flow.bbr.app.size=2 MB"]);
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
fn runs_deliver_every_byte_with_and_without_the_proxy() {
    if !has_root("runs_deliver_every_byte_with_and_without_the_proxy") {
        return;
    }
    let (none, default) = (short("none", &[]), short("default", &[]));
    for summary in [&none, &default] {
        assert_eq!(summary["world"], "lab");
        let capacity = number(&summary["link"]["capacity_bps"]);
        let utilisation = number(&summary["link"]["utilisation"]);
        assert!(capacity > 0.0, "{capacity}");
        assert!(utilisation > 0.0 && utilisation <= 1.0, "{utilisation}");
        let delivered: f64 = flows(summary)
            .iter()
            .map(|f| number(&f["delivered_bytes"]))
            .sum();
        assert_eq!(delivered, 4e6);
        assert_eq!(number(&summary["real_time"]["scale"]), 1.0);
        assert!(summary["real_time"]["lateness_ms"]["p99"].is_number());
    }
    for flow in flows(&none).iter().chain(flows(&default)) {
        let samples = number(&flow["rtt_ms"]["samples"]);
        assert!(samples > 0.0, "{samples}");
    }
}

/// What became of packets in the lab with a proxy that does this to what is not split.
fn unsplit(mode: &str, set: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario("oai-unsplit.toml"));
    command.args(["--world", "lab", "--json"]);
    let common = [
        "duration=3 s",
        "transport=tcp",
        "ecn=classic",
        &format!("unsplit={mode}"),
    ];
    for value in common.iter().chain(set) {
        command.args(["--set", value]);
    }
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert!(number(&flows(&summary)[0]["delivered_bytes"]) > 0.0);
    summary["unsplit"].clone()
}

#[test]
fn what_is_not_split_is_judged_with_and_without_splitting() {
    if !has_root("what_is_not_split_is_judged_with_and_without_splitting") {
        return;
    }
    for (pep, transport) in [("none", "tcp"), ("split", "quic"), ("default", "quic")] {
        let set = [format!("pep={pep}"), format!("transport={transport}")];
        let unsplit = unsplit("mark", &[&set[0], &set[1]]);
        let by_reports: f64 = edge::marker::Verdict::ALL
            .into_iter()
            .filter(|verdict| *verdict != edge::marker::Verdict::NoReport)
            .map(|verdict| number(&unsplit[verdict.name()]))
            .sum();
        assert!(by_reports > 0.0, "pep={pep}: {unsplit}");
    }
}

#[test]
fn what_is_not_split_arrives_where_it_waits_at_the_edge() {
    if !has_root("what_is_not_split_arrives_where_it_waits_at_the_edge") {
        return;
    }
    for (pep, transport) in [("none", "tcp"), ("default", "quic")] {
        let set = [format!("pep={pep}"), format!("transport={transport}")];
        let judged = unsplit("queue", &[&set[0], &set[1]]);
        assert_eq!(judged, Value::Null, "nothing is judged by the marker");
    }
}

#[test]
fn tcp_that_is_to_pass_by_the_proxy_is_refused() {
    if !has_root("tcp_that_is_to_pass_by_the_proxy_is_refused") {
        return;
    }
    let mut command = brimful(&["run"]);
    command.arg(scenario("oai-unsplit.toml"));
    command.args([
        "--world",
        "lab",
        "--set",
        "transport=tcp",
        "--set",
        "pep=default",
    ]);
    let done = output(command);
    assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
    assert!(stderr(&done).contains("flow \"bulk\" of TCP with intercepted = false"));
}

#[test]
fn a_scaled_run_has_a_note() {
    if !has_root("a_scaled_run_has_a_note") {
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
    let delivered: f64 = flows(&summary)
        .iter()
        .map(|f| number(&f["delivered_bytes"]))
        .sum();
    assert_eq!(delivered, 4e6 * scale);
}

#[test]
fn concurrent_labs_each_deliver_every_byte() {
    if !has_root("concurrent_labs_each_deliver_every_byte") {
        return;
    }
    let summaries = std::thread::scope(|scope| {
        ["split", "default"]
            .map(|pep| scope.spawn(move || short(pep, &[])))
            .map(|run| run.join().expect("a run"))
    });
    for summary in &summaries {
        let delivered = flows(summary).iter().map(|f| number(&f["delivered_bytes"]));
        assert_eq!(delivered.sum::<f64>(), 4e6);
    }
}
