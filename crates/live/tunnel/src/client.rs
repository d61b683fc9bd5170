//! The client's side of the paths: it opens them, and opens them again.

use crate::arena::Arena;
use crate::config::{Carrier, ClientEnd, Config, End, PathConfig};
use crate::connection::{Connection, NamedLink};
use crate::engine::{Change, FIRST, Outside};
use crate::error::TunnelError;
use crate::inner::Inner;
use crate::inside::Inside;
use crate::key::Key;
use crate::link::{Link, Way, read_packet, receive_datagrams};
use crate::poller::{Poller, Token};
use crate::radio::UeState;
use crate::status::{PathStatus, Status};
use crate::stream::Stream;
use crate::udp::{self, UdpSocket};
use crate::{limits, random};
use multipath::auth::PreSharedKey;
use multipath::packet::AddressId;
use multipath::tunnel::{self, Event, Tunnel};
use multipath::{PathId, scheduler};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use units::{Bytes, Duration, Ecn, Instant};

/// A path that did not open is opened again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(2);
/// One that had opened is opened at most so often.
const OPEN_AGAIN: Duration = Duration::from_millis(250);
/// A path that does not answer gets a new socket after so long: its interface may have another
/// address by now, or a NAT on the way another mapping.
const NEW_SOCKET: Duration = Duration::from_millis(500);
/// If it does not answer then either, or does not open, another after so long.
const NEXT_SOCKET: Duration = Duration::from_secs(3);
/// A connection none of whose paths has answered for so long is given up, and a new one begun: the
/// server may have dropped it.
const NEW_CONNECTION: Duration = Duration::from_secs(12);
/// A connection that the server does not have is replaced at once, but at most so often.
const BEGIN_AGAIN: Duration = Duration::from_secs(1);

/// A configured path.
struct ClientPath {
    config: PathConfig,
    state: State,
    /// When it was opened last, and whether it has been up since.
    opened_at: Option<Instant>,
    was_up: bool,
    /// Whether it is logged that the path cannot be opened: once until it can.
    is_logged: bool,
}

enum State {
    /// Not there; to be tried at that time.
    Closed { try_at: Instant },
    /// Opened; if it does not answer, it gets another socket at that time.
    Open {
        path: PathId,
        renew_at: Option<Instant>,
    },
}

/// A client.
pub(crate) struct Client {
    config: Config,
    key: PreSharedKey,
    paths: Vec<ClientPath>,
    connection: Connection,
    arena: Arena,
    next_token: u64,
    next_address: u8,
    ports: u16,
    /// Since when no path has answered.
    silent_since: Option<Instant>,
    /// When the connection began.
    began_at: Instant,
    /// Paths may be due to be opened before the next chores.
    has_due: bool,
    is_ending: bool,
    unreadable: u64,
    mtu: usize,
}

impl Client {
    /// Nothing is opened yet.
    pub(crate) fn new(config: Config, mtu: usize, now: Instant) -> Result<Self, TunnelError> {
        let End::Client(end) = &config.end else {
            return Err(TunnelError::system("a client", io::ErrorKind::InvalidInput));
        };
        let key = limits::pre_shared(&Key::load(&end.key_file)?)?;
        let paths = end.paths.iter().map(|path| new_path(path, now)).collect();
        let connection = Connection::new(new_tunnel(&config, &key, mtu)?);
        let random = |error| TunnelError::system("no randomness", error);
        Ok(Self {
            key,
            paths,
            connection,
            arena: Arena::new(),
            next_token: FIRST,
            next_address: 0,
            ports: random::seed().map_err(random)? as u16,
            silent_since: Some(now),
            began_at: now,
            has_due: true,
            is_ending: false,
            unreadable: 0,
            mtu,
            config,
        })
    }

    /// Largest packet inside that all paths take, as far as the kernel has measured them; `config` may
    /// set another.
    pub(crate) fn first_mtu(config: &Config) -> usize {
        let End::Client(end) = &config.end else {
            return limits::USUAL_MTU;
        };
        let of = |path: &PathConfig| {
            let socket = UdpSocket::connected(&way(path), path.remote).ok()?;
            Some(limits::inner_mtu(
                socket.path_mtu().ok()?,
                path.remote.is_ipv6(),
            ))
        };
        let datagrams = end.paths.iter().filter(|p| p.carrier == Carrier::Dccp);
        let min = datagrams.filter_map(of).min();
        config.tun.mtu.unwrap_or(min.unwrap_or(limits::USUAL_MTU))
    }

