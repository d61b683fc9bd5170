//! Ends of connections and paths, and who can bring them about.

use super::*;

/// On the path: a Close and a Reset of the connection with the right numbers and the wrong key. The
/// path is gone (nothing authenticates that), the connection is not.
#[test]
fn closes_with_the_wrong_key_do_not_end_the_connection() {
    let wrong = || KeyData {
        kind: 0,
        data: vec![7; 8],
    };
    for to_server in [true, false] {
        for is_fast in [true, false] {
            let mut net = Net::opened();
            let (seq, ack) = net.next_numbers(to_server, PathId(1));
            let code = ResetCode::MP_FAST_CLOSE;
            let data = [0; 3];
            let (kind, option) = match is_fast {
                true => (
                    Kind::Reset { ack, code, data },
                    MpOption::FastClose(wrong()),
                ),
                false => (Kind::Close { ack }, MpOption::Close(wrong())),
            };
            net.forge(to_server, PathId(1), kind, seq, list(vec![mp(option)]));
            net.run(50);
            assert!(!net.client.is_closed() && !net.tunnel().is_closed());
            let rejected = net.client.stats().refused_closes + net.tunnel().stats().refused_closes;
            assert_eq!(rejected, Packets::new(1), "{to_server} {is_fast}");
            assert!(net.recovers(), "{to_server} {is_fast}");
        }
    }
}

/// A key that is part of the right one is wrong, as is none.
#[test]
fn part_of_a_key_closes_nothing() {
    let mut net = Net::opened();
    let request = net.first_seen(0, |p| matches!(p.kind, Kind::Request { .. }));
    let key = request.options.list.iter().find_map(|option| match option {
        DccpOption::Multipath(MpOption::Key { keys, .. }) => Some(keys[0].data.clone()),
        _ => None,
    });
    let key = key.expect("the first Request has a key");
    for data in [key[..7].to_vec(), [&key[..], &[0]].concat()] {
        let (seq, ack) = net.next_numbers(false, PathId(1));
        let close = MpOption::Close(KeyData { kind: 0, data });
        net.forge(
            false,
            PathId(1),
            Kind::Ack { ack },
            seq,
            list(vec![mp(close)]),
        );
        net.run(1);
    }
    assert_eq!(net.client.stats().refused_closes, Packets::new(2));
    assert!(net.is_whole() && net.recovers());
}

/// A client that vanishes: its connection is probed for two minutes, then removed.
#[test]
fn the_connection_of_a_client_that_vanishes_expires() {
    let tunnel = TunnelConfig {
        keepalive: Some(Duration::from_secs(5)),
        ..TunnelConfig::default()
    };
    let mut net = Net::with(None, tunnel);
    net.run(100);
    let mut probes = 0;
    for second in 0..200 {
        net.now += Duration::from_secs(1);
        let now = net.now;
        net.server.on_deadline(now);
        while net.server.poll_transmit(now).is_some() {
            probes += 1;
        }
        let is_there = net.server.connections().count() == 1;
        assert!(is_there || second >= 118, "{second}");
    }
    assert_eq!(net.server.connections().count(), 0);
    assert!(probes < 300, "{probes}");
}

/// A path that a forged Reset has ended at one end is ended at the other as soon as that sends
/// something, and can be opened again from the same address.
#[test]
fn a_path_that_is_over_at_one_end_is_over_at_both() {
    for to_server in [true, false] {
        let mut net = Net::opened();
        let (seq, ack) = net.next_numbers(to_server, PathId(1));
        let code = ResetCode::ABORTED;
        let data = [0; 3];
        let kind = Kind::Reset { ack, code, data };
        net.forge(to_server, PathId(1), kind, seq, Options::default());
        net.run(200);
        for number in 0..4 {
            let now = net.now;
            let sent = net.tunnel().send(now, Data(number));
            sent.expect("there is room");
            net.client.send(now, Data(number)).expect("there is room");
        }
        net.run(200);
        assert!(net.events.contains(&Event::PathClosed(PathId(1))));
        let now = net.now;
        let again = net.client.open_path(now, path(1), (1_001, 6_511));
        assert_eq!(again, Ok(PathId(1)));
        net.sent = 4;
        net.run(200);
        assert!(net.is_whole() && net.works(), "{to_server}");
    }
}

/// RFC 4340 5.8.2: an option that must be understood and is not ends the path, not the connection.
#[test]
fn an_unknown_mandatory_option_ends_its_path() {
    let mut net = Net::opened();
    let (seq, ack) = net.next_numbers(true, PathId(1));
    let unknown = DccpOption::Unknown {
        kind: 99,
        data: vec![1],
    };
    let options = list(vec![DccpOption::Mandatory, unknown]);
    net.forge(true, PathId(1), Kind::Ack { ack }, seq, options);
    net.run(20);
    let reset = net.first_seen(1, |p| matches!(p.kind, Kind::Reset { .. }));
    assert!(
        matches!(reset.kind, Kind::Reset { code, data: [99, 1, 0], .. } if code == ResetCode::MANDATORY_ERROR),
        "{reset:?}"
    );
    assert!(net.works());
}

/// RFC 9897 3.2.3: who receives a fast close answers it on every path, by the same code, and nothing answers that.
#[test]
fn a_fast_close_is_answered_on_every_path() {
    let mut net = Net::opened();
    net.seen = [Vec::new(), Vec::new()];
    net.client.fast_close(net.now);
    net.run(20);
    for side in 0..2 {
        let resets: Vec<(PathId, bool)> = net.seen[side]
            .iter()
            .filter_map(|(path, packet, _)| match packet.kind {
                Kind::Reset { code, .. } => Some((*path, code == ResetCode::MP_FAST_CLOSE)),
                _ => None,
            })
            .collect();
        assert_eq!(
            resets,
            [(PathId(0), true), (PathId(1), true)],
            "side {side}"
        );
    }
    assert!(net.client.is_closed());
    assert_eq!(net.server.connections().count(), 0);
}

/// RFC 9897 3.2.11: joins of a connection that is closing are ignored.
#[test]
fn joins_of_a_connection_that_is_closing_are_ignored() {
    let mut net = Net::opened();
    let offer = JoinOffer {
        address: AddressId(9),
        connection: net.tunnel().connection_id(),
        nonce: 5,
    };
    let now = net.now;
    net.tunnel().close(now);
    let request = net.request(100, 1_009, offer.option());
    let from = flow(PathId(9), ATTACKER);
    net.server.receive(now, from, &request, None, Ecn::NotEct);
    while let Some(out) = net.server.poll_transmit(now) {
        assert_ne!(out.flow, from, "{:?}", out.packet);
    }
}
