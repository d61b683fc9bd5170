//! What becomes of packets.

use crate::Test;
use crate::support::{BEYOND, Place, SHUT};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use testing::{assert_pattern, pattern};

pub const TESTS: &[Test] = &[
    (
        "a_stream_arrives_whole_while_its_packets_wait",
        a_stream_arrives_whole_while_its_packets_wait,
    ),
    (
        "a_stream_arrives_whole_while_it_is_marked",
        a_stream_arrives_whole_while_it_is_marked,
    ),
    (
        "what_waits_long_is_marked_if_it_is_ecn_capable",
        what_waits_long_is_marked_if_it_is_ecn_capable,
    ),
    (
        "marks_are_set_by_what_waits_in_the_modem",
        marks_are_set_by_what_waits_in_the_modem,
    ),
    (
        "without_reports_all_passes_as_it_is",
        without_reports_all_passes_as_it_is,
    ),
];

const ECT_1: i32 = 1;
const PACKETS: u64 = 40;

/// Less than the window: at 1 MB/s, 14 kB.
const OPEN: u64 = 9_000;

fn stream(mode: &str) {
    const BYTES: usize = 600_000;
    let place = Place::new();
    let modem = place.modem();
    modem.set_waits(OPEN);
    let _daemon = place.daemon(&format!("mode = \"{mode}\""));
    place.wait("/modem/rate_bps", |rate| rate > 0);
    let listener = place
        .beyond
        .enter(|| TcpListener::bind((BEYOND, 0)).expect("bound"));
    let address = listener.local_addr().expect("bound");
    let mut sender = place
        .router
        .enter(|| TcpStream::connect(address).expect("connected"));
    let (mut receiver, _) = listener.accept().expect("accepted");
    let sending = std::thread::spawn(move || {
        sender.write_all(&pattern(0, BYTES)).expect("written");
    });
    let mut received = Vec::new();
    receiver.read_to_end(&mut received).expect("read");
    sending.join().expect("sent");
    assert_eq!(received.len(), BYTES);
    assert_pattern(0, &received);
    // segments of 1,448 bytes, and some more
    let passed = place.wait("/packets/passed", |passed| passed >= 400);
    assert!(place.wait("/packets/handed_over", |of| of >= passed) >= passed);
}

fn a_stream_arrives_whole_while_its_packets_wait() {
    stream("queue");
}

fn a_stream_arrives_whole_while_it_is_marked() {
    stream("mark");
}

/// Packets that have arrived beyond, by their ECN fields: of IPv4 and of IPv6.
fn arrived(place: &Place) -> [u64; 6] {
    [
        "IpExtInCEPkts",
        "IpExtInECT1Pkts",
        "IpExtInNoECTPkts",
        "Ip6InCEPkts",
        "Ip6InECT1Pkts",
        "Ip6InNoECTPkts",
    ]
    .map(|name| place.beyond.counter(name))
}

/// Sockets of both kinds over both versions, and all of them so many packets of 400 bytes.
fn send_all(place: &Place) -> Vec<(UdpSocket, UdpSocket)> {
    let kinds = [(ECT_1, false), (0, false), (ECT_1, true), (0, true)];
    let pairs: Vec<_> = kinds.map(|(ecn, is_ipv6)| place.pair(ecn, is_ipv6)).into();
    for _ in 0..PACKETS {
        for (sender, _) in &pairs {
            sender.send(&[7; 400]).expect("sent");
        }
    }
    pairs
}

/// What is held meanwhile has waited for longer than the threshold of L4S when the window opens, whatever this machine is busy
/// with: a report counts only half a millisecond after another.
fn what_waits_long_is_marked_if_it_is_ecn_capable() {
    let place = Place::new();
    let modem = place.modem();
    let _daemon = place.daemon("mode = \"queue\"");
    // what neighbour discovery needs is done
    let (first, there) = place.pair(0, false);
    first.send(b"first").expect("sent");
    there.recv(&mut [0; 9]).expect("received");
    let (first, there) = place.pair(0, true);
    first.send(b"first").expect("sent");
    there.recv(&mut [0; 9]).expect("received");
    let waiting = place.shut(&modem);
    let before = arrived(&place);
    let pairs = send_all(&place);
    let all = waiting + 4 * PACKETS;
    place.wait("/queue/packets", |waits| waits >= all);
    let held = arrived(&place);
    assert_eq!((held[0], held[1]), (before[0], before[1]), "all waits");
    place.next_reports(40);
    modem.set_waits(0);
    // of L4S none is dropped
    testing::wait_until("all of L4S has arrived", || {
        let now = arrived(&place);
        let of = |at: usize| now[at] + now[at + 1] - before[at] - before[at + 1];
        (of(0), of(3)) == (PACKETS, PACKETS)
    });
    let now = arrived(&place);
    let (ce, ce_6) = (now[0] - before[0], now[3] - before[3]);
    assert!(ce > 0 && ce_6 > 0, "{ce} and {ce_6}");
    // every mark that was set has arrived, with a right checksum: none is on a packet that is not ECN-capable
    assert_eq!(
        place.wait("/packets/marked", |marked| marked >= ce + ce_6),
        ce + ce_6
    );
    drop(pairs);
}

/// Nothing waits here, and what would wait in the modem for long is marked.
fn marks_are_set_by_what_waits_in_the_modem() {
    let place = Place::new();
    // so slow that what is sent here is no sparse flow, whatever this machine is busy with
    let modem = place.modem_of(20_000);
    modem.set_waits(SHUT);
    let _daemon = place.daemon("mode = \"mark\"");
    place.wait("/modem/rate_bps", |rate| rate > 0);
    let before = arrived(&place);
    let (sender, _receiver) = place.pair(ECT_1, false);
    let (plain, _there) = place.pair(0, false);
    testing::wait_until("marks", || {
        for _ in 0..50 {
            sender.send(&[7; 1_200]).expect("sent");
            plain.send(&[7; 1_200]).expect("sent");
        }
        place.status()["packets"]["marked"].as_u64() >= Some(5)
    });
    testing::wait_until("each mark has arrived", || {
        let marked = place.status()["packets"]["marked"].as_u64();
        marked == Some(arrived(&place)[0] - before[0])
    });
    assert_eq!(place.status()["queue"]["packets"], 0);
}

/// Stale reports and none at all are the same: all passes.
fn without_reports_all_passes_as_it_is() {
    let place = Place::new();
    let _daemon = place.daemon("mode = \"queue\"");
    let before = arrived(&place);
    for (_, receiver) in send_all(&place) {
        for _ in 0..PACKETS {
            assert_eq!(receiver.recv(&mut [0; 500]).expect("received"), 400);
        }
    }
    let after = arrived(&place);
    assert_eq!(
        (after[0], after[3]),
        (before[0], before[3]),
        "none is marked"
    );
    assert_eq!(after[1] - before[1], PACKETS);
    let status = place.status();
    assert_eq!(status["modem"]["is_connected"], false);
    assert_eq!(status["modem"]["rate_bps"], serde_json::Value::Null);
}
