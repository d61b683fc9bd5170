//! Bounds hold, whatever clients and servers do.

use crate::support::daemon::{Daemon, TRANSPARENT, write_config};
use crate::support::radio::{Radio, report};
use crate::support::traffic::{
    TIMEOUT, accept, connect, connect_from, connect_narrow, receive, send,
};
use crate::support::{CLIENT, Hosts};
use crate::{Test, server_at, split};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

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
        "connections_beyond_the_limit_pass_by",
        connections_beyond_the_limit_pass_by,
    ),
    (
        "a_client_that_vanishes_is_noticed",
        a_client_that_vanishes_is_noticed,
    ),
    (
        "a_server_that_vanishes_is_noticed",
        a_server_that_vanishes_is_noticed,
    ),
    ("a_radio_that_stalls_goes_on", a_radio_that_stalls_goes_on),
    (
        "a_storm_of_connections_passes",
        a_storm_of_connections_passes,
    ),
    (
        "stalled_downloads_leave_descriptors_to_others",
        stalled_downloads_leave_descriptors_to_others,
    ),
];

/// Resident anonymous memory of the daemon, bytes: without sockets' buffers.
fn anonymous_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kib.expect("a number") * 1_024
}

fn a_client_that_never_reads_fills_nothing() {
    let Some(hosts) = Hosts::try_new("a_client_that_never_reads_fills_nothing") else {
        return;
    };
    let daemon = Daemon::start(
        &hosts.proxy,
        &split("[limits]\nmemory-per-ue = \"12 MB\"\n"),
    );
    let (address, listener) = server_at(&hosts, 5_301);
    let mut pairs = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..8 {
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        far.set_nonblocking(true).expect("set");
        // what servers hold counts against the memory that the kernel gives all TCP of this machine
        rustix::net::sockopt::set_socket_send_buffer_size(&far, 65_536).expect("set");
        pairs.push((near, far));
        sent.push(0);
    }
    // servers push: what waits grows, up to the bound and never beyond; each empty pipe may take a little
    // whatever the bound
    let mut push = || {
        let mut moved = 0;
        for ((_, far), sent) in pairs.iter().zip(&mut sent) {
            let mut far: &TcpStream = far;
            while let Ok(n) = far.write(&[0; 65_536]) {
                *sent += n;
                moved += n;
            }
        }
        let waiting = daemon.status()["waiting_bytes"].as_u64().expect("a number");
        assert!(waiting <= 3_000_000 + 8 * 65_536, "{waiting} bytes wait");
        (moved, waiting)
    };
    testing::wait_until("something waits", || push().1 > 100_000);
    let mut looks = 0;
    testing::wait_until("nothing more is taken", || {
        looks = if push().0 == 0 { looks + 1 } else { 0 };
        looks >= 20
    });
    assert!(anonymous_memory(daemon.child.id()) < 40_000_000);
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
    const LIMIT: Duration = Duration::from_secs(4);
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nidle = \"4 s\"\n"));
    let (address, listener) = server_at(&hosts, 5_302);
    // a byte now and then, together for longer than the limit of silence; where this machine itself is
    // silent for half of it, the connection may rightly have ended: once more
    loop {
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        let timeouts = daemon.count("idle_timeouts");
        let (start, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
        let mut is_open = true;
        while is_open && start.elapsed() < LIMIT + LIMIT / 4 {
            std::thread::sleep(LIMIT / 16);
            // a byte arrives by itself, uncorked
            is_open = (&far).write_all(b"x").is_ok() && (&near).read_exact(&mut [0]).is_ok();
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        if longest < LIMIT / 2 {
            assert!(is_open, "silent for at most {longest:?}");
            assert_eq!(daemon.status()["connections"], 1);
            assert_eq!(daemon.count("idle_timeouts"), timeouts);
            return;
        }
    }
}

fn silence_beyond_the_limit_ends() {
    let Some(hosts) = Hosts::try_new("silence_beyond_the_limit_ends") else {
        return;
    };
    let limits = "[limits]\nidle = \"600 s\"\nhalf-closed = \"700 ms\"\n";
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
    // it may connect to the proxy before it is reset
    let _fourth = connect(&hosts.client, address);
    daemon.wait_until("it is counted", || daemon.count("refused_ue") == 1);
    pairs.pop();
    daemon.wait_until("one has gone", || daemon.status()["connections"] == 2);
    let again = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    send(&far, 10_000).expect("sent");
    drop(far);
    assert_eq!(receive(&again).expect("received"), 10_000);
}

fn connections_beyond_the_limit_pass_by() {
    let Some(hosts) = Hosts::try_new("connections_beyond_the_limit_pass_by") else {
        return;
    };
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nconnections = 2\n"));
    let (address, listener) = server_at(&hosts, 5_306);
    let mut pairs: Vec<_> = (0..2)
        .map(|_| {
            let near = connect(&hosts.client, address).expect("connected");
            (near, accept(&listener))
        })
        .collect();
    daemon.wait_until("new ones pass by", || daemon.status()["passing_by"] == true);
    // another UE's turn, which has none yet
    let other: std::net::IpAddr = [10, 45, 0, 3].into();
    let third = connect_from(&hosts.client, other, address).expect("connected");
    let (far, peer) = accept(&listener);
    assert_eq!(peer.ip(), other);
    send(&far, 10_000).expect("sent");
    drop(far);
    assert_eq!(receive(&third).expect("received"), 10_000);
    assert_eq!(
        (daemon.count("accepted"), daemon.count("refused_total")),
        (2, 0)
    );
    // a reload leaves it so
    write_config(
        &daemon.folder,
        &split("[limits]\nconnections = 2\nhandshake = \"9 s\"\n"),
    );
    daemon.signal(rustix::process::Signal::HUP);
    daemon.wait_until("it has reloaded", || {
        daemon.log().contains("configuration reloaded")
    });
    let fourth = connect_from(&hosts.client, other, address).expect("connected");
    let (_, peer) = accept(&listener);
    assert_eq!((peer.ip(), daemon.count("accepted")), (other, 2));
    drop(fourth);
    pairs.pop();
    daemon.wait_until("new ones are taken", || {
        daemon.status()["passing_by"] == false
    });
    let again = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    // it is the second again
    daemon.wait_until("new ones pass by", || daemon.status()["passing_by"] == true);
    send(&far, 10_000).expect("sent");
    drop(far);
    assert_eq!(receive(&again).expect("received"), 10_000);
    assert_eq!(
        (daemon.count("accepted"), daemon.count("overflows")),
        (3, 2)
    );
}

const KEEPALIVE: &str = "[keepalive]\nidle = \"1 s\"\ninterval = \"1 s\"\nprobes = 1\n";

/// The socket towards it has its probes some time after the connection was opened.
fn a_server_that_vanishes_is_noticed() {
    let Some(hosts) = Hosts::try_new("a_server_that_vanishes_is_noticed") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(KEEPALIVE));
    let (address, listener) = server_at(&hosts, 5_310);
    let mut near = connect(&hosts.client, address).expect("connected");
    let _far = accept(&listener);
    hosts.server.sh("ip link set s0 down");
    assert!(near.read(&mut [0]).is_err(), "the UE's connection ends");
    daemon.wait_until("it is counted", || daemon.count("resets") == 1);
    assert_eq!(daemon.status()["connections"], 0);
}

