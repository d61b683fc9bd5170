//! Clients of QUIC that report their bandwidth to a server that paces by it, across the real-time cell.

use crate::{brimful, has_root, output, stderr};
use serde_json::Value;

/// A download over an LTE cell of constant quality with a buffer of 1 Mb.
const CELL: &str = r#"
name = "reports"
description = "A download over QUIC whose client reports"
duration = "120 s"
[path]
rtt = "50 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
[ue.a]
channel = { kind = "constant-cqi", cqi = 10 }
[[ue.a.bearer]]
downlink-buffer = "125 kB"
[flow.bulk]
transport = "quic"
cc = "cdbe"
report = "cdbe"
tcp.mss = "1440 B"
app = { kind = "bulk", size = "3 MB" }
"#;

fn run(world: &str, cc: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("reports.toml");
    std::fs::write(&file, CELL).expect("a scenario");
    let mut command = brimful(&["run", "--world", world, "--json", "--repeats", "1"]);
    command.arg(&file);
    command.args(["--set", &format!("flow.bulk.cc={cc}")]);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    (summary["flows"][0].clone(), stderr(&done))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn clients_that_report_over_quic_are_served_in_both_worlds() {
    if !has_root("clients_that_report_over_quic_are_served_in_both_worlds") {
        return;
    }
    for cc in ["cdbe", "cqic-s"] {
        let [(sim, _), (lab, notes)] = ["sim", "lab"].map(|world| run(world, cc));
        for flow in [&sim, &lab] {
            assert_eq!(number(&flow["delivered_bytes"]), 3e6, "{cc}: {notes}");
            assert!(number(&flow["rtt_ms"]["samples"]) > 0.0, "{cc}: {notes}");
        }
    }
}
