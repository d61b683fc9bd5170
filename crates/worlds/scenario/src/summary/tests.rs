//! Means, intervals and leaves of a summary.

use super::*;
use crate::result::{Distribution, FlowResult, QueueResult};
use crate::{LinkResult, Overrides, load_str};
use serde_json::Value;
use units::{BitRate, Bytes, Duration};

const TEXT: &str = "name = \"pair\"\nseed = 5\nrepeats = 2\n[path]\nrtt = \"10 ms\"\n\
    [link]\nrate = \"100 Mbit/s\"\n[flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n\
    [flow.voip]\napp = { kind = \"voip\" }\n";

fn run(seed: u64, goodput: u64, completion: Option<u64>, rtt: f64) -> RunResult {
    let distribution = Distribution {
        count: 4,
        min: rtt,
        mean: rtt,
        p95: rtt,
        ..Distribution::default()
    };
    let bulk = FlowResult {
        name: "bulk".into(),
        cc: "cubic".into(),
        delivered: Bytes::new(1_000_000),
        goodput: BitRate::from_bps(goodput),
        rtt: distribution,
        completion: completion.map(Duration::from_millis),
        retransmits: seed,
        ..FlowResult::default()
    };
    let voip = FlowResult {
        name: "voip".into(),
        cc: "udp".into(),
        ..FlowResult::default()
    };
    let queue = QueueResult {
        name: "link/down".into(),
        max_bytes: 9.0,
        ..Default::default()
    };
    RunResult {
        seed,
        elapsed: Duration::from_secs(1),
        flows: vec![bulk, voip],
        queues: vec![queue],
        link: LinkResult {
            utilisation: 0.5,
            capacity: BitRate::from_mbps(100),
        },
        events: 100 * seed,
        ..RunResult::default()
    }
}

fn summary(runs: &[RunResult]) -> Value {
    let points = load_str(TEXT, &Overrides::default()).expect("valid");
    let summary = Summary::of(&points[0].experiment, "sim", runs, "0.1.0");
    serde_json::to_value(summary).expect("plain data")
}

#[test]
fn means_over_repeats_worked_by_hand() {
    let s = summary(&[run(5, 10, Some(1000), 20.0), run(6, 14, Some(3000), 40.0)]);
    assert_eq!(s["scenario"], "pair");
    assert_eq!(
        (s["seed"].as_u64(), s["repeats"].as_u64()),
        (Some(5), Some(2))
    );
    let bulk = &s["flows"][0];
    // 10 and 14: mean 12, s = 2 sqrt 2, ci95 = 12.706 x 2
    assert_eq!(bulk["goodput_bps"]["mean"], 12.0);
    let ci = bulk["goodput_bps"]["ci95"].as_f64().expect("a number");
    assert!((ci - 25.412).abs() < 1e-2, "{ci}");
    assert_eq!(bulk["completion_s"]["mean"], 2.0);
    assert_eq!(bulk["rtt_ms"]["p95"], 30.0);
    assert_eq!(bulk["retransmits"], 5.5);
    assert_eq!(s["events"], 550.0);
    assert_eq!(s["queues"][0]["bytes"]["max"], 9.0);
    assert_eq!(s["link"]["capacity_bps"], 100e6);
}

#[test]
fn a_flow_that_did_not_always_finish_has_no_completion_time() {
    let s = summary(&[run(5, 10, Some(1000), 20.0), run(6, 14, None, 40.0)]);
    assert_eq!(s["flows"][0]["completion_s"], Value::Null);
    assert_eq!(s["flows"][0]["finished"], 1);
}

/// All leaves with their paths.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            map.iter()
                .for_each(|(k, v)| leaves(&format!("{path}.{k}"), v, found));
        }
        Value::Array(items) => items.iter().for_each(|v| leaves(path, v, found)),
        leaf => found.push((path.to_owned(), leaf.clone())),
    }
}

#[test]
fn every_leaf_is_a_number_but_for_names_and_unfinished_completions() {
    let s = summary(&[run(5, 10, None, f64::NAN)]);
    let mut found = Vec::new();
    leaves("", &s, &mut found);
    for (path, leaf) in found {
        let may_be_text = [
            ".name",
            ".cc",
            ".scenario",
            ".world",
            ".version",
            ".pep",
            ".drawn",
            ".unit",
        ];
        let may_be_null = path.ends_with(".completion_s");
        let is_text = may_be_text.iter().any(|end| path.ends_with(end));
        assert!(
            leaf.is_number() || is_text || (may_be_null && leaf.is_null()),
            "{path}: {leaf}"
        );
    }
    for key in [
        "scenario", "world", "seed", "repeats", "version", "wall_s", "events",
    ] {
        assert!(s.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_flow_without_samples_is_marked() {
    let s = summary(&[run(5, 10, None, 20.0)]);
    assert_eq!(s["flows"][1]["rtt_ms"]["samples"], 0.0);
    assert_eq!(s["flows"][1]["rtt_ms"]["mean"], 0.0);
    assert!(s.get("axes").is_none());
}
