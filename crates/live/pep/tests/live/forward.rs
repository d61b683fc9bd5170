//! What the router's forward chains refuse; marks and interface of the sockets towards servers.

use crate::support::daemon::{Daemon, write_config};
use crate::support::traffic::{accept, connect, connect_from, listen};
use crate::support::{CLIENT, Hosts, server};
use crate::{Test, server_at, split};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};

pub const TESTS: &[Test] = &[
    (
        "what_forward_chains_refuse_is_refused",
        what_forward_chains_refuse_is_refused,
    ),
    (
        "what_one_ue_asks_for_leaves_room_for_what_another_does",
        what_one_ue_asks_for_leaves_room_for_what_another_does,
    ),
    (
        "forward_chains_that_are_bypassed_are_named",
        forward_chains_that_are_bypassed_are_named,
    ),
    (
        "onward_sockets_have_their_mark_and_interface",
        onward_sockets_have_their_mark_and_interface,
    ),
];

/// A router that lets nothing but these ports through, and refuses at once what it does not.
const FIREWALL: &str = "nft -f - <<'END'
table inet fw {
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname \"wan0\" accept
    tcp dport { 5751, 5752 } accept
    meta l4proto tcp reject with tcp reset
  }
}
END";

/// Sends a byte to each connection that comes.
fn greet(listener: TcpListener) {
    std::thread::spawn(move || {
        loop {
            let (mut far, _) = accept(&listener);
            let _ = far.write_all(b"x");
        }
    });
}

fn must_work(hosts: &Hosts, to: SocketAddr) {
    let mut near = connect(&hosts.client, to).expect("connected");
    near.read_exact(&mut [0]).expect("received");
}

/// The connection is refused before anything is received.
fn must_be_refused(hosts: &Hosts, to: SocketAddr) {
    let error = connect(&hosts.client, to)
        .and_then(|mut near| near.read_exact(&mut [0]))
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{to}");
}

fn what_forward_chains_refuse_is_refused() {
    let Some(hosts) = Hosts::try_new("what_forward_chains_refuse_is_refused") else {
        return;
    };
    hosts.proxy.sh(FIREWALL);
    let config = format!("follow-forward-policy = true\n{}", split(""));
    let daemon = Daemon::start(&hosts.proxy, &config);
    for is_ipv6 in [false, true] {
        let before = daemon.count("accepted");
        let (open, closed) = (
            SocketAddr::new(server(is_ipv6), 5_751),
            SocketAddr::new(server(is_ipv6), 5_753),
        );
        greet(listen(&hosts.server, open));
        greet(listen(&hosts.server, closed));
        for _ in 0..3 {
            must_be_refused(&hosts, closed);
        }
        assert_eq!(daemon.count("accepted"), before);
        // the first passes the forward chains, those after it go through the proxy
        must_work(&hosts, open);
        assert_eq!(daemon.count("accepted"), before);
        must_work(&hosts, open);
        assert_eq!(daemon.count("accepted"), before + 1);
    }
    // another UE passes them for itself, and another port too
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    let open = SocketAddr::new(server(false), 5_751);
    let other = connect_from(&hosts.client, [10, 45, 0, 3].into(), open);
    other
        .and_then(|mut near| near.read_exact(&mut [0]))
        .expect("received");
    let (beside, listener) = server_at(&hosts, 5_752);
    greet(listener);
    must_work(&hosts, beside);
    assert_eq!(daemon.count("accepted"), 2);
    assert!(!daemon.log().contains("bypass this forward chain"));
}

fn forward_chains_that_are_bypassed_are_named() {
    let Some(hosts) = Hosts::try_new("forward_chains_that_are_bypassed_are_named") else {
        return;
    };
    hosts.proxy.sh(FIREWALL);
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let log = daemon.log();
    let printed = log
        .lines()
        .find(|l| l.contains("bypass this forward chain"));
    let printed = printed.unwrap_or_else(|| panic!("no warning: {log}"));
    assert!(
        printed.contains("WARN") && printed.contains("inet fw forward"),
        "{printed}"
    );
    assert!(printed.contains("policy=\"drop\""), "{printed}");
    // as it warns
    let (closed, listener) = server_at(&hosts, 5_756);
    greet(listener);
    must_work(&hosts, closed);
    assert_eq!(daemon.count("accepted"), 1);
}

