//! The client's side of the paths: it opens sockets as [`multipath::Client`] requests, and moves packets between
//! them, the device and the core.

mod addresses;
mod changes;
mod links;
mod mtu;
mod names;
mod network;
mod receiving;

pub use network::count_notices;

use crate::arena::Arena;
use crate::config::{Config, End, PathConfig};
use crate::error::TunnelError;
use crate::flow::label;
use crate::inner::Inner;
use crate::inside::Inside;
use crate::limits;
use crate::link::{Incoming, Link, Way};
use crate::output::Output;
use crate::packet_thread::{Change, FIRST, Outside};
use crate::pieces::Delivery;
use crate::poller::{Poller, Token};
#[cfg(feature = "edge")]
use crate::radio::UeState;
use crate::resolver::Resolved;
use crate::sealing::{Keys, Refusals};
use crate::status::{ConnectionStatus, PathStatus, Status};
use crate::stream::Stream;
use crate::udp::{self, UdpSocket};
use keys::random;
use links::{LiveLink, LivePath, LivePaths, fault_of};
use multipath::PathId;
use multipath::class::Class;
use multipath::client::{Action, ClientConfig, ClientEvent, ClientPathId};
use multipath::packet::AddressId;
use multipath::provision::Builtin;
use multipath::tunnel::{self, Carrier, Transmit};
use names::Names;
use network::Network;
use secrecy::Local;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use units::{Bytes, Duration, Instant, Packets};

/// The kernel's notices of the network.
const NETWORK: Token = Token(FIRST);

/// While packets wait for the window of a TCP connection, its state is looked at so often.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A client.
pub(crate) struct Client {
    config: Config,
    core: multipath::Client<Inner>,
    output: Output,
    paths: LivePaths,
    network: Network,
    arena: Arena,
    next_token: u64,
    is_ending: bool,
    unreadable: u64,
    refusals: Refusals,
    /// What paths' handshakes begin with; none without encryption.
    local: Option<Arc<Local>>,
    names: Names,
    incoming: Vec<Incoming>,
    /// Of the present connection, once something has come.
    delivery: Option<Delivery>,
    mtu: usize,
}

impl Client {
    /// Nothing is opened yet.
    pub(crate) fn new(
        config: Config,
        mtu: usize,
        now: Instant,
        output: Output,
    ) -> Result<Self, TunnelError> {
        let End::Client(end) = config.end.clone() else {
            return Err(TunnelError::system("a client", io::ErrorKind::InvalidInput));
        };
        let other = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        let seed = || random::seed().map_err(|e| TunnelError::system("no randomness", e));
        let provision = Builtin::new(&config.scheduler, seed()?)
            .map_err(|error| TunnelError::system("a scheduler", other(&error)))?;
        let keys = Keys::load(&config)?;
        let core_config = ClientConfig {
            tunnel: limits::tunnel_config(&config, mtu),
            shared: keys.shared.first().cloned(),
            supervision: end.supervision,
            first_port: seed()? as u16,
        };
        let core = multipath::Client::new(now, core_config, Box::new(provision))
            .map_err(|error| TunnelError::system("[supervision]", other(&error)))?;
        let mut client = Self {
            core,
            output,
            paths: LivePaths::default(),
            network: Network::new(&config.tun.name),
            arena: Arena::new(),
            next_token: NETWORK.0 + 1,
            is_ending: false,
            unreadable: 0,
            refusals: Refusals::default(),
            local: keys.local(),
            names: Names::default(),
            incoming: Vec::new(),
            delivery: None,
            mtu,
            config,
        };
        for path in &end.paths {
            let added = client.add(now, path);
            added.map_err(|error| TunnelError::system("a path", other(&error)))?;
        }
        Ok(client)
    }

