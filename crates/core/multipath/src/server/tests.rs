use super::*;
use crate::SeqNo;
use crate::packet::{AddressId, PathPriority};
use crate::provision::Builtin;
use crate::scheduler;

mod addresses;
mod clients;
mod forged;

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

fn config(shared: &[&str]) -> ServerConfig {
    let key = |text: &&str| PreSharedKey::new(text.as_bytes()).expect("long enough");
    ServerConfig {
        tunnel: TunnelConfig::default(),
        path: PathConfig::default(),
        path_v6: None,
        shared: shared.iter().map(key).collect(),
        connections: 100,
        half_open: 8,
    }
}

fn new_server(shared: &[&str], seed: u64) -> Server<Data> {
    let provision = Builtin::new("cpf", seed).expect("known");
    Server::new(config(shared), Box::new(provision))
}

/// A client, its address, and what it has received.
struct Client {
    tunnel: Tunnel<Data>,
    at: SocketAddr,
    got: Vec<u64>,
}

fn address(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], port))
}

fn client(last: u8, shared: Option<&str>) -> Client {
    client_with(last, shared, TunnelConfig::default())
}

fn client_with(last: u8, shared: Option<&str>, config: TunnelConfig) -> Client {
    let shared = shared.map(|text| PreSharedKey::new(text.as_bytes()).expect("long enough"));
    let scheduler = scheduler::build("cpf").expect("known");
    let seed = u64::from(last);
    let mut tunnel = Tunnel::client(config, scheduler, shared, seed);
    for index in 0..2 {
        let path = PathConfig {
            address: AddressId(index),
            priority: PathPriority::PRIMARY,
            ..PathConfig::default()
        };
        let port = 2_000 + u16::from(last) * 10 + u16::from(index);
        tunnel
            .open_path(Instant::ZERO, path, (port, 6_511))
            .expect("opens");
    }
    Client {
        tunnel,
        at: address(last, 40_000),
        got: Vec::new(),
    }
}

/// A hundred times 1 ms in which packets arrive at once.
fn run(from: u64, server: &mut Server<Data>, clients: &mut [Client]) -> Instant {
    let mut now = Instant::ZERO;
    for ms in from..from + 100 {
        now = Instant::ZERO + Duration::from_millis(ms);
        step(now, server, clients);
    }
    now
}

fn step(now: Instant, server: &mut Server<Data>, clients: &mut [Client]) {
    server.on_deadline(now);
    for client in clients.iter_mut() {
        client.tunnel.on_deadline(now);
        while let Some(transmit) = client.tunnel.poll_transmit(now) {
            // one socket for each path
            let flow = Flow {
                socket: u32::from(transmit.path.0),
                remote: client.at,
            };
            server.receive(now, flow, &transmit.packet, transmit.payload, transmit.ecn);
        }
    }
    while let Some(out) = server.poll_transmit(now) {
        let to = clients
            .iter_mut()
            .find(|client| client.at == out.flow.remote);
        if let Some(client) = to {
            let path = PathId(out.flow.socket as u8);
            client
                .tunnel
                .receive(now, path, &out.packet, out.payload, out.ecn);
            while let Some(data) = client.tunnel.poll_delivery(now) {
                client.got.push(data.0);
            }
        }
    }
}

#[test]
fn several_clients_have_connections_of_their_own() {
    let mut server = new_server(&["0123456789abcdef", "fedcba9876543210"], 1);
    let mut clients = [
        client(1, Some("0123456789abcdef")),
        client(2, Some("fedcba9876543210")),
        client(3, Some("an unknown pre-shared key")),
    ];
    let now = run(1, &mut server, &mut clients);
    let connections: Vec<_> = server.connections().collect();
    let keys: Vec<_> = connections.iter().map(|(_, client)| *client).collect();
    assert_eq!(keys, [Some(0), Some(1)]);
    for (number, (key, _)) in connections.into_iter().enumerate() {
        let tunnel = server.tunnel(key).expect("there");
        tunnel
            .send(now, Data(number as u64))
            .expect("there is room");
    }
    run(200, &mut server, &mut clients);
    assert_eq!(
        (&clients[0].got[..], &clients[1].got[..]),
        (&[0][..], &[1][..])
    );
    assert!(!clients[2].tunnel.is_established());
    let counters = server.counters();
    assert_eq!((counters.accepted, counters.joined), (2, 2));
    assert!(counters.refused >= 1);
}

