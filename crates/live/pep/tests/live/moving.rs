//! Connections move from one proxy to another, and nothing is reset or lost.

pub mod cells;
pub mod faults;
pub mod routes;

use crate::Test;
use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use crate::support::{client, server};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use testing::{assert_pattern, pattern, wait_until};

pub const TESTS: &[Test] = &[
    ("ten_transfers_lose_no_byte", ten_transfers_lose_no_byte),
    (
        "ten_transfers_of_which_nothing_goes_ahead",
        ten_transfers_of_which_nothing_goes_ahead,
    ),
    (
        "ten_transfers_without_timestamps_and_scales",
        ten_transfers_without_timestamps_and_scales,
    ),
    (
        "what_is_half_closed_stays_and_goes_on",
        what_is_half_closed_stays_and_goes_on,
    ),
    (
        "what_waits_for_a_reader_moves_too",
        what_waits_for_a_reader_moves_too,
    ),
];

/// A busy machine is no reason to give a transfer up.
const UNHURRIED: &str = "timeout = \"60 s\"";

/// Has a proxy hand the client's connections over.
fn hand_over(from: &Daemon, is_ipv6: bool) -> Value {
    let socket = from.path("pep.sock");
    let report = pep::move_connections(&socket, client(is_ipv6), "other");
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    eprintln!("{report}");
    report
}

/// What is on its way of a transfer at most: without a limit it grows with each change of the proxy, up to what the proxy
/// refuses to move.
const OUTSTANDING: u64 = 4_000_000;

/// Payload on its way until it is stopped.
struct Transfer {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    sender: JoinHandle<u64>,
    receiver: JoinHandle<u64>,
}

impl Transfer {
    fn start(mut from: TcpStream, mut to: TcpStream) -> Self {
        let (stop, received) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&received));
        let arrived = Arc::clone(&received);
        let sender = std::thread::spawn(move || {
            let mut sent = 0;
            while !stopped.load(Relaxed) {
                wait_until("there is room", || {
                    sent as u64 <= arrived.load(Relaxed) + OUTSTANDING
                });
                from.write_all(&pattern(sent, 16_384)).expect("no reset");
                sent += 16_384;
            }
            from.shutdown(Shutdown::Write).expect("shut");
            sent as u64
        });
        let receiver = std::thread::spawn(move || {
            let (mut buffer, mut at) = (vec![0; 65_536], 0);
            loop {
                let n = to.read(&mut buffer).expect("no reset");
                if n == 0 {
                    return at as u64;
                }
                assert_pattern(at, &buffer[..n]);
                at += n;
                count.store(at as u64, Relaxed);
            }
        });
        Self {
            stop,
            received,
            sender,
            receiver,
        }
    }

    fn wait_for_more(&self) {
        let had = self.received.load(Relaxed);
        wait_until("data flows", || self.received.load(Relaxed) > had + 200_000);
    }

    fn finish(self) {
        self.stop.store(true, Relaxed);
        let sent = self.sender.join().expect("no reset");
        assert_eq!(self.receiver.join().expect("no reset"), sent);
    }
}

/// Of each connection that `ss -i` lists, bytes.
fn segment_sizes(list: &str) -> Vec<u32> {
    let words = list.split_whitespace();
    let sizes = words.filter_map(|word| word.strip_prefix("mss:"));
    sizes.filter_map(|size| size.parse().ok()).collect()
}

fn ten_transfers(two: &Two, is_ipv6: bool, more: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = [folder.path().join("first"), folder.path().join("second")];
    let is_at_once = more.contains("ahead");
    let more = format!("{UNHURRIED}\n{more}");
    let daemons = [0, 1].map(|i| two.proxy(i, &at[i], &at[1 - i], &more));
    let address = SocketAddr::new(server(is_ipv6), 5_201);
    let listener = listen(&two.server, address);
    let pair = || {
        let near = connect(&two.client, address).expect("connected");
        (near, accept(&listener).0)
    };
    let ((down_to, down_from), (up_from, up_to)) = (pair(), pair());
    let keep = [&down_to, &up_from].map(|s| s.try_clone().expect("a copy"));
    let transfers = [
        Transfer::start(down_from, down_to),
        Transfer::start(up_from, up_to),
    ];
    for n in 0..10 {
        transfers.iter().for_each(Transfer::wait_for_more);
        let (from, to) = (&daemons[n % 2], &daemons[(n + 1) % 2]);
        let report = hand_over(from, is_ipv6);
        assert_eq!(report["moved"], 2, "{report}");
        assert_eq!(report["stay"], serde_json::json!({}));
        let bytes = |name: &str| report[name].as_u64().expect("a number");
        assert!(bytes("ahead_bytes") + bytes("rest_bytes") >= bytes("payload_bytes"));
        assert!(bytes("ahead_bytes") == 0 || !is_at_once, "{report}");
        two.route((n + 1) % 2);
        assert_eq!(to.status()["connections"], 2);
    }
    transfers.iter().for_each(Transfer::wait_for_more);
    // those of a connection that is restored as it begins by itself have 536 bytes
    let sizes = segment_sizes(&two.proxies[0].sh("ss -Htin state established"));
    assert_eq!(sizes.len(), 4, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size > 1_300), "{sizes:?}");
    transfers.into_iter().for_each(Transfer::finish);
    drop(keep);
    for daemon in &daemons {
        let status = daemon.status();
        assert_eq!(status["handover"]["moved"], 10, "{status}");
        assert_eq!(status["handover"]["adopted"], 10, "{status}");
        assert_eq!(status["handover"]["aborted"], 0, "{status}");
        assert_eq!(status["counters"]["resets"], 0, "{status}");
    }
}

