//! Parities of a call's packets over paths that lose some.

use super::latency::{CALL, Call};
use super::*;
use crate::parity::Fec;

/// A call over two paths of which the faster loses each 40th packet, with so little time that nothing can be sent again.
fn lossy(fec: Fec, fec_of_client: Fec) -> (Pair, Call) {
    let config = |fec| TunnelConfig {
        fec,
        latency_deadline: Duration::from_millis(30),
        ..TunnelConfig::default()
    };
    let mut pair = Pair::new("deadline", config(fec_of_client), controller("newreno"));
    pair.config.fec = fec;
    pair.open(0);
    pair.open(1);
    pair.run(Duration::from_millis(300), 0);
    pair.down[0].loses = 40;
    let mut call = Call::new(&pair);
    call.burst = 4;
    call.run(&mut pair, 4_000);
    (pair, call)
}

fn latency(pair: &Pair) -> LatencyCounters {
    pair.server.as_ref().expect("accepted").stats().latency
}

#[test]
fn what_one_path_loses_is_rebuilt_from_the_other() {
    let (pair, call) = lossy(Fec::Off, Fec::Off);
    let copied = latency(&pair);
    assert_eq!(copied.parities, Packets::ZERO);
    assert!(copied.copies.get() * 2 > copied.sent.get(), "{copied:?}");
    let sent = call.sent.len();
    let (pair, call) = lossy(Fec::Auto, Fec::Auto);
    let (stats, rebuilt) = (latency(&pair), pair.client.stats().latency.rebuilt);
    assert!(rebuilt >= Packets::new(10), "{rebuilt}, {stats:?}");
    // those of the last moment are under way
    let left = sent - call.delivered.len();
    assert!(left <= 20, "{left}, {stats:?}");
    // a parity is of several packets
    let added = stats.parities.get() + stats.copies.get();
    assert!(added * 3 < stats.sent.get(), "{stats:?}");
    // that each comes once is checked as it is delivered; and rebuilt ones are those that were sent
    let numbers = pair.delivered.iter().map(|data| data.number);
    let mut of_call = numbers.filter(|number| *number >= CALL);
    assert!(of_call.all(|number| call.sent.contains_key(&number)));
}

#[test]
fn a_peer_that_rebuilds_nothing_is_sent_no_parity() {
    let (pair, _) = lossy(Fec::Auto, Fec::Off);
    assert_eq!(latency(&pair).parities, Packets::ZERO);
    let (pair, _) = lossy(Fec::Off, Fec::Auto);
    assert_eq!(latency(&pair).parities, Packets::ZERO);
}

/// As a peer does that has no parities: what has no number in the connection is counted and dropped.
#[test]
fn a_parity_that_was_not_asked_for_is_counted() {
    let (mut pair, _) = lossy(Fec::Off, Fec::Off);
    let now = pair.now;
    let seq = pair.server.as_mut().expect("accepted").paths[0]
        .numbers
        .take();
    let packet = Packet {
        source: 6_511,
        destination: 1_000,
        ccval: 0,
        seq,
        kind: Kind::Data,
        options: Options {
            list: vec![crate::parity::rebuilds()],
            ..Options::default()
        },
    };
    let before = pair.client.stats().without_number;
    let data = Data {
        number: 7,
        bytes: 300,
        ecn: Ecn::NotEct,
    };
    pair.client
        .receive(now, PathId(0), &packet, Some(data), Ecn::NotEct);
    assert_eq!(pair.client.stats().without_number, before + Packets::new(1));
    assert_eq!(pair.client.poll_delivery(now), None);
}