#[test]
fn a_flood_of_handshakes_is_bounded_and_does_not_stop_others() {
    let mut server: Server<Data> = new_server(&[], 1);
    let mut established = [client(1, None)];
    run(1, &mut server, &mut established);
    for number in 0..1_000_u64 {
        let now = Instant::ZERO + Duration::from_millis(200) + Duration::from_micros(number);
        let scheduler = scheduler::build("cpf").expect("known");
        let mut flood: Tunnel<Data> =
            Tunnel::client(TunnelConfig::default(), scheduler, None, number);
        flood
            .open_path(now, PathConfig::default(), (number as u16, 6_511))
            .expect("opens");
        let request = flood.poll_transmit(now).expect("a Request");
        let flow = Flow {
            socket: 0,
            remote: address(200, number as u16),
        };
        server.receive(now, flow, &request.packet, None, Ecn::NotEct);
    }
    assert_eq!(server.connections().count(), 1 + 8);
    assert_eq!(server.flows.len(), 2 + 8);
    assert_eq!(server.counters().expired, 1_000 - 8);
    // the half-open ones end by themselves, the established one lives
    run(20_000, &mut server, &mut established);
    assert_eq!(server.connections().count(), 1);
    assert!(established[0].tunnel.is_established());
}

#[test]
fn a_path_moves_with_its_client_and_not_with_a_stranger() {
    let mut server = new_server(&[], 1);
    let mut clients = [client(1, None)];
    let now = run(1, &mut server, &mut clients);
    let (key, _) = server.connections().next().expect("one");
    // the NAT's mapping has expired: the same client from another port
    clients[0].at = address(1, 50_000);
    for number in 0..3 {
        clients[0].tunnel.send(now, Data(number)).expect("room");
    }
    run(200, &mut server, &mut clients);
    let flow = server.flow(key, PathId(0)).expect("known");
    assert_eq!(flow.remote, address(1, 50_000));
    assert!(server.counters().moved >= 1);
    // a stranger that only guesses the ports gets a Reset and changes nothing
    let before = server.counters();
    let stranger = Packet {
        source: 2_010,
        destination: 6_511,
        ccval: 0,
        seq: SeqNo::new(12_345),
        kind: Kind::Ack {
            ack: SeqNo::new(54_321),
        },
        options: crate::packet::Options::default(),
    };
    let flow = Flow {
        socket: 0,
        remote: address(66, 6_666),
    };
    let now = Instant::ZERO + Duration::from_secs(1);
    server.receive(now, flow, &stranger, None, Ecn::NotEct);
    assert_eq!(server.counters().strangers, before.strangers + 1);
    let out = server.poll_transmit(now).expect("a Reset");
    assert!(matches!(out.packet.kind, Kind::Reset { .. }) && out.flow == flow);
    assert_eq!(server.counters().moved, before.moved);
}

/// A byte stream's path is given the stream's state, and ends with the stream.
#[test]
fn a_stream_carries_its_path_and_takes_it_along() {
    let mut server = new_server(&[], 1);
    server.add_stream(1);
    let mut clients = [client(1, None)];
    run(1, &mut server, &mut clients);
    let (key, _) = server.connections().next().expect("one");
    let flow = |socket| Flow {
        socket,
        remote: address(1, 40_000),
    };
    assert_eq!(server.path_of(flow(0)), Some((key, PathId(0))));
    assert_eq!(server.path_of(flow(1)), Some((key, PathId(1))));
    assert_eq!(server.path_of(flow(2)), None);
    let now = Instant::ZERO + Duration::from_millis(200);
    let carrier = |server: &mut Server<Data>, path| {
        let tunnel = server.tunnel(key).expect("there");
        tunnel.path_stats(now, PathId(path)).expect("there").carrier
    };
    assert_eq!(carrier(&mut server, 0), Carrier::Dccp);
    assert_eq!(carrier(&mut server, 1), Carrier::Stream);
    server.remove_stream(now, 1);
    let tunnel = server.tunnel(key).expect("there");
    assert!(tunnel.path_stats(now, PathId(0)).expect("there").is_usable);
    assert!(!tunnel.path_stats(now, PathId(1)).expect("there").is_usable);
}