fn ten_transfers_lose_no_byte() {
    let Some(two) = Two::try_new("ten_transfers_lose_no_byte") else {
        return;
    };
    for is_ipv6 in [false, true] {
        two.route(0);
        ten_transfers(&two, is_ipv6, "");
    }
}

/// As a source of version 1 does.
fn ten_transfers_of_which_nothing_goes_ahead() {
    let Some(two) = Two::try_new("ten_transfers_of_which_nothing_goes_ahead") else {
        return;
    };
    ten_transfers(&two, false, "ahead = \"none\"");
}

fn ten_transfers_without_timestamps_and_scales() {
    let Some(two) = Two::try_new("ten_transfers_without_timestamps_and_scales") else {
        return;
    };
    for host in [&two.client, &two.server] {
        host.sh("sysctl -qw net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0");
    }
    ten_transfers(&two, false, "");
}

fn what_is_half_closed_stays_and_goes_on() {
    let Some(two) = Two::try_new("what_is_half_closed_stays_and_goes_on") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = [folder.path().join("first"), folder.path().join("second")];
    let hook = folder.path().join("hook");
    let seen = folder.path().join("seen");
    let script = format!(
        "#!/bin/sh\n{{ echo \"$1\"; cat; }} > {0}.new && mv {0}.new {0}\n",
        seen.display()
    );
    std::fs::write(&hook, script).expect("written");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("set");
    let first = two.proxy(0, &at[0], &at[1], "");
    let hook = format!("route-hook = \"{}\"", hook.display());
    let second = two.proxy(1, &at[1], &at[0], &hook);
    let address = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, address);
    let pair = || {
        let near = connect(&two.client, address).expect("connected");
        (near, accept(&listener).0)
    };
    let ((near, mut far), mut whole) = (pair(), pair());
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    let report = hand_over(&first, false);
    assert_eq!(report["moved"], 1, "{report}");
    assert_eq!(report["stay"]["half_closed"], 1, "{report}");
    wait_until("the route is to be changed", || seen.exists());
    let port = near.local_addr().expect("an address").port();
    let moved = whole.0.local_addr().expect("an address").port();
    let line = |what: &str, port| format!("{what} 10.45.0.2:{port} 10.99.0.2:5201\n");
    let expected = ["10.45.0.2\n", &line("moved", moved), &line("stays", port)].concat();
    assert_eq!(std::fs::read_to_string(&seen).expect("written"), expected);
    two.route_port(port, 0);
    two.route(1);
    echo(&mut whole.0, &mut whole.1).expect("the one that moved goes on");
    far.write_all(&pattern(0, 100_000)).expect("sent");
    drop(far);
    let mut got = Vec::new();
    (&near).read_to_end(&mut got).expect("no reset");
    assert_eq!(got.len(), 100_000);
    assert_pattern(0, &got);
    wait_until("both ends have ended", || first.count("finished") == 1);
    assert_eq!(second.status()["connections"], 1);
}

/// A word there and back.
fn echo(near: &mut TcpStream, far: &mut TcpStream) -> std::io::Result<()> {
    let (near, far) = (&*near, &*far);
    for (mut from, mut to) in [(near, far), (far, near)] {
        let mut got = [0; 5];
        from.write_all(b"hello")?;
        to.read_exact(&mut got)?;
        assert_eq!(&got, b"hello");
    }
    Ok(())
}

/// All queues are full in both directions: in sockets, in pipes, and what the first proxy brought along.
fn what_waits_for_a_reader_moves_too() {
    let Some(two) = Two::try_new("what_waits_for_a_reader_moves_too") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = [folder.path().join("first"), folder.path().join("second")];
    let daemons = [0, 1].map(|i| two.proxy(i, &at[i], &at[1 - i], UNHURRIED));
    let address = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, address);
    let near = connect(&two.client, address).expect("connected");
    let (far, _) = accept(&listener);
    let senders = [&near, &far].map(|stream| {
        let mut stream = stream.try_clone().expect("a copy");
        std::thread::spawn(move || {
            let sent = 40_000_000;
            for at in (0..sent).step_by(100_000) {
                stream.write_all(&pattern(at, 100_000)).expect("no reset");
            }
            stream
        })
    });
    daemons[0].wait_until("pipes are full", || {
        daemons[0].status()["waiting_bytes"].as_u64() > Some(1_000_000)
    });
    for n in 0..3 {
        let report = hand_over(&daemons[n % 2], false);
        assert_eq!(report["moved"], 1, "{report}");
        let bytes = |name: &str| report[name].as_u64().expect("a number");
        assert!(bytes("payload_bytes") > 1_000_000, "{report}");
        // what a socket had before it was copied is as much as it may have unsent, and in flight
        assert!(bytes("ahead_bytes") > bytes("rest_bytes") / 4, "{report}");
        two.route((n + 1) % 2);
    }
    let receivers = [near, far].map(|mut stream| {
        std::thread::spawn(move || {
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("no reset");
            got
        })
    });
    // not before: queues may have taken all of it, and what is half-closed does not move
    for sender in senders {
        let stream = sender.join().expect("no reset");
        stream.shutdown(Shutdown::Write).expect("shut");
    }
    for receiver in receivers {
        let got = receiver.join().expect("no reset");
        assert_eq!(got.len(), 40_000_000);
        for at in (0..got.len()).step_by(100_000) {
            assert_pattern(at, &got[at..at + 100_000]);
        }
    }
}