fn a_client_that_vanishes_is_noticed() {
    let Some(hosts) = Hosts::try_new("a_client_that_vanishes_is_noticed") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(KEEPALIVE));
    let (address, listener) = server_at(&hosts, 5_307);
    let _near = connect(&hosts.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    hosts.client.sh("ip link set c0 down");
    assert!(far.read(&mut [0]).is_err(), "the server's connection ends");
    daemon.wait_until("it is counted", || daemon.count("resets") == 1);
    assert_eq!(daemon.status()["connections"], 0);
}

fn a_radio_that_stalls_goes_on() {
    let Some(hosts) = Hosts::try_new("a_radio_that_stalls_goes_on") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    // it goes on to report the capacity that it will have again
    let radio = Radio::start(&folder.path().join("radio"), |n, at| {
        report(&[CLIENT.into()], n, at, 500_000_000)
    });
    let config = format!("{TRANSPARENT}[reports]\nsource = \"unix:{{dir}}/radio\"\n");
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    daemon.wait_until("it follows", || {
        daemon.status()["control"]["cells"][0]["state"] == "following"
    });
    let (address, listener) = server_at(&hosts, 5_308);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    const BYTES: usize = 400_000_000;
    let sender = std::thread::spawn(move || {
        far.set_write_timeout(Some(TIMEOUT)).expect("set");
        send(&far, BYTES)
    });
    let receiver = std::thread::spawn(move || receive(&near));
    let state = || daemon.status();
    daemon.wait_until("it is under way", || {
        state()["counters"]["bytes_down"].as_u64() > Some(5_000_000)
    });
    // packets to the UE are lost, all of them
    hosts.client.sh(
        "nft 'add table inet stall; add chain inet stall every { type filter hook prerouting \
         priority -300; policy drop; }'",
    );
    // until nothing moves for 200 looks: a pipe, what a socket takes and has not sent, and the receive
    // buffer with what the kernel adds are full then, and never hold more
    let (mut looks, mut last) = (0, 0);
    testing::wait_until("nothing moves", || {
        let status = state();
        let waiting = status["waiting_bytes"].as_u64().expect("a number");
        let buffered = status["control"]["ues"][0]["buffered_bytes"].as_u64();
        assert!(
            waiting < 2_000_000 && buffered < Some(11_000_000),
            "{status}"
        );
        let down = status["counters"]["bytes_down"].as_u64().expect("a number");
        looks = if down == last { looks + 1 } else { 0 };
        last = down;
        looks >= 200
    });
    assert_eq!(state()["connections"], 1);
    hosts.client.sh("nft delete table inet stall");
    assert_eq!(receiver.join().expect("an end").expect("received"), BYTES);
    sender.join().expect("an end").expect("sent");
    drop(radio);
}

