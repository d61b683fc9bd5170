//! The server's side of many connections: which packet belongs to which path of which tunnel.
//!
//! ```text
//!   datagram from an address -> flow known? -> its tunnel and path
//!                               Request with MP_KEY  -> a new tunnel
//!                               Request with MP_JOIN -> a further path of the tunnel that it names
//!                               valid for a path of the same ports -> sent a Sync: its address changed
//!                               anything else -> Reset
//! ```
//!
//! A flow is identified by the six fields of RFC 6773 3.3: the addresses and UDP ports, and DCCP's ports.
//!
//! State of handshakes is bounded: of more than [`ServerConfig::half_open`] connections that are not
//! established the oldest is removed, of a client that has more than its share of them its own. Resets to
//! strangers are limited in rate. What shows a client's key has a budget of its own, as has what is valid
//! for a connection's path: strangers cannot spend them. A proof that names its key costs one HMAC; those that
//! do not share a budget.
//!
//! **Changed addresses** (a NAT whose mapping expired, a roaming client): a packet from an unknown address that is
//! valid for a path (RFC 4340 7.5) makes the server send a Sync there; the path moves once the answer
//! acknowledges just that Sync. An attacker off the path would have to guess 48 bits.

mod addresses;
mod admission;
mod budget;
mod clients;
mod cookies;
mod moving;
mod proofs;

use crate::auth::PreSharedKey;
use crate::join::HalfOpen;
use crate::packet::{Compact, Kind, Packet};
use crate::provision::Provision;
use crate::tunnel::{Carrier, Event, PathConfig, Transmit, Tunnel, TunnelConfig};
use crate::{PathId, Payload};
use addresses::Addresses;
use budget::Budget;
use cookies::Cookies;
use core::net::{IpAddr, SocketAddr};
use moving::Move;
use proofs::Proofs;
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Duration, Ecn, Instant};

/// How long a handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Resets to strangers: so many at once, and one more each [`RESET_INTERVAL`].
const RESET_BURST: u64 = 20;
const RESET_INTERVAL: Duration = Duration::from_millis(10);
/// Resets to packets that show a client's key, of each client.
const CLIENT_BURST: u64 = 20;
const CLIENT_INTERVAL: Duration = Duration::from_millis(50);
/// Syncs to new addresses, of each connection.
const QUESTION_BURST: u64 = 16;
const QUESTION_INTERVAL: Duration = Duration::from_millis(50);
/// Unfinished handshakes that a client may have at least.
const MIN_HALF_OPEN_SHARE: usize = 2;

/// Where packets come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The shell's number of the socket.
    pub socket: u32,
    /// The other end.
    pub remote: SocketAddr,
}

/// A connection of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey(pub u64);

/// How connections are accepted.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Of every connection.
    pub tunnel: TunnelConfig,
    /// Of every path over IPv4; the client's priority counts unless this is lower.
    pub path: PathConfig,
    /// Of every path over IPv6; none: as the others.
    pub path_v6: Option<PathConfig>,
    /// Pre-shared keys of clients; with none, every client is accepted.
    pub shared: Vec<PreSharedKey>,
    /// Connections at most.
    pub connections: usize,
    /// Limit of those whose handshake is not over.
    pub half_open: usize,
}

/// Counts of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Connections accepted.
    pub accepted: u64,
    /// Paths that joined.
    pub joined: u64,
    /// Requests rejected.
    pub refused: u64,
    /// Connections removed before they were established.
    pub expired: u64,
    /// Packets of no connection.
    pub strangers: u64,
    /// Requests that were answered by an Init Cookie.
    pub cookies: u64,
    /// Requests that would have been, and were shorter than that answer.
    pub too_short: u64,
    /// Paths that moved to another address.
    pub moved: u64,
    /// HMACs that were computed to check what proves a client's key, before anything is kept.
    pub verifications: u64,
    /// Packets whose proof was not checked: they did not name its key, and too many did not.
    pub unverified: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FlowKey {
    flow: Flow,
    /// The client's port and ours.
    ports: (u16, u16),
}

impl FlowKey {
    fn of(flow: Flow, packet: &Packet) -> Self {
        Self {
            flow,
            ports: (packet.source, packet.destination),
        }
    }
}

struct Connection<P> {
    tunnel: Tunnel<P>,
    /// Which pre-shared key the client has.
    client: Option<usize>,
    is_established: bool,
    /// Bytes of its first Request, where the server is guarded.
    request_len: usize,
    /// By path number.
    flows: Vec<Option<FlowKey>>,
    moves: VecDeque<Move>,
    questions: Budget,
    /// Addresses of this end by their numbers in the connection: 0 is that of its first path.
    addresses: Addresses,
}

