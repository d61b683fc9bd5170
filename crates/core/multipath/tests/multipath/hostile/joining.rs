//! Handshakes: joins that are repeated, have the wrong keys, or are too many.

use super::*;

/// A join that was seen is repeated: the Request and the Ack, from the same address and from another,
/// while the path is there and after it is gone.
#[test]
fn replayed_joins_are_rejected() {
    for is_closed in [false, true] {
        let mut net = Net::opened();
        let request = net.first_seen(0, is_join);
        let ack = net.first_seen(0, |p| matches!(p.kind, Kind::Ack { .. }) && has_hmac(p));
        if is_closed {
            let now = net.now;
            net.client.close_path(now, PathId(1));
            net.run(50);
        }
        let before = net.server.counters();
        let paths = net.tunnel().path_ids().count();
        let now = net.now;
        let elsewhere = flow(PathId(1), ATTACKER);
        for packet in [&request, &ack] {
            let got = net
                .server
                .receive(now, elsewhere, packet, None, Ecn::NotEct);
            assert_eq!(got, None);
            net.run(1);
        }
        let counters = net.server.counters();
        assert_eq!(counters.refused - before.refused, 1);
        assert_eq!(counters.joined, before.joined);
        assert_eq!(net.tunnel().path_ids().count(), paths);
        if !is_closed {
            // the same from the client's own address
            net.inject(true, PathId(1), &request, None);
            net.inject(true, PathId(1), &ack, None);
            net.run(10);
            assert!(net.is_whole());
        }
        assert!(net.works());
    }
}

/// An attacker has the connection's number and not its keys: the path that it requests does not open,
/// and it is given no second guess.
#[test]
fn a_join_with_the_wrong_keys_does_not_open() {
    let mut net = Net::opened();
    let connection = net.tunnel().connection_id();
    let now = net.now;
    let offer = JoinOffer {
        address: AddressId(9),
        connection,
        nonce: 5,
    };
    let from = flow(PathId(9), ATTACKER);
    let request = net.request(100, 1_009, offer.option());
    let (key, path) = net
        .server
        .receive(now, from, &request, None, Ecn::NotEct)
        .expect("the server answers");
    let response = net.server.poll_transmit(now).expect("a Response").packet;
    let server = JoinOffer::among(&response.options).expect("its join");
    assert!(has_hmac(&response));
    let guess = SessionKeys::new(Key::from_random(1), Key::from_random(2), None);
    let ack = Kind::Ack { ack: response.seq };
    let hmac = mp(MpOption::Hmac(guess.sign_join(5, server.nonce)));
    for seq in [101, 102] {
        let ack = Packet {
            seq: SeqNo::new(seq),
            kind: ack,
            options: list(vec![hmac.clone()]),
            ..request.clone()
        };
        net.server.receive(now, from, &ack, None, Ecn::NotEct);
    }
    let tunnel = net.server.tunnel(key).expect("the connection goes on");
    assert_eq!(tunnel.stats().refused_handshakes, Packets::new(1));
    assert!(!tunnel.path_stats(now, path).is_some_and(|s| s.is_usable));
    net.run(10);
    assert!(net.is_whole() && net.works());
}

