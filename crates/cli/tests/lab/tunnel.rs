//! The multipath tunnel in the lab: the live daemons, one path through a wire, one through another or
//! the cell.

use super::{Running, brimful, has_root, output, scenario_of, stderr, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A run of a shipped scenario in a world.
fn run(world: &str, name: &str, set: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario_of("nested-cc", name));
    command.args(["--world", world, "--json"]);
    for option in set {
        command.args(["--set", option]);
    }
    let output = output(command);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What each path carried, MB.
fn carried(result: &Value) -> Vec<f64> {
    let paths = result["tunnel"]["paths"].as_array().expect("paths");
    let bytes = paths
        .iter()
        .map(|path| path["carried_bytes"].as_f64().expect("bytes"));
    bytes.map(|bytes| bytes / 1e6).collect()
}

/// A download of kernel TCP over two wires of 50 Mbit/s: it arrives, and both paths carry it.
#[test]
fn two_paths_carry_a_download() {
    if !has_root("two_paths_carry_a_download") {
        return;
    }
    let set = [
        "file=10 MB",
        "server-cc=bbr",
        "tunnel-cc=ccid5",
        "scheduler=aware",
        "duration=120 s",
    ];
    let lab = run("lab", "default.toml", &set);
    assert_eq!(lab["flows"][0]["delivered_bytes"], 10e6);
    assert!(carried(&lab).iter().all(|&megabytes| megabytes > 0.0));
}

/// What TCP carriers carried is counted, though they end with the run.
#[test]
fn what_tcp_carriers_carried_is_in_the_result() {
    if !has_root("what_tcp_carriers_carried_is_in_the_result") {
        return;
    }
    let set = [
        "file=5 MB",
        "server-cc=cubic",
        "tunnel-cc=newreno",
        "duration=120 s",
    ];
    let lab = run("lab", "default.toml", &set);
    assert_eq!(lab["flows"][0]["delivered_bytes"], 5e6);
    let carried: f64 = carried(&lab).iter().sum();
    assert!(carried >= 5.0, "{carried} MB");
}

/// How the server of a lab's tunnel stands, once it answers.
fn server_status(folder: &Path) -> Option<Value> {
    let mut stream = UnixStream::connect(folder.join("tunnel-server.sock")).ok()?;
    stream.write_all(b"{\"command\":\"status\"}\n").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// The daemon at the edge receives the cell's radio reports, and knows which path is the UE's.
#[test]
fn radio_reports_reach_the_path_through_the_cell() {
    if !has_root("radio_reports_reach_the_path_through_the_cell") {
        return;
    }
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario_of("nested-cc", "fade.toml"));
    command.args(["--quiet", "--", "sh", "-c"]);
    command.arg("while :; do sleep 0.05; done");
    let running = Running::start(command);
    let folder = running.folder();
    let mut status = Value::Null;
    wait_until("a path of the tunnel has a rate by a report", || {
        status = server_status(&folder).unwrap_or_default();
        let paths = status["connections"][0]["paths"].as_array();
        let mut paths = paths.into_iter().flatten();
        paths.any(|path| path["radio_rate_bps"].is_u64())
    });
    assert_eq!(status["reports_connected"], true);
    let paths = status["connections"][0]["paths"].as_array().expect("paths");
    let by_wire = paths.iter().find(|path| path["priority"] == 4);
    assert_eq!(by_wire.expect("the wire's")["radio_rate_bps"], Value::Null);
}

/// The cell is a path as any other, and a path that disappears is left for it.
#[test]
fn a_tunnel_goes_through_the_cell_in_real_time() {
    if !has_root("a_tunnel_goes_through_the_cell_in_real_time") {
        return;
    }
    let set = ["duration=8 s", "tunnel.path.wifi.down-at=4 s"];
    let lab = run("lab", "fade.toml", &set);
    let carried = carried(&lab);
    assert!(
        carried.iter().all(|&megabytes| megabytes > 0.0),
        "{carried:?}"
    );
}

#[test]
fn what_the_lab_cannot_do_with_tunnels_is_rejected() {
    if !has_root("what_the_lab_cannot_do_with_tunnels_is_rejected") {
        return;
    }
    for (set, part) in [
        ("tunnel-cc=bbrv3", "no such congestion control"),
        ("tunnel.path.path2.cc=ccid2", "the same carrier"),
    ] {
        let mut command = brimful(&["run"]);
        command.arg(scenario_of("nested-cc", "default.toml"));
        command.args(["--world", "lab", "--set", "tunnel-cc=ccid5", "--set", set]);
        let output = output(command);
        assert_eq!(output.status.code(), Some(2), "{set}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}
