//! Judges that are browsers: they run and give their measures. The others are these with another download, or none,
//! beside them.

use crate::judges::{can_run, gives};

/// What a call gives, without what it gives only if there are marks or a download.
const CALL: [&str; 14] = [
    "video-down",
    "frame-rate-down",
    "freezes-down",
    "frozen-down",
    "frame-delay-down-mean",
    "frame-delay-down-p95",
    "jitter-buffer-down",
    "loss-down",
    "height-down",
    "rtt-mean",
    "video-up",
    "frame-rate-up",
    "frozen-up",
    "frame-delay-up-mean",
];
const PAGE: [&str; 4] = ["load-p50", "load-max", "first-paint-p50", "connected-p50"];
const GOODPUT: &str = "download-goodput";

fn judged(test: &str, name: &str, measures: &[&str]) {
    if can_run(test, name, |_| false) {
        gives(name, &["default"], "4 s", measures);
    }
}

#[test]
fn a_call_runs_beside_a_tcp_download() {
    let measures = [&CALL[..], &[GOODPUT]].concat();
    judged(
        "a_call_runs_beside_a_tcp_download",
        "call-beside-download",
        &measures,
    );
}

#[test]
fn a_call_by_scream_sends_ect1() {
    let measures = [&CALL[..], &["ect1-down", "ce-down"]].concat();
    judged("a_call_by_scream_sends_ect1", "call-scream", &measures);
}

#[test]
fn a_page_comes_over_http_3_beside_a_quic_download() {
    let measures = [&PAGE[..], &[GOODPUT]].concat();
    judged(
        "a_page_comes_over_http_3_beside_a_quic_download",
        "page-h3-beside-quic",
        &measures,
    );
}

#[test]
fn a_page_comes_over_http_2() {
    judged("a_page_comes_over_http_2", "page-h2", &PAGE);
}