    /// Largest packet inside that all paths take by their links, until probes have found more of them; `config` may set
    /// another.
    pub(crate) fn first_mtu(config: &Config) -> usize {
        let End::Client(end) = &config.end else {
            return limits::usual_mtu(config.encryption);
        };
        // what is only known by its name is measured when its path is open
        let of = |path: &PathConfig| {
            let remote = path.remote.address()?;
            let socket = UdpSocket::connected(&way(path, config.tun.fwmark), remote).ok()?;
            let measured = socket.path_mtu().ok()?;
            Some(limits::inner_mtu(
                path.path_mtu.unwrap_or(measured),
                remote.is_ipv6(),
                config.encryption,
            ))
        };
        let datagrams = end.paths.iter().filter(|p| p.carrier == Carrier::Dccp);
        let min = datagrams.filter_map(of).min();
        let usual = limits::usual_mtu(config.encryption);
        config.tun.mtu.unwrap_or(min.unwrap_or(usual))
    }

    /// How the core takes a path.
    fn core_config(&self, path: &PathConfig) -> tunnel::PathConfig {
        let is_ipv6 = !path.remote.address().is_some_and(|at| at.is_ipv4());
        let encryption = self.config.encryption;
        tunnel::PathConfig {
            controller: limits::controller(&path.controller),
            carrier: path.carrier,
            priority: path.priority,
            // the core numbers addresses
            address: AddressId::default(),
            packet_size: Bytes::new(limits::packet_size(self.mtu, is_ipv6, encryption) as u64),
            lower_headers: Bytes::new(limits::lower_headers(is_ipv6, encryption) as u64),
            mtu: limits::path_mtu(&self.config, path.path_mtu),
            around: Bytes::new(limits::overhead(encryption) as u64),
        }
    }

    /// A link for a path, with a new socket.
    fn open_link(
        &mut self,
        now: Instant,
        poller: &Poller,
        id: ClientPathId,
    ) -> io::Result<LiveLink> {
        let path = self.paths.get_mut(id).ok_or(io::ErrorKind::NotFound)?;
        let remote = Self::target(&mut self.names, now, path)?;
        let config = &path.config;
        let way = way(config, self.config.tun.fwmark);
        let token = Token(self.next_token);
        self.next_token += 1;
        let way = match config.carrier {
            Carrier::Dccp => {
                let socket = UdpSocket::connected(&way, remote)?;
                poller.add(&socket, token, false)?;
                Way::Udp {
                    socket: Arc::new(socket),
                    to: None,
                    from: None,
                }
            }
            // what is written before it is connected waits in it
            Carrier::Stream => {
                let stream = Stream::connect(&way, remote, &config.controller)?;
                poller.add(&stream, token, false)?;
                Way::Tcp(Rc::new(RefCell::new(stream)))
            }
        };
        let link = Link::new(way, &self.output);
        Ok(LiveLink { link, token })
    }

    /// Does what the core requests.
    fn act(&mut self, now: Instant, poller: &Poller, action: Action) {
        let (Action::Open(id) | Action::Renew(id) | Action::Close(id)) = action;
        if action == Action::Close(id) {
            return self.paths.close(id);
        }
        if self.paths.get(id).is_none() {
            return;
        }
        match self.open_link(now, poller, id) {
            Ok(link) => {
                if let Some(path) = self.paths.get_mut(id) {
                    if action == Action::Open(id) {
                        path.secrecy = None;
                    }
                    path.set_link(now, link, self.local.as_ref());
                }
                self.note_link_mtu(now, id);
                self.core.on_opened(now, id);
                self.announce(now, id);
            }
            Err(error) => {
                self.log_closed(id, &error);
                self.core.on_open_failed(now, id);
                self.on_no_socket(now, id, action, &error);
            }
        }
    }

    /// Warns that a path cannot be opened, and why; not again until it could.
    fn log_closed(&mut self, id: ClientPathId, error: &io::Error) {
        let Some(path) = self.paths.get_mut(id) else {
            return;
        };
        let name = &path.config.name;
        if std::mem::replace(&mut path.is_logged, true) {
            tracing::debug!(path = name, %error, "path still cannot be opened");
        } else {
            tracing::warn!(path = name, %error, "path cannot be opened, trying on");
        }
    }

