//! Faults of the machine: a full disk, a clock that is set.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, one_path, serve, server_config, two_paths,
};
use rustix::process::Signal;
use serde_json::json;
use testing::{StepClock, wait_until};

pub const TESTS: &[Test] = &[
    (
        "a_full_disk_under_the_log_ends_nothing",
        a_full_disk_under_the_log_ends_nothing,
    ),
    (
        "steps_of_the_clock_change_nothing",
        steps_of_the_clock_change_nothing,
    ),
];

const BYTES: usize = 2_000_000;

/// A download through the tunnel, whole; `at` is called in its middle.
fn carry(hosts: &Hosts, port: u16, at: impl FnOnce() + Send) {
    let address = format!("{SERVER}:{port}");
    let sender = serve(&hosts.server, &address, BYTES);
    download(&hosts.client, &address, BYTES, at);
    sender.join().expect("it sent everything");
}

/// At the level `debug`; the refusal of a reload is logged as an error.
fn a_full_disk_under_the_log_ends_nothing() {
    let Some(hosts) = Hosts::try_new("a_full_disk_under_the_log_ends_nothing") else {
        return;
    };
    for format in ["text", "json"] {
        let with = |config: String| {
            let log = format!("level = \"debug\"\nformat = \"{format}\"");
            config.replace("level = \"debug\"", &log)
        };
        let server = with(server_config(""));
        let mut server = Daemon::start_on_a_full_disk(&hosts.server, "server", &server);
        let client = with(client_config("", &one_path("")));
        let mut client = Daemon::start_on_a_full_disk(&hosts.client, "client", &client);
        client.wait_for_paths(1);
        carry(&hosts, 5_001, || {});
        client.reload("nothing = 1");
        let add = json!({
            "command": "path-add", "path": "b,interface=b,remote=10.2.0.1:6511"
        });
        client.request(&add).expect("added");
        client.wait_for_paths(2);
        carry(&hosts, 5_002, || {});
        for daemon in [&mut client, &mut server] {
            daemon.signal(Signal::TERM);
            assert!(daemon.child.wait().expect("it ends").success());
        }
    }
}

/// A day forward and a year back, at either end, in a download and between connections.
fn steps_of_the_clock_change_nothing() {
    const NAME: &str = "steps_of_the_clock_change_nothing";
    const DAY: i64 = 86_400;
    let Some(hosts) = Hosts::try_new(NAME) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(clock) = StepClock::try_new(NAME, folder.path()) else {
        return;
    };
    let server = server_config("");
    let server = Daemon::start_with_clock(&hosts.server, "server", &server, &clock);
    let config = client_config("", &two_paths(""));
    let client = Daemon::start_with_clock(&hosts.client, "client", &config, &clock);
    client.wait_for_paths(2);
    carry(&hosts, 5_001, || clock.set(DAY));
    carry(&hosts, 5_002, || clock.set(-365 * DAY));
    for (daemon, what) in [(&server, "server"), (&client, "client")] {
        let status = daemon.status();
        let uptime = status["uptime_seconds"].as_f64().expect("a number");
        assert!((0.0..DAY as f64).contains(&uptime), "{what}: {uptime}");
        let paths = status["connections"][0]["paths"].as_array().cloned();
        let paths = paths.expect("paths");
        assert!(
            paths.iter().all(|path| path["state"] == "up"),
            "{what}: {paths:?}"
        );
    }
    assert_eq!(
        server.status()["accepted"],
        1,
        "no connection was made anew"
    );
    drop(client);
    // keys, joins and budgets are of the other clock
    let client = Daemon::start_with_clock(&hosts.client, "client", &config, &clock);
    client.wait_for_paths(2);
    carry(&hosts, 5_003, || {});
    // the clock of the log is the one that was set
    let year = |line: &str| {
        line.split('-')
            .next()
            .and_then(|year| year.parse::<u32>().ok())
    };
    wait_until("a line after the step", || {
        let log = server.log();
        let mut years = log.lines().filter_map(year);
        let first = years.next().expect("a line with a time");
        years.any(|year| year < first)
    });
}