fn onward_sockets_have_their_mark_and_interface() {
    let Some(hosts) = Hosts::try_new("onward_sockets_have_their_mark_and_interface") else {
        return;
    };
    // a policy for what the proxy sends to servers
    hosts.proxy.sh(
        "nft 'add table inet out; add chain inet out c { type filter hook output priority 0; }; \
         add rule inet out c meta mark 0x77 tcp dport 5755 drop'",
    );
    let marked = |limits: &str| format!("onward-mark = 0x77\n{}", split(limits));
    let daemon = Daemon::start(&hosts.proxy, &marked(""));
    let (address, listener) = server_at(&hosts, 5_754);
    let (refused, beside) = server_at(&hosts, 5_755);
    greet(beside);
    let near = connect(&hosts.client, address).expect("connected");
    let (mut far, peer) = accept(&listener);
    assert_eq!(peer.ip(), CLIENT);
    let sockets = hosts.proxy.sh("ss -Htn dport = :5754");
    assert!(sockets.contains("10.45.0.2%wan0:"), "{sockets}");
    // little time for a server that must not be reached, now that the other has answered
    let short = marked("[limits]\nhandshake = \"600 ms\"\n");
    write_config(&daemon.folder, &short);
    daemon.signal(rustix::process::Signal::HUP);
    daemon.wait_until("it has reloaded", || {
        daemon.log().contains("configuration reloaded")
    });
    let refusal = connect(&hosts.client, refused).and_then(|mut near| near.read_exact(&mut [0]));
    assert_eq!(
        refusal.expect_err("refused").kind(),
        ErrorKind::ConnectionReset
    );
    daemon.wait_until("it is counted", || daemon.count("handshake_timeouts") == 1);
    // both can be changed while it runs, and connections that are there stay
    write_config(&daemon.folder, &split(""));
    daemon.signal(rustix::process::Signal::HUP);
    daemon.wait_until("it goes on without the mark", || {
        let tried = connect(&hosts.client, refused).and_then(|mut near| near.read_exact(&mut [0]));
        tried.is_ok()
    });
    far.write_all(b"x").expect("sent");
    (&near).read_exact(&mut [0]).expect("received");
}

/// One UE asks for more services than permissions are kept of.
fn what_one_ue_asks_for_leaves_room_for_what_another_does() {
    let name = "what_one_ue_asks_for_leaves_room_for_what_another_does";
    let Some(hosts) = Hosts::try_new(name) else {
        return;
    };
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    hosts.server.sh("ip addr add 10.99.0.3/24 dev s0");
    let config = format!("follow-forward-policy = true\n{}", split(""));
    let daemon = Daemon::start(&hosts.proxy, &config);
    let (open, listener) = server_at(&hosts, 5_757);
    greet(listener);
    hosts.client.enter(|| {
        for last in [2, 3] {
            for port in 1..=u16::MAX {
                if port != 5_757 {
                    send_syn([10, 45, 0, 2].into(), ([10, 99, 0, last], port).into());
                }
            }
        }
    });
    let other = || {
        let connected = connect_from(&hosts.client, [10, 45, 0, 3].into(), open);
        let read = connected.and_then(|mut near| near.read_exact(&mut [0]));
        read.expect("received");
    };
    // the first asks the forward chains, the second goes through the proxy
    other();
    assert_eq!(daemon.count("accepted"), 0);
    other();
    assert_eq!(daemon.count("accepted"), 1);
}

/// Sends a SYN that is never repeated.
fn send_syn(from: IpAddr, to: SocketAddr) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
    let socket = socket.expect("a socket");
    bind(&socket, &SocketAddr::new(from, 0)).expect("bound");
    // refused before it is asked, or closed while it connects
    let _ = connect(&socket, &to);
}
