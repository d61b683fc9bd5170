//! Connections are taken on their way, and nobody can tell by the addresses.

use crate::Test;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::traffic::{accept, connect, listen, receive, send};
use crate::support::{Hosts, client, server};
use std::net::{Shutdown, SocketAddr};

pub const TESTS: &[Test] = &[
    ("both_ends_see_true_addresses", both_ends_see_true_addresses),
    ("half_close_stays_half_close", half_close_stays_half_close),
];

fn split() -> String {
    format!("control = \"split\"\n{TRANSPARENT}")
}

fn both_ends_see_true_addresses() {
    let Some(hosts) = Hosts::try_new("both_ends_see_true_addresses") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split());
    for (i, is_ipv6) in [false, true].into_iter().enumerate() {
        let address = SocketAddr::new(server(is_ipv6), 5_201);
        let listener = listen(&hosts.server, address);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, peer) = accept(&listener);
        let own = near.local_addr().expect("an address");
        assert_eq!(own.ip(), client(is_ipv6));
        assert_eq!(
            peer, own,
            "what the server sees is the client's address and port"
        );
        assert_eq!(near.peer_addr().expect("a peer"), address);
        assert_eq!(far.local_addr().expect("an address"), address);
        // data passes, and it passes through the proxy
        send(&near, 300_000).expect("sent");
        near.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&far).expect("received"), 300_000);
        send(&far, 3_000_000).expect("sent");
        drop(far);
        assert_eq!(receive(&near).expect("received"), 3_000_000);
        let n = i as u64 + 1;
        daemon.wait_until("it has finished", || daemon.count("finished") == n);
        assert_eq!(daemon.count("accepted"), n);
        assert_eq!(daemon.count("bytes_down"), n * 3_000_000);
    }
}

fn half_close_stays_half_close() {
    let Some(hosts) = Hosts::try_new("half_close_stays_half_close") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split());
    let address = SocketAddr::new(server(false), 5_202);
    let listener = listen(&hosts.server, address);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("the end"), 0);
    // the other direction goes on long after the end of the first
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(daemon.status()["connections"], 1);
    }
    send(&far, 100_000).expect("sent");
    far.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&near).expect("received"), 100_000);
    daemon.wait_until("it has finished", || daemon.count("finished") == 1);
    assert_eq!(daemon.status()["connections"], 0);
}