/// Many connections at one server.
pub struct Server<P> {
    config: ServerConfig,
    provision: Box<dyn Provision>,
    connections: BTreeMap<ConnectionKey, Connection<P>>,
    flows: BTreeMap<FlowKey, (ConnectionKey, PathId)>,
    /// With the clients that they are of.
    half_open: HalfOpen<ConnectionKey, Option<usize>>,
    /// Packets that leave by themselves: Resets to strangers, Syncs to new addresses.
    outbox: VecDeque<(Flow, Packet)>,
    /// How paths on sockets are set up that are not set up as all others.
    sockets: BTreeMap<u32, PathConfig>,
    events: VecDeque<(ConnectionKey, Event)>,
    next_key: u64,
    /// Resets to strangers, and to clients by the numbers of their keys.
    strangers: Budget,
    clients: Vec<Budget>,
    proofs: Proofs,
    counters: ServerCounters,
    /// The connection that was served last.
    turn: Option<ConnectionKey>,
    /// Where the packet came in that is handed in next, if that is known.
    arrived_at: Option<IpAddr>,
    /// Bytes that the packet carries that is looked at.
    payload_len: usize,
    cookies: Cookies,
}

/// What leaves a server.
#[derive(Clone, Debug)]
pub struct ServerTransmit<P> {
    /// Where it goes.
    pub flow: Flow,
    /// Of which connection; none: it is an answer to a stranger.
    pub connection: Option<ConnectionKey>,
    /// The packet.
    pub packet: Packet,
    /// What it carries.
    pub payload: Option<P>,
    /// As [`Transmit::size`].
    pub size: Option<Bytes>,
    /// The ECN codepoint of its IP header.
    pub ecn: Ecn,
}

impl<P: Payload> Server<P> {
    /// A server without connections.
    pub fn new(mut config: ServerConfig, provision: Box<dyn Provision>) -> Self {
        let proofs = Proofs::new(core::mem::take(&mut config.shared));
        Self {
            half_open: HalfOpen::new(config.half_open, HANDSHAKE_TIME),
            clients: vec![Budget::new(CLIENT_BURST, CLIENT_INTERVAL); proofs.keys().len()],
            proofs,
            config,
            provision,
            connections: BTreeMap::new(),
            flows: BTreeMap::new(),
            outbox: VecDeque::new(),
            sockets: BTreeMap::new(),
            events: VecDeque::new(),
            next_key: 0,
            strangers: Budget::new(RESET_BURST, RESET_INTERVAL),
            counters: ServerCounters::default(),
            turn: None,
            arrived_at: None,
            payload_len: 0,
            cookies: Cookies::default(),
        }
    }

    /// A socket is a byte stream with one peer: its paths are carried by it.
    pub fn add_stream(&mut self, socket: u32) {
        let config = PathConfig {
            carrier: Carrier::Stream,
            ..self.config.path.clone()
        };
        self.add_socket(socket, config);
    }

    /// Paths on a socket are set up like this, instead of as all others.
    pub fn add_socket(&mut self, socket: u32, config: PathConfig) {
        self.sockets.insert(socket, config);
    }

    /// A byte stream is over, and with it the paths on it.
    pub fn remove_stream(&mut self, now: Instant, socket: u32) {
        self.sockets.remove(&socket);
        let on_it: Vec<_> = self
            .flows
            .iter()
            .filter(|(key, _)| key.flow.socket == socket)
            .map(|(_, &of)| of)
            .collect();
        for (connection, path) in on_it {
            if let Some(state) = self.connections.get_mut(&connection) {
                state.tunnel.close_path(now, path);
            }
            self.after(now, connection);
        }
    }

    /// How a path that begins there is set up.
    fn path_config(&self, flow: Flow) -> PathConfig {
        let of_v6 = self.config.path_v6.as_ref();
        let of_family = of_v6.filter(|_| flow.remote.is_ipv6());
        let own = self.sockets.get(&flow.socket).or(of_family);
        own.unwrap_or(&self.config.path).clone()
    }

    /// A path whose packets come from there, if there is one.
    pub fn path_of(&self, flow: Flow) -> Option<(ConnectionKey, PathId)> {
        let lowest = FlowKey {
            flow,
            ports: (0, 0),
        };
        let (key, &of) = self.flows.range(lowest..).next()?;
        (key.flow == flow).then_some(of)
    }

    /// The packet that a compact one stands for, which has come from there; of an unknown address that of a path on the same
    /// socket, as its address may have changed. None if there is no such path.
    pub fn expand(&self, flow: Flow, compact: Compact) -> Option<Packet> {
        let (connection, path) = self.path_of(flow).or_else(|| {
            let mut flows = self.flows.iter();
            let found = flows.find(|(known, _)| known.flow.socket == flow.socket);
            found.map(|(_, of)| *of)
        })?;
        self.connections
            .get(&connection)?
            .tunnel
            .expand(path, compact)
    }

    /// The next answer to a stranger, or question to a new address, without what connections send.
    pub fn poll_answer(&mut self) -> Option<ServerTransmit<P>> {
        let (flow, packet) = self.outbox.pop_front()?;
        Some(ServerTransmit {
            flow,
            connection: None,
            packet,
            payload: None,
            size: None,
            ecn: Ecn::NotEct,
        })
    }

