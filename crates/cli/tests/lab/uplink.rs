//! The queue above a modem: `brimful ue` on the user's host, with the kernel's packets.

use crate::{brimful, has_root, output, scenario_of, stderr};
use serde_json::Value;

/// A call and an upload of Cubic for 4 s, over 15 Mbit/s with grants that follow buffer status reports.
fn run(queue: &str, more: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario_of("uplink", "upload-call.toml"));
    let queue = format!("queue={queue}");
    command.args([
        "--world",
        "lab",
        "--json",
        "--repeats",
        "1",
        "--set",
        &queue,
    ]);
    command.args(["--set", "duration=4 s", "--set", "flow.upload.start=1 s"]);
    command.args(more);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

fn flow<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut flows = summary["flows"].as_array().expect("a list").iter();
    let found = flows.find(|flow| flow["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// What the result states of the daemon.
fn note(summary: &Value) -> Option<&str> {
    let notes = summary["real_time"]["notes"].as_array()?;
    let mut notes = notes.iter().filter_map(Value::as_str);
    notes.find(|note| note.contains("was brimful ue"))
}

/// The number before a word of the note.
fn before(note: &str, word: &str) -> u64 {
    let words: Vec<&str> = note.split(' ').collect();
    let at = words.windows(2).find(|pair| pair[1].starts_with(word));
    let number = at.and_then(|pair| pair[0].parse().ok());
    number.unwrap_or_else(|| panic!("no {word} in {note}"))
}

#[test]
fn the_daemon_runs_on_the_users_host() {
    if !has_root("the_daemon_runs_on_the_users_host") {
        return;
    }
    for queue in ["queue", "mark"] {
        let summary = run(queue, &[]);
        let note = note(&summary).expect("the daemon");
        assert!(note.contains(&format!("mode {queue}:")), "{note}");
        // how many of 800 in 4 s is up to how busy the machine is
        assert!(before(note, "reports") > 0, "{note}");
        let upload = flow(&summary, "upload");
        let delivered = upload["delivered_bytes"].as_f64().expect("a number");
        let passed = before(note, "packets") as f64;
        // all that came through had passed it, in packets of 1,500 bytes at most
        assert!(
            delivered > 0.0 && delivered < passed * 1_500.0,
            "{delivered}: {note}"
        );
        assert!(flow(&summary, "voice")["owd_ms"]["p95"].is_number());
    }
    assert_eq!(note(&run("off", &[])), None);
}
