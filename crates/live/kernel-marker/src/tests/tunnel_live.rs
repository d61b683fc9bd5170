//! Tunnels between two network namespaces: what the kernel leaves to interfaces (checksums) and tunnels of its own.

use super::frames::{Frame, checksum, ecn_of_ip};
use super::live::{ANY, Network, network};
use super::tunnels::BOTH;
use super::wrapped::{GTPU, OPTIONS, g_pdu, packet, pseudo, sum_of_udp, udp_at};
use super::{CE, ECT_1, full, v4, v6};
use crate::{Marker, Settings};
use edge::marker::Verdict;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::net::{IpAddr, SocketAddrV6, UdpSocket};

pub(super) fn attached(network: &Network, settings: &Settings, ues: &[IpAddr]) -> Marker {
    let marker = network.attach(settings, ANY).expect("attached");
    let orders: Vec<_> = ues.iter().map(|ue| (*ue, full())).collect();
    network
        .edge
        .enter(|| marker.set_orders(&orders).expect("set"));
    marker
}

/// Of a UDP packet that is not yet on a wire: complete, or the sum of its addresses, which an interface completes.
fn is_right(packet: &[u8]) -> bool {
    let at = udp_at(packet) + 6;
    let left = !checksum(&pseudo(packet));
    sum_of_udp(packet) == 0 || packet[at..at + 2] == left.to_be_bytes()
}

#[test]
fn a_flow_in_gtp_u_is_marked_inside_and_outside() {
    let Some(network) = network("a flow in GTP-U", ANY) else {
        return;
    };
    let marker = attached(&network, &BOTH, &[v4(7), v6(7)]);
    let frame = Frame::udp(ECT_1, 500);
    for inner in [frame.v4(7), frame.v6(7)] {
        let inner = packet(&inner);
        let message = g_pdu(OPTIONS[2], &inner);
        for number in 0..12 {
            let arrived = network.sent(GTPU, &message);
            let (outside, after) = arrived.split_at(arrived.len() - inner.len());
            let expected = match number {
                0..10 => ECT_1,
                _ => CE,
            };
            assert_eq!(ecn_of_ip(after), expected, "inside");
            assert_eq!(ecn_of_ip(outside), expected, "outside");
            assert!(is_right(&arrived), "{arrived:x?}");
        }
    }
    let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    let arrived = network.sent(GTPU, &echo);
    assert_eq!(ecn_of_ip(&arrived), ECT_1);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 4);
    assert_eq!(counts.unjudged.signalling, 1);
    assert_eq!((counts.unjudged.malformed, counts.unwritten), (0, 0));
}

/// A VXLAN device of the edge, whose UDP checksums the kernel computes before those inside (LCO). None if it has no such
/// devices.
fn with_vxlan(test: &str) -> Option<Network> {
    let network = network(test, ANY)?;
    let added = network
        .edge
        .command("ip")
        .args(
            "link add vx0 type vxlan id 7 local 10.0.0.1 remote 10.0.0.2 dstport 4789 udpcsum"
                .split(' '),
        )
        .output()
        .expect("run");
    if !added.status.success() {
        testing::skip(test, testing::Missing::Kernel("vxlan"));
        return None;
    }
    network.edge.sh(
        "ip link set vx0 up; ip addr add 2001:db8::1/64 dev vx0 nodad; \
         ip neigh add 2001:db8::77 lladdr 02:00:00:00:00:77 dev vx0",
    );
    Some(network)
}

#[test]
fn checksums_that_the_kernel_has_completed_outside_only_stay_right() {
    let Some(network) = with_vxlan("checksums of VXLAN") else {
        return;
    };
    let ue: IpAddr = "2001:db8::77".parse().expect("an address");
    let marker = attached(&network, &BOTH, &[ue]);
    let sender = network.edge.enter(|| UdpSocket::bind("[2001:db8::1]:0"));
    let sender = sender.expect("a socket");
    // IPPROTO_IPV6, IPV6_TCLASS
    socket_options::set_int(&sender, 41, 67, ECT_1.into()).expect("set");
    let inner = 40 + 8 + 400;
    for number in 0..12 {
        sender.send_to(&[number; 400], (ue, 4433)).expect("sent");
        let mut arrived = network.next(20 + 8 + 8 + 14 + inner);
        let at = arrived.len() - inner;
        let expected = match number {
            0..10 => ECT_1,
            _ => CE,
        };
        assert_eq!(ecn_of_ip(&arrived[at..]), expected, "inside");
        assert_eq!(ecn_of_ip(&arrived), expected, "outside");
        // as an interface completes it
        let check = at + 40 + 6;
        let left = !checksum(&pseudo(&arrived[at..]));
        assert_eq!(arrived[check..check + 2], left.to_be_bytes());
        arrived[check..check + 2].fill(0);
        let sum = sum_of_udp(&arrived[at..]).to_be_bytes();
        arrived[check..check + 2].copy_from_slice(&sum);
        assert_eq!(sum_of_udp(&arrived), 0, "{arrived:x?}");
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 2);
    assert_eq!(counts.unwritten, 0);
}

#[test]
fn own_tcp_in_a_tunnel_of_this_machine_is_not_judged_where_tcp_is_split() {
    let Some(network) = with_vxlan("own TCP in VXLAN") else {
        return;
    };
    let splits = Settings {
        splits_tcp: true,
        ..BOTH
    };
    let marker = attached(&network, &splits, &[v4(77)]);
    let socket = network.edge.enter(|| {
        let flags = SocketFlags::NONBLOCK;
        socket_with(AddressFamily::INET6, SocketType::STREAM, flags, None)
    });
    let socket = socket.expect("a socket");
    let ue = "[2001:db8::77]:443".parse::<SocketAddrV6>();
    // its SYN goes out, to nobody
    let _ = connect(&socket, &ue.expect("an address"));
    testing::wait_until("a SYN", || {
        marker.counts().expect("counts").unjudged.own_tcp > 0
    });
    // what a program sends in GTP-U is not of this machine's TCP
    let inner = packet(&Frame::tcp(ECT_1, 300).v4(77));
    network.sent(GTPU, &g_pdu(OPTIONS[0], &inner));
    assert_eq!(
        marker.counts().expect("counts").judged.of(Verdict::Young),
        1
    );
}
