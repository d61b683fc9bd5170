//! What TCP stacks around the proxy may do or leave out: each half of a connection negotiates for itself,
//! and no byte is lost, repeated or moved.

use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::traffic::{TIMEOUT, accept, connect, listen, receive, send};
use crate::support::{Hosts, Namespace, client, server};
use crate::transparent::narrow_ends;
use crate::{Test, server_at, split};
use rustix::net::{AddressFamily, SendFlags, SocketType, bind, sendto, socket, sockopt};
use std::net::{Shutdown, SocketAddr, TcpStream};

pub const TESTS: &[Test] = &[
    (
        "a_path_that_is_silent_on_too_large_packets_works_with_probing",
        a_path_that_is_silent_on_too_large_packets_works_with_probing,
    ),
    (
        "where_windows_are_decided_no_ecn_is_used_towards_ues",
        where_windows_are_decided_no_ecn_is_used_towards_ues,
    ),
    (
        "each_half_negotiates_ecn_for_itself",
        each_half_negotiates_ecn_for_itself,
    ),
    (
        "marks_of_congestion_are_answered_on_both_halves",
        marks_of_congestion_are_answered_on_both_halves,
    ),
    (
        "data_in_a_syn_arrives_once_and_whole",
        data_in_a_syn_arrives_once_and_whole,
    ),
    (
        "ends_without_timestamps_scaling_or_sack_are_relayed",
        ends_without_timestamps_scaling_or_sack_are_relayed,
    ),
    (
        "ends_that_open_to_each_other_at_once_are_joined",
        ends_that_open_to_each_other_at_once_are_joined,
    ),
];

fn a_path_that_is_silent_on_too_large_packets_works_with_probing() {
    let test = "a_path_that_is_silent_on_too_large_packets_works_with_probing";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let (ue, far_host) = narrow_ends(&hosts);
    // the routers' words of what would fit are lost
    for router in [&hosts.client, &hosts.server] {
        router.sh(
            "nft 'add table inet b; add chain inet b o { type filter hook output priority 0; }; \
                   add rule inet b o icmp type destination-unreachable counter drop; \
                   add rule inet b o icmpv6 type packet-too-big counter drop'",
        );
    }
    hosts.proxy.sh("sysctl -qw net.ipv4.tcp_mtu_probing=1");
    let config = split("").replace("10.45.0.0/24\", \"fd45::/64", "10.44.0.0/24\", \"fd44::/64");
    let daemon = Daemon::start(&hosts.proxy, &config);
    for (n, address) in [(1, "10.98.0.2:5708"), (2, "[fd98::2]:5708")] {
        let address: SocketAddr = address.parse().expect("an address");
        let listener = listen(&far_host, address);
        let near = connect(&ue, address).expect("connected");
        let (far, _) = accept(&listener);
        exchange(&near, &far, 300_000);
        daemon.wait_until("it has finished", || daemon.count("finished") == n);
    }
    for router in [&hosts.client, &hosts.server] {
        let rules = router.sh("nft list table inet b");
        assert_eq!(rules.matches("counter packets 0 ").count(), 0, "{rules}");
    }
}

/// Sends so much both ways, with an end behind it, and compares all of it.
pub fn exchange(near: &TcpStream, far: &TcpStream, bytes: usize) {
    std::thread::scope(|scope| {
        for stream in [near, far] {
            scope.spawn(move || {
                send(stream, bytes).expect("sent");
                stream.shutdown(Shutdown::Write).expect("shut");
            });
        }
        for stream in [near, far] {
            assert_eq!(receive(stream).expect("received"), bytes);
        }
    });
}

/// Whether the connections of a host that are there use ECN.
fn uses_ecn(host: &Namespace) -> bool {
    let text = host.sh("ss -tinoH state established");
    text.split_whitespace().any(|word| word == "ecn")
}

/// The explicit mode, towards the server's port 5701.
const EXPLICIT: &str = "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"10.45.0.1:7700\"\n\
                        upstream = \"10.99.0.2:5701\"\nallow = [\"10.45.0.0/24\"]\n\
                        [admin]\nsocket = \"{dir}/pep.sock\"\n";

/// Where a client connects, in each mode.
fn near_end(is_explicit: bool) -> SocketAddr {
    let text = if is_explicit {
        "10.45.0.1:7700"
    } else {
        "10.99.0.2:5701"
    };
    text.parse().expect("an address")
}

