//! What strangers do at the server's port, and that a client is served beside them.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, connect, download, one_path, plain, serve,
    server_config,
};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use testing::{HANG_LIMIT, wait_until};

pub const TESTS: &[Test] = &[
    (
        "silent_tcp_connections_give_way",
        silent_tcp_connections_give_way,
    ),
    (
        "silence_and_other_protocols_end_a_tcp_connection",
        silence_and_other_protocols_end_a_tcp_connection,
    ),
    (
        "strangers_that_hold_all_descriptors_give_way",
        strangers_that_hold_all_descriptors_give_way,
    ),
    (
        "accepting_outlasts_a_lack_of_descriptors",
        accepting_outlasts_a_lack_of_descriptors,
    ),
    (
        "a_server_that_was_killed_is_found_among_strangers",
        a_server_that_was_killed_is_found_among_strangers,
    ),
];

const PORT: &str = "10.1.0.1:6511";

/// TCP connections to the server that send nothing.
fn strangers(host: &Namespace, count: usize) -> Vec<TcpStream> {
    let address: SocketAddr = PORT.parse().expect("an address");
    host.enter(move || (0..count).map(|_| connect(address)).collect())
}

fn refused(server: &Daemon, reason: &str) -> u64 {
    let status = server.status();
    let count = status["refused"].get(reason).and_then(Value::as_u64);
    count.unwrap_or_else(|| panic!("no {reason:?} in {status}"))
}

/// A path in a TCP connection.
fn tcp_client() -> String {
    client_config("", &one_path("carrier = \"tcp\"\n"))
}

fn works(hosts: &Hosts) {
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, 1_000_000);
    download(&hosts.client, &address, 1_000_000, || {});
}

fn silent_tcp_connections_give_way() {
    let Some(hosts) = Hosts::try_new("silent_tcp_connections_give_way") else {
        return;
    };
    let limits = "tcp-pending = 8\ntcp-pending-per-source = 4\ntcp-pending-timeout = \"60 s\"";
    let config =
        server_config("").replace("[[client]]", &format!("[limits]\n{limits}\n[[client]]"));
    let server = Daemon::start(&hosts.server, "server", &config);
    let _before = strangers(&hosts.client, 20);
    wait_until("all but four have given way", || {
        refused(&server, "tcp-without-path") >= 16
    });
    let client = Daemon::start(&hosts.client, "client", &tcp_client());
    client.wait_for_paths(1);
    let _after = strangers(&hosts.client, 20);
    wait_until("these too", || refused(&server, "tcp-without-path") >= 36);
    works(&hosts);
    assert!(!client.log().contains("path closed"), "{}", client.log());
    assert!(!client.log().contains("path lost"), "{}", client.log());
}

fn silence_and_other_protocols_end_a_tcp_connection() {
    let Some(hosts) = Hosts::try_new("silence_and_other_protocols_end_a_tcp_connection") else {
        return;
    };
    let limits = "[limits]\ntcp-pending-timeout = \"100 ms\"\n[[client]]";
    let config = server_config("").replace("[[client]]", limits);
    let server = Daemon::start(&hosts.server, "server", &config);
    let other = server_config("")
        .replace("6511", "6512")
        .replace("t0", "t1");
    let slow = other.replace(
        "[[client]]",
        "[limits]\ntcp-pending-timeout = \"60 s\"\n[[client]]",
    );
    let second = Daemon::start(&hosts.server, "server", &slow);
    // silence, for one; for the other a length that no Request has, no packet, and a packet that is no Request
    let data = [&[0, 16, 0, 1, 25, 111, 4, 0, 0, 0, 5, 0][..], &[0; 6]].concat();
    for (port, bytes) in [
        (6511, &b""[..]),
        (6512, b"GET / HTTP/1.1\r\n\r\n"),
        (6512, b"\x00\x04junk"),
        (6512, &data),
    ] {
        let address = SocketAddr::from(([10, 1, 0, 1], port));
        let mut stream = strangers_at(&hosts.client, address);
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        stream.write_all(bytes).expect("written");
        let mut answer = Vec::new();
        // closed, with or without a Reset of DCCP; a reset of TCP is as good
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(
                error.kind(),
                std::io::ErrorKind::ConnectionReset,
                "{bytes:?}"
            );
        }
    }
    assert!(refused(&server, "tcp-without-path") >= 1);
    assert!(refused(&second, "tcp-without-path") >= 3);
}