    fn end(&self) -> Option<&ClientEnd> {
        match &self.config.end {
            End::Client(end) => Some(end),
            End::Server(_) => None,
        }
    }

    /// A way for a path, with a new socket, and what it was registered under.
    fn open_way(&mut self, poller: &Poller, config: &PathConfig) -> io::Result<(Way, Token)> {
        let token = Token(self.next_token);
        self.next_token += 1;
        let way = match config.carrier {
            Carrier::Dccp => {
                let socket = UdpSocket::connected(&way(config), config.remote)?;
                poller.add(&socket, token, false)?;
                Way::Udp {
                    socket: Rc::new(socket),
                    to: None,
                    from: None,
                }
            }
            Carrier::Tcp => {
                let stream = Stream::connect(&way(config), config.remote, &config.controller)?;
                poller.add(&stream, token, false)?;
                Way::Tcp(Rc::new(RefCell::new(stream)))
            }
        };
        Ok((way, token))
    }

    /// Warns that a path cannot be opened, and why; not again until it could.
    fn log_closed(&mut self, index: usize, error: &dyn std::fmt::Display) {
        let path = &mut self.paths[index];
        let name = &path.config.name;
        if std::mem::replace(&mut path.is_logged, true) {
            tracing::debug!(path = name, %error, "path still cannot be opened");
        } else {
            tracing::warn!(path = name, %error, "path cannot be opened, trying on");
        }
    }