#[test]
fn answers_to_strangers_are_limited() {
    let mut server: Server<Data> = new_server(&[], 1);
    let packet = Packet {
        source: 1,
        destination: 2,
        ccval: 0,
        seq: SeqNo::new(1),
        kind: Kind::Data,
        options: crate::packet::Options::default(),
    };
    let now = Instant::ZERO + Duration::from_secs(1);
    for port in 0..1_000 {
        let flow = Flow {
            socket: 0,
            remote: address(9, port),
        };
        server.receive(now, flow, &packet, None, Ecn::NotEct);
    }
    let answers = core::iter::from_fn(|| server.poll_transmit(now)).count();
    assert_eq!(answers as u64, RESET_BURST);
}

const KEY: &str = "0123456789abcdef";
const OTHER_KEY: &str = "fedcba9876543210";

/// Ten packets of no connection, from as many addresses: a thousand times what is answered.
fn junk(server: &mut Server<Data>, now: Instant, number: u64) {
    for port in 0..10 {
        let packet = Packet {
            source: 1,
            destination: 6_511,
            ccval: 0,
            seq: SeqNo::new(number),
            kind: Kind::Data,
            options: crate::packet::Options::default(),
        };
        let flow = Flow {
            socket: 0,
            remote: address(99, port),
        };
        server.receive(now, flow, &packet, None, Ecn::NotEct);
    }
}

/// As [`run`], with strangers who send ten packets each millisecond, before all others.
fn run_with_junk(from: u64, to: u64, server: &mut Server<Data>, client: &mut Client) -> Vec<Event> {
    let mut events = Vec::new();
    for ms in from..to {
        let now = Instant::ZERO + Duration::from_millis(ms);
        junk(server, now, ms);
        server.on_deadline(now);
        client.tunnel.on_deadline(now);
        while let Some(out) = client.tunnel.poll_transmit(now) {
            let flow = Flow {
                socket: u32::from(out.path.0),
                remote: client.at,
            };
            server.receive(now, flow, &out.packet, out.payload, out.ecn);
        }
        while let Some(out) = server.poll_transmit(now) {
            if out.flow.remote == client.at {
                let path = PathId(out.flow.socket as u8);
                let tunnel = &mut client.tunnel;
                tunnel.receive(now, path, &out.packet, out.payload, out.ecn);
            }
        }
        events.extend(core::iter::from_fn(|| client.tunnel.poll_event()));
    }
    events
}

#[test]
fn strangers_do_not_spend_what_a_moving_path_needs() {
    let mut server = new_server(&[KEY], 1);
    let mut client = client(1, Some(KEY));
    run_with_junk(1, 1_000, &mut server, &mut client);
    let (key, _) = server.connections().next().expect("one");
    for rebinding in 1..=4 {
        client.at = address(1, 50_000 + rebinding);
        client.tunnel.send(Instant::ZERO, Data(0)).expect("room");
        let from = 1_000 * u64::from(rebinding);
        // one exchange is enough: the packet, the question, its answer
        run_with_junk(from, from + 3, &mut server, &mut client);
        let flow = server.flow(key, PathId(0)).expect("known");
        assert_eq!(flow.remote, client.at);
        run_with_junk(from + 3, from + 1_000, &mut server, &mut client);
    }
}

