//! The mode that needs no privileges, and what strangers can do to it.

use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect, connect_narrow, finish_unread, receive, send};
use crate::support::{Hosts, SERVER};
use crate::{Test, server_at};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};

pub const TESTS: &[Test] = &[
    (
        "it_relays_to_one_server_without_privileges",
        it_relays_to_one_server_without_privileges,
    ),
    (
        "what_has_ended_in_order_outlasts_a_stop",
        what_has_ended_in_order_outlasts_a_stop,
    ),
    ("it_is_no_open_relay", it_is_no_open_relay),
    ("random_bytes_do_no_harm", random_bytes_do_no_harm),
    (
        "silent_connections_do_not_keep_a_scrape_out",
        silent_connections_do_not_keep_a_scrape_out,
    ),
];

fn config(more: &str) -> String {
    format!(
        "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"10.45.0.1:7700\"\n\
         upstream = \"{SERVER}:5601\"\n{more}\n[admin]\nsocket = \"{{dir}}/pep.sock\"\n\
         [metrics]\nlisten = \"127.0.0.1:9464\"\n"
    )
}

fn near_end() -> SocketAddr {
    "10.45.0.1:7700".parse().expect("an address")
}

fn it_relays_to_one_server_without_privileges() {
    let Some(hosts) = Hosts::try_new("it_relays_to_one_server_without_privileges") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let allow = "allow = [\"10.45.0.0/24\"]";
    let daemon = Daemon::start_unprivileged(&hosts.proxy, folder, &config(allow));
    let (_, listener) = server_at(&hosts, 5_601);
    let near = connect(&hosts.client, near_end()).expect("connected");
    let (far, peer) = accept(&listener);
    assert_eq!(
        peer.ip().to_string(),
        "10.99.0.1",
        "the proxy's own address"
    );
    send(&near, 100_000).expect("sent");
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("received"), 100_000);
    send(&far, 5_000_000).expect("sent");
    drop(far);
    assert_eq!(receive(&near).expect("received"), 5_000_000);
    daemon.wait_until("it has finished", || daemon.count("finished") == 1);
}

/// It needs no rules: the kernel sends what is left.
fn what_has_ended_in_order_outlasts_a_stop() {
    let Some(hosts) = Hosts::try_new("what_has_ended_in_order_outlasts_a_stop") else {
        return;
    };
    let mut daemon = Daemon::start(&hosts.proxy, &config("allow = [\"10.45.0.0/24\"]"));
    let (_, listener) = server_at(&hosts, 5_601);
    let near = connect_narrow(&hosts.client, [10, 45, 0, 2], near_end());
    let (far, _) = accept(&listener);
    finish_unread(&near, far, 30_000);
    daemon.wait_until("both have ended", || daemon.status()["closing"] == 1);
    assert!(daemon.stop().success());
    assert_eq!(receive(&near).expect("received"), 30_000);
}

fn it_is_no_open_relay() {
    let Some(hosts) = Hosts::try_new("it_is_no_open_relay") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &config(""));
    let (_, listener) = server_at(&hosts, 5_601);
    listener.set_nonblocking(true).expect("set");
    if let Ok(near) = connect(&hosts.client, near_end()) {
        assert!((&near).read(&mut [0]).is_err(), "a stranger is reset");
    }
    daemon.wait_until("it is counted", || daemon.count("refused_client") == 1);
    assert!(listener.accept().is_err(), "nothing went on to the server");
}

/// Bytes without any plan, the same in each run.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn random_bytes_do_no_harm() {
    let Some(hosts) = Hosts::try_new("random_bytes_do_no_harm") else {
        return;
    };
    let allow = "allow = [\"10.45.0.0/24\"]";
    let daemon = Daemon::start(&hosts.proxy, &config(allow));
    let (_, listener) = server_at(&hosts, 5_601);
    for seed in 1..40 {
        let bytes = noise(seed, 50 * seed as usize);
        let metrics = "127.0.0.1:9464".parse().expect("an address");
        let mut stream = connect(&hosts.proxy, metrics).expect("connected");
        // it may have closed before all is written
        let _ = stream
            .write_all(&bytes)
            .and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = stream.read_to_end(&mut Vec::new());
        let path = daemon.path("pep.sock");
        let mut admin = std::os::unix::net::UnixStream::connect(path).expect("connected");
        let _ = admin
            .write_all(&bytes)
            .and_then(|()| admin.write_all(b"\n"));
        let mut answer = String::new();
        let _ = admin.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.contains("error"), "{answer}");
        // through the relay they pass as they are
        let mut near = connect(&hosts.client, near_end()).expect("connected");
        let (mut far, _) = accept(&listener);
        near.write_all(&bytes).expect("sent");
        near.shutdown(Shutdown::Write).expect("shut");
        let mut got = Vec::new();
        far.read_to_end(&mut got).expect("received");
        assert_eq!(got, bytes);
    }
    assert_eq!(daemon.status()["state"], "running");
}

/// One after the other, each would be waited for, for longer than a test may take.
fn silent_connections_do_not_keep_a_scrape_out() {
    let Some(hosts) = Hosts::try_new("silent_connections_do_not_keep_a_scrape_out") else {
        return;
    };
    let _daemon = Daemon::start(&hosts.proxy, &config(""));
    let metrics: SocketAddr = "127.0.0.1:9464".parse().expect("an address");
    let silent: Vec<_> = (0..60)
        .map(|_| connect(&hosts.proxy, metrics).expect("connected"))
        .collect();
    let page = crate::control::get(&hosts, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(page.contains("brimful_pep_connections 0"), "{page}");
    let health = crate::control::get(&hosts, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(health.ends_with("\r\n\r\nok\n"), "{health}");
    drop(silent);
}