    /// A packet arrived. Returns the connection and path that it belongs to, if it does.
    pub fn receive(
        &mut self,
        now: Instant,
        flow: Flow,
        packet: &Packet,
        payload: Option<P>,
        ecn: Ecn,
    ) -> Option<(ConnectionKey, PathId)> {
        let key = FlowKey::of(flow, packet);
        if let Some(&(connection, path)) = self.flows.get(&key) {
            if !self.may_repeat(connection, packet) {
                self.counters.too_short += 1;
                return Some((connection, path));
            }
            if let Some(state) = self.connections.get_mut(&connection) {
                state.tunnel.receive(now, path, packet, payload, ecn);
            }
            self.after(now, connection);
            return Some((connection, path));
        }
        self.payload_len = payload.as_ref().map_or(0, Payload::len);
        if matches!(packet.kind, Kind::Request { .. }) {
            return self.on_request(now, key, packet);
        }
        if let Some(made) = self.on_cookie(now, key, packet) {
            return Some(made);
        }
        self.on_stranger(now, key, packet);
        None
    }

    /// Events of a connection, and its end.
    fn after(&mut self, now: Instant, key: ConnectionKey) {
        let Some(state) = self.connections.get_mut(&key) else {
            return;
        };
        let mut closed = Vec::new();
        while let Some(event) = state.tunnel.poll_event() {
            match event {
                Event::Established => {
                    state.is_established = true;
                    self.half_open.take(now, &key);
                }
                Event::PathClosed(path) => closed.push(path),
                _ => {}
            }
            self.events.push_back((key, event));
        }
        // what the path still has to send (a Reset) leaves first: see poll_transmit
        for path in closed {
            if let Some(Some(flow)) = state.flows.get(usize::from(path.0)) {
                self.flows.remove(flow);
            }
        }
    }

    /// Removes a connection without a farewell.
    pub fn remove(&mut self, key: ConnectionKey) {
        if let Some(state) = self.connections.remove(&key) {
            for flow in state.flows.iter().flatten() {
                self.flows.remove(flow);
            }
        }
    }

    /// The next packet that may leave now: the connections take turns.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<ServerTransmit<P>> {
        if let Some(answer) = self.poll_answer() {
            return Some(answer);
        }
        let start = self.turn.unwrap_or(ConnectionKey(0));
        let after = self.connections.range(start..).map(|(&key, _)| key);
        let before = self.connections.range(..start).map(|(&key, _)| key);
        let keys: smallvec::SmallVec<[ConnectionKey; 8]> = after.chain(before).collect();
        let mut over = None;
        let mut found = None;
        for key in keys {
            let Some(state) = self.connections.get_mut(&key) else {
                continue;
            };
            let Some(transmit) = state.tunnel.poll_transmit(now) else {
                if state.tunnel.is_closed() {
                    over = Some(key);
                }
                continue;
            };
            let Transmit {
                path,
                packet,
                payload,
                size,
                ecn,
            } = transmit;
            // the connection goes on while it may: consecutive packets leave in one burst
            self.turn = Some(key);
            if let Some(&Some(FlowKey { flow, .. })) = state.flows.get(usize::from(path.0)) {
                found = Some(ServerTransmit {
                    flow,
                    connection: Some(key),
                    packet: self.shortened(packet),
                    payload,
                    size,
                    ecn,
                });
                break;
            }
        }
        if let Some(over) = over {
            self.after(now, over);
            self.remove(over);
        }
        if found.is_none() {
            self.turn = self.turn.map(|key| ConnectionKey(key.0 + 1));
        }
        found
    }

    /// The next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionKey, Event)> {
        self.events.pop_front()
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let states = self.connections.values_mut();
        let tunnels = states
            .filter_map(|state| state.tunnel.next_deadline(now))
            .min();
        [tunnels, self.half_open.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// A deadline has come.
    pub fn on_deadline(&mut self, now: Instant) {
        let keys: Vec<_> = self.connections.keys().copied().collect();
        for key in keys {
            if let Some(state) = self.connections.get_mut(&key) {
                state.tunnel.on_deadline(now);
            }
            self.after(now, key);
        }
        self.expire_half_open(now);
    }

    /// A connection's end of the tunnel.
    pub fn tunnel(&mut self, key: ConnectionKey) -> Option<&mut Tunnel<P>> {
        Some(&mut self.connections.get_mut(&key)?.tunnel)
    }

    /// The connections, the oldest first, with the number of the pre-shared key that their client has.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionKey, Option<usize>)> + '_ {
        self.connections
            .iter()
            .map(|(&key, state)| (key, state.client))
    }

    /// Where the packets of a path go.
    pub fn flow(&self, key: ConnectionKey, path: PathId) -> Option<Flow> {
        let flows = &self.connections.get(&key)?.flows;
        Some(flows.get(usize::from(path.0)).copied().flatten()?.flow)
    }

    /// Its counts.
    pub fn counters(&self) -> ServerCounters {
        ServerCounters {
            verifications: self.proofs.computed(),
            unverified: self.proofs.unchecked(),
            ..self.counters
        }
    }
}

#[cfg(test)]
mod tests;