fn configured(is_explicit: bool) -> String {
    if is_explicit {
        EXPLICIT.to_owned()
    } else {
        split("")
    }
}

fn each_half_negotiates_ecn_for_itself() {
    let Some(hosts) = Hosts::try_new("each_half_negotiates_ecn_for_itself") else {
        return;
    };
    // requested and accepted
    hosts.proxy.sh("sysctl -qw net.ipv4.tcp_ecn=1");
    for is_explicit in [false, true] {
        let daemon = Daemon::start(&hosts.proxy, &configured(is_explicit));
        let (_, listener) = server_at(&hosts, 5_701);
        for (of_client, of_server) in [(1, 2), (1, 0), (0, 2), (0, 0)] {
            for (host, ecn) in [(&hosts.client, of_client), (&hosts.server, of_server)] {
                host.sh(&format!("sysctl -qw net.ipv4.tcp_ecn={ecn}"));
            }
            let near = connect(&hosts.client, near_end(is_explicit)).expect("connected");
            let (far, _) = accept(&listener);
            assert_eq!(uses_ecn(&hosts.client), of_client == 1, "towards the UE");
            assert_eq!(
                uses_ecn(&hosts.server),
                of_server == 2,
                "towards the server"
            );
            exchange(&near, &far, 500_000);
            drop((near, far));
            daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
            for host in [&hosts.client, &hosts.server] {
                testing::wait_until("its end has gone", || {
                    host.sh("ss -tnH state established").trim().is_empty()
                });
            }
        }
    }
}

/// A window that follows decisions answers no mark: ECN is not agreed to towards UEs, and is requested of servers as ever.
fn where_windows_are_decided_no_ecn_is_used_towards_ues() {
    let Some(hosts) = Hosts::try_new("where_windows_are_decided_no_ecn_is_used_towards_ues") else {
        return;
    };
    hosts.proxy.sh("sysctl -qw net.ipv4.tcp_ecn=1");
    hosts.client.sh("sysctl -qw net.ipv4.tcp_ecn=1");
    hosts.server.sh("sysctl -qw net.ipv4.tcp_ecn=2");
    let reports = "[reports]\nsource = \"unix:{dir}/radio\"\n";
    let daemon = Daemon::start(&hosts.proxy, &format!("{TRANSPARENT}{reports}"));
    let (address, listener) = server_at(&hosts, 5_701);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    assert!(!uses_ecn(&hosts.client), "towards the UE");
    assert!(uses_ecn(&hosts.server), "towards the server");
    exchange(&near, &far, 500_000);
    assert_eq!(daemon.count("accepted"), 1);
}

fn marks_of_congestion_are_answered_on_both_halves() {
    let Some(hosts) = Hosts::try_new("marks_of_congestion_are_answered_on_both_halves") else {
        return;
    };
    for host in [&hosts.client, &hosts.proxy, &hosts.server] {
        host.sh("sysctl -qw net.ipv4.tcp_ecn=1");
    }
    // all that may be marked is, where it arrives
    for host in [&hosts.client, &hosts.proxy] {
        host.sh(
            "nft 'add table ip m; add chain ip m i { type filter hook prerouting priority -300; }; \
                 add rule ip m i ip ecn ect0 ip ecn set ce'",
        );
    }
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_702);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    exchange(&near, &far, 200_000);
    // the senders of both halves downwards, the server and the proxy, were answered with the marks
    for (name, host) in [("the server", &hosts.server), ("the proxy", &hosts.proxy)] {
        assert!(host.counter("TcpExtTCPDeliveredCE") > 0, "{name}");
    }
    daemon.wait_until("it has finished", || daemon.count("finished") == 1);
}

/// Linux: data with the SYN where the socket has not been connected (TCP Fast Open).
const FAST_OPEN: SendFlags = SendFlags::from_bits_retain(0x2000_0000);

/// A connection whose first bytes of the pattern are given with the request to connect.
fn connect_with_data(host: &Namespace, to: SocketAddr, bytes: usize) -> TcpStream {
    let stream = host.enter(|| {
        let family = if to.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = socket(family, SocketType::STREAM, None).expect("a socket");
        let data = testing::pattern(0, bytes);
        let sent = sendto(&socket, &data, FAST_OPEN, &to).expect("sent");
        assert_eq!(sent, bytes);
        TcpStream::from(socket)
    });
    stream.set_read_timeout(Some(TIMEOUT)).expect("set");
    stream
}

