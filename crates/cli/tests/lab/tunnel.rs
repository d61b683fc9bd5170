//! The multipath tunnel in the lab: the live daemons, one path through a wire, one through another or
//! the cell.

use super::{brimful, is_root, output, scenario_of, stderr};
use serde_json::Value;

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

fn goodput(result: &Value) -> f64 {
    result["flows"][0]["goodput_bps"]["mean"]
        .as_f64()
        .expect("a rate")
        / 1e6
}

/// What each path carried, MB.
fn carried(result: &Value) -> Vec<f64> {
    let paths = result["tunnel"]["paths"].as_array().expect("paths");
    let bytes = paths
        .iter()
        .map(|path| path["carried_bytes"].as_f64().expect("bytes"));
    bytes.map(|bytes| bytes / 1e6).collect()
}

/// A download of kernel TCP over two wires of 50 Mbit/s. The live daemons are the simulator's
/// mechanisms, so the two worlds agree on what it gets, and both paths carry it.
#[test]
fn both_worlds_agree_on_two_paths() {
    if !is_root("both_worlds_agree_on_two_paths") {
        return;
    }
    let set = [
        "file=50 MB",
        // (the kernel's Cubic now and then leaves slow start at half the rate)
        "server-cc=bbr",
        "tunnel-cc=ccid5",
        "scheduler=aware",
        "duration=30 s",
    ];
    let [sim, lab] = ["sim", "lab"].map(|world| run(world, "default.toml", &set));
    let ratio = goodput(&lab) / goodput(&sim);
    // a machine with other work has less of it for the daemons, which the simulator has for nothing
    assert!(
        (0.5..1.2).contains(&ratio),
        "lab {} sim {}",
        goodput(&lab),
        goodput(&sim)
    );
    let share = |result: &Value| {
        let carried = carried(result);
        carried[1] / (carried[0] + carried[1])
    };
    let (in_sim, in_lab) = (share(&sim), share(&lab));
    // what is late in arriving for want of a processor is of the longer path: it gets less then
    assert!((0.4..0.6).contains(&in_sim), "{in_sim}");
    assert!((0.05..0.6).contains(&in_lab), "lab {in_lab} sim {in_sim}");
}

/// The cell is a path as any other, and a path that disappears is left for it.
#[test]
fn a_tunnel_goes_through_the_cell_in_real_time() {
    if !is_root("a_tunnel_goes_through_the_cell_in_real_time") {
        return;
    }
    let set = [
        "duration=12 s",
        "radio=false",
        "tunnel.path.wifi.down-at=6 s",
    ];
    let lab = run("lab", "fade.toml", &set);
    let carried = carried(&lab);
    // 4 s of 20 Mbit/s, and much more from the cell
    assert!((3.0..11.0).contains(&carried[0]), "{carried:?}");
    assert!(carried[1] > 10.0, "{carried:?}");
}

#[test]
fn what_the_lab_cannot_do_with_tunnels_is_refused() {
    if !is_root("what_the_lab_cannot_do_with_tunnels_is_refused") {
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
