//! Uplinks that carry what was recorded.

use crate::{received_mbps, run};
use radio::trace::{Playback, ReadOptions, read};
use scenario::{AccessSpec, Experiment, Overrides, TraceSpec, load_str};
use std::sync::Arc;
use units::Duration;

const CELL: &str = r#"duration = "10 s"
sample-interval = "100 ms"
[path]
rtt = "60 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
[ue.phone.channel]
kind = "constant-cqi"
cqi = 15
"#;

/// The cell with flows, whose uplink plays a trace.
fn recorded(flows: &str, trace: &str, repeat: bool) -> Experiment {
    let points = load_str(&format!("{CELL}{flows}"), &Overrides::default());
    let mut experiment = points
        .unwrap_or_else(|e| panic!("{e}"))
        .remove(0)
        .experiment;
    let trace = read("up", trace.as_bytes(), &ReadOptions::default()).expect("a trace");
    experiment.ues[0].uplink = Some(TraceSpec {
        path: "up".into(),
        trace: Arc::new(trace),
        playback: Playback {
            repeat,
            ..Playback::default()
        },
        offset_spread: Duration::ZERO,
    });
    if let AccessSpec::Cell(cell) = &mut experiment.access {
        cell.config.uplink.link = ran::UplinkLink::Recorded;
    }
    experiment
}

/// Datagrams of 1,472 bytes, with their headers 1,500, more than any of these uplinks carries.
const FLOOD: &str = r#"[flow.up]
direction = "up"
app = { kind = "cbr", rate = "40 Mbit/s", packet = "1472 B" }
"#;

/// 4 Mbit/s for five seconds, then 8: payload is 1472 of 1500 bytes.
#[test]
fn an_upload_follows_the_rates_of_the_uplinks_trace() {
    let experiment = recorded(FLOOD, "time_s,rate_mbps\n0,4\n5,8\n", true);
    let result = run(&experiment);
    let payload = 1472.0 / 1500.0;
    for (from, to, mbps) in [(1, 5, 4.0), (6, 10, 8.0)] {
        let received = received_mbps(&result, "up", from, to);
        assert!(
            (received / (mbps * payload) - 1.0).abs() < 0.01,
            "{from} s: {received}"
        );
    }
    // 7.5 MB but for the request, the grant and what was on its way at the end: 30 ms at most of either rate
    let delivered = result.flows[0].delivered.get() as f64;
    let all = 7.5e6 * payload;
    assert!(
        delivered <= all && delivered >= all - 60_000.0,
        "{delivered}"
    );
    let again = run(&experiment);
    assert_eq!(again.flows[0].delivered, result.flows[0].delivered);
}

/// `mm-link`'s file with the line `1`: one packet of 1,500 bytes each millisecond.
#[test]
fn each_opportunity_carries_one_packet() {
    let result = run(&recorded(FLOOD, "1\n", true));
    let packets = result.flows[0].delivered.get() / 1472;
    // request and grant take 8 to 18 ms, decoding and the path 40 ms at most
    assert!((9_930..=9_990).contains(&packets), "{packets}");
}

#[test]
fn after_the_end_of_a_trace_that_is_not_repeated_nothing_is_sent() {
    let result = run(&recorded(FLOOD, "time_s,rate_mbps\n0,4\n3,4\n", false));
    // the last row lasts as long as the one before: 6 s of 4 Mbit/s
    let delivered = result.flows[0].delivered.get() as f64;
    let all = 6.0 * 5e5 * 1472.0 / 1500.0;
    assert!(
        delivered <= all && delivered >= all - 30_000.0,
        "{delivered}"
    );
    assert_eq!(received_mbps(&result, "up", 7, 10), 0.0);
}

/// 208 kbit/s are 500 acknowledgements of 52 bytes a second, each of two segments of 1,448 bytes at most; more than that
/// has come only by what waits to be acknowledged at the end.
#[test]
fn acknowledgements_bound_a_download() {
    let download = "[flow.down]\napp = { kind = \"continuous\" }\n";
    let result = run(&recorded(
        download,
        "time_s,rate_kbps\n0,208\n10,208\n",
        true,
    ));
    let goodput = result.flows[0].goodput.as_bps() as f64;
    let bound = 500.0 * 2.0 * 1448.0 * 8.0;
    assert!(
        goodput <= bound * 1.1 && goodput > bound * 0.5,
        "{goodput} of {bound}"
    );
    let wide = run(&recorded(download, "time_s,rate_mbps\n0,20\n10,20\n", true));
    assert!(wide.flows[0].goodput.as_bps() as f64 > 2.0 * bound);
}