#[test]
fn a_question_to_a_new_address_that_is_lost_is_sent_again() {
    let mut server = new_server(&[KEY], 1);
    let mut clients = [client(1, Some(KEY))];
    run(1, &mut server, &mut clients);
    let (key, _) = server.connections().next().expect("one");
    clients[0].at = address(1, 50_000);
    let mut sent = 0;
    let mut data = |client: &mut Client, server: &mut Server<Data>, ms: u64| {
        let now = Instant::ZERO + Duration::from_millis(ms);
        client.tunnel.send(now, Data(sent)).expect("room");
        sent += 1;
        let out = client.tunnel.poll_transmit(now).expect("data");
        let flow = Flow {
            socket: u32::from(out.path.0),
            remote: client.at,
        };
        server.receive(now, flow, &out.packet, out.payload, out.ecn);
        server
            .poll_answer()
            .map(|out| matches!(out.packet.kind, Kind::Sync { .. }))
    };
    assert_eq!(data(&mut clients[0], &mut server, 110), Some(true), "lost");
    assert_eq!(data(&mut clients[0], &mut server, 120), None, "too soon");
    run(310, &mut server, &mut clients);
    clients[0]
        .tunnel
        .send(Instant::ZERO + Duration::from_millis(410), Data(9))
        .expect("room");
    run(410, &mut server, &mut clients);
    let flow = server.flow(key, PathId(0)).expect("known");
    assert_eq!(flow.remote, clients[0].at);
}

/// A server that was killed and started again has no connection, and strangers spend all its Resets: what
/// shows the client's key is answered all the same.
#[test]
fn a_client_of_a_restarted_server_begins_anew_in_spite_of_strangers() {
    let mut server = new_server(&[KEY], 1);
    let mut client = client(1, Some(KEY));
    run_with_junk(1, 500, &mut server, &mut client);
    assert!(client.tunnel.is_established());
    let mut server = new_server(&[KEY], 2);
    run_with_junk(500, 1_000, &mut server, &mut client);
    client.tunnel.send(Instant::ZERO, Data(1)).expect("room");
    let mut unknown_at = None;
    for ms in 1_000..3_000 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        for event in run_with_junk(ms, ms + 1, &mut server, &mut client) {
            match event {
                // what the daemon does
                Event::PathClosed(path) if unknown_at.is_none() => {
                    let config = PathConfig {
                        address: AddressId(10 + path.0),
                        ..PathConfig::default()
                    };
                    let ports = (3_000 + u16::from(path.0), 6_511);
                    client
                        .tunnel
                        .open_path(now, config, ports)
                        .expect("it opens");
                }
                Event::ConnectionUnknown => unknown_at = unknown_at.or(Some(ms)),
                _ => {}
            }
        }
    }
    // a retransmission timeout, a Sync, and a join
    let unknown_at = unknown_at.expect("it learns of it");
    assert!(unknown_at < 1_600, "{unknown_at}");
    assert_eq!(server.connections().count(), 0);
}

/// Two servers behind one address: a join that reaches the wrong one is refused, and ends nothing.
#[test]
fn a_refused_join_ends_nothing_while_a_path_works() {
    let mut servers = [1, 2].map(|seed| new_server(&[KEY], seed));
    let mut client = client(1, Some(KEY));
    let mut events = Vec::new();
    for ms in 1..3_000 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        client.tunnel.on_deadline(now);
        while let Some(out) = client.tunnel.poll_transmit(now) {
            let flow = Flow {
                socket: u32::from(out.path.0),
                remote: client.at,
            };
            let server = &mut servers[usize::from(out.path.0)];
            server.receive(now, flow, &out.packet, out.payload, out.ecn);
        }
        for server in &mut servers {
            server.on_deadline(now);
            while let Some(out) = server.poll_transmit(now) {
                let path = PathId(out.flow.socket as u8);
                let tunnel = &mut client.tunnel;
                tunnel.receive(now, path, &out.packet, out.payload, out.ecn);
            }
        }
        events.extend(core::iter::from_fn(|| client.tunnel.poll_event()));
    }
    assert!(events.contains(&Event::PathClosed(PathId(1))));
    assert!(!events.contains(&Event::ConnectionUnknown), "{events:?}");
    assert!(client.tunnel.is_established());
}

