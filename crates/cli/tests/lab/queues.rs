//! Queue management in the base station, with the kernel's TCP.

use crate::{brimful, has_root, output, scenario_of, stderr};
use serde_json::Value;

/// A bulk flow of Cubic and a game's packets for 4 s, over 3 to 5 packets every 10 ms.
fn run(rlc: &str) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario_of("dynamic-buffer", "individual-sdap.toml"));
    let rlc = format!("rlc={rlc}");
    command.args(["--world", "lab", "--json", "--set", &rlc]);
    command.args(["--set", "duration=4 s", "--set", "flow.gaming.start=1 s"]);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// The entry of this name in a list.
fn named<'a>(summary: &'a Value, list: &str, name: &str) -> &'a Value {
    let mut entries = summary[list].as_array().expect("a list").iter();
    let found = entries.find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn disciplines_run_with_the_kernels_tcp_and_conserve_bytes() {
    if !has_root("disciplines_run_with_the_kernels_tcp_and_conserve_bytes") {
        return;
    }
    for rlc in ["5g-bdp", "default"] {
        let summary = run(rlc);
        let utilisation = number(&summary["link"]["utilisation"]);
        assert!(
            utilisation > 0.0 && utilisation <= 1.0,
            "{rlc}: {utilisation}"
        );
        let game = named(&summary, "queues", "ran/gaming");
        let samples = number(&game["sojourn_ms"]["samples"]);
        assert!(samples > 0.0, "{rlc}: {samples}");
        // what came into the base station went on, was dropped, or still waits there: no more came out
        // of it than the radio carried
        let bulk = named(&summary, "flows", "bulk");
        let (delivered, carried) = (
            number(&bulk["delivered_bytes"]),
            number(&summary["link"]["capacity_bps"]) / 8.0 * number(&summary["elapsed_s"]),
        );
        assert!(delivered > 0.0 && delivered < carried, "{rlc}: {delivered}");
        assert!(named(&summary, "queues", "ran/bulk")["sojourn_ms"]["mean"].is_number());
    }
}