    fn open(&mut self, now: Instant, poller: &Poller, index: usize) {
        let config = self.paths[index].config.clone();
        self.paths[index].opened_at = Some(now);
        self.paths[index].was_up = false;
        let (way, token) = match self.open_way(poller, &config) {
            Ok(opened) => opened,
            Err(error) => {
                self.log_closed(index, &error);
                self.paths[index].state = State::Closed {
                    try_at: now + TRY_AGAIN,
                };
                return;
            }
        };
        let path_config = tunnel::PathConfig {
            controller: limits::controller(&config.controller),
            carrier: limits::carrier(config.carrier),
            priority: config.priority,
            address: AddressId(self.next_address),
            packet_size: Bytes::new((self.mtu + limits::OVERHEAD) as u64),
            lower_headers: Bytes::new(if config.remote.is_ipv6() { 48 } else { 28 }),
        };
        // ports distinguish paths behind one address: each has its own
        self.ports = self.ports.wrapping_add(1).max(1);
        let ports = (self.ports, config.remote.port());
        match self.connection.tunnel.open_path(now, path_config, ports) {
            Ok(path) => {
                self.next_address = self.next_address.wrapping_add(1);
                self.paths[index].is_logged = false;
                self.paths[index].state = State::Open {
                    path,
                    renew_at: Some(now + NEXT_SOCKET),
                };
                let remote = config.remote.to_string();
                self.connection
                    .set_link(path, named(way, token, &config.name, remote));
            }
            Err(error) => {
                self.log_closed(index, &error);
                self.paths[index].state = State::Closed {
                    try_at: now + TRY_AGAIN,
                };
            }
        }
    }

    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Established => tracing::info!("connected"),
            Event::PathUp(path) => {
                self.silent_since = None;
                self.note(*path, "path up", |path| {
                    path.was_up = true;
                    path.set_renewal(None);
                });
            }
            Event::PathDown(path) => {
                self.note(*path, "path down", |path| {
                    let wait = match path.config.carrier {
                        Carrier::Dccp => NEW_SOCKET,
                        // the kernel sends again what was lost
                        Carrier::Tcp => NEXT_SOCKET,
                    };
                    path.set_renewal(Some(now + wait));
                });
            }
            Event::PathClosed(path) => {
                self.connection.remove_link(*path);
                self.note(*path, "path closed", |path| path.close(now));
                self.has_due = true;
            }
            Event::ConnectionUnknown => {
                tracing::info!("the server does not have the connection");
                self.begin_again(now);
            }
            Event::Closed => self.begin_again(now),
            // the server's further addresses: paths are what the configuration lists
            _ => {}
        }
        let is_up = |path: &ClientPath| matches!(path.state, State::Open { renew_at: None, .. });
        if !self.paths.iter().any(is_up) {
            self.silent_since.get_or_insert(now);
        }
    }

    fn note(&mut self, path: PathId, what: &str, change: impl FnOnce(&mut ClientPath)) {
        let is_it =
            |p: &&mut ClientPath| matches!(p.state, State::Open { path: own, .. } if own == path);
        if let Some(found) = self.paths.iter_mut().find(is_it) {
            tracing::info!(path = found.config.name, "{what}");
            change(found);
        }
    }

    /// The connection is over: a new one, with all paths.
    fn begin_again(&mut self, now: Instant) {
        if self.is_ending {
            return;
        }
        let Ok(tunnel) = new_tunnel(&self.config, &self.key, self.mtu) else {
            return;
        };
        tracing::info!("a new connection begins");
        self.connection = Connection::new(tunnel);
        self.silent_since = Some(now);
        let try_at = now.max(self.began_at + BEGIN_AGAIN);
        self.began_at = try_at;
        for path in &mut self.paths {
            path.state = State::Closed { try_at };
        }
        self.has_due = true;
    }

    /// Opens the paths that are due.
    fn open_due(&mut self, now: Instant, poller: &Poller) {
        self.has_due = false;
        for index in 0..self.paths.len() {
            if matches!(self.paths[index].state, State::Closed { try_at } if try_at <= now) {
                self.open(now, poller, index);
            }
        }
    }

    /// A path that does not answer gets a new socket; its connection goes on.
    fn renew(&mut self, now: Instant, poller: &Poller, index: usize) {
        let State::Open { path, .. } = self.paths[index].state else {
            return;
        };
        let config = self.paths[index].config.clone();
        if config.carrier == Carrier::Tcp {
            // what was in the stream is gone, and its order with it: the path ends
            self.connection.tunnel.close_path(now, path);
            self.connection.remove_link(path);
            self.paths[index].state = State::Closed { try_at: now };
            return;
        }
        self.paths[index].set_renewal(Some(now + NEXT_SOCKET));
        match self.open_way(poller, &config) {
            Ok((way, token)) => {
                let remote = config.remote.to_string();
                self.connection
                    .set_link(path, named(way, token, &config.name, remote));
            }
            Err(error) => tracing::debug!(path = config.name, %error, "no new socket now"),
        }
    }

    /// A packet was too large for a path: the device's MTU shrinks. It grows again with the paths.
    fn fit_mtu(&mut self, inside: &mut Inside) {
        if self.config.tun.mtu.is_some() {
            return;
        }
        let mut min = None;
        for (_, link) in self.connection.links_mut() {
            link.link.is_too_big = false;
            if let Way::Udp { socket, .. } = &link.link.way
                && let Ok(mtu) = socket.path_mtu()
            {
                let inner = limits::inner_mtu(mtu, socket.is_ipv6());
                min = Some(min.map_or(inner, |min: usize| min.min(inner)));
            }
        }
        if let Some(mtu) = min {
            inside.set_mtu(mtu);
        }
    }

    fn on_readable(&mut self, now: Instant, path: PathId, token: Token) -> io::Result<bool> {
        let Some(found) = self.connection.link_mut(path).filter(|l| l.token == token) else {
            return Ok(false);
        };
        match found.link.way.clone() {
            Way::Udp { socket, .. } => {
                let tunnel = &mut self.connection.tunnel;
                self.unreadable += receive_datagrams(&socket, &mut self.arena, |_, _, arrived| {
                    let ecn = arrived.ecn;
                    tunnel.receive(now, path, &arrived.packet, arrived.payload, ecn);
                })?;
                Ok(false)
            }
            Way::Tcp(stream) => {
                let tunnel = &mut self.connection.tunnel;
                stream.borrow().check()?;
                let unreadable = &mut self.unreadable;
                stream.borrow_mut().read(&mut self.arena, |data| {
                    match read_packet(&data, Ecn::NotEct) {
                        Some(got) => {
                            tunnel.receive(now, path, &got.packet, got.payload, got.ecn);
                        }
                        None => *unreadable += 1,
                    }
                })
            }
        }
    }

    fn add(&mut self, now: Instant, path: &PathConfig) -> Result<String, String> {
        if self.paths.iter().any(|p| p.config.name == path.name) {
            return Err(format!("there is a path {:?} already", path.name));
        }
        let done = format!("path {} is being opened", path.name);
        self.paths.push(new_path(path, now));
        Ok(done)
    }

    fn remove(&mut self, now: Instant, name: &str) -> Result<String, String> {
        let index = self.named(name)?;
        let removed = self.paths.remove(index);
        if let State::Open { path, .. } = removed.state {
            self.connection.tunnel.close_path(now, path);
        }
        Ok(format!("path {name} is closed"))
    }

    fn named(&self, name: &str) -> Result<usize, String> {
        let index = self.paths.iter().position(|path| path.config.name == name);
        index.ok_or_else(|| {
            let all: Vec<&str> = self.paths.iter().map(|p| p.config.name.as_str()).collect();
            format!("there is no path {name:?}; there are {}", all.join(", "))
        })
    }

    fn set_priority(
        &mut self,
        now: Instant,
        name: &str,
        priority: multipath::packet::PathPriority,
    ) -> Result<String, String> {
        let index = self.named(name)?;
        self.paths[index].config.priority = priority;
        if let State::Open { path, .. } = self.paths[index].state {
            let sent = self.connection.tunnel.set_priority(now, path, priority);
            sent.map_err(|error| format!("the server cannot be notified: {error}"))?;
        }
        Ok(format!("path {name} has priority {}", priority.get()))
    }

    /// Applies another configuration: its paths. Everything else needs a restart.
    fn configure(&mut self, now: Instant, new: Config) -> Result<String, String> {
        let (Some(old), End::Client(end)) = (self.end(), &new.end) else {
            return Err("it is of a server".to_owned());
        };
        let mut same = new.clone();
        same.end = End::Client(ClientEnd {
            paths: old.paths.clone(),
            ..end.clone()
        });
        if same != self.config {
            return Err("only paths can change while the tunnel runs: restart it".to_owned());
        }
        let mut changed = 0;
        let requested = |name: &str| end.paths.iter().find(|path| path.name == name);
        let names: Vec<String> = self.paths.iter().map(|p| p.config.name.clone()).collect();
        for name in names {
            let index = self.named(&name)?;
            let own = &self.paths[index].config;
            match requested(&name) {
                Some(path) if path == own => {}
                Some(path)
                    if (PathConfig {
                        priority: own.priority,
                        ..path.clone()
                    }) == *own =>
                {
                    self.set_priority(now, &name, path.priority)?;
                    changed += 1;
                }
                _ => {
                    self.remove(now, &name)?;
                    changed += 1;
                }
            }
        }
        for path in &end.paths {
            if self.named(&path.name).is_err() {
                self.add(now, path)?;
                changed += 1;
            }
        }
        self.config = new;
        Ok(format!(
            "configuration reloaded: {changed} changes of paths"
        ))
    }
}

