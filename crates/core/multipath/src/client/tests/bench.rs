//! A client and a server, and what can go wrong between them. Time goes from event to event.

use crate::client::{
    Action, Client, ClientConfig, ClientEvent, ClientPathId, PathState, Supervision,
};
use crate::packet::{Kind, Packet, PathPriority};
use crate::provision::Builtin;
use crate::server::{Flow, Server, ServerConfig};
use crate::tunnel::{Carrier, PathConfig, TunnelConfig};
use crate::{Payload, auth::PreSharedKey};
use core::net::SocketAddr;
use std::collections::BTreeMap;
use units::{Bytes, Duration, Ecn, Instant};

/// One way.
pub(super) const DELAY: Duration = Duration::from_millis(10);
const PORT: u16 = 6_511;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Data(pub(super) u64);

impl Payload for Data {
    fn len(&self) -> usize {
        1_000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// What lies below a path.
pub(super) struct Road {
    pub(super) carrier: Carrier,
    /// It carries packets.
    pub(super) is_up: bool,
    /// Sockets can be opened on it.
    pub(super) has_interface: bool,
    /// Handshakes do not pass: Requests and Responses are lost.
    pub(super) loses_handshakes: bool,
    /// The client's socket, each with another number.
    pub(super) socket: Option<u32>,
    /// Port that the socket's packets have at the server.
    pub(super) mapping: u16,
}

enum Hop {
    Up(ClientPathId, u32, u16, Packet, Option<Data>),
    Down(Flow, Packet, Option<Data>),
}

pub(super) struct Bench {
    pub(super) now: Instant,
    pub(super) client: Client<Data>,
    pub(super) server: Server<Data>,
    pub(super) roads: Vec<Road>,
    transit: BTreeMap<(Instant, u64), Hop>,
    sent: u64,
    sockets: u32,
    servers: u64,
    /// Everything that the client requested, and when.
    pub(super) actions: Vec<(Instant, Action)>,
    pub(super) events: Vec<(Instant, ClientEvent)>,
    /// What has arrived at the client.
    pub(super) got: Vec<u64>,
}

fn server(seed: u64) -> Server<Data> {
    let config = ServerConfig {
        tunnel: times(),
        path: path(Carrier::Dccp),
        shared: vec![key()],
        connections: 100,
        path_v6: None,
        half_open: 16,
    };
    let provision = Builtin::new("cpf", seed).expect("known");
    Server::new(config, Box::new(provision))
}

pub(super) fn key() -> PreSharedKey {
    PreSharedKey::new(b"0123456789abcdef").expect("long enough")
}

/// As the daemon has them.
fn times() -> TunnelConfig {
    TunnelConfig {
        keepalive: Some(Duration::from_secs(5)),
        ..TunnelConfig::default()
    }
}

fn path(carrier: Carrier) -> PathConfig {
    PathConfig {
        carrier,
        priority: PathPriority::PRIMARY,
        packet_size: Bytes::new(1_200),
        ..PathConfig::default()
    }
}

impl Bench {
    /// With paths of these carriers.
    pub(super) fn new(carriers: &[Carrier]) -> Self {
        let config = ClientConfig {
            tunnel: times(),
            shared: Some(key()),
            supervision: Supervision::default(),
            first_port: 1_000,
        };
        let provision = Builtin::new("cpf", 7).expect("known");
        let now = Instant::ZERO + Duration::from_secs(1);
        let mut bench = Self {
            now,
            client: Client::new(now, config, Box::new(provision)).expect("right times"),
            server: server(1),
            roads: Vec::new(),
            transit: BTreeMap::new(),
            sent: 0,
            sockets: 0,
            servers: 1,
            actions: Vec::new(),
            events: Vec::new(),
            got: Vec::new(),
        };
        for carrier in carriers {
            bench.roads.push(Road {
                carrier: *carrier,
                is_up: true,
                has_interface: true,
                loses_handshakes: false,
                socket: None,
                mapping: 0,
            });
            let added = bench.client.add_path(now, path(*carrier), PORT);
            added.expect("few paths");
        }
        bench
    }

    /// A bench whose paths are all up.
    pub(super) fn opened(carriers: &[Carrier]) -> Self {
        let mut bench = Self::new(carriers);
        bench.run(Duration::from_millis(200));
        let states: Vec<_> = bench.client.paths().map(|(_, state)| state).collect();
        assert!(states.iter().all(|s| *s == PathState::Up), "{states:?}");
        bench
    }

    /// The NAT on a path's way has another mapping for the same socket.
    pub(super) fn rebind(&mut self, index: usize) {
        self.sockets += 1;
        self.roads[index].mapping = 20_000 + self.sockets as u16;
    }

    /// Another server, without any connection.
    pub(super) fn restart(&mut self) {
        self.servers += 1;
        self.server = server(self.servers);
        for index in 0..self.roads.len() {
            let id = ClientPathId(index as u16);
            let is_lost = self.roads[index].carrier == Carrier::Stream;
            if is_lost && self.roads[index].socket.take().is_some() {
                self.client.on_socket_lost(self.now, id);
            }
        }
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.pump();
        loop {
            let arrival = self.transit.keys().next().map(|(at, _)| *at);
            let client = self.client.next_deadline(self.now);
            assert!(
                client.is_none_or(|at| at > self.now),
                "no pause: {client:?}"
            );
            let server = self.server.next_deadline(self.now);
            let next = [arrival, client, server].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = next.max(self.now);
            self.deliver();
            if client.is_some_and(|at| at <= self.now) {
                self.client.on_deadline(self.now);
            }
            if server.is_some_and(|at| at <= self.now) {
                self.server.on_deadline(self.now);
            }
            self.pump();
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.transit.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            match entry.remove() {
                Hop::Up(id, socket, mapping, packet, data) => {
                    let flow = flow(id, socket, mapping, self.roads[id.index()].carrier);
                    self.server
                        .receive(self.now, flow, &packet, data, Ecn::NotEct);
                }
                Hop::Down(flow, packet, data) => {
                    let index = (flow.socket % 100) as usize;
                    let road = &self.roads[index];
                    let Some(socket) = road.socket.filter(|_| road.is_up) else {
                        continue;
                    };
                    let id = ClientPathId(index as u16);
                    if flow == self::flow(id, socket, road.mapping, road.carrier) {
                        self.client
                            .receive(self.now, id, &packet, data, Ecn::NotEct);
                    }
                }
            }
        }
    }

    /// Everything that may be done now is.
    pub(super) fn pump(&mut self) {
        loop {
            let mut has_acted = false;
            while let Some(out) = self.client.poll_transmit(self.now) {
                let road = &self.roads[out.path.index()];
                let Some(socket) = road.socket.filter(|_| passes(road, &out.packet)) else {
                    continue;
                };
                let hop = Hop::Up(out.path, socket, road.mapping, out.packet, out.payload);
                self.send(hop);
            }
            while let Some(action) = self.client.poll_action() {
                has_acted = true;
                self.actions.push((self.now, action));
                self.act(action);
            }
            if !has_acted {
                break;
            }
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push((self.now, event));
        }
        while let Some(Data(number)) = self.client.poll_delivery(self.now) {
            self.got.push(number);
        }
        while let Some(out) = self.server.poll_transmit(self.now) {
            let road = &self.roads[(out.flow.socket % 100) as usize];
            if passes(road, &out.packet) {
                let hop = Hop::Down(out.flow, out.packet, out.payload);
                self.send(hop);
            }
        }
        while self.server.poll_event().is_some() {}
    }

    fn send(&mut self, hop: Hop) {
        self.sent += 1;
        self.transit.insert((self.now + DELAY, self.sent), hop);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Open(id) | Action::Renew(id) => {
                let is_renewal = matches!(action, Action::Renew(_));
                let road = &mut self.roads[id.index()];
                assert_eq!(road.socket.is_some(), is_renewal, "{action:?}");
                if !road.has_interface {
                    return self.client.on_open_failed(self.now, id);
                }
                self.sockets += 1;
                road.socket = Some(self.sockets);
                road.mapping = 20_000 + self.sockets as u16;
                if road.carrier == Carrier::Stream {
                    let flow = flow(id, self.sockets, road.mapping, road.carrier);
                    self.server.add_stream(flow.socket);
                }
                self.client.on_opened(self.now, id);
            }
            Action::Close(id) => {
                let road = &mut self.roads[id.index()];
                if let Some(socket) = road.socket.take()
                    && road.carrier == Carrier::Stream
                {
                    let flow = flow(id, socket, road.mapping, road.carrier);
                    self.server.remove_stream(self.now, flow.socket);
                }
            }
        }
    }

    /// A packet from each end to the other arrives within `time`.
    pub(super) fn works_within(&mut self, time: Duration) -> bool {
        let end = self.now + time;
        let before = self.got.len();
        while self.now < end {
            let number = self.sent;
            let keys: Vec<_> = self.server.connections().map(|(key, _)| key).collect();
            // the connection that was established last
            if let Some(tunnel) = keys.last().and_then(|key| self.server.tunnel(*key)) {
                // what does not fit is lost, as anywhere
                let _ = tunnel.send(self.now, Data(number));
            }
            self.run(Duration::from_millis(100));
            if self.got.len() > before {
                return true;
            }
        }
        false
    }

    /// When the client requested what `is_it` selects.
    pub(super) fn times_of(&self, is_it: impl Fn(Action) -> bool) -> Vec<Instant> {
        let found = self.actions.iter().filter(|(_, action)| is_it(*action));
        found.map(|(at, _)| *at).collect()
    }

    pub(super) fn state(&self, index: usize) -> PathState {
        let id = ClientPathId(index as u16);
        let found = self.client.paths().find(|(other, _)| *other == id);
        found.expect("configured").1
    }

    pub(super) fn has_seen(&self, event: ClientEvent) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }
}

/// A datagram socket of the server for each path; a stream is one by itself.
fn flow(id: ClientPathId, socket: u32, mapping: u16, carrier: Carrier) -> Flow {
    let number = u32::from(id.0);
    Flow {
        socket: match carrier {
            Carrier::Dccp => number,
            Carrier::Stream => socket * 100 + number,
        },
        remote: SocketAddr::from(([192, 0, 2, 1], mapping)),
    }
}

fn passes(road: &Road, packet: &Packet) -> bool {
    let is_handshake = matches!(packet.kind, Kind::Request { .. } | Kind::Response { .. });
    road.is_up && !(road.loses_handshakes && is_handshake)
}