fn a_storm_of_connections_passes() {
    let Some(hosts) = Hosts::try_new("a_storm_of_connections_passes") else {
        return;
    };
    const THREADS: usize = 16;
    const EACH: usize = 150;
    let daemon = Daemon::start(
        &hosts.proxy,
        &split("[limits]\nconnections-per-ue = 9000\nsyn-rate-per-ue = 0\n"),
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
                    near.set_read_timeout(Some(TIMEOUT)).expect("set");
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

/// With as many descriptors as a container has; each download that stalls has a pipe.
fn stalled_downloads_leave_descriptors_to_others() {
    const CONNECTIONS: usize = 1_100;
    const BYTES: usize = 5_000_000;
    let Some(hosts) = Hosts::try_new("stalled_downloads_leave_descriptors_to_others") else {
        return;
    };
    // both ends of all connections are this process's
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut descriptors = getrlimit(Resource::Nofile);
    descriptors.current = descriptors.maximum;
    setrlimit(Resource::Nofile, descriptors).expect("raised to what is allowed");
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    let config = "[limits]\nconnections-per-ue = 9000\nsyn-rate-per-ue = 0\nmemory-per-ue = \"1 GB\"\n\
                  [relay]\nunsent = \"16 kB\"\nworkers = 2\n";
    let folder = tempfile::tempdir().expect("a folder");
    let limited = ["prlimit", "--nofile=4096:4096"];
    let daemon = Daemon::start_wrapped(&hosts.proxy, folder, &split(config), &limited);
    let (address, listener) = server_at(&hosts, 5_309);
    let other = connect_from(&hosts.client, [10, 45, 0, 3].into(), address).expect("connected");
    let (far, _) = accept(&listener);
    let fars = std::thread::spawn(move || {
        let accepted = listener.incoming().take(CONNECTIONS - 1);
        let far = |far: std::io::Result<TcpStream>| {
            let far = far.expect("a connection");
            far.set_nonblocking(true).expect("set");
            // more than the socket towards the UE takes
            let _ = (&far).write(&[0; 120_000]);
            far
        };
        accepted.map(far).collect::<Vec<_>>()
    });
    let nears: Vec<TcpStream> = (1..CONNECTIONS)
        .map(|_| connect_narrow(&hosts.client, [10, 45, 0, 2], address))
        .collect();
    let (mut looks, mut last) = (0, 0);
    daemon.wait_until("nothing moves", || {
        let now = daemon.count("bytes_down") + daemon.count("accepted");
        looks = if now == last { looks + 1 } else { 0 };
        last = now;
        looks >= 50
    });
    let sender = std::thread::spawn(move || send(&far, BYTES));
    assert_eq!(receive(&other).expect("received"), BYTES);
    sender.join().expect("an end").expect("sent");
    assert_eq!(
        (daemon.count("resets"), daemon.count("accept_pauses")),
        (0, 0)
    );
    assert!(daemon.status()["waiting_bytes"].as_u64() > Some(0));
    drop(nears);
    drop(fars);
}
