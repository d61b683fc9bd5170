//! `brimful trace record` between a client and a server on loopback.

use crate::{Place, Run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Stdio};

/// A server. Dropped, it is killed.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Server {
    /// On a port that is free, with a key of its own.
    fn start(place: &Place, more: &[&str]) -> Self {
        let server = ["trace", "record", "--server=127.0.0.1:0"];
        let mut command = place.command(&[&server, more].concat());
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("text");
        let address = line
            .strip_prefix("listening on ")
            .and_then(|rest| rest.trim_end().strip_suffix(" (UDP)"));
        let address = address.unwrap_or_else(|| panic!("{line}"));
        Self {
            address: address.parse().expect("an address"),
            child,
            stderr,
        }
    }

    /// Ends it; what it has printed.
    fn stop(mut self) -> String {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), Signal::TERM).expect("it runs");
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("text");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_key(name: &str) -> Place {
    let place = Place::new();
    place.run(&["tunnel", "key", "--shared", name]).succeeded();
    place
}

fn record(place: &Place, server: SocketAddr, key: &str, more: &[&str]) -> Run {
    let server = server.to_string();
    let client = ["trace", "record", "--client", &server, "--key-file", key];
    place.run(&[&client, more].concat())
}

#[test]
fn a_path_is_recorded_in_both_directions() {
    let place = with_key("key");
    let server = Server::start(&place, &["--key-file", "key"]);
    let options = [
        "--duration",
        "1500 ms",
        "--light",
        "500 ms",
        "--heavy",
        "1 s",
        "--rate",
        "4 Mbit/s",
        "--uplink-rate",
        "2 Mbit/s",
        "--interval",
        "100 ms",
        "--out",
        "down",
        "--uplink-out",
        "up",
        "--light-out",
        "light.csv",
        "--to",
        "mahimahi",
        "--json",
    ];
    let run = record(&place, server.address, "key", &options).succeeded();
    let found = run.json();
    for way in ["down", "up"] {
        let direction = &found[way];
        let number = |key: &str| direction[key].as_u64().expect("a number");
        let all = number("recorded_bytes") + number("outside_bytes");
        assert_eq!(all, 1_400 * number("packets"), "{way}: {found}");
        assert!(number("packets") > 0, "{way}: {found}");
        let trace = place
            .run(&["trace", "info", way, "--json"])
            .succeeded()
            .json();
        assert_eq!(trace["format"], "mahimahi", "{trace}");
        assert_eq!(trace["content"], "delivery opportunities", "{trace}");
        let lines = std::fs::read_to_string(place.path(way)).expect("a trace");
        let opportunities = lines.lines().count() as u64;
        assert_eq!(opportunities, number("recorded_bytes") / 1_500, "{way}");
    }
    let light = std::fs::read_to_string(place.path("light.csv")).expect("a table");
    let trips = light.lines().count() as u64 - 1;
    let samples = |key: &str| found[key]["samples"].as_u64().expect("a number");
    assert_eq!(trips, samples("first_rtt_ms") + samples("later_rtt_ms"));
    assert!(trips > 0 && trips <= found["probes"].as_u64().expect("a number"));
    // loopback has no queue at these rates, unless the machine stands still
    assert!(found["down"]["unqueued_share"].is_f64(), "{found}");

    let printed = server.stop();
    assert!(
        printed.contains("records for 1.5 s, 4 Mbit/s down, 2 Mbit/s up"),
        "{printed}"
    );
    assert!(printed.contains(": done; "), "{printed}");
    assert!(
        printed.contains("0 datagrams were not answered"),
        "{printed}"
    );
}

#[test]
fn a_client_with_another_key_is_not_answered() {
    let place = with_key("key");
    place
        .run(&["tunnel", "key", "--shared", "other"])
        .succeeded();
    let server = Server::start(&place, &["--key-file", "key"]);
    let run = record(&place, server.address, "other", &["--out", "t"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("with the same key"), "{run:?}");
    assert_eq!(place.names(), ["key", "other"]);
    let printed = server.stop();
    assert!(
        printed.contains("not answered: no message of a client"),
        "{printed}"
    );
    assert!(
        printed.contains("5 datagrams were not answered"),
        "{printed}"
    );
    assert!(!printed.contains("records"), "{printed}");
}

#[test]
fn what_the_server_does_not_allow_is_refused() {
    let place = with_key("key");
    let limits = [
        "--key-file",
        "key",
        "--max-rate",
        "10 Mbit/s",
        "--max-duration",
        "5 s",
    ];
    let server = Server::start(&place, &limits);
    let cases = [
        (
            &["--rate", "11 Mbit/s", "--duration", "1 s"][..],
            "rates of 10 Mbit/s",
        ),
        (&["--rate", "1 Mbit/s", "--duration", "6 s"], "5 s at most"),
    ];
    for (options, expected) in cases {
        let options = [options, &["--out", "t"]].concat();
        let run = record(&place, server.address, "key", &options);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
        assert!(!place.path("t").exists());
    }
    let printed = server.stop();
    assert!(
        printed.contains("refused (Rate)") && printed.contains("refused (Duration)"),
        "{printed}"
    );
}

#[test]
fn bad_usage_says_what_is_wrong_and_writes_nothing() {
    let place = with_key("key").with("short", "YQ==\n");
    let client = |more: &[&'static str]| -> Vec<&'static str> {
        let first: &[&'static str] = &["--client", "127.0.0.1:9"];
        [first, more].concat()
    };
    let cases: [(Vec<&str>, &str); 11] = [
        (vec![], "--socket"),
        (vec!["--socket", "s"], "--out"),
        (vec!["--server"], "--key-file"),
        (vec!["--server", "--key-file", "short"], "short"),
        (client(&["--out", "t"]), "--key-file"),
        (client(&["--key-file", "key"]), "--light-out"),
        (
            client(&["--key-file", "key", "--out", "-", "--json"]),
            "stdout",
        ),
        (
            client(&["--key-file", "key", "--out", "t", "--to", "ucc"]),
            "mahimahi",
        ),
        (
            client(&["--key-file", "key", "--out", "t", "--packet", "64 B"]),
            "120 B to 9 kB",
        ),
        (
            client(&["--key-file", "key", "--out", "t", "--duration", "3000 s"]),
            "1800 s",
        ),
        (
            vec!["--client", "nowhere", "--key-file", "key", "--out", "t"],
            "HOST:PORT",
        ),
    ];
    for (arguments, expected) in cases {
        let run = place.run(&[&["trace", "record"], &arguments[..]].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(expected), "{arguments:?}: {run:?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    assert_eq!(place.names(), ["key", "short"]);
}

#[test]
fn a_recording_of_which_ctrl_c_ends_the_rest_is_written() {
    let place = with_key("key");
    let server = Server::start(&place, &["--key-file", "key"]);
    let address = server.address.to_string();
    let mut command = place.command(&[
        "trace",
        "record",
        "--client",
        &address,
        "--key-file",
        "key",
        "--light",
        "0 s",
        "--rate",
        "2 Mbit/s",
        "--heavy",
        "300 s",
        "--duration",
        "300 s",
        "--out",
        "t",
        "--json",
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("text");
    assert!(line.starts_with("recording the path"), "{line}");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::INT).expect("it runs");
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let found: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(found["rounds"], 1, "{found}");
    assert!(found["up"].is_null(), "{found}");
    assert!(server.stop().contains(": done; "));
}
