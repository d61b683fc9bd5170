//! The server's side of the paths: it receives from any address, and assigns addresses to clients.

mod addresses;
mod changes;
mod datagrams;
mod narrow;
#[cfg(feature = "edge")]
mod reports;
mod state;
mod streams;

use crate::arena::Arena;
use crate::config::{ClientConfig, Config, Encryption, End, ServerConfig};
use crate::error::TunnelError;
use crate::flow::label;
use crate::inner::{self, Inner};
use crate::inside::Inside;
use crate::limits;
use crate::link::{Incoming, Link};
use crate::output::Output;
use crate::packet_thread::{Change, FIRST, Outside};
use crate::pending::Pending;
use crate::pieces::Delivery;
use crate::poller::{Poller, Token};
use crate::resolver::Resolved;
use crate::sealing::{Keys, Refusals};
use crate::status::Status;
use crate::stream::Stream;
use crate::udp::UdpSocket;
use keys::random;
use multipath::Tunnel;
use multipath::auth::PreSharedKey;
use multipath::class::Class;
use multipath::packet::PathPriority;
use multipath::provision::Builtin;
use multipath::server::{self, ConnectionKey, Flow};
use multipath::tunnel::{Event, PathConfig};
use secrecy::{PublicKey, Responder};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use units::{Bytes, Duration, Instant, Packets};

/// While packets wait for the window of a TCP connection, its state is looked at so often.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Something that packets come in by.
enum Socket {
    Udp(Arc<UdpSocket>),
    Listener {
        fd: OwnedFd,
        /// Not waited for: the system had nothing left to accept with.
        is_paused: bool,
    },
    Tcp {
        stream: Rc<RefCell<Stream>>,
        remote: SocketAddr,
    },
}

/// How the core takes a path of a client, over either family of IP.
fn path_config(config: &Config, end: &ServerConfig, is_ipv6: bool) -> PathConfig {
    let encryption = config.encryption;
    let mtu = limits::link_mtu(config, is_ipv6);
    PathConfig {
        controller: limits::controller(&end.controller),
        priority: PathPriority::from_bits(15),
        packet_size: Bytes::new(limits::packet_size(mtu, is_ipv6, encryption) as u64),
        lower_headers: Bytes::new(limits::lower_headers(is_ipv6, encryption) as u64),
        mtu: limits::path_mtu(config, end.path_mtu),
        around: Bytes::new(limits::overhead(encryption) as u64),
        ..PathConfig::default()
    }
}

/// A server.
pub(crate) struct Server {
    config: Config,
    clients: Vec<ClientConfig>,
    /// What proves their connections, by the same places.
    keys: Vec<PreSharedKey>,
    /// To which private key of this end; none without encryption.
    private: Option<PublicKey>,
    /// Its sockets by their addresses: UDP, TCP.
    listening: BTreeMap<SocketAddr, [Token; 2]>,
    core: server::Server<Inner>,
    output: Output,
    sockets: BTreeMap<u64, Socket>,
    links: BTreeMap<Flow, Link>,
    /// Links that are to be flushed.
    busy: Vec<Flow>,
    /// Links that have refused a packet as too large since they were looked at.
    narrow: Vec<Flow>,
    /// TCP connections that carry no path yet.
    pending: Pending,
    /// TCP connections that carry a path.
    streams: BTreeSet<Flow>,
    /// Who holds which client's place: the last of its connections that was established.
    current: Vec<Option<ConnectionKey>>,
    spoofed: Vec<u64>,
    arena: Arena,
    next_token: u64,
    /// The client to which the last packet went.
    last: usize,
    unroutable: u64,
    unreadable: u64,
    /// TCP connections that were closed without ever having carried a path, and times that accepting paused.
    shed: u64,
    accept_pauses: u64,
    #[cfg(feature = "edge")]
    radio: reports::Radio,
    is_ending: bool,
    /// Sessions; none without encryption.
    secrecy: Option<Responder>,
    refusals: Refusals,
    incoming: Vec<Incoming>,
    /// What comes in pieces, of each connection.
    deliveries: BTreeMap<ConnectionKey, Delivery>,
}

