//! Connections are taken on their way, and the addresses show no proxy.

use crate::Test;
use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect, listen, receive, send};
use crate::support::{Hosts, Namespace, client, server};
use crate::{server_at, split};
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;
use testing::HANG_LIMIT;

pub const TESTS: &[Test] = &[
    ("both_ends_see_true_addresses", both_ends_see_true_addresses),
    ("half_close_stays_half_close", half_close_stays_half_close),
    (
        "a_reset_is_passed_on_both_ways",
        a_reset_is_passed_on_both_ways,
    ),
    ("a_refused_server_is_a_reset", a_refused_server_is_a_reset),
    (
        "an_unreachable_server_is_an_error",
        an_unreachable_server_is_an_error,
    ),
    (
        "a_path_of_small_packets_works",
        a_path_of_small_packets_works,
    ),
    (
        "a_path_with_a_narrow_middle_works",
        a_path_with_a_narrow_middle_works,
    ),
    (
        "bypassed_and_other_addresses_pass_by",
        bypassed_and_other_addresses_pass_by,
    ),
    (
        "the_listener_cannot_be_reached_directly",
        the_listener_cannot_be_reached_directly,
    ),
    (
        "what_passes_by_may_have_the_listeners_port",
        what_passes_by_may_have_the_listeners_port,
    ),
    (
        "a_port_used_again_at_once_works",
        a_port_used_again_at_once_works,
    ),
];

fn both_ends_see_true_addresses() {
    let Some(hosts) = Hosts::try_new("both_ends_see_true_addresses") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    for (i, is_ipv6) in [false, true].into_iter().enumerate() {
        let address = SocketAddr::new(server(is_ipv6), 5_201);
        let listener = listen(&hosts.server, address);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, peer) = accept(&listener);
        let own = near.local_addr().expect("an address");
        assert_eq!(own.ip(), client(is_ipv6));
        assert_eq!(peer, own, "the server sees the client's address and port");
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
        assert_eq!(daemon.count("bytes_up"), n * 300_000);
    }
}

fn half_close_stays_half_close() {
    let Some(hosts) = Hosts::try_new("half_close_stays_half_close") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    for (n, is_ipv6) in [(1, false), (2, true)] {
        let address = SocketAddr::new(server(is_ipv6), 5_202);
        let listener = listen(&hosts.server, address);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        near.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&far).expect("the end"), 0);
        // the other direction goes on after the end of the first
        assert_eq!(daemon.status()["connections"], 1);
        send(&far, 100_000).expect("sent");
        far.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&near).expect("received"), 100_000);
        daemon.wait_until("it has finished", || daemon.count("finished") == n);
        assert_eq!(daemon.status()["connections"], 0);
    }
}

/// Closes by a reset.
fn reset(stream: TcpStream) {
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("set");
    drop(stream);
}

fn is_reset(stream: &TcpStream) -> bool {
    let mut stream = stream;
    let read = stream.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

fn a_reset_is_passed_on_both_ways() {
    let Some(hosts) = Hosts::try_new("a_reset_is_passed_on_both_ways") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    for (is_ipv6, by_server) in [(false, false), (false, true), (true, false), (true, true)] {
        let address = SocketAddr::new(server(is_ipv6), 5_203);
        let listener = listen(&hosts.server, address);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        // the whole way is there
        (&near).write_all(b"x").expect("sent");
        (&far).read_exact(&mut [0]).expect("received");
        let (resets, other) = if by_server { (far, near) } else { (near, far) };
        reset(resets);
        assert!(is_reset(&other), "by the server: {by_server}");
    }
    daemon.wait_until("all are counted", || daemon.count("resets") == 4);
    assert_eq!(daemon.status()["connections"], 0);
}

fn a_refused_server_is_a_reset() {
    let Some(hosts) = Hosts::try_new("a_refused_server_is_a_reset") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    for (n, is_ipv6) in [(1, false), (2, true)] {
        let dead = SocketAddr::new(server(is_ipv6), 9);
        // accepted first, for the proxy has no sign of it; the reset may even come before connect returns
        match connect(&hosts.client, dead) {
            Ok(near) => assert!(is_reset(&near)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        daemon.wait_until("it is counted", || daemon.count("upstream_failed") == n);
    }
    assert_eq!(daemon.status()["connections"], 0);
}

fn an_unreachable_server_is_an_error() {
    let Some(hosts) = Hosts::try_new("an_unreachable_server_is_an_error") else {
        return;
    };
    hosts
        .proxy
        .sh("ip route add unreachable 10.98.0.0/24; ip route add 10.97.0.0/24 dev wan0");
    // there is no answer, not even with an error
    hosts.server.sh("ip addr add 10.97.0.1/32 dev lo; nft 'add table inet t; add chain inet t c { \
                     type filter hook input priority 0; }; add rule inet t c ip daddr 10.97.0.1 drop'");
    hosts
        .proxy
        .sh("ip neigh add 10.97.0.1 lladdr 02:00:00:00:00:01 dev wan0");
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nhandshake = \"600 ms\"\n"));
    let unreachable = connect(&hosts.client, "10.98.0.1:80".parse().expect("an address"));
    // there is no way to it through the interface: the kernel answers as it does without a proxy
    let error = unreachable.expect_err("no connection");
    assert_eq!(error.kind(), ErrorKind::HostUnreachable);
    assert_eq!(daemon.count("accepted"), 0);
    let silent = connect(&hosts.client, "10.97.0.1:80".parse().expect("an address"));
    assert!(is_reset(&silent.expect("accepted by the proxy")));
    daemon.wait_until("it is counted", || daemon.count("handshake_timeouts") == 1);
    assert_eq!(daemon.status()["connections"], 0);
}

fn a_path_of_small_packets_works() {
    let Some(hosts) = Hosts::try_new("a_path_of_small_packets_works") else {
        return;
    };
    // beyond the proxy, packets are smaller than either end's MTU
    hosts.proxy.sh("ip link set wan0 mtu 1300");
    hosts.server.sh("ip link set s0 mtu 1400");
    hosts.client.sh("ip link set c0 mtu 1450");
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_204);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    send(&near, 1_000_000).expect("sent");
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("received"), 1_000_000);
    drop(far);
    daemon.wait_until("all of it is counted", || {
        daemon.count("bytes_up") == 1_000_000
    });
}

