//! Faults of the machine: a disk that is full under what the proxy writes, a clock that is set.

use crate::Test;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::traffic::{accept, connect, receive, send};
use crate::support::{CLIENT, Hosts};
use crate::wire::exchange;
use crate::{server_at, split};

pub const TESTS: &[Test] = &[
    (
        "a_full_disk_under_the_log_ends_nothing",
        a_full_disk_under_the_log_ends_nothing,
    ),
    (
        "a_full_disk_under_the_recording_ends_nothing",
        a_full_disk_under_the_recording_ends_nothing,
    ),
    (
        "steps_of_the_clock_change_nothing",
        steps_of_the_clock_change_nothing,
    ),
];

/// At the level `debug` each connection is logged.
fn a_full_disk_under_the_log_ends_nothing() {
    let Some(hosts) = Hosts::try_new("a_full_disk_under_the_log_ends_nothing") else {
        return;
    };
    for more in ["", "format = \"json\"\n"] {
        let config =
            split("").replace("level = \"debug\"\n", &format!("level = \"debug\"\n{more}"));
        let mut daemon = Daemon::start_on_a_full_disk(&hosts.proxy, &config);
        let (address, listener) = server_at(&hosts, 5_801);
        for _ in 0..5 {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            exchange(&near, &far, 100_000);
        }
        daemon.wait_until("all went through it", || daemon.count("finished") == 5);
        // a reload that is refused is logged as an error
        crate::support::daemon::write_config(&daemon.folder, "mode = \"none\"");
        daemon.signal(rustix::process::Signal::HUP);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        exchange(&near, &far, 100_000);
        daemon.wait_until("it goes on", || daemon.count("finished") == 6);
        assert!(daemon.stop().success());
    }
}

fn a_full_disk_under_the_recording_ends_nothing() {
    let Some(hosts) = Hosts::try_new("a_full_disk_under_the_recording_ends_nothing") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let radio = Radio::start(&folder.path().join("radio"), |n, at| {
        wide_open(&[CLIENT.into()], n, at)
    });
    let config = format!(
        "{TRANSPARENT}[reports]\nsource = \"unix:{{dir}}/radio\"\n[record]\nfile = \"/dev/full\"\n"
    );
    let mut daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    daemon.wait_until("the recording ends", || {
        let log = daemon.log();
        let ends = log
            .lines()
            .filter(|l| l.contains("the recording ends here"));
        ends.count() == 1
    });
    daemon.wait_until("reports are followed", || {
        daemon.status()["control"]["cells"][0]["state"] == "following"
    });
    let believed = || daemon.status()["control"]["reports"]["believed"].as_u64();
    let before = believed();
    let (address, listener) = server_at(&hosts, 5_803);
    for _ in 0..5 {
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        exchange(&near, &far, 1_000_000);
    }
    daemon.wait_until("all went through it", || daemon.count("finished") == 5);
    daemon.wait_until("reports are taken", || believed() > before);
    assert!(daemon.stop().success());
    assert_eq!(daemon.log().matches("the recording ends here").count(), 1);
    drop(radio);
}

/// A day forward and a year back, with `idle` and `half-closed` of minutes.
fn steps_of_the_clock_change_nothing() {
    const NAME: &str = "steps_of_the_clock_change_nothing";
    const DAY: i64 = 86_400;
    let Some(hosts) = Hosts::try_new(NAME) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(clock) = testing::StepClock::try_new(NAME, folder.path()) else {
        return;
    };
    let mut daemon = Daemon::start_with_clock(&hosts.proxy, &split(""), &clock);
    let (address, listener) = server_at(&hosts, 5_802);
    let open = || {
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        (near, far)
    };
    let (near, far) = open();
    let (half, other_half) = open();
    half.shutdown(std::net::Shutdown::Write).expect("shut");
    for step in [DAY, -365 * DAY] {
        clock.set(step);
        let (near, far) = open();
        exchange(&near, &far, 1_000_000);
    }
    // those that were open meanwhile
    exchange(&near, &far, 1_000_000);
    send(&other_half, 1_000_000).expect("sent");
    other_half
        .shutdown(std::net::Shutdown::Write)
        .expect("shut");
    assert_eq!(receive(&half).expect("received"), 1_000_000);
    daemon.wait_until("all went through it", || daemon.count("finished") == 4);
    let uptime = daemon.status()["uptime_seconds"]
        .as_f64()
        .expect("a number");
    assert!((0.0..DAY as f64).contains(&uptime), "{uptime}");
    // the clock of the log is the one that was set: a reload that is refused is logged
    crate::support::daemon::write_config(&daemon.folder, "mode = \"none\"");
    daemon.signal(rustix::process::Signal::HUP);
    let year = |line: &str| {
        line.split('-')
            .next()
            .and_then(|year| year.parse::<u32>().ok())
    };
    daemon.wait_until("a line after the step", || {
        let log = daemon.log();
        let mut years = log.lines().filter_map(year);
        let first = years.next().expect("a line with a time");
        years.any(|year| year < first)
    });
    assert!(daemon.stop().success());
}
