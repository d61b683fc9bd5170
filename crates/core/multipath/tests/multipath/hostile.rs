//! What others send: a client and a server with two paths between them, and an attacker that makes
//! packets up, repeats old ones, or has the wrong key.
//!
//! *Off the path* means that it sees no packets and has to guess numbers; *on the path* that it sees
//! them all. What an attacker on the path can do (DCCP has no protection against it) is not tested
//! to be impossible, but to be bounded.

use multipath::auth::{Key, PreSharedKey, SessionKeys};
use multipath::join::JoinOffer;
use multipath::packet::{
    AddressId, ConnectionId, DccpOption, Hmac, KeyData, Kind, MpOption, Options, Packet,
    PathPriority, ResetCode,
};
use multipath::provision::Builtin;
use multipath::scheduler;
use multipath::server::{ConnectionKey, Flow, Server, ServerConfig};
use multipath::tunnel::{Event, PathConfig, TunnelConfig};
use multipath::{MpSeq, PathId, Payload, SeqNo, Tunnel};
use units::{Duration, Ecn, Instant, Packets, Rng, Streams};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Data(u64);

impl Payload for Data {
    fn len(&self) -> usize {
        1_000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// A client and its server, their paths without delay, one socket a path; time goes in steps of 1 ms.
struct Net {
    now: Instant,
    server: Server<Data>,
    client: Tunnel<Data>,
    /// Everything that went over the paths, the client's packets first.
    seen: [Vec<(PathId, Packet, Option<Data>)>; 2],
    got: Vec<u64>,
    sent: u64,
    events: Vec<Event>,
    /// The client's Acks reach the server.
    acks_pass: bool,
    rng: Rng,
}

fn flow(path: PathId, port: u16) -> Flow {
    Flow {
        socket: u32::from(path.0),
        remote: ([192, 0, 2, 1], port).into(),
    }
}

/// Where the client's packets come from, and where an attacker's do.
const CLIENT: u16 = 40_000;
const ATTACKER: u16 = 666;

fn path(address: u8) -> PathConfig {
    PathConfig {
        address: AddressId(address),
        ..PathConfig::default()
    }
}

impl Net {
    fn new(shared: Option<&PreSharedKey>) -> Self {
        Self::with(shared, TunnelConfig::default())
    }

    fn with(shared: Option<&PreSharedKey>, tunnel: TunnelConfig) -> Self {
        let config = ServerConfig {
            tunnel,
            path: path(0),
            shared: shared.cloned().into_iter().collect(),
            connections: 20,
            half_open: 8,
        };
        let provision = Builtin::new("rr", 2).expect("known");
        let build = scheduler::build("rr").expect("known");
        let mut client = Tunnel::client(TunnelConfig::default(), build, shared.cloned(), 1);
        for (address, port) in [(0, 1_000), (1, 1_001)] {
            client
                .open_path(Instant::ZERO, path(address), (port, 6_511))
                .expect("opens");
        }
        Self {
            now: Instant::ZERO,
            server: Server::new(config, Box::new(provision)),
            client,
            seen: [Vec::new(), Vec::new()],
            got: Vec::new(),
            sent: 0,
            events: Vec::new(),
            acks_pass: true,
            rng: Streams::new(3).stream("attacker"),
        }
    }

    fn opened() -> Self {
        let mut net = Self::new(None);
        net.run(100);
        assert!(net.is_whole());
        net
    }

    /// Both paths can be used, at both ends.
    fn is_whole(&mut self) -> bool {
        let now = self.now;
        let client = &self.client;
        let is_usable = |tunnel: &Tunnel<Data>, path| {
            tunnel
                .path_stats(now, PathId(path))
                .is_some_and(|stats| stats.is_usable)
        };
        let at_client = is_usable(client, 0) && is_usable(client, 1);
        let server = self.tunnel();
        at_client && is_usable(server, 0) && is_usable(server, 1)
    }

    /// The server's end of the only connection.
    fn tunnel(&mut self) -> &mut Tunnel<Data> {
        let keys: Vec<ConnectionKey> = self.server.connections().map(|(key, _)| key).collect();
        self.server.tunnel(keys[0]).expect("there")
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now += Duration::from_millis(1);
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        self.server.on_deadline(now);
        self.client.on_deadline(now);
        while let Some(out) = self.client.poll_transmit(now) {
            let copy = (out.path, out.packet.clone(), out.payload.clone());
            self.seen[0].push(copy);
            if self.acks_pass || !matches!(out.packet.kind, Kind::Ack { .. }) {
                let from = flow(out.path, CLIENT);
                self.server
                    .receive(now, from, &out.packet, out.payload, out.ecn);
            }
        }
        while let Some(out) = self.server.poll_transmit(now) {
            if out.flow.remote.port() != CLIENT {
                continue;
            }
            let path = PathId(out.flow.socket as u8);
            self.seen[1].push((path, out.packet.clone(), out.payload.clone()));
            self.client
                .receive(now, path, &out.packet, out.payload, out.ecn);
        }
        while let Some(data) = self.client.poll_delivery(now) {
            self.got.push(data.0);
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        while self.server.poll_event().is_some() {}
    }

    /// The server sends so many packets, and the client gets them all, in order.
    fn works(&mut self) -> bool {
        let before = self.got.len();
        let now = self.now;
        for _ in 0..10 {
            let number = self.sent;
            if self.tunnel().send(now, Data(number)).is_err() {
                return false;
            }
            self.sent += 1;
        }
        self.run(300);
        let new: Vec<u64> = (self.sent - 10..self.sent).collect();
        self.got[before..] == new[..]
    }

    /// As [`Self::works`], once what an attack has cost is over: numbers that were taken, a path of
    /// which one end has not noticed yet that it is gone.
    fn recovers(&mut self) -> bool {
        self.works();
        self.run(3_000);
        self.works()
    }

    /// A client's Request as that end makes it, with another option for its key or join.
    fn request(&self, seq: u64, port: u16, option: DccpOption) -> Packet {
        let mut request = self.first_seen(0, |p| matches!(p.kind, Kind::Request { .. }));
        let is_key = |o: &&mut DccpOption| matches!(o, DccpOption::Multipath(_));
        *request.options.list.iter_mut().find(is_key).expect("a key") = option;
        request.source = port;
        request.seq = SeqNo::new(seq);
        request
    }

    /// A packet as the client's, from the client's address (`to_server`) or as the server's.
    fn forge(&mut self, to_server: bool, path: PathId, kind: Kind, seq: SeqNo, options: Options) {
        let ports = (1_000 + u16::from(path.0), 6_511);
        let (source, destination) = if to_server { ports } else { (ports.1, ports.0) };
        let packet = Packet {
            source,
            destination,
            ccval: 0,
            seq,
            kind,
            options,
        };
        let payload = kind.carries_data().then_some(Data(u64::MAX));
        self.inject(to_server, path, &packet, payload);
    }

    fn inject(&mut self, to_server: bool, path: PathId, packet: &Packet, payload: Option<Data>) {
        let now = self.now;
        if to_server {
            let from = flow(path, CLIENT);
            self.server.receive(now, from, packet, payload, Ecn::NotEct);
        } else {
            self.client.receive(now, path, packet, payload, Ecn::NotEct);
        }
    }

    /// The numbers that the next packet of that direction would have, as an attacker on the path
    /// sees them.
    fn next_numbers(&self, to_server: bool, path: PathId) -> (SeqNo, SeqNo) {
        let last = |side: usize| {
            let packets = self.seen[side].iter().rev();
            let mut of_path = packets.filter(|(p, ..)| *p == path);
            of_path.next().expect("there was one").1.seq
        };
        let (own, other) = if to_server { (0, 1) } else { (1, 0) };
        (last(own).next(), last(other))
    }

    fn invalid(&mut self) -> Packets {
        let now = self.now;
        let of = |tunnel: &Tunnel<Data>| {
            let paths = [0, 1].map(|path| tunnel.path_stats(now, PathId(path)));
            let counts = paths.into_iter().flatten();
            counts.map(|stats| stats.counters.invalid).sum::<Packets>()
        };
        let client = of(&self.client);
        client + of(self.tunnel())
    }

    /// The first packet from the client (0) or server (1) that meets the condition.
    fn first_seen(&self, side: usize, is_it: impl Fn(&Packet) -> bool) -> Packet {
        let packets = self.seen[side].iter().map(|(_, packet, _)| packet);
        packets
            .into_iter()
            .find(|p| is_it(p))
            .expect("seen")
            .clone()
    }
}

fn list(list: Vec<DccpOption>) -> Options {
    Options {
        list,
        ..Options::default()
    }
}

fn mp(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}

fn has_hmac(packet: &Packet) -> bool {
    let is_hmac = |o: &DccpOption| matches!(o, DccpOption::Multipath(MpOption::Hmac(_)));
    packet.options.list.iter().any(is_hmac)
}

fn is_join(packet: &Packet) -> bool {
    matches!(packet.kind, Kind::Request { .. }) && JoinOffer::among(&packet.options).is_some()
}

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