/// Beyond both neighbours of the proxy, which become routers, a host each; what the routers pass on
/// to them is at most 1300 bytes, and the sender learns that only from a router.
///
/// ```text
///   ue 10.44.0.2 -1300- client -1500- proxy -1500- server -1300- far 10.98.0.2
///      fd44::2                                                       fd98::2
/// ```
pub fn narrow_ends(hosts: &Hosts) -> (Namespace, Namespace) {
    let (ue, far) = (Namespace::new(), Namespace::new());
    for (router, host, net, back) in [(&hosts.client, &ue, 44, 45), (&hosts.server, &far, 98, 99)] {
        router.sh(&format!(
            "ip link add r0 type veth peer name h0 netns {}\n\
             sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1\n\
             ip addr add 10.{net}.0.1/24 dev r0; ip -6 addr add fd{net}::1/64 dev r0 nodad\n\
             ip link set r0 up\n\
             ip route replace 10.{net}.0.2 dev r0 mtu 1300\n\
             ip -6 route replace fd{net}::2 dev r0 mtu 1300\n\
             ip -6 route replace default via fd{back}::1",
            host.pid()
        ));
        host.sh(&format!(
            "ip link set lo up; ip link set h0 up\n\
             ip addr add 10.{net}.0.2/24 dev h0; ip -6 addr add fd{net}::2/64 dev h0 nodad\n\
             ip route add default via 10.{net}.0.1; ip -6 route add default via fd{net}::1"
        ));
        hosts.proxy.sh(&format!(
            "ip route add 10.{net}.0.0/24 via 10.{back}.0.2; \
             ip -6 route add fd{net}::/64 via fd{back}::2"
        ));
    }
    (ue, far)
}

fn a_path_with_a_narrow_middle_works() {
    let Some(hosts) = Hosts::try_new("a_path_with_a_narrow_middle_works") else {
        return;
    };
    let (ue, far_host) = narrow_ends(&hosts);
    let config = split("").replace("10.45.0.0/24\", \"fd45::/64", "10.44.0.0/24\", \"fd44::/64");
    let daemon = Daemon::start(&hosts.proxy, &config);
    for (n, address) in [(1, "10.98.0.2:5207"), (2, "[fd98::2]:5207")] {
        let address: SocketAddr = address.parse().expect("an address");
        let listener = listen(&far_host, address);
        let near = connect(&ue, address).expect("connected");
        let (far, _) = accept(&listener);
        send(&near, 1_000_000).expect("sent");
        near.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&far).expect("received"), 1_000_000, "{address}");
        send(&far, 1_000_000).expect("sent");
        far.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&near).expect("received"), 1_000_000, "{address}");
        daemon.wait_until("it has finished", || daemon.count("finished") == n);
    }
    // it was the proxy that learned of the narrow places
    let learned = hosts
        .proxy
        .sh("ip route get 10.98.0.2; ip route get 10.44.0.2");
    assert_eq!(learned.matches("mtu 1300").count(), 2, "{learned}");
}