/// An observer sends a client's Requests once more, from many addresses.
#[test]
fn requests_sent_once_more_take_no_other_clients_places() {
    let mut server = new_server(&[KEY, OTHER_KEY], 1);
    let first_packet = |client: &mut Client| {
        let now = Instant::ZERO + Duration::from_millis(1);
        client.tunnel.poll_transmit(now).expect("a Request").packet
    };
    let mut victim = client(1, Some(KEY));
    let request = first_packet(&mut victim);
    let mut other = client(2, Some(OTHER_KEY));
    let now = Instant::ZERO + Duration::from_millis(1);
    let of_other = first_packet(&mut other);
    let flow = |port: u16, last: u8| Flow {
        socket: 0,
        remote: address(last, port),
    };
    let known = server.receive(now, flow(40_000, 2), &of_other, None, Ecn::NotEct);
    let (key, _) = known.expect("its handshake has begun");
    for port in 0..1_000 {
        server.receive(now, flow(port, 99), &request, None, Ecn::NotEct);
    }
    assert!(server.tunnel(key).is_some(), "it has kept its place");
    assert!(server.connections().count() <= 8);
    let mut clients = [client(1, Some(KEY)), other];
    run(2, &mut server, &mut clients);
    assert!(clients[0].tunnel.is_established() && clients[1].tunnel.is_established());
    // of an established connection, it is refused
    let refused = server.counters().refused;
    let now = Instant::ZERO + Duration::from_secs(1);
    assert_eq!(
        server.receive(now, flow(7, 99), &request, None, Ecn::NotEct),
        None
    );
    assert_eq!(server.counters().refused, refused + 1);
}

#[test]
fn what_shows_a_key_has_a_budget_too() {
    let shared = PreSharedKey::new(KEY.as_bytes()).expect("long enough");
    let mut server: Server<Data> = new_server(&[KEY], 1);
    let now = Instant::ZERO + Duration::from_secs(1);
    junk(&mut server, now, 1);
    junk(&mut server, now, 2);
    junk(&mut server, now, 3);
    while server.poll_transmit(now).is_some() {}
    let (ports, seq) = ((7, 6_511), SeqNo::new(70));
    let mut options = crate::packet::Options::default();
    options.list.push(shared.prove_packet(ports, seq));
    let mut packet = Packet {
        source: ports.0,
        destination: ports.1,
        ccval: 0,
        seq,
        kind: Kind::Sync { ack: SeqNo::new(1) },
        options,
    };
    let flow = |port| Flow {
        socket: 0,
        remote: address(9, port),
    };
    for port in 0..1_000 {
        server.receive(now, flow(port), &packet, None, Ecn::NotEct);
    }
    let answers = core::iter::from_fn(|| server.poll_transmit(now)).count();
    assert_eq!(answers as u64, CLIENT_BURST);
    // another number needs another proof
    packet.seq = SeqNo::new(71);
    let later = now + Duration::from_secs(1);
    junk(&mut server, later, 4);
    junk(&mut server, later, 5);
    while server.poll_transmit(later).is_some() {}
    server.receive(later, flow(1), &packet, None, Ecn::NotEct);
    assert!(server.poll_transmit(later).is_none());
}

/// A download, and a NAT on the way whose mapping changes: the client, which has nothing to send, sends a
/// Sync when nothing comes any more, and the server learns the new address from that.
#[test]
fn a_client_that_only_receives_shows_its_new_address() {
    let mut server = new_server(&[KEY], 1);
    let tunnel = TunnelConfig {
        keepalive: Some(Duration::from_secs(5)),
        ..TunnelConfig::default()
    };
    let mut clients = [client_with(1, Some(KEY), tunnel)];
    let now = run(1, &mut server, &mut clients);
    let (key, _) = server.connections().next().expect("one");
    let send = |server: &mut Server<Data>, now| {
        let tunnel = server.tunnel(key).expect("there");
        tunnel.send(now, Data(1)).expect("room");
    };
    send(&mut server, now);
    let now = run(101, &mut server, &mut clients);
    assert_eq!(clients[0].got, [1]);
    clients[0].at = address(1, 50_000);
    send(&mut server, now);
    for from in [201, 301, 401, 501] {
        run(from, &mut server, &mut clients);
        assert_eq!(clients[0].got, [1], "nothing reaches the old address");
    }
    // half a second after the last packet: the Sync, the question, its answer
    run(601, &mut server, &mut clients);
    let flow = server.flow(key, PathId(0)).expect("known");
    assert_eq!(flow.remote, clients[0].at);
}
