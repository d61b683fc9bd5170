//! Receive windows that are closed and opened again: every byte arrives, whatever the window was.

use crate::support::Hosts;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, report};
use crate::support::traffic::{accept, connect, receive};
use crate::{Test, server_at};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use testing::pattern;

pub const TESTS: &[Test] = &[
    (
        "windows_that_close_and_open_lose_no_byte",
        windows_that_close_and_open_lose_no_byte,
    ),
    (
        "an_answer_ends_though_windows_are_closed",
        an_answer_ends_though_windows_are_closed,
    ),
    (
        "a_radio_that_carries_nothing_leaves_a_trickle",
        a_radio_that_carries_nothing_leaves_a_trickle,
    ),
    (
        "windows_that_may_not_close_stay_open",
        windows_that_may_not_close_stay_open,
    ),
    (
        "windows_without_scaling_lose_no_byte",
        windows_without_scaling_lose_no_byte,
    ),
];

/// A rate of which each of some flows has less than two segments in a round trip here, bit/s.
pub const SLOW: u64 = 1_000_000;
/// One at which none has, bit/s.
pub const FAST: u64 = 20_000_000_000;
/// Flows, enough to take turns.
pub const FLOWS: usize = 12;

pub fn config(more: &str) -> String {
    format!(
        "{TRANSPARENT}[reports]\nsource = \"unix:{{dir}}/radio\"\nplain-after = \"600 s\"\n{more}"
    )
}

/// A proxy that follows a radio whose rate can be changed, bit/s.
pub fn start(hosts: &Hosts, more: &str) -> (Daemon, Radio, Arc<AtomicU64>) {
    start_of(hosts, &[false], more)
}

/// The same of UEs with addresses of these families, IPv6 or not.
pub fn start_of(hosts: &Hosts, are_ipv6: &[bool], more: &str) -> (Daemon, Radio, Arc<AtomicU64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(SLOW));
    let of = Arc::clone(&rate);
    let ues: Vec<_> = are_ipv6
        .iter()
        .map(|v6| crate::support::client(*v6))
        .collect();
    let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        report(&ues, n, at, of.load(Relaxed))
    });
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config(more), &[]);
    daemon.wait_until("it follows", || {
        daemon.status()["control"]["cells"][0]["state"] == "following"
    });
    (daemon, radio, rate)
}

/// Downloads until they are ended.
pub struct Downloads {
    is_over: Arc<AtomicBool>,
    receive: Vec<JoinHandle<usize>>,
    send: Vec<JoinHandle<usize>>,
}

impl Downloads {
    pub fn start(hosts: &Hosts, port: u16) -> Self {
        let (address, listener) = server_at(hosts, port);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut downloads = Self {
            is_over: Arc::clone(&is_over),
            receive: Vec::new(),
            send: Vec::new(),
        };
        for _ in 0..FLOWS {
            let near = connect(&hosts.client, address).expect("connected");
            let (mut far, _) = accept(&listener);
            let is_over = Arc::clone(&is_over);
            let sends = move || {
                let mut sent = 0;
                while !is_over.load(Relaxed) {
                    far.write_all(&pattern(sent, PIECE)).expect("sent");
                    sent += PIECE;
                }
                far.shutdown(std::net::Shutdown::Write).expect("ended");
                let rest = far.read(&mut [0]).expect("the far end");
                assert_eq!(rest, 0);
                sent
            };
            let receives = move || receive(&near).expect("received");
            downloads.send.push(std::thread::spawn(sends));
            downloads.receive.push(std::thread::spawn(receives));
        }
        downloads
    }

    /// All that was sent must arrive, and the end behind it.
    pub fn end(self) {
        self.is_over.store(true, Relaxed);
        for (receive, send) in self.receive.into_iter().zip(self.send) {
            let received = receive.join().expect("no panic");
            assert_eq!(received, send.join().expect("no panic"));
        }
    }
}

/// Bytes of a write.
const PIECE: usize = 65_536;

fn windows_that_close_and_open_lose_no_byte() {
    let Some(hosts) = Hosts::try_new("windows_that_close_and_open_lose_no_byte") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, "");
    let downloads = Downloads::start(&hosts, 5_601);
    daemon.wait_until("windows were closed and opened", || {
        daemon.count("windows_shown") >= 100
    });
    // opened, closed, and opened to the end
    rate.store(FAST, Relaxed);
    rate.store(SLOW, Relaxed);
    let shown = daemon.count("windows_shown");
    daemon.wait_until("they are closed again", || {
        daemon.count("windows_shown") >= shown + 20
    });
    rate.store(FAST, Relaxed);
    downloads.end();
    assert_eq!(daemon.count("resets"), 0);
}