fn bypassed_and_other_addresses_pass_by() {
    let Some(hosts) = Hosts::try_new("bypassed_and_other_addresses_pass_by") else {
        return;
    };
    hosts.client.sh("ip addr add 10.46.0.2/32 dev c0");
    hosts.proxy.sh("ip route add 10.46.0.2 dev ran0");
    hosts.server.sh("ip addr add 10.99.0.3/24 dev s0");
    let config = format!("bypass = [\"10.99.0.3\"]\n{}", split(""));
    let daemon = Daemon::start(&hosts.proxy, &config);
    let (address, listener) = server_at(&hosts, 5_205);
    let bypassed = SocketAddr::new("10.99.0.3".parse().expect("an address"), 5_205);
    let beside = listen(&hosts.server, bypassed);
    let near = connect(&hosts.client, bypassed).expect("connected");
    let _far = accept(&beside);
    assert_eq!(daemon.count("accepted"), 0);
    drop(near);
    // an address that is no UE's
    hosts.client.sh(&format!(
        "printf x | timeout 10 bash -c 'exec 3<>/dev/tcp/{}/{}' || true; \
         ip route replace default via 10.45.0.1 src 10.46.0.2",
        address.ip(),
        address.port()
    ));
    let (_, peer) = accept(&listener);
    assert_eq!(peer.ip(), client(false));
    let near = connect(&hosts.client, address).expect("connected");
    let (_, peer) = accept(&listener);
    assert_eq!(peer.ip().to_string(), "10.46.0.2");
    assert_eq!(daemon.count("accepted"), 1, "the UE's alone");
    drop(near);
}

/// Sends a SYN and does not wait for the answer.
fn start_to_connect(to: &SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
    let socket = socket.expect("a socket");
    if let Err(error) = connect(&socket, to) {
        // refused at once on the loopback interface
        let expected = [
            rustix::io::Errno::INPROGRESS,
            rustix::io::Errno::CONNREFUSED,
        ];
        assert!(expected.contains(&error), "{error}");
    }
    socket.into()
}

fn the_listener_cannot_be_reached_directly() {
    let Some(hosts) = Hosts::try_new("the_listener_cannot_be_reached_directly") else {
        return;
    };
    let config = format!("port = 40123\n{}", split(""));
    let daemon = Daemon::start(&hosts.proxy, &config);
    let _control = listen(&hosts.proxy, ([0, 0, 0, 0], 40_124).into());
    for (host, to) in [
        (&hosts.client, "10.45.0.1:40123"),
        (&hosts.server, "10.99.0.1:40123"),
        (&hosts.proxy, "127.0.0.1:40123"),
    ] {
        let to: SocketAddr = to.parse().expect("an address");
        let tried = host.enter(|| start_to_connect(&to));
        // what goes the same way later arrives, and is answered
        let beside = SocketAddr::new(to.ip(), 40_124);
        connect(host, beside).expect("connected");
        assert!(tried.peer_addr().is_err(), "{to} answers");
    }
    assert_eq!(daemon.count("established"), 0);
}

/// A connection from a port.
fn connect_between(host: &Namespace, from: SocketAddr, to: SocketAddr) -> TcpStream {
    let socket = host.enter(|| {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &from)?;
        connect(&socket, &to)?;
        Ok::<_, rustix::io::Errno>(socket)
    });
    let stream = TcpStream::from(socket.expect("connected"));
    stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
    stream
}

/// Of connections that pass by some have the listener's port at an end, that of the UE or that of the server.
fn what_passes_by_may_have_the_listeners_port() {
    let Some(hosts) = Hosts::try_new("what_passes_by_may_have_the_listeners_port") else {
        return;
    };
    hosts.server.sh("ip addr add 10.99.0.3/24 dev s0");
    let config = format!("port = 40123\nbypass = [\"10.99.0.3\"]\n{}", split(""));
    let daemon = Daemon::start(&hosts.proxy, &config);
    let of_ue = SocketAddr::new(client(false), 40_123);
    let bypassed = SocketAddr::new("10.99.0.3".parse().expect("an address"), 5_207);
    let of_server = SocketAddr::new(server(false), 40_123);
    for (from, to) in [
        (of_ue, bypassed),
        (SocketAddr::new(client(false), 0), of_server),
    ] {
        let listener = listen(&hosts.server, to);
        let near = connect_between(&hosts.client, from, to);
        let (far, _) = accept(&listener);
        send(&far, 300_000).expect("sent");
        drop(far);
        assert_eq!(receive(&near).expect("received"), 300_000);
    }
    // and one that is taken may have it as well
    let (address, listener) = server_at(&hosts, 5_208);
    let near = connect_between(&hosts.client, of_ue, address);
    let (far, _) = accept(&listener);
    assert_eq!(daemon.count("accepted"), 1);
    send(&far, 300_000).expect("sent");
    drop(far);
    assert_eq!(receive(&near).expect("received"), 300_000);
}

fn a_port_used_again_at_once_works() {
    let Some(hosts) = Hosts::try_new("a_port_used_again_at_once_works") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_206);
    let from = SocketAddr::new(client(false), 33_333);
    for round in 1..=3 {
        let near = connect_between(&hosts.client, from, address);
        let (far, peer) = accept(&listener);
        assert_eq!(peer.ip(), client(false));
        // the proxy's socket towards the server is the one that waits out its end
        (&near).write_all(b"x").expect("sent");
        (&far).read_exact(&mut [0]).expect("received");
        near.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&far).expect("the end"), 0);
        drop(far);
        let mut end = &near;
        assert_eq!(end.read(&mut [0]).expect("the end"), 0);
        reset(near);
        daemon.wait_until("it has finished", || daemon.count("finished") == round);
    }
}