fn data_in_a_syn_arrives_once_and_whole() {
    let Some(hosts) = Hosts::try_new("data_in_a_syn_arrives_once_and_whole") else {
        return;
    };
    const FIRST: usize = 700;
    // data without a cookie; all listeners of the server accept it (ip-sysctl.rst)
    hosts.client.sh("sysctl -qw net.ipv4.tcp_fastopen=5");
    hosts.server.sh("sysctl -qw net.ipv4.tcp_fastopen=0x603");
    // the proxy's kernel as it is by default, and where it accepts for all listeners
    for (round, (of_proxy, is_explicit)) in [(1, false), (0x603, false), (1, true), (0x603, true)]
        .into_iter()
        .enumerate()
    {
        hosts
            .proxy
            .sh(&format!("sysctl -qw net.ipv4.tcp_fastopen={of_proxy}"));
        let (opened, accepted) = (
            hosts.client.counter("TcpExtTCPFastOpenActive"),
            hosts.proxy.counter("TcpExtTCPFastOpenPassive"),
        );
        let daemon = Daemon::start(&hosts.proxy, &configured(is_explicit));
        for is_ipv6 in [false, true] {
            if is_explicit && is_ipv6 {
                continue;
            }
            let listener = listen(&hosts.server, SocketAddr::new(server(is_ipv6), 5_701));
            let to = if is_ipv6 {
                SocketAddr::new(server(true), 5_701)
            } else {
                near_end(is_explicit)
            };
            for _ in 0..3 {
                let near = connect_with_data(&hosts.client, to, FIRST);
                let (far, _) = accept(&listener);
                let all = testing::pattern(0, FIRST + 50_000);
                std::io::Write::write_all(&mut &near, &all[FIRST..]).expect("sent");
                near.shutdown(Shutdown::Write).expect("shut");
                assert_eq!(receive(&far).expect("received"), all.len());
                send(&far, 300_000).expect("sent");
                drop(far);
                assert_eq!(receive(&near).expect("received"), 300_000);
            }
        }
        let connections = if is_explicit { 3 } else { 6 };
        daemon.wait_until("all have finished", || {
            daemon.count("finished") == connections
        });
        assert_eq!(
            daemon.count("bytes_up"),
            connections * (FIRST as u64 + 50_000)
        );
        let now = hosts.proxy.counter("TcpExtTCPFastOpenPassive");
        if of_proxy == 1 {
            assert_eq!(now, accepted, "round {round}: it accepts no data in a SYN");
        } else {
            assert!(now > accepted, "round {round}: data came in a SYN");
            assert!(hosts.client.counter("TcpExtTCPFastOpenActive") > opened);
        }
    }
}

fn ends_without_timestamps_scaling_or_sack_are_relayed() {
    let Some(hosts) = Hosts::try_new("ends_without_timestamps_scaling_or_sack_are_relayed") else {
        return;
    };
    let off = |host: &Namespace, is_off: bool| {
        let value = u8::from(!is_off);
        host.sh(&format!(
            "sysctl -qw net.ipv4.tcp_timestamps={value} net.ipv4.tcp_window_scaling={value} \
             net.ipv4.tcp_sack={value}"
        ));
    };
    for is_explicit in [false, true] {
        let daemon = Daemon::start(&hosts.proxy, &configured(is_explicit));
        let (_, listener) = server_at(&hosts, 5_701);
        for (of_client, of_server) in [(true, false), (false, true), (true, true)] {
            off(&hosts.client, of_client);
            off(&hosts.server, of_server);
            let near = connect(&hosts.client, near_end(is_explicit)).expect("connected");
            let (far, _) = accept(&listener);
            for (host, is_off) in [(&hosts.client, of_client), (&hosts.server, of_server)] {
                let options = host.sh("ss -tinoH state established");
                for option in ["ts", "sack", "wscale"] {
                    let has = options
                        .split_whitespace()
                        .any(|word| word == option || word.starts_with(&format!("{option}:")));
                    assert_eq!(has, !is_off, "{option}: {options}");
                }
            }
            exchange(&near, &far, 3_000_000);
            drop((near, far));
            daemon.wait_until("it has gone", || daemon.status()["connections"] == 0);
            for host in [&hosts.client, &hosts.server] {
                testing::wait_until("its end has gone", || {
                    host.sh("ss -tnH state established").trim().is_empty()
                });
            }
        }
        assert_eq!(daemon.count("resets"), 0);
    }
}