impl Outside for Client {
    fn on_ready(&mut self, now: Instant, token: Token, _poller: &Poller) {
        let links = self.connection.links_mut();
        let Some((path, _)) = links.into_iter().find(|(_, link)| link.token == token) else {
            return;
        };
        let name = || token.0;
        let is_stream = |client: &mut Self| {
            let link = client.connection.link_mut(path);
            link.is_some_and(|link| matches!(link.link.way, Way::Tcp(_)))
        };
        match self.on_readable(now, path, token) {
            Ok(false) => {}
            Ok(true) => self.lose(now, path),
            Err(error) => {
                tracing::debug!(token = name(), %error, "a path's socket");
                if is_stream(self) {
                    self.lose(now, path);
                }
            }
        }
    }

    fn submit(&mut self, now: Instant, packet: Inner) {
        // refused packets are counted by the tunnel
        let _ = self.connection.tunnel.send(now, packet);
    }

    fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        self.connection.next_deadline(now)
    }

    fn on_deadline(&mut self, now: Instant) {
        self.connection.tunnel.on_deadline(now);
    }

    fn pump(&mut self, now: Instant, poller: &Poller, inside: &mut Inside) {
        self.connection.transmit(now, poller);
        while let Some(packet) = self.connection.tunnel.poll_delivery(now) {
            inside.push(packet);
        }
        while let Some(event) = self.connection.tunnel.poll_event() {
            self.on_event(now, &event);
        }
        if self.has_due && !self.is_ending {
            self.open_due(now, poller);
            self.connection.transmit(now, poller);
        }
        if self
            .connection
            .links_mut()
            .any(|(_, link)| link.link.is_too_big)
        {
            self.fit_mtu(inside);
        }
    }

    fn on_chores(&mut self, now: Instant, poller: &Poller, inside: &mut Inside) {
        if self.is_ending {
            return;
        }
        self.fit_mtu(inside);
        let is_lost = self
            .silent_since
            .is_some_and(|at| now.saturating_since(at) > NEW_CONNECTION);
        if is_lost {
            tracing::warn!("no path answers: the connection is given up");
            self.connection.tunnel.fast_close(now);
            self.connection.transmit(now, poller);
            return self.begin_again(now);
        }
        self.open_due(now, poller);
        for index in 0..self.paths.len() {
            if let State::Open {
                renew_at: Some(at), ..
            } = self.paths[index].state
                && at <= now
            {
                self.renew(now, poller, index);
            }
        }
        for (_, link) in self.connection.links_mut() {
            if let Some(error) = link.link.fault.take() {
                tracing::debug!(path = link.name, %error, "packets were not sent");
            }
        }
    }

    fn status(&mut self, now: Instant, status: &mut Status) {
        status.role = "client";
        let mut own = self.connection.status(now, "server");
        for path in &self.paths {
            if matches!(path.state, State::Closed { .. }) {
                let (name, remote) = (path.config.name.clone(), path.config.remote.to_string());
                own.paths
                    .push(PathStatus::new(name, remote, None, Default::default()));
            }
        }
        status.connections.push(own);
        status.refused.insert("unreadable", self.unreadable);
    }

    fn change(&mut self, now: Instant, change: Change) -> Result<String, String> {
        match change {
            Change::Configure(config) => self.configure(now, *config),
            Change::AddPath(path) => self.add(now, &path),
            Change::RemovePath(name) => self.remove(now, &name),
            Change::SetPriority(name, priority) => self.set_priority(now, &name, priority),
        }
    }

    /// Reports are of the downlink, which the server sends on.
    fn on_radio(&mut self, _now: Instant, _states: &[UeState]) {}

    fn close(&mut self, now: Instant) -> bool {
        if !self.is_ending {
            self.is_ending = true;
            self.connection.tunnel.close(now);
        }
        self.connection.tunnel.is_closed()
    }
}

