//! Bounds hold, whatever clients and servers do.

use crate::support::Hosts;
use crate::support::daemon::Daemon;
use crate::support::traffic::{PATIENCE, accept, connect, receive, send};
use crate::{Test, server_at, split};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    (
        "a_client_that_never_reads_fills_nothing",
        a_client_that_never_reads_fills_nothing,
    ),
    (
        "slow_and_silent_servers_are_waited_for",
        slow_and_silent_servers_are_waited_for,
    ),
    (
        "silence_beyond_the_limit_ends",
        silence_beyond_the_limit_ends,
    ),
    (
        "connections_of_a_ue_are_bounded",
        connections_of_a_ue_are_bounded,
    ),
    (
        "a_storm_of_connections_passes",
        a_storm_of_connections_passes,
    ),
];

/// Resident memory of the daemon, bytes, of its own and as sockets' buffers cannot show.
fn own_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kib.expect("a number") * 1_024
}

fn a_client_that_never_reads_fills_nothing() {
    let Some(hosts) = Hosts::try_new("a_client_that_never_reads_fills_nothing") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nmemory-per-ue = \"2 MB\"\n"));
    let (address, listener) = server_at(&hosts, 5_301);
    let mut pairs = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..8 {
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        far.set_nonblocking(true).expect("set");
        pairs.push((near, far));
        sent.push(0);
    }
    // servers push until nothing moves for a second
    let mut quiet = 0;
    while quiet < 100 {
        let before: usize = sent.iter().sum();
        for ((_, far), sent) in pairs.iter().zip(&mut sent) {
            let mut far: &TcpStream = far;
            while let Ok(n) = far.write(&[0; 65_536]) {
                *sent += n;
            }
        }
        quiet = if sent.iter().sum::<usize>() == before {
            quiet + 1
        } else {
            0
        };
        std::thread::sleep(Duration::from_millis(10));
    }
    let waiting = daemon.status()["waiting_bytes"].as_u64().expect("a number");
    // each empty pipe may take a little whatever the bound
    assert!(waiting <= 2_000_000 + 8 * 65_536, "{waiting} bytes wait");
    assert!(
        waiting > 100_000,
        "{waiting} bytes wait: the test fills nothing"
    );
    assert!(own_memory(daemon.child.id()) < 40_000_000);
    // a reader that comes late gets everything, in order of the flow it reads
    let (near, far) = pairs.remove(0);
    far.set_nonblocking(false).expect("set");
    far.shutdown(Shutdown::Write).expect("shut");
    let mut bytes = Vec::new();
    (&near).read_to_end(&mut bytes).expect("received");
    assert_eq!(bytes.len(), sent[0]);
    drop(pairs);
    daemon.wait_until("nothing waits", || daemon.status()["waiting_bytes"] == 0);
}

fn slow_and_silent_servers_are_waited_for() {
    let Some(hosts) = Hosts::try_new("slow_and_silent_servers_are_waited_for") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nidle = \"3 s\"\n"));
    let (address, listener) = server_at(&hosts, 5_302);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    // five bytes, each long after the last: together longer than the limit of silence
    for _ in 0..5 {
        std::thread::sleep(Duration::from_secs(1));
        (&far).write_all(b"x").expect("sent");
        (&near)
            .read_exact(&mut [0])
            .expect("it comes at once, uncorked");
    }
    assert_eq!(daemon.status()["connections"], 1);
    assert_eq!(daemon.count("idle_timeouts"), 0);
}

fn silence_beyond_the_limit_ends() {
    let Some(hosts) = Hosts::try_new("silence_beyond_the_limit_ends") else {
        return;
    };
    let limits = "[limits]\nidle = \"60 s\"\nhalf-closed = \"700 ms\"\n";
    let daemon = Daemon::start(&hosts.proxy, &split(limits));
    let (address, listener) = server_at(&hosts, 5_303);
    let open = connect(&hosts.client, address).expect("connected");
    let _far_open = accept(&listener);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("the end"), 0);
    daemon.wait_until("the half-closed one ends", || {
        daemon.count("idle_timeouts") == 1
    });
    assert_eq!(daemon.status()["connections"], 1, "the other has more time");
    drop(open);
}

fn connections_of_a_ue_are_bounded() {
    let Some(hosts) = Hosts::try_new("connections_of_a_ue_are_bounded") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nconnections-per-ue = 3\n"));
    let (address, listener) = server_at(&hosts, 5_304);
    let mut pairs = Vec::new();
    for _ in 0..3 {
        let near = connect(&hosts.client, address).expect("connected");
        pairs.push((near, accept(&listener)));
    }
    let fourth = connect(&hosts.client, address);
    let is_refused = fourth.is_err_and(|_| true) || daemon.count("refused_ue") == 1;
    assert!(is_refused);
    daemon.wait_until("it is counted", || daemon.count("refused_ue") == 1);
    pairs.pop();
    daemon.wait_until("one has gone", || daemon.status()["connections"] == 2);
    let again = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    send(&far, 10_000).expect("sent");
    drop(far);
    assert_eq!(receive(&again).expect("received"), 10_000);
}

fn a_storm_of_connections_passes() {
    let Some(hosts) = Hosts::try_new("a_storm_of_connections_passes") else {
        return;
    };
    const THREADS: usize = 16;
    const EACH: usize = 150;
    let daemon = Daemon::start(
        &hosts.proxy,
        &split("[limits]\nconnections-per-ue = 9000\n"),
    );
    let (address, listener) = server_at(&hosts, 5_305);
    let server = std::thread::spawn(move || {
        for _ in 0..THREADS * EACH {
            let (far, _) = accept(&listener);
            send(&far, 100).expect("sent");
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let near = connect(&hosts.client, address).expect("connected");
                    near.set_read_timeout(Some(PATIENCE)).expect("set");
                    assert_eq!(receive(&near).expect("received"), 100);
                }
            });
        }
    });
    server.join().expect("all were served");
    let all = (THREADS * EACH) as u64;
    daemon.wait_until("all have finished", || {
        daemon.count("finished") + daemon.count("resets") == all
    });
    assert_eq!(daemon.count("established"), all);
    assert_eq!(daemon.status()["connections"], 0);
}