    fn log(&mut self, event: ClientEvent) {
        if let ClientEvent::PathUp(id) = event
            && let Some(path) = self.paths.get_mut(id)
        {
            path.choice.on_up();
        }
        let name = |id| self.paths.get(id).map_or("", |path| &path.config.name);
        match event {
            ClientEvent::Connected => tracing::info!("connected"),
            ClientEvent::PathUp(id) => tracing::info!(path = name(id), "path up"),
            ClientEvent::PathDown(id) => tracing::info!(path = name(id), "path down"),
            ClientEvent::PathClosed(id) => tracing::info!(path = name(id), "path closed"),
            ClientEvent::ConnectionUnknown => {
                tracing::info!("the server does not have the connection");
            }
            ClientEvent::GivenUp => {
                tracing::warn!("no path answers: the connection is given up");
            }
            ClientEvent::Begun => {
                tracing::info!("a new connection begins");
                // its pieces have numbers of their own
                self.delivery = None;
            }
            ClientEvent::AddressAdded { id, address, .. } => {
                tracing::info!(id = id.0, %address, "the server has a further address");
            }
            ClientEvent::AddressRemoved(id) => {
                tracing::info!(id = id.0, "an address of the server is gone");
            }
        }
    }

    /// Sends all that may leave now.
    fn transmit(&mut self, now: Instant, poller: &Poller) {
        for (id, link) in self.paths.links_mut() {
            if let Way::Tcp(stream) = &link.link.way
                && let Ok(state) = stream.borrow().state()
            {
                self.core.on_stream(now, id, state);
            }
        }
        while let Some(out) = self.core.poll_transmit(now) {
            if let Some(path) = self.paths.get_mut(out.path) {
                let transmit = Transmit {
                    path: PathId(0),
                    packet: out.packet,
                    payload: out.payload,
                    size: out.size,
                    ecn: out.ecn,
                };
                path.push(now, transmit);
            }
        }
        for path in self.paths.open_mut() {
            path.push_handshake(now);
        }
        for (id, error) in self.paths.flush(poller) {
            self.on_fault(now, id, &error);
        }
    }

    /// Packets could not be sent or received on a path's link.
    fn on_fault(&mut self, now: Instant, id: ClientPathId, error: &io::Error) {
        let Some(path) = self.paths.get(id) else {
            return;
        };
        tracing::debug!(path = path.config.name, %error, "packets were not sent");
        let link = path.link.as_ref();
        if let Some(fault) = link.and_then(|link| fault_of(&link.link.way, error)) {
            self.core.on_send_fault(now, id, fault);
        }
    }

    /// The TCP connection under a path is over.
    fn lose(&mut self, now: Instant, id: ClientPathId) {
        if let Some(path) = self.paths.get(id) {
            tracing::info!(path = path.config.name, "path lost");
        }
        self.paths.close(id);
        self.core.on_socket_lost(now, id);
    }
}

impl Outside for Client {
    fn on_ready(&mut self, now: Instant, token: Token, _poller: &Poller) {
        if token == NETWORK {
            return self.on_notices(now);
        }
        let Some(id) = self.paths.of_token(token) else {
            return;
        };
        let is_stream = |client: &Self| {
            let link = client.paths.get(id).and_then(|path| path.link.as_ref());
            link.is_some_and(|link| matches!(link.link.way, Way::Tcp(_)))
        };
        match self.on_readable(now, id) {
            Ok(false) => {}
            Ok(true) => self.lose(now, id),
            Err(error) if is_stream(self) => {
                tracing::debug!(token = token.0, %error, "a path's connection");
                self.lose(now, id);
            }
            // what ICMP reports of packets sent before
            Err(error) => self.on_fault(now, id, &error),
        }
    }

    fn class(&mut self, now: Instant, headers: &[u8], bytes: usize) -> Class {
        self.core
            .class(now, Bytes::new(bytes as u64), || label(headers))
    }

    fn submit(&mut self, now: Instant, packet: Inner, class: Class) {
        // refused packets are counted by the tunnel
        let _ = self.core.send_as(now, packet, class);
    }

    fn backlog(&mut self) -> usize {
        self.core.tunnel().unassigned()
    }

    fn has_room(&mut self, _packet: &Inner, count: usize) -> bool {
        self.core.has_room(count)
    }

    fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let is_stream = |(_, link): (_, &mut LiveLink)| matches!(link.link.way, Way::Tcp(_));
        let has_stream = self.paths.links_mut().any(is_stream);
        let waits = has_stream && self.core.tunnel().stats().waiting > Packets::ZERO;
        let look = waits.then(|| now + POLL_INTERVAL);
        let paths = self.paths.open_mut();
        let handshakes = paths.filter_map(|path| path.secrecy.as_ref()?.next_deadline());
        let handshake = handshakes.min();
        let held = self.delivery.as_ref().and_then(Delivery::next_deadline);
        [self.core.next_deadline(now), look, handshake, held]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_deadline(&mut self, now: Instant) {
        self.core.on_deadline(now);
    }

    fn pump(&mut self, now: Instant, poller: &Poller, inside: &mut Inside) {
        loop {
            self.transmit(now, poller);
            while let Some(event) = self.core.poll_event() {
                self.log(event);
                self.on_address_event(now, event);
            }
            let Some(action) = self.core.poll_action() else {
                break;
            };
            self.act(now, poller, action);
        }
        let delivery = self.delivery.get_or_insert_with(|| Delivery::new(inside));
        while let Some(packet) = self.core.poll_delivery(now) {
            delivery.push(now, packet, inside, &mut |_| true);
        }
        delivery.flush(now, inside, &mut |_| true);
        self.answer_too_big(now, inside);
    }

    fn on_chores(&mut self, now: Instant, _poller: &Poller, inside: &mut Inside) {
        if !self.is_ending {
            self.refresh_names(now);
            self.note_links(now);
            self.fit_mtu(inside);
        }
    }

    fn status(&mut self, now: Instant, status: &mut Status) {
        status.role = "client";
        let tunnel = self.core.tunnel();
        let is_established = tunnel.is_established();
        let mut own = ConnectionStatus::new("server".to_owned(), is_established, &tunnel.stats());
        let further = tunnel.remote_addresses();
        own.peer_addresses = further
            .map(|(id, address)| (id.0, address.to_string()))
            .collect();
        for (id, path) in self.paths.configured() {
            let of_tunnel = self.core.path(id);
            let stats = of_tunnel.and_then(|of_tunnel| tunnel.path_stats(now, of_tunnel));
            let name = path.config.name.clone();
            let remote = match path.choice.present {
                Some(address) => address.to_string(),
                None => path.config.remote.to_string(),
            };
            let counters = path.link.as_ref().map(|link| link.link.counters());
            let counters = counters.unwrap_or_default();
            let mut status = PathStatus::new(name, remote, stats.as_ref(), counters);
            if let Some(secrecy) = &path.secrecy {
                status.set_session(now, secrecy.current());
                status.sessions = secrecy.established();
            }
            if let Some(Way::Udp { socket, .. }) = path.link.as_ref().map(|link| &link.link.way)
                && let Some(stats) = &stats
            {
                status.set_mtu(&stats.mtu, socket.is_ipv6());
            }
            own.paths.push(status);
        }
        status.connections.push(own);
        status.refused.insert("unreadable", self.unreadable);
        self.refusals.add_to(&mut status.refused);
        status.network.clone_from(&self.network.events);
    }

    fn change(&mut self, now: Instant, change: Change, _poller: &Poller) -> Result<String, String> {
        match change {
            Change::Configure(new) => self.configure(now, *new),
            Change::AddPath(path) => self.add(now, &path),
            Change::RemovePath(name) => self.remove(now, &name),
            Change::SetPriority(name, priority) => self.set_priority(now, &name, priority),
        }
    }

    fn on_resolved(&mut self, now: Instant, resolved: Resolved) {
        Self::on_resolved(self, now, resolved);
    }

    /// Reports are of the downlink, which the server sends on.
    #[cfg(feature = "edge")]
    fn on_radio(&mut self, _now: Instant, _states: &[UeState]) {}

    fn close(&mut self, now: Instant) -> bool {
        if !self.is_ending {
            self.is_ending = true;
            self.core.close(now);
        }
        self.core.is_closed()
    }
}

fn way(config: &PathConfig, mark: Option<u32>) -> udp::Way {
    udp::Way {
        mark,
        interface: config.interface.clone(),
        local: config.local,
    }
}