/// An observer of the first handshake has both keys. That is enough to join, unless there is a
/// pre-shared key (RFC 9897 has none: this is ours).
#[test]
fn seen_keys_join_only_without_a_pre_shared_key() {
    let shared = PreSharedKey::new(b"sixteen bytes and more").expect("long enough");
    for shared in [None, Some(&shared)] {
        let mut net = Net::new(shared);
        net.run(100);
        assert!(net.is_whole());
        let key_of = |packet: &Packet| {
            packet.options.list.iter().find_map(|option| match option {
                DccpOption::Multipath(MpOption::Key { keys, .. }) => Key::among(keys),
                _ => None,
            })
        };
        let client = key_of(&net.first_seen(0, |p| key_of(p).is_some())).expect("seen");
        let server = key_of(&net.first_seen(1, |p| key_of(p).is_some())).expect("seen");
        let stolen = SessionKeys::new(client, server, None);
        let now = net.now;
        let offer = JoinOffer {
            address: AddressId(9),
            connection: net.tunnel().connection_id(),
            nonce: 5,
        };
        let from = flow(PathId(9), ATTACKER);
        let request = net.request(100, 1_009, offer.option());
        net.server.receive(now, from, &request, None, Ecn::NotEct);
        let response = net.server.poll_transmit(now).expect("a Response").packet;
        let nonce = JoinOffer::among(&response.options).expect("its join").nonce;
        let hmac = mp(MpOption::Hmac(stolen.sign_join(5, nonce)));
        let ack = Packet {
            seq: SeqNo::new(101),
            kind: Kind::Ack { ack: response.seq },
            options: list(vec![hmac]),
            ..request
        };
        net.server.receive(now, from, &ack, None, Ecn::NotEct);
        let joined = net.tunnel().path_stats(now, PathId(2));
        let is_in = joined.is_some_and(|stats| stats.is_usable);
        assert_eq!(is_in, shared.is_none());
    }
}

/// A join that is rejected because its client is not multipath capable takes no place: a hundred of
/// them, more than there are places.
#[test]
fn rejected_joins_take_no_place() {
    let mut net = Net::opened();
    let connection = net.tunnel().connection_id();
    let now = net.now;
    for i in 0..100u8 {
        let offer = JoinOffer {
            address: AddressId(i + 2),
            connection,
            nonce: u32::from(i),
        };
        let mut request = net.request(u64::from(i), 2_000 + u16::from(i), offer.option());
        let is_join = |o: &DccpOption| matches!(o, DccpOption::Multipath(_));
        request.options.list.retain(is_join);
        let from = flow(PathId(7), ATTACKER);
        let taken = net.server.receive(now, from, &request, None, Ecn::NotEct);
        assert_eq!(taken, None);
    }
    let third = net.client.open_path(now, path(2), (1_002, 6_511));
    let third = third.expect("opens");
    net.run(50);
    let stats = net.client.path_stats(net.now, third);
    assert!(stats.is_some_and(|stats| stats.is_usable));
}

/// Floods of first Requests and of joins that never go on: bounded, expired in time, and the
/// connection that is there works all the while.
#[test]
fn floods_of_handshakes_are_bounded() {
    let mut net = Net::opened();
    let connection = net.tunnel().connection_id();
    let mut answers = 0;
    for i in 0..5_000u32 {
        let now = net.now;
        let option = if i % 2 == 0 {
            JoinOffer {
                address: AddressId(i as u8),
                connection,
                nonce: i,
            }
            .option()
        } else {
            let keys = vec![Key::from_random(u64::from(i)).data()];
            let connection = ConnectionId(i);
            mp(MpOption::Key { connection, keys })
        };
        let packet = net.request(u64::from(i), i as u16, option);
        let from = Flow {
            socket: 0,
            remote: ([203, 0, 113, 7], i as u16).into(),
        };
        net.server.receive(now, from, &packet, None, Ecn::NotEct);
        while net.server.poll_transmit(now).is_some() {
            answers += 1;
        }
        if i % 50 == 0 {
            net.run(1);
            assert!(net.server.connections().count() <= 1 + 8);
            assert!(net.tunnel().path_ids().count() <= 32);
        }
    }
    // never more answers than questions
    assert!(answers <= 5_000, "{answers}");
    assert!(net.is_whole() && net.works());
    net.run(11_000);
    assert_eq!(net.server.connections().count(), 1, "expired in time");
    // and there is room for a path again
    let now = net.now;
    let third = net.client.open_path(now, path(2), (1_002, 6_511));
    let third = third.expect("opens");
    net.run(100);
    let stats = net.client.path_stats(net.now, third);
    assert!(stats.is_some_and(|stats| stats.is_usable));
}
