//! Packets that are guessed, jump or confirm nothing.

use super::*;

/// Off the path: ten thousand packets of every type with guessed numbers, at both ends and paths.
/// Nothing closes, nothing is delivered, the answers are few, and all of them are counted.
#[test]
fn guessed_packets_do_nothing() {
    let mut net = Net::opened();
    let sent_before = [net.seen[0].len(), net.seen[1].len()];
    for i in 0..10_000u64 {
        let seq = SeqNo::new(net.rng.next_u64());
        let ack = SeqNo::new(net.rng.next_u64());
        let code = ResetCode::CLOSED;
        let data = [0; 3];
        let kind = match i % 8 {
            0 => Kind::Data,
            1 => Kind::DataAck { ack },
            2 => Kind::Close { ack },
            3 => Kind::CloseReq { ack },
            4 => Kind::Sync { ack },
            5 => Kind::SyncAck { ack },
            6 => Kind::Response { ack, service: 0 },
            _ => Kind::Reset { ack, code, data },
        };
        let options = Options {
            mp_seq: Some(MpSeq::new(net.rng.next_u64())),
            ..Options::default()
        };
        let path = PathId((i / 8 % 2) as u8);
        net.forge(i % 16 < 8, path, kind, seq, options);
        if i % 100 == 0 {
            net.run(1);
        }
    }
    net.run(10);
    // the ends' own Syncs name guessed numbers, so that the other end does not take them either
    let invalid = net.invalid();
    assert!((10_000..10_100).contains(&invalid.get()), "{invalid}");
    // RFC 4340 7.5.4: Syncs are limited; here 110 ms went by
    for (now, before) in net.seen.iter().zip(sent_before) {
        assert!(now.len() - before < 20, "{}", now.len() - before);
    }
    assert!(net.got.is_empty());
    assert!(net.is_whole() && net.works());
}

/// On the path, absurd jumps of a path's numbers and of the connection's: data and Syncs that are far
/// ahead, with acknowledgement numbers as they should be.
#[test]
fn jumps_of_numbers_are_survived() {
    for jump in [1u64 << 20, 1 << 40, (1 << 47) - 1, 1 << 47] {
        for to_server in [true, false] {
            let mut net = Net::opened();
            let (seq, ack) = net.next_numbers(to_server, PathId(0));
            let numbered = |number| Options {
                mp_seq: Some(MpSeq::new(number)),
                ..Options::default()
            };
            for kind in [Kind::Data, Kind::DataAck { ack }, Kind::Sync { ack }] {
                net.forge(to_server, PathId(0), kind, seq.add(jump), numbered(jump));
                net.run(5);
            }
            net.run(3_000);
            // the ends find each other again by Syncs, or the other path goes on
            assert!(net.works() || net.works(), "{jump} {to_server}");
            assert!(!net.client.is_closed() && !net.tunnel().is_closed());
        }
    }
}

/// A peer whose connection numbers jump: what is held is bounded, and what comes later is delivered.
#[test]
fn jumps_of_the_connections_numbers_are_survived() {
    let mut net = Net::opened();
    let mut delivered = 0;
    let mut number = 1u64 << 20;
    for i in 0..20_000u64 {
        let (seq, _) = net.next_numbers(false, PathId(0));
        let seq = seq.add(i);
        number = match net.rng.below(4) {
            0 => number + net.rng.below(3_000),
            1 => number + (1 << 30),
            2 => number.wrapping_sub(net.rng.below(100)),
            _ => number + 1,
        };
        let options = Options {
            mp_seq: Some(MpSeq::new(number)),
            ..Options::default()
        };
        let packet = Packet {
            source: 6_511,
            destination: 1_000,
            ccval: 0,
            seq,
            kind: Kind::Data,
            options,
        };
        net.inject(false, PathId(0), &packet, Some(Data(i)));
        while net.client.poll_delivery(net.now).is_some() {
            delivered += 1;
        }
        assert!(net.client.stats().held <= Packets::new(1_500));
        if i % 100 == 0 {
            net.now += Duration::from_millis(1);
        }
    }
    net.now += Duration::from_secs(1);
    net.client.on_deadline(net.now);
    while net.client.poll_delivery(net.now).is_some() {
        delivered += 1;
    }
    assert_eq!(net.client.stats().held, Packets::ZERO);
    assert!(delivered > 10_000, "{delivered}");
}

