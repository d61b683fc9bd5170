use super::*;
use crate::packet::{AddressId, PathPriority};

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
        scheduler: "cpf".to_owned(),
        path: PathConfig::default(),
        shared: shared.iter().map(key).collect(),
        connections: 100,
        half_open: 8,
    }
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
    let shared = shared.map(|text| PreSharedKey::new(text.as_bytes()).expect("long enough"));
    let scheduler = scheduler::build("cpf").expect("known");
    let seed = u64::from(last);
    let mut tunnel = Tunnel::client(TunnelConfig::default(), scheduler, shared, seed);
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
    now
}

#[test]
fn several_clients_have_connections_of_their_own() {
    let mut server =
        Server::new(config(&["0123456789abcdef", "fedcba9876543210"]), 1).expect("built");
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
    let mut server: Server<Data> = Server::new(config(&[]), 1).expect("built");
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
    let mut server = Server::new(config(&[]), 1).expect("built");
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
    let mut server = Server::new(config(&[]), 1).expect("built");
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
    let mut server: Server<Data> = Server::new(config(&[]), 1).expect("built");
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