/// Requests and answers on one connection beside downloads: each answer arrives to its end although its last byte
/// may have been left unread.
fn an_answer_ends_though_windows_are_closed() {
    let Some(hosts) = Hosts::try_new("an_answer_ends_though_windows_are_closed") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, "");
    let downloads = Downloads::start(&hosts, 5_602);
    daemon.wait_until("windows are closed and opened", || {
        daemon.count("windows_shown") >= 10
    });
    let (address, listener) = server_at(&hosts, 5_603);
    let mut near = connect(&hosts.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    let answers = std::thread::spawn(move || {
        let mut request = [0; 4];
        while far.read_exact(&mut request).is_ok() {
            let answer = vec![7; u32::from_be_bytes(request) as usize];
            far.write_all(&answer).expect("sent");
        }
    });
    for size in [
        1, 2, 1_447, 1_448, 1_449, 2_896, 2_897, 2_944, 2_945, 50_000, 3,
    ] {
        near.write_all(&u32::to_be_bytes(size)).expect("requested");
        let mut answer = vec![0; size as usize];
        near.read_exact(&mut answer).expect("all of the answer");
        assert!(answer.iter().all(|&byte| byte == 7));
    }
    rate.store(FAST, Relaxed);
    drop(near);
    answers.join().expect("no panic");
    downloads.end();
}

fn windows_that_may_not_close_stay_open() {
    let Some(hosts) = Hosts::try_new("windows_that_may_not_close_stay_open") else {
        return;
    };
    let (daemon, _radio, _rate) = start(&hosts, "[rapid]\nclosed-windows = false\n");
    let downloads = Downloads::start(&hosts, 5_604);
    daemon.wait_until("data passes", || daemon.count("bytes_down") > 5_000_000);
    downloads.end();
    assert_eq!(daemon.count("windows_shown"), 0);
}

/// Servers and UEs that scale no windows: what is decided is larger than what can be shown, or closed.
fn windows_without_scaling_lose_no_byte() {
    let Some(hosts) = Hosts::try_new("windows_without_scaling_lose_no_byte") else {
        return;
    };
    for host in [&hosts.client, &hosts.server] {
        host.sh("sysctl -qw net.ipv4.tcp_window_scaling=0");
    }
    let (daemon, _radio, rate) = start(&hosts, "");
    let downloads = Downloads::start(&hosts, 5_606);
    let of_proxy = hosts.proxy.sh("ss -tinoH state established");
    assert!(!of_proxy.contains("wscale:"), "{of_proxy}");
    daemon.wait_until("windows were closed and opened", || {
        daemon.count("windows_shown") >= 100
    });
    rate.store(FAST, Relaxed);
    let down = daemon.count("bytes_down");
    daemon.wait_until("more passes than any window holds", || {
        daemon.count("bytes_down") > down + 10 * FLOWS as u64 * 65_535
    });
    rate.store(SLOW, Relaxed);
    let shown = daemon.count("windows_shown");
    daemon.wait_until("they are closed again", || {
        daemon.count("windows_shown") >= shown + 20
    });
    rate.store(FAST, Relaxed);
    downloads.end();
    assert_eq!(daemon.count("resets"), 0);
}

/// Whatever is reported, no flow stands still for good.
fn a_radio_that_carries_nothing_leaves_a_trickle() {
    let Some(hosts) = Hosts::try_new("a_radio_that_carries_nothing_leaves_a_trickle") else {
        return;
    };
    let (daemon, _radio, rate) = start(&hosts, "");
    rate.store(0, Relaxed);
    let downloads = Downloads::start(&hosts, 5_605);
    daemon.wait_until("windows are closed", || daemon.count("windows_shown") > 0);
    let (shown, down) = (daemon.count("windows_shown"), daemon.count("bytes_down"));
    daemon.wait_until("each has been shown some more", || {
        daemon.count("windows_shown") >= shown + 3 * FLOWS as u64
    });
    assert!(daemon.count("bytes_down") > down);
    rate.store(FAST, Relaxed);
    downloads.end();
}