/// Signals that are not proved, and an address under the id of another.
#[test]
fn forged_and_conflicting_addresses_are_rejected() {
    let mut net = Net::opened();
    let now = net.now;
    let first = [192, 0, 2, 50].into();
    net.tunnel()
        .add_address(now, AddressId(5), first, None)
        .expect("room");
    net.run(10);
    let added = Event::AddressAdded {
        id: AddressId(5),
        address: first,
        port: None,
    };
    assert!(net.events.contains(&added));
    let rejected_before = net.client.stats().signals_received;
    let (seq, ack) = net.next_numbers(false, PathId(0));
    let forged = list(vec![
        mp(MpOption::RemoveAddress {
            id: AddressId(0),
            nonce: 1,
        }),
        mp(MpOption::Hmac(Hmac([9; 20]))),
    ]);
    let forged = Options {
        mp_seq: Some(MpSeq::new(1)),
        ..forged
    };
    net.forge(false, PathId(0), Kind::Ack { ack }, seq, forged);
    net.run(10);
    // the server itself signals another address under the same id, without removing the first
    let now = net.now;
    let second = [192, 0, 2, 51].into();
    net.tunnel()
        .add_address(now, AddressId(5), second, None)
        .expect("room");
    net.run(10);
    let rejected = net.client.stats().signals_received;
    assert_eq!(rejected.unproved - rejected_before.unproved, 1);
    assert!(rejected.id_in_use > rejected_before.id_in_use);
    let events = net.events.iter();
    let addresses = events.filter(|event| matches!(event, Event::AddressAdded { .. }));
    assert_eq!(addresses.count(), 1);
    assert!(net.is_whole() && net.works());
}

/// The peer takes everything and confirms nothing: signals are given up, and what waits is bounded.
#[test]
fn a_peer_that_never_confirms_is_left_alone() {
    let mut net = Net::opened();
    net.acks_pass = false;
    let before = net.client.stats().signals_sent.sent;
    let mut rejected = 0;
    for i in 0..200u8 {
        let now = net.now;
        let address = [192, 0, 2, i].into();
        let result = net.client.add_address(now, AddressId(i), address, None);
        rejected += u64::from(result.is_err());
        net.run(1);
    }
    assert!(rejected > 100);
    net.run(40_000);
    let signals = net.client.stats().signals_sent;
    assert_eq!(signals.given_up, 200 - rejected);
    assert!(signals.sent - before <= (200 - rejected) * 8, "{signals:?}");
    net.acks_pass = true;
    net.run(3_000);
    assert!(net.is_whole() && net.works());
    let now = net.now;
    net.client
        .set_priority(now, PathId(1), PathPriority::STANDBY)
        .expect("there is room again");
    net.run(50);
    let stats = net.tunnel().path_stats(now, PathId(1)).expect("open");
    assert_eq!(stats.priority, PathPriority::STANDBY);
}

/// A Response and a Reset to a client that has sent no Request for it, and one before the server's own.
#[test]
fn answers_to_nothing_are_ignored() {
    let mut net = Net::new(None);
    let now = net.now;
    let request = net.client.poll_transmit(now).expect("a Request").packet;
    for ack in [request.seq.sub(1), request.seq.next(), SeqNo::new(0)] {
        let code = ResetCode::CONNECTION_REFUSED;
        let data = [0; 3];
        let service = TunnelConfig::default().service;
        for kind in [
            Kind::Reset { ack, code, data },
            Kind::Response { ack, service },
            Kind::Ack { ack },
        ] {
            net.forge(false, PathId(0), kind, SeqNo::new(1), Options::default());
        }
    }
    assert_eq!(net.client.stats().refused_handshakes, Packets::ZERO);
    net.run(2_000);
    assert!(net.is_whole() && net.works());
}
