//! A UE's SYNs are taken up to its rate; what exceeds it passes by, and hinders no other UE.

use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect_from, listen};
use crate::support::{Hosts, client, server};
use crate::{Test, server_at, split};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};

pub const TESTS: &[Test] = &[
    (
        "a_flood_of_syns_of_one_ue_refuses_no_other",
        a_flood_of_syns_of_one_ue_refuses_no_other,
    ),
    (
        "a_flood_that_fills_the_queue_refuses_no_other",
        a_flood_that_fills_the_queue_refuses_no_other,
    ),
    ("syns_beyond_the_rate_pass_by", syns_beyond_the_rate_pass_by),
    ("a_64_of_a_ue_has_one_rate", a_64_of_a_ue_has_one_rate),
];

/// Beyond the kernel's queue of a listener (4,096).
const FLOOD: u16 = 8_000;

/// Sends a byte to each connection that comes.
fn greet(listener: TcpListener) {
    std::thread::spawn(move || {
        loop {
            let (mut far, _) = accept(&listener);
            let _ = far.write_all(b"x");
        }
    });
}

/// A connection from this address that carries a byte; false if it is reset.
fn works(hosts: &Hosts, from: IpAddr, to: SocketAddr) -> bool {
    let near = connect_from(&hosts.client, from, to);
    near.is_ok_and(|mut near| near.read_exact(&mut [0]).is_ok())
}

fn a_flood_of_syns_of_one_ue_refuses_no_other() {
    let Some(hosts) = Hosts::try_new("a_flood_of_syns_of_one_ue_refuses_no_other") else {
        return;
    };
    flood(&hosts, &split(""), || true);
}

/// As many UEs at their rate would: the kernel answers with SYN cookies.
fn a_flood_that_fills_the_queue_refuses_no_other() {
    let Some(hosts) = Hosts::try_new("a_flood_that_fills_the_queue_refuses_no_other") else {
        return;
    };
    let uses_cookies = || hosts.proxy.counter("TcpExtSyncookiesSent") > 0;
    // a machine at work drops some of the SYNs before they reach the queue
    flood(
        &hosts,
        &split("[limits]\nsyn-rate-per-ue = 0\n"),
        uses_cookies,
    );
}

/// A UE that floods the proxy until this is so, and another that is served all the same.
fn flood(hosts: &Hosts, config: &str, is_enough: impl Fn() -> bool) {
    // a UE that sends SYNs and answers nothing
    hosts.client.sh(
        "ip addr add 10.45.0.3/24 dev c0; nft 'add table ip t; add chain ip t c { \
         type filter hook input priority 0; }; add rule ip t c ip daddr 10.45.0.3 drop'",
    );
    let daemon = Daemon::start(&hosts.proxy, config);
    let (address, listener) = server_at(hosts, 5_351);
    greet(listener);
    let mut port = 9;
    daemon.wait_until("the flood is large enough", || {
        let closed = SocketAddr::new(server(false), port);
        port += 1;
        hosts.client.enter(|| send_syns(closed));
        is_enough()
    });
    let refused = (0..50)
        .filter(|_| !works(hosts, client(false), address))
        .count();
    assert_eq!(refused, 0, "of 50 connections of another UE");
    // and they went through the proxy
    assert!(daemon.count("established") >= 50, "{}", daemon.status());
}

/// SYNs from as many ports that nothing answers.
fn send_syns(to: SocketAddr) {
    for i in 0..FLOOD {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
        let socket = socket.expect("a socket");
        let from = SocketAddr::new([10, 45, 0, 3].into(), 10_000 + i);
        bind(&socket, &from).expect("bound");
        // closed while it connects: it is never repeated
        let _ = connect(&socket, &to);
    }
}

fn syns_beyond_the_rate_pass_by() {
    let Some(hosts) = Hosts::try_new("syns_beyond_the_rate_pass_by") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nsyn-rate-per-ue = 1\n"));
    for is_ipv6 in [false, true] {
        let address = SocketAddr::new(server(is_ipv6), 5_352);
        greet(listen(&hosts.server, address));
        let (before, mut made) = (daemon.count("accepted"), 0);
        daemon.wait_until("one passes by", || {
            std::thread::scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|| assert!(works(&hosts, client(is_ipv6), address)));
                }
            });
            made += 10;
            daemon.count("accepted") - before < made
        });
        assert!(daemon.count("accepted") > before, "the first is taken");
    }
}

fn a_64_of_a_ue_has_one_rate() {
    let Some(hosts) = Hosts::try_new("a_64_of_a_ue_has_one_rate") else {
        return;
    };
    hosts.client.sh("ip -6 addr add fd45::3/64 dev c0 nodad");
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let address = SocketAddr::new(server(true), 5_353);
    greet(listen(&hosts.server, address));
    daemon.wait_until("both are counted together", || {
        for from in ["fd45::2", "fd45::3"] {
            assert!(works(&hosts, from.parse().expect("an address"), address));
        }
        let sets = hosts.proxy.sh("nft list ruleset");
        let rates = sets.lines().filter(|l| l.contains("limit rate 200/second"));
        let counted: Vec<&str> = rates.filter(|l| l.contains("expires")).collect();
        // an element of the set, and not the rule; it ends when there are no SYNs for ten seconds
        let of_all = counted
            .iter()
            .map(|l| l.matches("fd45::").count())
            .sum::<usize>();
        assert!(of_all <= 1, "{sets}");
        of_all == 1
    });
}
