//! What becomes of packets.

use crate::Test;
use crate::support::{BEYOND, Place};
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
    place.shut(&modem);
    let before = arrived(&place);
    let pairs = send_all(&place);
    place.wait("/queue/packets", |waits| waits == 4 * PACKETS);
    assert_eq!(arrived(&place), before, "all waits");
    place.next_reports(40);
    modem.set_waits(0);
    place.wait("/queue/packets", |waits| waits == 0);
    let marked = place.wait("/packets/marked", |marked| marked > 0);
    let all = 4 * PACKETS + 2;
    testing::wait_until("all has arrived or was dropped", || {
        let packets = &place.status()["packets"];
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        number(&packets["passed"]) + number(&packets["dropped"]["law"]) == all
    });
    // every mark that was set arrives, with a right checksum, and each packet that has none as it was
    testing::wait_until("marks arrive", || {
        let [v4, .., v6, _, _] = arrived(&place);
        v4 - before[0] + v6 - before[3] == marked
    });
    let [ce, ect, not, ce_6, ect_6, not_6] = arrived(&place);
    assert!(ce > before[0] && ce_6 > before[3], "{ce} and {ce_6}");
    assert_eq!(
        ce - before[0] + ect - before[1],
        PACKETS,
        "of L4S none is dropped"
    );
    assert_eq!(ce_6 - before[3] + ect_6 - before[4], PACKETS);
    assert!(not - before[2] <= PACKETS && not_6 - before[5] <= PACKETS + 9);
    drop(pairs);
}

/// Nothing waits here, and what would wait in the modem for long is marked.
fn marks_are_set_by_what_waits_in_the_modem() {
    let place = Place::new();
    let modem = place.modem();
    let _daemon = place.daemon("mode = \"mark\"");
    place.shut(&modem);
    let before = arrived(&place);
    // the first packets of a flow are left alone
    let (sender, receiver) = place.pair(ECT_1, false);
    let (plain, _there) = place.pair(0, false);
    testing::wait_until("marks", || {
        sender.send(&[7; 400]).expect("sent");
        assert_eq!(receiver.recv(&mut [0; 500]).expect("received"), 400);
        plain.send(&[7; 400]).expect("sent");
        place.status()["packets"]["marked"].as_u64() >= Some(5)
    });
    let marked = place.wait("/packets/marked", |_| true);
    testing::wait_until("marks arrive", || arrived(&place)[0] - before[0] == marked);
    assert_eq!(place.wait("/queue/packets", |_| true), 0);
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