/// Connects from a port to a port; the request is repeated by the kernel.
fn open_to(host: &Namespace, from: SocketAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = host.enter(|| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &from)?;
        rustix::net::connect(&socket, &to)?;
        Ok::<_, rustix::io::Errno>(TcpStream::from(socket))
    })?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Drops the requests to connect that arrive at a host.
fn drop_syns(host: &Namespace) {
    host.sh(
        "nft 'add table ip d; add chain ip d i { type filter hook prerouting priority raw; }; \
             add rule ip d i tcp flags & (syn | ack) == syn drop'",
    );
}

fn drops_none(host: &Namespace) {
    host.sh("nft delete table ip d");
}

/// Sends and receives so much, or sees a reset: never an end before it.
fn whole_or_reset(stream: &TcpStream) {
    const BYTES: usize = 50_000;
    // a reset is reported once: to the first that meets it
    let sent = send(stream, BYTES).and_then(|()| stream.shutdown(Shutdown::Write));
    if let Ok(received) = sent.and_then(|()| receive(stream)) {
        assert_eq!(received, BYTES);
    }
}

/// Both ends connect to each other's port; whose request arrives first is decided by which are dropped.
fn ends_that_open_to_each_other_at_once_are_joined() {
    let Some(hosts) = Hosts::try_new("ends_that_open_to_each_other_at_once_are_joined") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let open = |port: u16| {
        let near = SocketAddr::new(client(false), port);
        let far = SocketAddr::new(server(false), port + 1);
        let (client, server) = (&hosts.client, &hosts.server);
        (
            move || open_to(client, near, far),
            move || open_to(server, far, near),
        )
    };
    let waits = |host: &Namespace| {
        testing::wait_until("it waits for an answer", || {
            !host.sh("ss -tnH state syn-sent").trim().is_empty()
        });
    };
    let join = |near: std::io::Result<TcpStream>, far: std::io::Result<TcpStream>| {
        exchange(&near.expect("connected"), &far.expect("connected"), 300_000);
    };
    std::thread::scope(|scope| {
        // the server waits for an answer when the proxy's request comes
        drop_syns(&hosts.client);
        let (from_client, from_server) = open(40_010);
        let far = scope.spawn(from_server);
        waits(&hosts.server);
        let near = from_client();
        join(near, far.join().expect("no panic"));
        drops_none(&hosts.client);
        assert_eq!(daemon.count("established"), 1);
        // the proxy waits for an answer when the server's request comes
        drop_syns(&hosts.server);
        let (from_client, from_server) = open(40_020);
        let near = from_client();
        waits(&hosts.proxy);
        let far = from_server();
        join(near, far);
        drops_none(&hosts.server);
        assert_eq!(daemon.count("established"), 2);
        // the client's request does not come, the server's passes by
        drop_syns(&hosts.proxy);
        hosts
            .proxy
            .sh("nft 'insert rule ip d i iifname wan0 accept'");
        let (from_client, from_server) = open(40_030);
        let near = scope.spawn(from_client);
        waits(&hosts.client);
        let far = from_server();
        join(near.join().expect("no panic"), far);
        drops_none(&hosts.proxy);
        assert_eq!(daemon.count("established"), 2);
        // in any order: a request that comes before the other end has made its own is refused
        for host in [&hosts.client, &hosts.proxy, &hosts.server] {
            host.sh("sysctl -qw net.ipv4.tcp_syn_retries=2");
        }
        for round in 0..10 {
            let (from_client, from_server) = open(40_100 + 10 * round);
            let near = scope.spawn(from_client);
            let far = from_server();
            for stream in [near.join().expect("no panic"), far].into_iter().flatten() {
                scope.spawn(move || whole_or_reset(&stream));
            }
        }
    });
    daemon.wait_until("all have gone", || daemon.status()["connections"] == 0);
}