fn strangers_at(host: &Namespace, address: SocketAddr) -> TcpStream {
    host.enter(move || connect(address))
}

/// How many descriptors a daemon may have.
fn limit_descriptors(daemon: &Daemon, count: u64) {
    let pid = Pid::from_child(&daemon.child);
    let limit = Rlimit {
        current: Some(count),
        maximum: Some(4_096),
    };
    prlimit(Some(pid), Resource::Nofile, limit).expect("set");
}

/// The lowest descriptor that a daemon has not.
fn free_descriptor(daemon: &Daemon) -> u64 {
    let folder = format!("/proc/{}/fd", daemon.child.id());
    let entries = std::fs::read_dir(folder).expect("its descriptors");
    let numbers = entries.map(|entry| entry.expect("an entry").file_name());
    let numbers: Vec<u64> = numbers
        .map(|name| name.to_string_lossy().parse().expect("a number"))
        .collect();
    (0..).find(|n| !numbers.contains(n)).expect("there is one")
}

fn strangers_that_hold_all_descriptors_give_way() {
    let Some(hosts) = Hosts::try_new("strangers_that_hold_all_descriptors_give_way") else {
        return;
    };
    let limits = "[limits]\ntcp-pending-timeout = \"60 s\"\n[[client]]";
    let config = server_config("").replace("[[client]]", limits);
    let server = Daemon::start(&hosts.server, "server", &config);
    limit_descriptors(&server, free_descriptor(&server) + 3);
    let _strangers = strangers(&hosts.client, 20);
    let client = Daemon::start(&hosts.client, "client", &tcp_client());
    client.wait_for_paths(1);
    works(&hosts);
    limit_descriptors(&server, 4_096);
    assert!(refused(&server, "tcp-without-path") >= 17);
}

fn accepting_outlasts_a_lack_of_descriptors() {
    let Some(hosts) = Hosts::try_new("accepting_outlasts_a_lack_of_descriptors") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config(""));
    limit_descriptors(&server, free_descriptor(&server));
    let _stranger = strangers(&hosts.client, 1);
    // it does not try again and again: that would keep the processor busy
    wait_until("accepting pauses", || {
        server.log().contains("no TCP connection can be accepted")
    });
    limit_descriptors(&server, 4_096);
    let client = Daemon::start(&hosts.client, "client", &tcp_client());
    client.wait_for_paths(1);
    works(&hosts);
    assert!(refused(&server, "tcp-not-accepted") >= 1);
}

/// Ends a thread, also when the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Packets of no connection that spend all Resets to strangers: the client's join is answered all the
/// same, so that it begins anew at once and not because all was silent for long.
fn a_server_that_was_killed_is_found_among_strangers() {
    let Some(hosts) = Hosts::try_new("a_server_that_was_killed_is_found_among_strangers") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &plain(&server_config("")));
    let client = Daemon::start(
        &hosts.client,
        "client",
        &plain(&client_config("", &one_path(""))),
    );
    client.wait_for_paths(1);
    let socket = hosts
        .client
        .enter(|| UdpSocket::bind("10.1.0.2:0").expect("bound"));
    let inside = hosts
        .client
        .enter(|| UdpSocket::bind("10.99.0.2:0").expect("bound"));
    // ports 1 and 6511, 4 words, type Data with a long number
    let packet = [[0, 1, 25, 111, 4, 0, 0, 0, 5, 0, 0, 0], [0; 12]].concat();
    let is_over = AtomicBool::new(false);
    let _server = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..20 {
                    // a full queue, or no server: sent in vain
                    let _ = socket.send_to(&packet[..16], PORT);
                    let _ = inside.send_to(b"x", "10.99.0.1:9");
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let _end = End(&is_over);
        let pid = Pid::from_child(&server.child);
        kill_process(pid, Signal::KILL).expect("sent");
        drop(server);
        let server = Daemon::start(&hosts.server, "server", &plain(&server_config("")));
        wait_until("the client learns that its connection is gone", || {
            client
                .log()
                .contains("the server does not have the connection")
        });
        client.wait_for_paths(1);
        wait_until("strangers are counted", || refused(&server, "stranger") > 0);
        server
    });
    works(&hosts);
    let log = client.log();
    assert!(!log.contains("the connection is given up"), "{log}");
}