impl Server {
    /// Opens all sockets.
    pub(crate) fn new(
        config: Config,
        mtu: usize,
        poller: &Poller,
        output: Output,
    ) -> Result<Self, TunnelError> {
        let End::Server(end) = &config.end.clone() else {
            return Err(TunnelError::system("a server", io::ErrorKind::InvalidInput));
        };
        let keys = Keys::load(&config)?;
        let core_config = server::ServerConfig {
            tunnel: limits::tunnel_config(&config, mtu),
            path: path_config(&config, end, false),
            path_v6: Some(path_config(&config, end, true)),
            shared: keys.shared.clone(),
            connections: end.clients.len() * 4 + end.half_open,
            half_open: end.half_open,
        };
        let seed = random::seed().map_err(|error| TunnelError::system("no randomness", error))?;
        let provision = Builtin::new(&config.scheduler, seed)
            .map_err(|error| TunnelError::system("a scheduler", io::Error::other(error)))?;
        let core = server::Server::new(core_config, Box::new(provision));
        // sealed packets are of clients whose addresses have answered
        let core = match config.encryption {
            Encryption::On => core,
            Encryption::None => core.guarded((end.half_open / 2).max(1)),
        };
        let mut server = Self {
            current: vec![None; end.clients.len()],
            spoofed: vec![0; end.clients.len()],
            clients: end.clients.clone(),
            keys: keys.shared.clone(),
            private: keys.own(),
            listening: BTreeMap::new(),
            core,
            output,
            sockets: BTreeMap::new(),
            links: BTreeMap::new(),
            busy: Vec::new(),
            narrow: Vec::new(),
            pending: Pending::new(end.pending),
            streams: BTreeSet::new(),
            arena: Arena::new(),
            next_token: FIRST,
            last: 0,
            unroutable: 0,
            unreadable: 0,
            shed: 0,
            accept_pauses: 0,
            #[cfg(feature = "edge")]
            radio: reports::Radio::default(),
            is_ending: false,
            secrecy: keys.responder()?,
            refusals: Refusals::default(),
            incoming: Vec::new(),
            deliveries: BTreeMap::new(),
            config,
        };
        for address in &end.listen {
            server.listen(*address, poller)?;
        }
        Ok(server)
    }

    fn listen(&mut self, address: SocketAddr, poller: &Poller) -> Result<(), TunnelError> {
        let failed =
            |error: io::Error| TunnelError::system(format!("cannot listen at {address}"), error);
        let udp = UdpSocket::listening(address).map_err(failed)?;
        let tcp = streams::listener(address).map_err(failed)?;
        let tokens = [self.token(), self.token()];
        poller.add(&udp, tokens[0], false).map_err(failed)?;
        poller.add(&tcp, tokens[1], false).map_err(failed)?;
        let listener = Socket::Listener {
            fd: tcp,
            is_paused: false,
        };
        self.sockets.insert(tokens[0].0, Socket::Udp(Arc::new(udp)));
        self.sockets.insert(tokens[1].0, listener);
        self.listening.insert(address, tokens);
        tracing::info!(%address, "hearing");
        Ok(())
    }

    fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token - 1)
    }

    /// The client that an address is of.
    fn client_of(&mut self, address: IpAddr) -> Option<usize> {
        let has = |client: &ClientConfig| client.addresses.iter().any(|n| n.contains(address));
        if self.clients.get(self.last).is_some_and(has) {
            return Some(self.last);
        }
        self.last = self.clients.iter().position(has)?;
        Some(self.last)
    }

    /// The connection of the client to which a packet with these headers goes.
    fn tunnel_to(&mut self, headers: &[u8]) -> Option<&mut Tunnel<Inner>> {
        let (_, address) = inner::addresses(headers)?;
        let client = self.client_of(address)?;
        self.core.tunnel(self.current[client]?)
    }

    fn on_event(&mut self, now: Instant, key: ConnectionKey, event: &Event) {
        let client = self.client(key);
        let name = client.map_or("?", |index| self.clients[index].name.as_str());
        match event {
            Event::Established => {
                tracing::info!(client = name, connection = key.0, "connected");
                let Some(index) = client else { return };
                let old = self.current[index].replace(key);
                // a client that connects anew has dropped its old connection
                if let Some(tunnel) = old.and_then(|old| self.core.tunnel(old)) {
                    tunnel.fast_close(now);
                }
                self.announce(now, key);
            }
            Event::PathUp(path) => {
                tracing::info!(client = name, path = path.0, "path up");
                self.on_path_up(key, *path);
                self.note_link_mtu(now, key, *path);
            }
            Event::PathDown(path) => tracing::info!(client = name, path = path.0, "path down"),
            Event::PathClosed(path) => tracing::info!(client = name, path = path.0, "path closed"),
            Event::Closed => {
                tracing::info!(client = name, connection = key.0, "disconnected");
                if let Some(index) = client
                    && self.current[index] == Some(key)
                {
                    self.current[index] = None;
                }
            }
            // the client opens its paths itself
            Event::AddressAdded { id, address, .. } => {
                tracing::info!(client = name, id = id.0, %address, "the client has a further address");
            }
            Event::AddressRemoved { id } => {
                tracing::info!(client = name, id = id.0, "an address of the client is gone");
            }
            Event::ConnectionUnknown => {}
        }
    }

    fn client(&self, key: ConnectionKey) -> Option<usize> {
        let mut all = self.core.connections();
        all.find(|(own, _)| *own == key)
            .and_then(|(_, client)| client)
    }

    fn transmit(&mut self, now: Instant, poller: &Poller) {
        self.report_streams(now);
        while let Some(out) = self.core.poll_transmit(now) {
            self.push(now, out);
        }
        self.flush(poller);
    }

    fn deliver(&mut self, now: Instant, inside: &mut Inside) {
        let keys: Vec<_> = self.core.connections().collect();
        for (key, client) in keys {
            let Some(tunnel) = self.core.tunnel(key) else {
                continue;
            };
            let Some(index) = client else {
                while tunnel.poll_delivery(now).is_some() {}
                continue;
            };
            let (own, spoofed) = (&self.clients[index].addresses, &mut self.spoofed[index]);
            let mut admits = |packet: &[u8]| {
                let has = |(source, _)| own.iter().any(|network| network.contains(source));
                let is_own = inner::addresses(packet).is_some_and(has);
                *spoofed += u64::from(!is_own);
                is_own
            };
            let delivery = self.deliveries.entry(key);
            let delivery = delivery.or_insert_with(|| Delivery::new(inside));
            while let Some(packet) = tunnel.poll_delivery(now) {
                let packet = narrow::clamped(packet, tunnel);
                delivery.push(now, packet, inside, &mut admits);
            }
            delivery.flush(now, inside, &mut admits);
        }
    }
}

