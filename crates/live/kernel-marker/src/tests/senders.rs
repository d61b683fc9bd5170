//! What TCP senders of the kernel make of the marks.

use super::live::{ANY, Network, network};
use super::{ALL, BASE, CE, ECT_0, ECT_1, UPDATED, full, v4};
use edge::marker::{UeMarker, Verdict};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket, sockopt};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use testing::{HANG_LIMIT, Namespace, assert_pattern, pattern};

const BYTES: usize = 1_000_000;
const PORT: u16 = 5_001;

/// A listener at the edge and a client at the UE, both with this congestion control; none where the kernel has none of the
/// name.
fn connected(test: &str, network: &Network, control: &str) -> Option<[TcpStream; 2]> {
    for host in [&network.edge, &network.ue] {
        host.sh("sysctl -qw net.ipv4.tcp_ecn=1");
    }
    let at = SocketAddr::from(([10, 0, 0, 1], PORT));
    let listener = network
        .edge
        .enter(|| TcpListener::bind(at).expect("a listener"));
    if let Err(error) = sockopt::set_tcp_congestion(&listener, control) {
        assert_eq!(error, rustix::io::Errno::NOENT, "{control}");
        testing::skip(test, testing::Missing::Kernel(&format!("tcp_{control}")));
        return None;
    }
    let client = network.ue.enter(|| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        sockopt::set_tcp_congestion(&socket, control).expect("the kernel has it");
        rustix::net::connect(&socket, &at).expect("connected");
        TcpStream::from(socket)
    });
    let (server, _) = listener.accept().expect("accepted");
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        stream.set_write_timeout(Some(HANG_LIMIT)).expect("set");
    }
    Some([server, client])
}

/// Sees the packets of TCP that arrive at the UE, in a buffer that holds all of a test's.
fn capture(ue: &Namespace) -> OwnedFd {
    let seen = ue.enter(|| {
        let any = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::TCP));
        any.expect("a raw socket")
    });
    sockopt::set_socket_recv_buffer_size_force(&seen, 16 << 20).expect("set");
    seen
}

/// How many of them with payload have each ECN field.
fn fields(seen: &OwnedFd) -> [u32; 4] {
    let mut packet = vec![0; 70_000];
    let mut fields = [0; 4];
    while let Ok((_, size)) = recv(seen, packet.as_mut_slice(), RecvFlags::DONTWAIT) {
        let header = usize::from(packet[0] & 15) * 4;
        let data = header + usize::from(packet[header + 12] >> 4) * 4;
        if size > data {
            fields[usize::from(packet[1] & 3)] += 1;
        }
    }
    fields
}

/// Marks arrive, are answered, and no byte is lost. Where packets are to be ECT(1), the edge makes them so: no congestion
/// control of the kernel does.
fn marks_reach(control: &str, codepoint: u8) {
    let test = format!("marks of ECT({}) to a sender with {control}", codepoint % 2);
    let Some(network) = network(&test, ANY) else {
        return;
    };
    let marker = network.attach(&ALL, ANY).expect("attached");
    if codepoint == ECT_1 {
        network.edge.sh(
            "nft 'add table ip t; add chain ip t o { type filter hook output priority 0; }; \
             add rule ip t o ip ecn ect0 ip ecn set ect1'",
        );
        network
            .edge
            .enter(|| marker.set_order(v4(2), &full()).expect("set"));
    } else {
        // the classic law, with a probability of an eighth that stays so
        let mut words = vec![0; UeMarker::WORDS];
        words[BASE] = 379_625_062;
        words[UPDATED] = u64::MAX;
        marker.put(v4(2), &full(), &words);
    }
    let Some([mut server, mut client]) = connected(&test, &network, control) else {
        return;
    };
    let seen = capture(&network.ue);
    std::thread::scope(|scope| {
        scope.spawn(|| server.write_all(&pattern(0, BYTES)).expect("sent"));
        let mut received = vec![0; BYTES];
        client.read_exact(&mut received).expect("received");
        assert_pattern(0, &received);
    });
    let fields = fields(&seen);
    assert!(fields[usize::from(CE)] > 0, "{fields:?}");
    let other = match codepoint {
        ECT_1 => ECT_0,
        _ => ECT_1,
    };
    assert_eq!(fields[usize::from(other)], 0, "{fields:?}");
    let counts = marker.counts().expect("counts");
    let marked = match codepoint {
        ECT_1 => Verdict::MarkL4s,
        _ => Verdict::MarkClassic,
    };
    assert!(counts.judged.of(marked) > 0, "{counts:?}");
    assert_eq!(counts.unwritten, 0);
    // the receiver has seen them, and the sender has its answers
    assert!(network.ue.counter("IpExtInCEPkts") > 0);
    assert!(network.edge.counter("TcpExtTCPDeliveredCE") > 0);
}

#[test]
fn marks_of_ect_0_reach_cubic() {
    marks_reach("cubic", ECT_0);
}

#[test]
fn marks_of_ect_1_reach_cubic() {
    marks_reach("cubic", ECT_1);
}

#[test]
fn marks_of_ect_0_reach_dctcp() {
    marks_reach("dctcp", ECT_0);
}

#[test]
fn marks_of_ect_1_reach_dctcp() {
    marks_reach("dctcp", ECT_1);
}
