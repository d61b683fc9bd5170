//! MELD across the real-time cell: `brimful quic serve`, the kernel's TCP, and a browser.

use crate::{brimful, has_root, output, scenario_of, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// 2 MB over the radio that loses this share of packets.
fn download(transport: &str, meld: &str, loss: &str) -> (Value, String) {
    let mut command = brimful(&["run", "--world", "lab", "--json", "--repeats", "1"]);
    command.arg(scenario_of("meld", "download-20m.toml"));
    command.args(["--set", "flow.download.app.size=2 MB"]);
    for (key, value) in [("transport", transport), ("meld", meld), ("loss", loss)] {
        command.args(["--set", &format!("{key}={value}")]);
    }
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    (summary["flows"][0].clone(), stderr(&done))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn quic_downloads_over_a_lossy_radio_arrive_with_and_without_meld() {
    if !has_root("quic_downloads_over_a_lossy_radio_arrive_with_and_without_meld") {
        return;
    }
    let ((plain, _), (meld, _)) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| download("quic", "off", "2%"));
        let meld = download("quic", "default", "2%");
        (plain.join().expect("a download"), meld)
    });
    for flow in [&plain, &meld] {
        assert_eq!(number(&flow["delivered_bytes"]), 2e6, "{flow}");
        assert!(number(&flow["rtt_ms"]["samples"]) > 0.0, "{flow}");
    }
}

#[test]
fn the_kernels_tcp_reads_the_radio_by_bpf() {
    if !has_root("the_kernels_tcp_reads_the_radio_by_bpf") {
        return;
    }
    // what the kernel takes for a loss depends on when packets arrive: downloads until one was the radio's
    let notes = (0..10).find_map(|_| {
        let (flow, notes) = download("tcp", "default", "2%");
        assert_eq!(number(&flow["delivered_bytes"]), 2e6, "{flow}");
        let decisions = notes.lines().find(|line| line.contains("MELD default:"))?;
        decisions.contains("lost-on-radio").then(|| notes.clone())
    });
    assert!(notes.is_some(), "no loss was the radio's");
}

#[test]
fn what_the_lab_cannot_do_with_meld_is_rejected() {
    if !has_root("what_the_lab_cannot_do_with_meld_is_rejected") {
        return;
    }
    let refused = |sets: &[&str], why: &str| {
        let mut command = brimful(&["run", "--world", "lab"]);
        command.arg(scenario_of("meld", "download-20m.toml"));
        for set in sets {
            command.args(["--set", set]);
        }
        let done = output(command);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        assert!(stderr(&done).contains(why), "{}", stderr(&done));
    };
    let quic = |set| ["transport=quic", set];
    refused(&quic("flow.download.direction=up"), "downloads only");
    refused(&quic("flow.download.tcp.mss=1190 B"), "1200 B to 1472 B");
    let kernel = ["transport=tcp", "meld=yield"];
    refused(&kernel, "in the kernel MELD yields to no flow");
}

/// The page comes by QUIC or not at all: Chromium has no other way to this origin.
const BROWSE: &str = r#"set -e
key=$(openssl x509 -in "$BRIMFUL_LAB/quic-0.pem" -pubkey -noout | openssl pkey -pubin -outform der |
  openssl dgst -sha256 -binary | base64)
# now and then a browser hangs before it has sent anything: then another is started
for _ in 1 2 3; do
  profile=$(mktemp -d)
  code=0
  timeout 120 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-sync \
    --disable-background-networking --disable-component-update --user-data-dir="$profile" \
    --enable-quic --origin-to-force-quic-on=server:20000 --ignore-certificate-errors-spki-list="$key" \
    --dump-dom https://server:20000/index.html 2>/dev/null || code=$?
  rm -rf "$profile"
  [ $code = 124 ] || break
done
exit $code"#;

#[test]
fn chromium_fetches_a_page_over_http_3_through_the_cell() {
    if !has_root("chromium_fetches_a_page_over_http_3_through_the_cell") {
        return;
    }
    if !Path::new("/usr/bin/chromium").exists() {
        testing::skip(
            "chromium_fetches_a_page_over_http_3_through_the_cell",
            testing::Missing::Program("chromium"),
        );
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let page = "<html><body><p>over the radio</p></body></html>";
    std::fs::write(folder.path().join("index.html"), page).expect("a file");
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario_of("meld", "download-20m.toml"));
    command.args(["--set", "transport=quic", "--set", "meld=default"]);
    command.arg("--server").arg(folder.path());
    command.args(["--", "sh", "-c", BROWSE]);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let page = stdout(&done);
    assert!(page.contains("<p>over the radio</p>"), "{page}");
}
