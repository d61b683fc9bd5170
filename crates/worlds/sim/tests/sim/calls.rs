//! Calls whose rate adapts.

use crate::*;
use edge::marker::Verdict;
use scenario::{ApplicationResult, CallResult, Overrides, load_str};

/// A 4G cell of 16 Mbit/s with one queue of 1 MB, 30 ms; flows and the proxy as given.
fn cell(duration: &str, pep: &str, flows: &str) -> RunResult {
    let text = format!(
        "duration = \"{duration}\"\n[path]\nrtt = \"30 ms\"\nrate = \"1 Gbit/s\"\nbuffer = \"12.5 MB\"\n\
         [cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
         [ue.phone]\nchannel = {{ kind = \"constant-cqi\", cqi = 15, policy = \"oai-lte\", bler = 0.1 }}\n\
         [[ue.phone.bearer]]\nrlc = \"am\"\ndownlink-buffer = \"1 MB\"\n[pep]\n{pep}\n{flows}"
    );
    let points = load_str(&text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    run(&points[0].experiment)
}

fn call_of(result: &RunResult, flow: usize) -> &CallResult {
    match &result.flows[flow].application {
        Some(ApplicationResult::Call(call)) => call,
        other => panic!("a call: {other:?}"),
    }
}

fn call(lines: &str, app: &str) -> String {
    format!("[flow.call]\n{lines}\napp = {{ kind = \"call\", start-rate = \"1 Mbit/s\"{app} }}\n")
}

const DOWNLOAD: &str =
    "[flow.quic]\ntransport = \"quic\"\nstart = \"5 s\"\napp = { kind = \"continuous\" }\n";

const CONTROLLERS: [(&str, &str); 3] = [
    ("", ", controller = \"gcc\""),
    ("", ", controller = \"scream\""),
    ("ecn = \"l4s\"", ", controller = \"scream\""),
];

#[test]
fn a_call_alone_reaches_its_highest_rate_without_waiting() {
    for (lines, app) in CONTROLLERS {
        let flows = call(lines, &format!("{app}, max-rate = \"2 Mbit/s\""));
        let result = cell("30 s", "", &flows);
        let call = call_of(&result, 0);
        let what = format!("{lines} {app}: {call:?}");
        assert!((899..=901).contains(&call.frames_sent), "{what}");
        assert!(call.frames_sent - call.frames_received <= 3, "{what}");
        assert_eq!(
            (call.freezes, call.packets_lost, call.frames_late),
            (0, 0, 0),
            "{what}"
        );
        let rate = call.bitrate.as_mbps_f64();
        assert!((1.4..2.05).contains(&rate), "{what}");
        assert!((call.target.as_mbps_f64() - rate).abs() < 0.1, "{what}");
        assert!(call.frame_delay.p95 < 60.0, "{what}");
    }
}

#[test]
fn both_directions_carry_a_call() {
    for (lines, app) in CONTROLLERS {
        let lines = format!("{lines}\ndirection = \"up\"");
        let flows = call(&lines, &format!("{app}, max-rate = \"1 Mbit/s\""));
        let result = cell("10 s", "", &flows);
        let call = call_of(&result, 0);
        assert!(call.frames_received > 250, "{app}: {call:?}");
        assert_eq!(call.packets_lost, 0, "{app}");
    }
}

#[test]
fn a_call_is_marked_or_dropped_as_other_packets_are() {
    let flows = |lines: &str, app: &str| call(lines, &format!("{app}, max-rate = \"30 Mbit/s\""));
    let l4s = cell(
        "20 s",
        "unsplit = \"mark\"",
        &flows("ecn = \"l4s\"", ", controller = \"scream\""),
    );
    let counts = l4s.unsplit.expect("there is a marker");
    assert!(counts.of(Verdict::MarkL4s) > 0, "{counts:?}");
    assert_eq!(call_of(&l4s, 0).packets_lost, 0);
    let off = cell(
        "20 s",
        "",
        &flows("ecn = \"l4s\"", ", controller = \"scream\""),
    );
    let wait = |run: &RunResult| run.flows[0].owd.p95;
    assert!(wait(&l4s) < wait(&off), "{} {}", wait(&l4s), wait(&off));
}

#[test]
fn beside_a_download_the_edge_keeps_a_call_short_and_whole() {
    for (lines, app) in CONTROLLERS {
        let flows = format!("{}{DOWNLOAD}", call(lines, app));
        let off = cell("20 s", "", &flows);
        let queue = cell("20 s", "unsplit = \"queue\"", &flows);
        let (off, queue) = (call_of(&off, 0), call_of(&queue, 0));
        let what = format!("{lines} {app}: {off:?} {queue:?}");
        assert!(queue.frame_delay.p95 < off.frame_delay.p95 / 2.0, "{what}");
        // GCC loses nothing; SCReAM, which rises faster, a few at the edge
        let allowed = if app.contains("gcc") { 0 } else { 40 };
        assert!(queue.packets_lost <= allowed, "{what}");
    }
}

#[test]
fn two_runs_are_alike_to_the_bit() {
    for (lines, app) in CONTROLLERS {
        let flows = format!("{}{DOWNLOAD}", call(lines, app));
        let seen = |flows: &str| {
            let result = cell("10 s", "unsplit = \"mark\"", flows);
            (call_of(&result, 0).clone(), result.events)
        };
        assert_eq!(seen(&flows), seen(&flows));
    }
}
