//! Clients of QUIC that report their bandwidth to a server that paces by it, across the real-time cell.

use crate::{brimful, is_root, output, stderr};
use serde_json::Value;

/// A download over an LTE cell of constant quality with a buffer of 1 Mb.
const CELL: &str = r#"
name = "reports"
description = "A download over QUIC whose client reports"
duration = "12 s"
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
app = { kind = "bulk", size = "10 MB" }
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
fn reports_over_quic_pace_the_lab_as_they_do_the_simulator() {
    if !is_root("reports_over_quic_pace_the_lab_as_they_do_the_simulator") {
        return;
    }
    for cc in ["cdbe", "cqic-s"] {
        let [(sim, _), (lab, said)] = ["sim", "lab"].map(|world| run(world, cc));
        assert_eq!(number(&lab["delivered_bytes"]), 1e7, "{cc}: {said}");
        let goodput = |flow: &Value| number(&flow["goodput_bps"]["mean"]);
        let ratio = goodput(&lab) / goodput(&sim);
        assert!((0.85..=1.1).contains(&ratio), "{cc}: {ratio}: {said}");
        let rtt = number(&lab["rtt_ms"]["mean"]) / number(&sim["rtt_ms"]["mean"]);
        assert!((0.7..=1.4).contains(&rtt), "{cc}: {rtt}: {said}");
    }
}
