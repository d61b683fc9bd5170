//! What a guarded server answers to packets of no connection, and who gets in while a flood of Requests lasts.

use multipath::auth::{KeyType, PreSharedKey};
use multipath::packet::{
    DccpOption, FeatureOptionKind, Kind, MpOption, Options, Packet, ResetCode, encode,
};
use multipath::provision::Builtin;
use multipath::server::{Flow, Server, ServerConfig, ServerTransmit};
use multipath::tunnel::{Event, PathConfig, Transmit, TunnelConfig};
use multipath::{Payload, SeqNo, Tunnel, scheduler};
use units::{Duration, Ecn, Instant};

#[derive(Clone, Debug)]
struct Data(usize);

impl Payload for Data {
    fn len(&self) -> usize {
        self.0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

const BOTH: &[KeyType] = &[KeyType::Ecdhe, KeyType::Plain];
const PLAIN: &[KeyType] = &[KeyType::Plain];
const ECDHE: &[KeyType] = &[KeyType::Ecdhe];

fn config(key_types: &'static [KeyType]) -> TunnelConfig {
    TunnelConfig {
        key_types,
        ..TunnelConfig::default()
    }
}

fn shared() -> PreSharedKey {
    PreSharedKey::new(b"sixteen bytes and more").expect("long enough")
}

fn server(key_types: &'static [KeyType], shared: Option<PreSharedKey>) -> Server<Data> {
    let config = ServerConfig {
        tunnel: config(key_types),
        path: PathConfig::default(),
        shared: shared.into_iter().collect(),
        connections: 20,
        path_v6: None,
        half_open: 8,
    };
    let provision = Builtin::new("rr", 2).expect("known");
    Server::new(config, Box::new(provision)).guarded(4)
}

fn client(key_types: &'static [KeyType], shared: Option<PreSharedKey>, seed: u64) -> Tunnel<Data> {
    let build = scheduler::build("rr").expect("known");
    let mut client = Tunnel::client(config(key_types), build, shared, seed);
    let opened = client.open_path(Instant::ZERO, PathConfig::default(), (1_000, 6_511));
    opened.expect("opens");
    client
}

fn flow(port: u16) -> Flow {
    Flow {
        socket: 1,
        remote: ([192, 0, 2, 1], port).into(),
    }
}

fn len(packet: &Packet, payload: Option<&Data>) -> usize {
    let mut bytes = Vec::new();
    encode(packet, &mut bytes).expect("it has a form");
    bytes.len() + payload.map_or(0, Payload::len)
}

fn answers(server: &mut Server<Data>, now: Instant) -> Vec<ServerTransmit<Data>> {
    std::iter::from_fn(|| server.poll_transmit(now)).collect()
}

/// Carries packets between the two until neither sends, for so long.
fn run(server: &mut Server<Data>, client: &mut Tunnel<Data>, from: Flow, from_time: u64, to: u64) {
    for millis in from_time..to {
        let now = Instant::ZERO + Duration::from_millis(millis);
        client.on_deadline(now);
        server.on_deadline(now);
        while let Some(Transmit {
            packet,
            payload,
            ecn,
            ..
        }) = client.poll_transmit(now)
        {
            server.receive(now, from, &packet, payload, ecn);
        }
        for answer in answers(server, now) {
            if answer.flow == from {
                client.receive(
                    now,
                    multipath::PathId(0),
                    &answer.packet,
                    answer.payload,
                    answer.ecn,
                );
            }
        }
    }
}

/// The Response leaves the server's Changes out, to be no longer than the Request. They do not wait for the timer of one second:
/// all is confirmed a round trip after the handshake.
#[test]
fn a_guarded_server_states_its_features_after_the_handshake() {
    let mut server = server(PLAIN, Some(shared()));
    let mut client = client(PLAIN, Some(shared()), 3);
    let is_change = |option: &DccpOption| match option {
        DccpOption::Feature(option) => option.kind == FeatureOptionKind::ChangeL,
        _ => false,
    };
    let mut changes = [0; 2];
    for millis in 0..10 {
        let now = Instant::ZERO + Duration::from_millis(millis);
        while let Some(out) = client.poll_transmit(now) {
            server.receive(now, flow(1), &out.packet, out.payload, out.ecn);
        }
        for answer in answers(&mut server, now) {
            let (packet, is_response) = (
                &answer.packet,
                matches!(answer.packet.kind, Kind::Response { .. }),
            );
            let count = packet.options.list.iter().filter(|o| is_change(o)).count();
            changes[usize::from(!is_response)] += count;
            client.receive(
                now,
                multipath::PathId(0),
                packet,
                answer.payload,
                answer.ecn,
            );
        }
    }
    assert!(client.is_established());
    assert_eq!(changes[0], 0, "in the Response");
    assert!(changes[1] > 0, "after it");
}

/// Who knows a connection's number, and sends joins from anywhere: as above.
#[test]
fn no_answer_to_a_join_is_longer_than_it() {
    let mut server = server(BOTH, Some(shared()));
    let mut client = client(BOTH, Some(shared()), 3);
    run(&mut server, &mut client, flow(1), 0, 50);
    assert!(client.is_established());
    let now = Instant::ZERO + Duration::from_millis(50);
    let second = PathConfig {
        address: multipath::packet::AddressId(1),
        ..PathConfig::default()
    };
    client
        .open_path(now, second, (1_001, 6_511))
        .expect("opens");
    let join = client.poll_transmit(now).expect("a join").packet;
    for (repeats, from) in [(1, 5), (3, 5), (1, 6)] {
        for _ in 0..repeats {
            let mut packet = join.clone();
            packet.seq = SeqNo::new(join.seq.get() + u64::from(from) + repeats);
            server.receive(now, flow(from), &packet, None, Ecn::NotEct);
            let out = answers(&mut server, now);
            let total: usize = out.iter().map(|o| len(&o.packet, None)).sum();
            assert!(total <= len(&packet, None), "{total}: {out:?}");
        }
    }
}

/// Of each type of packet and of each length, whatever it carries, sent by one who has no connection.
#[test]
fn no_answer_is_longer_than_its_question() {
    let now = Instant::ZERO + Duration::from_secs(1);
    let ack = SeqNo::new(5);
    let service = multipath::tunnel::SERVICE;
    let (code, data) = (ResetCode::ABORTED, [0; 3]);
    let kinds = [
        Kind::Request { service },
        Kind::Response { ack, service },
        Kind::Data,
        Kind::Ack { ack },
        Kind::DataAck { ack },
        Kind::CloseReq { ack },
        Kind::Close { ack },
        Kind::Reset { ack, code, data },
        Kind::Sync { ack },
        Kind::SyncAck { ack },
    ];
    let mut answered = 0;
    for shared in [None, Some(shared())] {
        for key_types in [BOTH, PLAIN] {
            let mut first = client(key_types, shared.clone(), 7);
            let first = first
                .poll_transmit(Instant::ZERO)
                .expect("a Request")
                .packet;
            let cookie = DccpOption::InitCookie(vec![1; 40]);
            let join = DccpOption::Multipath(MpOption::Join {
                address: multipath::packet::AddressId(1),
                connection: multipath::packet::ConnectionId(5),
                nonce: 5,
            });
            let lists = [vec![], vec![join], vec![cookie], first.options.list.clone()];
            for (kind, list) in kinds.iter().flat_map(|k| lists.iter().map(move |l| (k, l))) {
                for bytes in [None, Some(0), Some(4), Some(1_000)] {
                    // the same key types at the server, so that some are accepted
                    let mut server = server(key_types, shared.clone());
                    let packet = Packet {
                        source: 9,
                        destination: 6_511,
                        ccval: 0,
                        seq: first.seq,
                        kind: *kind,
                        options: Options {
                            list: list.clone(),
                            ..Options::default()
                        },
                    };
                    let payload = bytes.map(Data);
                    let question = len(&packet, payload.as_ref());
                    server.receive(now, flow(9), &packet, payload, Ecn::NotEct);
                    let out = answers(&mut server, now);
                    let total: usize = out.iter().map(|o| len(&o.packet, o.payload.as_ref())).sum();
                    assert!(total <= question, "{total} for {question}: {packet:?}");
                    answered += usize::from(total > 0);
                }
            }
        }
    }
    assert!(answered > 100, "{answered}");
}

/// An observer that sends a client's Requests once more, from anywhere, fills a half of the table, and no more: all others are answered by cookies, or not at all. A client
/// that comes then gets in by its second Request, and so does one that came before.
#[test]
fn a_flood_of_requests_displaces_nobody() {
    let mut server = server(BOTH, Some(shared()));
    let mut early = client(BOTH, Some(shared()), 1_000);
    let now = Instant::ZERO + Duration::from_millis(1);
    // its Request arrives before the flood, its Ack after it
    let request = early.poll_transmit(now).expect("a Request");
    server.receive(now, flow(1), &request.packet, None, Ecn::NotEct);
    let response = server.poll_transmit(now).expect("a Response");
    let flood = |server: &mut Server<Data>, count: u16, now| {
        for i in 0..count {
            let mut stranger = client(BOTH, Some(shared()), u64::from(i));
            let request = stranger.poll_transmit(Instant::ZERO).expect("a Request");
            server.receive(now, flow(10_000 + i), &request.packet, None, Ecn::NotEct);
        }
        answers(server, now).len()
    };
    assert_eq!(flood(&mut server, 500, now), 3, "the table is half full");
    assert_eq!(server.connections().count(), 4);
    assert_eq!(server.counters().too_short, 497);
    early.receive(
        now,
        multipath::PathId(0),
        &response.packet,
        None,
        Ecn::NotEct,
    );
    run(&mut server, &mut early, flow(1), 2, 10);
    assert!(early.is_established());
    // the table is filled again
    let now = Instant::ZERO + Duration::from_millis(10);
    assert_eq!(flood(&mut server, 500, now), 1);
    let mut late = client(BOTH, Some(shared()), 2_000);
    run(&mut server, &mut late, flow(2), 10, 2_000);
    assert!(late.is_established() && early.is_established());
    let counters = server.counters();
    assert_eq!((counters.cookies, counters.expired), (1, 0));
    let events: Vec<_> = std::iter::from_fn(|| late.poll_event()).collect();
    assert!(events.contains(&Event::Established));
    // what was made from a cookie carries packets
    let now = Instant::ZERO + Duration::from_secs(2);
    late.send(now, Data(100)).expect("room");
    run(&mut server, &mut late, flow(2), 2_000, 2_100);
    let keys: Vec<_> = server.connections().map(|(key, _)| key).collect();
    let got = keys
        .iter()
        .filter_map(|key| server.tunnel(*key)?.poll_delivery(now));
    assert_eq!(got.count(), 1);
}

/// A server under load, and the Ack with a cookie that a client sends to it.
fn with_cookie() -> (Server<Data>, Packet, Packet, Instant) {
    let mut server = server(BOTH, Some(shared()));
    let now = Instant::ZERO + Duration::from_secs(1);
    for seed in 1..=4 {
        let mut other = client(BOTH, Some(shared()), seed);
        let request = other.poll_transmit(now).expect("a Request").packet;
        server.receive(now, flow(100 + seed as u16), &request, None, Ecn::NotEct);
    }
    answers(&mut server, now);
    let mut client = client(BOTH, Some(shared()), 50);
    let short = client.poll_transmit(now).expect("a Request").packet;
    server.receive(now, flow(1), &short, None, Ecn::NotEct);
    assert!(answers(&mut server, now).is_empty(), "it is too short");
    client.on_deadline(now);
    let request = client.poll_transmit(now).expect("it is repeated").packet;
    assert!(len(&request, None) > len(&short, None) + 200);
    server.receive(now, flow(1), &request, None, Ecn::NotEct);
    let response = answers(&mut server, now).pop().expect("a Response").packet;
    assert!(len(&response, None) <= len(&request, None));
    client.receive(now, multipath::PathId(0), &response, None, Ecn::NotEct);
    let ack = client.poll_transmit(now).expect("an Ack").packet;
    (server, request, ack, now)
}

fn cookie_of(packet: &mut Packet) -> &mut Vec<u8> {
    let found = packet
        .options
        .list
        .iter_mut()
        .find_map(|option| match option {
            DccpOption::InitCookie(data) => Some(data),
            _ => None,
        });
    found.expect("it echoes the cookie")
}

#[test]
fn a_cookie_counts_for_its_flow_for_a_time_and_once() {
    let established = |server: &mut Server<Data>, ack: &Packet, from, now| {
        server.receive(now, from, ack, None, Ecn::NotEct).is_some()
    };
    let (mut server, _, ack, now) = with_cookie();
    assert!(
        !established(&mut server, &ack, flow(2), now),
        "another address"
    );
    let other_port = Packet {
        source: 1_001,
        ..ack.clone()
    };
    assert!(
        !established(&mut server, &other_port, flow(1), now),
        "another port"
    );
    let late = now + Duration::from_secs(11);
    assert!(!established(&mut server, &ack, flow(1), late), "too late");
    for at in [0, 7, 8, 50] {
        let mut changed = ack.clone();
        cookie_of(&mut changed)[at] ^= 1;
        assert!(
            !established(&mut server, &changed, flow(1), now),
            "changed at {at}"
        );
    }
    for keep in [0, 15, 16, 24, 40] {
        let mut short = ack.clone();
        cookie_of(&mut short).truncate(keep);
        assert!(
            !established(&mut server, &short, flow(1), now),
            "{keep} bytes"
        );
    }
    assert!(established(&mut server, &ack, flow(1), now));
    let key = server.connections().map(|(key, _)| key).max().expect("one");
    server.remove(key);
    assert!(
        !established(&mut server, &ack, flow(1), now),
        "the second time"
    );
}

/// Without the pre-shared key's proof a cookie opens nothing.
#[test]
fn a_cookie_is_no_proof_of_a_key() {
    let (mut server, _, mut ack, now) = with_cookie();
    let is_own =
        |option: &DccpOption| matches!(option, DccpOption::Multipath(MpOption::Experimental(_)));
    ack.options.list.retain(|option| !is_own(option));
    let before = server.connections().count();
    assert!(
        server
            .receive(now, flow(1), &ack, None, Ecn::NotEct)
            .is_none()
    );
    assert_eq!(server.connections().count(), before);
}

/// Which keys two ends agree on, by what each offers and takes; none: they have none in common (RFC 9897 3.6).
#[test]
fn the_key_type_is_agreed_on() {
    let cases = [
        (BOTH, BOTH, Some(32)),
        (BOTH, PLAIN, Some(8)),
        (PLAIN, BOTH, Some(8)),
        (ECDHE, BOTH, Some(32)),
        (ECDHE, ECDHE, Some(32)),
        (ECDHE, PLAIN, None),
        (PLAIN, ECDHE, None),
    ];
    for shared in [None, Some(shared())] {
        for (offered, taken, expected) in cases {
            let mut server = server(taken, shared.clone());
            let mut client = client(offered, shared.clone(), 3);
            let second = PathConfig {
                address: multipath::packet::AddressId(1),
                ..PathConfig::default()
            };
            // without proofs a first Request is shorter than its answer would be: the second one is longer
            run(&mut server, &mut client, flow(1), 0, 500);
            assert_eq!(
                client.is_established(),
                expected.is_some(),
                "{offered:?} {taken:?}"
            );
            let Some(bytes) = expected else { continue };
            let now = Instant::ZERO + Duration::from_millis(500);
            // a join shows that both have the same d-keys
            let path = client
                .open_path(now, second, (1_001, 6_511))
                .expect("opens");
            for millis in 500..550 {
                let now = Instant::ZERO + Duration::from_millis(millis);
                while let Some(out) = client.poll_transmit(now) {
                    let from = flow(1 + u16::from(out.path.0));
                    server.receive(now, from, &out.packet, out.payload, out.ecn);
                }
                for out in answers(&mut server, now) {
                    let of = multipath::PathId((out.flow.remote.port() - 1) as u8);
                    client.receive(now, of, &out.packet, out.payload, out.ecn);
                }
            }
            let now = Instant::ZERO + Duration::from_millis(550);
            assert!(
                client
                    .path_stats(now, path)
                    .is_some_and(|stats| stats.is_usable)
            );
            // what ends the connection is the key that was agreed on
            client.close(now);
            let close = client.poll_transmit(now).expect("a Close").packet;
            let key = close.options.list.iter().find_map(|option| match option {
                DccpOption::Multipath(MpOption::Close(key)) => Some(key.data.len()),
                _ => None,
            });
            assert_eq!(key, Some(bytes), "{offered:?} {taken:?}");
        }
    }
}