impl Outside for Server {
    fn on_ready(&mut self, now: Instant, token: Token, poller: &Poller) {
        match self.sockets.get(&token.0) {
            Some(Socket::Udp(socket)) => {
                let socket = Arc::clone(socket);
                self.on_datagrams(now, token, &socket);
            }
            Some(Socket::Listener { .. }) => self.on_connections(now, poller, token),
            Some(Socket::Tcp { .. }) => self.on_stream(now, token),
            None => {}
        }
    }

    fn backlog(&mut self) -> usize {
        let key = self.current.get(self.last).copied().flatten();
        let tunnel = key.and_then(|key| self.core.tunnel(key));
        tunnel.map_or(0, |tunnel| tunnel.unassigned())
    }

    fn has_room(&mut self, packet: &Inner, count: usize) -> bool {
        let tunnel = self.tunnel_to(packet.headers());
        tunnel.is_none_or(|tunnel| tunnel.has_room(count as u64))
    }

    fn class(&mut self, now: Instant, headers: &[u8], bytes: usize) -> Class {
        let bytes = Bytes::new(bytes as u64);
        match self.tunnel_to(headers) {
            Some(tunnel) => tunnel.class(now, bytes, || label(headers)),
            None => Class::Bulk,
        }
    }

    fn submit(&mut self, now: Instant, packet: Inner, class: Class) {
        match self.tunnel_to(packet.headers()) {
            // refused packets are counted by the tunnel
            Some(tunnel) => drop(tunnel.send_as(now, narrow::clamped(packet, tunnel), class)),
            None => self.unroutable += 1,
        }
    }

    fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let waits = !self.streams.is_empty()
            && self.current.iter().flatten().any(|key| {
                let tunnel = self.core.tunnel(*key);
                tunnel.is_some_and(|tunnel| tunnel.stats().waiting > Packets::ZERO)
            });
        let look = waits.then(|| now + POLL_INTERVAL);
        let held = self.deliveries.values().filter_map(Delivery::next_deadline);
        [self.core.next_deadline(now), look, held.min()]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_deadline(&mut self, now: Instant) {
        self.core.on_deadline(now);
    }

    fn pump(&mut self, now: Instant, poller: &Poller, inside: &mut Inside) {
        self.transmit(now, poller);
        self.deliver(now, inside);
        self.answer_too_big(now, inside);
        while let Some((key, event)) = self.core.poll_event() {
            self.on_event(now, key, &event);
        }
    }

    fn on_chores(&mut self, now: Instant, poller: &Poller, inside: &mut Inside) {
        self.fit_mtu(inside);
        self.look_after_streams(now);
        self.resume_listeners(poller);
        self.refresh_streams(now);
        self.forget_links(now);
        let there: BTreeSet<_> = self.core.connections().map(|(key, _)| key).collect();
        self.deliveries.retain(|key, _| there.contains(key));
        // links of flows that are no path's any more
        let core = &self.core;
        let sockets = &self.sockets;
        self.links.retain(|flow, _| {
            core.path_of(*flow).is_some()
                || matches!(
                    sockets.get(&u64::from(flow.socket)),
                    Some(Socket::Tcp { .. })
                )
        });
        for (flow, link) in &self.links {
            if let Some(error) = link.take_fault() {
                tracing::debug!(remote = %flow.remote, %error, "packets were not sent");
            }
        }
    }

    fn status(&mut self, now: Instant, status: &mut Status) {
        self.write_status(now, status);
    }

    fn change(&mut self, now: Instant, change: Change, poller: &Poller) -> Result<String, String> {
        match change {
            Change::Configure(new) => self.configure(now, poller, *new),
            _ => Err("paths are the client's to change".to_owned()),
        }
    }

    /// Clients have names to resolve.
    fn on_resolved(&mut self, _now: Instant, _resolved: Resolved) {}

    #[cfg(feature = "edge")]
    fn on_radio(&mut self, now: Instant, states: &[crate::radio::UeState]) {
        self.on_reports(now, states);
    }

    fn close(&mut self, now: Instant) -> bool {
        let keys: Vec<_> = self.core.connections().map(|(key, _)| key).collect();
        if !self.is_ending {
            self.is_ending = true;
            for key in &keys {
                if let Some(tunnel) = self.core.tunnel(*key) {
                    tunnel.close(now);
                }
            }
        }
        keys.is_empty()
    }
}