impl Client {
    /// The TCP connection under a path is over.
    fn lose(&mut self, now: Instant, path: PathId) {
        self.connection.tunnel.close_path(now, path);
        self.connection.remove_link(path);
        self.note(path, "path lost", |path| path.close(now));
        self.has_due = true;
    }
}

impl ClientPath {
    /// It is over: to be opened again at once, but not too often.
    fn close(&mut self, now: Instant) {
        let wait = if self.was_up { OPEN_AGAIN } else { TRY_AGAIN };
        let try_at = self.opened_at.map_or(now, |at| now.max(at + wait));
        self.state = State::Closed { try_at };
    }

    fn set_renewal(&mut self, at: Option<Instant>) {
        if let State::Open { renew_at, .. } = &mut self.state {
            *renew_at = at;
        }
    }
}

fn new_path(config: &PathConfig, now: Instant) -> ClientPath {
    ClientPath {
        config: config.clone(),
        state: State::Closed { try_at: now },
        opened_at: None,
        was_up: false,
        is_logged: false,
    }
}

fn way(config: &PathConfig) -> udp::Way {
    udp::Way {
        interface: config.interface.clone(),
        local: config.local,
    }
}

fn named(way: Way, token: Token, name: &str, remote: String) -> NamedLink {
    NamedLink {
        link: Link::new(way),
        name: name.to_owned(),
        token,
        remote,
    }
}

fn new_tunnel(
    config: &Config,
    key: &PreSharedKey,
    mtu: usize,
) -> Result<Tunnel<Inner>, TunnelError> {
    let scheduler = scheduler::build(&config.scheduler)
        .map_err(|error| TunnelError::system("a scheduler", io::Error::other(error)))?;
    let seed = random::seed().map_err(|error| TunnelError::system("no randomness", error))?;
    let config = limits::tunnel_config(config, mtu);
    Ok(Tunnel::client(config, scheduler, Some(key.clone()), seed))
}
