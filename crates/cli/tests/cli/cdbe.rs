//! `brimful cdbe`, as a process.

use super::Place;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn the_shipped_configuration_is_good() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/cdbe.toml");
    let run = place.run(&["cdbe", "attach", "--config", file, "--check"]);
    assert!(run.succeeded().stdout.contains("valid"));
}

#[test]
fn what_cannot_be_attached_is_named_in_a_line() {
    let place = Place::new().with("bad.toml", "role = \"client\"\nmode = \"fast\"\n");
    for (arguments, expected) in [
        (vec!["--config", "bad.toml", "--check"], "bad.toml:2:"),
        (vec!["--name", "a name", "--check"], "1 to 15"),
        (vec!["--cgroup", "."], "no cgroup of version 2"),
        (vec!["--cgroup", "nowhere"], "cgroup nowhere"),
    ] {
        let all = [vec!["cdbe", "attach"], arguments].concat();
        let run = place.run(&all);
        assert_eq!(run.code, Some(2), "{all:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}

#[test]
fn it_is_attached_until_a_signal_detaches_it() {
    if !testing::has_root("it_is_attached_until_a_signal_detaches_it") {
        return;
    }
    let place = Place::new();
    let name = format!("bcli_{:x}", std::process::id());
    // no program uses that port, and so no connection of this machine is concerned
    let arguments = ["cdbe", "attach", "--port", "1", "--name", &name];
    let mut child = place
        .command(&arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    let first = line();
    assert!(
        first.contains("attached to") && first.contains(&name),
        "{first}"
    );
    let available =
        || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    assert!(available().expect("readable").contains(&name));
    let again = place.run(&arguments);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).expect("sent");
    assert!(line().contains("clients: 0 connections"));
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    assert!(line().contains("detached"));
    assert!(child.wait().expect("ended").success());
    assert!(!available().expect("readable").contains(&name));
}

/// Samples that find no room are lost; the programs stay attached.
#[test]
fn a_full_disk_under_the_samples_detaches_nothing() {
    if !testing::has_root("a_full_disk_under_the_samples_detaches_nothing") {
        return;
    }
    let place = Place::new();
    let name = format!("bfull_{:x}", std::process::id());
    let arguments = ["cdbe", "attach", "--port", "1", "--name", &name];
    let mut child = place
        .command(&[&arguments[..], &["--stats", "5 ms"]].concat())
        .stdout(std::fs::File::create("/dev/full").expect("a device"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert!(line().contains("attached to"));
    let lost = line();
    assert!(lost.contains("the output cannot be written"), "{lost}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).expect("sent");
    // once, although more samples are due than this takes
    let counted = line();
    assert!(counted.contains("clients: 0 connections"), "{counted}");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    assert!(line().contains("detached"));
    assert!(child.wait().expect("ended").success());
}
