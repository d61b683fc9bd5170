//! Forged proofs: what they cost, counted in HMACs, and that clients are recognised beside them.

use super::*;
use crate::auth::{Key, KeyName, Offer};
use crate::packet::{ConnectionId, DccpOption, MpOption, Options};

const CLIENTS: usize = 100;

fn key_of(client: usize) -> String {
    format!("the key of client {client:03}")
}

fn crowd() -> Server<Data> {
    let keys: Vec<String> = (0..CLIENTS).map(key_of).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    new_server(&keys, 1)
}

/// A proof as an attacker makes it, with the name of a key or without.
fn forged(step: u8, name: Option<KeyName>) -> Options {
    let proof = [&b"BF"[..], &[step], &[7; 20]].concat();
    let mut options = Options::default();
    options
        .list
        .push(DccpOption::Multipath(MpOption::Experimental(proof)));
    options.list.extend(name.map(KeyName::option));
    options
}

fn sync(number: u64, options: Options) -> Packet {
    Packet {
        source: 7,
        destination: 6_511,
        ccval: 0,
        seq: SeqNo::new(number),
        kind: Kind::Sync { ack: SeqNo::new(1) },
        options,
    }
}

/// A Request that opens a connection.
fn request(number: u64, mut options: Options) -> Packet {
    let offer = Offer {
        connection: ConnectionId(9),
        key: Key::from_random(number),
    };
    options.list.push(offer.option());
    let service = TunnelConfig::default().service;
    Packet {
        kind: Kind::Request { service },
        ..sync(number, options)
    }
}

fn flood(server: &mut Server<Data>, now: Instant, packet: impl Fn(u64) -> Packet) -> u64 {
    let before = server.counters().verifications;
    for number in 1..=1_000 {
        let flow = Flow {
            socket: 0,
            remote: address(99, number as u16),
        };
        server.receive(now, flow, &packet(number), None, Ecn::NotEct);
    }
    while server.poll_answer().is_some() {}
    assert_eq!(server.connections().count(), 0);
    server.counters().verifications - before
}

#[test]
fn a_forged_proof_costs_one_hmac_at_most_however_many_clients_there_are() {
    let mut server = crowd();
    let now = Instant::ZERO + Duration::from_secs(1);
    let name = |client: usize| {
        let key = PreSharedKey::new(key_of(client).as_bytes()).expect("long enough");
        key.name()
    };
    let known = name(CLIENTS - 1);
    let unknown = PreSharedKey::new(KEY.as_bytes())
        .expect("long enough")
        .name();
    // both proofs in one packet, and several times, are no more
    let twice = |name| {
        let mut options = forged(1, name);
        options.list.extend(forged(4, None).list);
        options.list.extend(forged(1, None).list);
        options
    };
    let cost = flood(&mut server, now, |n| sync(n, twice(Some(known))));
    assert_eq!(cost, 1_000);
    let cost = flood(&mut server, now, |n| request(n, twice(Some(known))));
    assert_eq!(cost, 1_000);
    let cost = flood(&mut server, now, |n| request(n, twice(Some(unknown))));
    assert_eq!(cost, 0);
    let cost = flood(&mut server, now, |n| request(n, Options::default()));
    assert_eq!(cost, 0, "nothing is claimed");
    assert_eq!(server.counters().unverified, 0);
}

#[test]
fn forged_proofs_without_a_name_share_a_budget() {
    let mut server = crowd();
    let now = Instant::ZERO + Duration::from_secs(1);
    let cost = flood(&mut server, now, |n| match n % 2 {
        0 => sync(n, forged(4, None)),
        _ => request(n, forged(1, None)),
    });
    // twenty packets at once, each with every key
    assert_eq!(cost, 20 * CLIENTS as u64);
    assert_eq!(server.counters().unverified, 1_000 - 20);
    // a hundredth of a second later: as many HMACs as 25 us each allow
    let later = now + Duration::from_millis(10);
    let cost = flood(&mut server, later, |n| sync(n, forged(4, None)));
    assert!((100..=400).contains(&cost), "{cost}");
}

/// A client that names its key opens and joins, and is answered by a server that was started again, while
/// strangers spend the budget of those that do not.
#[test]
fn forged_proofs_keep_no_client_out() {
    let mut server = crowd();
    let key = key_of(CLIENTS - 1);
    let mut clients = [client(1, Some(&key))];
    for ms in 1..300 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        for number in 0..40 {
            let packet = match number % 2 {
                0 => sync(number, forged(4, None)),
                _ => request(number, forged(1, None)),
            };
            let flow = Flow {
                socket: 0,
                remote: address(99, number as u16),
            };
            server.receive(now, flow, &packet, None, Ecn::NotEct);
        }
        while server.poll_answer().is_some() {}
        step(now, &mut server, &mut clients);
    }
    assert!(clients[0].tunnel.is_established());
    assert!(server.counters().unverified > 0);
    let connections: Vec<_> = server.connections().map(|(_, client)| client).collect();
    assert_eq!(connections, [Some(CLIENTS - 1)]);
    assert_eq!(server.counters().joined, 1);
    // the server is started again: what strangers send spends no budget of the client's
    let mut server = crowd();
    let shared = PreSharedKey::new(key.as_bytes()).expect("long enough");
    let now = Instant::ZERO + Duration::from_secs(1);
    flood(&mut server, now, |n| sync(n, forged(4, None)));
    let (ports, seq) = ((7, 6_511), SeqNo::new(70));
    let mut options = Options::default();
    options.list.push(shared.prove_packet(ports, seq));
    let flow = Flow {
        socket: 0,
        remote: address(1, 1),
    };
    let unnamed = sync(70, options.clone());
    server.receive(now, flow, &unnamed, None, Ecn::NotEct);
    assert!(server.poll_answer().is_none(), "the budget is spent");
    options.list.push(shared.name().option());
    server.receive(now, flow, &sync(70, options), None, Ecn::NotEct);
    let answer = server.poll_answer().expect("a Reset");
    assert!(matches!(answer.packet.kind, Kind::Reset { .. }));
}

/// A client older than names of keys is found by trying all of them.
#[test]
fn a_client_that_names_no_key_is_found_too() {
    let mut server = crowd();
    let now = Instant::ZERO + Duration::from_secs(1);
    let mut opening = client(1, Some(&key_of(5)));
    let mut packet = opening.tunnel.poll_transmit(now).expect("a Request").packet;
    let is_name = |option: &DccpOption| {
        let options = Options {
            list: vec![option.clone()],
            ..Options::default()
        };
        KeyName::among(&options).is_some()
    };
    let before = packet.options.list.len();
    packet.options.list.retain(|option| !is_name(option));
    assert_eq!(packet.options.list.len(), before - 1, "it named its key");
    let flow = Flow {
        socket: 0,
        remote: address(1, 1),
    };
    assert!(
        server
            .receive(now, flow, &packet, None, Ecn::NotEct)
            .is_some()
    );
    assert_eq!(server.counters().verifications, 6);
}
