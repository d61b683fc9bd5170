//! The client's side of a connection: it opens the configured paths, and opens them again.
//!
//! ```text
//!   configured path    Closed --Open--> Opening --on_opened--> Waiting --first or join--> Open
//!                        ^                 | on_open_failed       |     down: Renew, again and again
//!                        +--- try_at ------+----------------------+------- closed ----------+
//!   connection         begun --> established --> no path answers, or the server does not have it --> begun
//! ```
//!
//! A driver opens sockets as [`Client::poll_action`] requests, hands in what arrives on them, what the kernel
//! reports, and time; it sends what [`Client::poll_transmit`] gives. When an attempt is made, when a path's
//! socket is of no more use and when a connection is over is decided here, by the times of [`Supervision`].
//!
//! - The first path that has a socket makes the connection; the others join it once it is established. If
//!   it fails, it is the next one's turn, also if the connection is given up meanwhile.
//! - A path that does not answer (the [`crate::tunnel`] finds that by retransmission timeouts and unanswered
//!   Syncs, and probes it) gets a new socket after [`Supervision::renew_after`], then each
//!   [`Supervision::renew_interval`]. It stays the same path: the server follows to the new address.
//! - A path that has ended is opened again.
//! - A connection is replaced when the server does not have it, and when no path has answered for
//!   [`Supervision::connection_timeout`].
//! - What the kernel reports (an interface is up again, an address has changed, a packet could not be sent)
//!   brings an attempt forward, never closer to the one before than [`Supervision::reopen_interval`].
//!
//! What it is *not*: names are resolved outside, and so are devices, MTUs and sockets.
//!
//! | file | what |
//! | --- | --- |
//! | `addresses` | which addresses both ends signal |
//! | `config` | the configuration and its times |
//! | `exchange` | actions, events, reports of the network |
//! | `keys` | another pre-shared key |
//! | `path` | the state of a configured path |
//! | `supervision` | what is decided, and when |

mod addresses;
mod config;
mod exchange;
mod keys;
mod path;
mod supervision;

pub use config::{ClientConfig, Supervision, SupervisionError};
pub use exchange::{
    Action, ClientCounters, ClientEvent, ClientPathId, ClientTransmit, NetworkEvent, PathState,
    SendFault,
};

use crate::class::{Class, FlowLabel};
use crate::packet::{Compact, Kind, Packet, PathPriority};
use crate::provision::Provision;
use crate::scheduler::PathSet;
use crate::signal::OutboxError;
use crate::tunnel::{PathConfig, PathMtu, StreamState, Transmit, Tunnel};
use crate::{PathId, Payload};
use path::Entry;
use std::collections::VecDeque;
use units::{Bytes, Ecn, Instant};

/// More paths than a connection can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {} paths already", PathSet::MAX_PATHS)]
pub struct TooManyPaths;

/// A client with its configured paths and its present connection.
pub struct Client<P> {
    config: ClientConfig,
    provision: Box<dyn Provision>,
    tunnel: Tunnel<P>,
    /// By their numbers; none: that number is free.
    paths: Vec<Option<Entry>>,
    /// Which configured path a path of the connection is, by the latter's number.
    by_path: Vec<Option<ClientPathId>>,
    next_port: u16,
    next_address: u8,
    /// Paths from this one on are first in turn to make the connection.
    turn: usize,
    /// Since when no path has answered; none: one does.
    silent_since: Option<Instant>,
    /// When the connection began, or may begin.
    began_at: Instant,
    is_ending: bool,
    /// What is to leave before the sockets that it takes are closed.
    outbox: VecDeque<ClientTransmit<P>>,
    actions: VecDeque<Action>,
    events: VecDeque<ClientEvent>,
    counters: ClientCounters,
}

impl<P: Payload> Client<P> {
    /// Without paths yet.
    ///
    /// # Errors
    /// [`SupervisionError`].
    pub fn new(
        now: Instant,
        config: ClientConfig,
        mut provision: Box<dyn Provision>,
    ) -> Result<Self, SupervisionError> {
        config.supervision.check()?;
        Ok(Self {
            tunnel: new_tunnel(&config, &mut *provision),
            next_port: config.first_port,
            config,
            provision,
            paths: Vec::new(),
            by_path: Vec::new(),
            next_address: 0,
            turn: 0,
            silent_since: Some(now),
            began_at: now,
            is_ending: false,
            outbox: VecDeque::new(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            counters: ClientCounters {
                connections: 1,
                ..ClientCounters::default()
            },
        })
    }

    /// One more path; `port` is DCCP's at the server. It is opened at once. Its address number is set here.
    ///
    /// # Errors
    /// [`TooManyPaths`].
    pub fn add_path(
        &mut self,
        now: Instant,
        config: PathConfig,
        port: u16,
    ) -> Result<ClientPathId, TooManyPaths> {
        let all = self.paths.iter().flatten();
        if all.filter(|entry| !entry.is_removed).count() >= usize::from(PathSet::MAX_PATHS) {
            return Err(TooManyPaths);
        }
        if self.configured().next().is_none() {
            // what there was before has nothing to do with whether this one answers
            self.silent_since = Some(now);
        }
        let entry = Some(Entry::new(now, config, port));
        let index = match self.paths.iter().position(Option::is_none) {
            Some(free) => {
                self.paths[free] = entry;
                free
            }
            None => {
                self.paths.push(entry);
                self.paths.len() - 1
            }
        };
        self.supervise(now);
        Ok(ClientPathId(index as u16))
    }

    /// One path less: it is closed, and the server notified. Its number is free once its socket is to be
    /// closed.
    pub fn remove_path(&mut self, now: Instant, id: ClientPathId) {
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        entry.is_removed = true;
        match entry.path() {
            Some(path) => {
                self.tunnel.close_path(now, path);
                self.settle(now);
            }
            None => self.free(id),
        }
    }

    /// A path's priority at this end; it is signalled to the server.
    ///
    /// # Errors
    /// [`OutboxError`] if the server confirms nothing for too long.
    pub fn set_priority(
        &mut self,
        now: Instant,
        id: ClientPathId,
        priority: PathPriority,
    ) -> Result<(), OutboxError> {
        let Some(entry) = self.entry_mut(id) else {
            return Ok(());
        };
        entry.config.priority = priority;
        match entry.path() {
            Some(path) => self.tunnel.set_priority(now, path, priority),
            None => Ok(()),
        }
    }

    /// Hands a packet in.
    ///
    /// # Errors
    /// The packet itself, as [`Tunnel::send`].
    pub fn send(&mut self, now: Instant, payload: P) -> Result<(), P> {
        self.tunnel.send(now, payload)
    }

    /// As [`Tunnel::class`].
    pub fn class(
        &mut self,
        now: Instant,
        bytes: Bytes,
        label: impl FnOnce() -> FlowLabel,
    ) -> Class {
        self.tunnel.class(now, bytes, label)
    }

    /// Hands a packet in of which [`Self::class`] was decided.
    ///
    /// # Errors
    /// The packet itself, as [`Tunnel::send`].
    pub fn send_as(&mut self, now: Instant, payload: P, class: Class) -> Result<(), P> {
        self.tunnel.send_as(now, payload, class)
    }

    /// As [`Tunnel::has_room`].
    pub fn has_room(&mut self, packets: usize) -> bool {
        self.tunnel.has_room(packets as u64)
    }

    /// A packet arrived on a path's socket.
    pub fn receive(
        &mut self,
        now: Instant,
        id: ClientPathId,
        packet: &Packet,
        payload: Option<P>,
        ecn: Ecn,
    ) {
        let Some(path) = self.entry(id).and_then(Entry::path) else {
            return;
        };
        self.tunnel.receive(now, path, packet, payload, ecn);
        self.settle(now);
        if matches!(packet.kind, Kind::Sync { .. }) {
            self.on_question(id);
        }
    }

    /// The packet that a compact one stands for, which has come on a path's socket.
    pub fn expand(&self, id: ClientPathId, compact: Compact) -> Option<Packet> {
        self.tunnel.expand(self.path(id)?, compact)
    }

    /// The state of the TCP connection under a path; to be set before [`Self::poll_transmit`].
    pub fn on_stream(&mut self, now: Instant, id: ClientPathId, state: StreamState) {
        if let Some(path) = self.entry(id).and_then(Entry::path) {
            self.tunnel.on_stream(now, path, state);
        }
    }

    /// The link under a path takes datagrams of that size ([`Tunnel::on_link_mtu`]), now and when it is opened again.
    pub fn on_link_mtu(&mut self, now: Instant, id: ClientPathId, size: Bytes) {
        let Some(entry) = self.entry_mut(id) else {
            return;
        };
        match &mut entry.config.mtu {
            PathMtu::Any => {}
            PathMtu::Fixed(fixed) => *fixed = size,
            PathMtu::Found(found) => found.max = size,
        }
        if let Some(path) = entry.path() {
            self.tunnel.on_link_mtu(now, path, size);
        }
    }

    /// The next packet that no path takes ([`Tunnel::poll_too_big`]).
    pub fn poll_too_big(&mut self) -> Option<P> {
        self.tunnel.poll_too_big()
    }

    /// The next packet that may leave now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<ClientTransmit<P>> {
        if let Some(last) = self.outbox.pop_front() {
            return Some(last);
        }
        while let Some(transmit) = self.tunnel.poll_transmit(now) {
            // a path whose socket is gone loses what it sends
            if let Some(transmit) = addressed(&self.by_path, transmit) {
                return Some(transmit);
            }
        }
        None
    }

    /// The next packet that has arrived and may be delivered.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<P> {
        self.tunnel.poll_delivery(now)
    }

    /// What is to be done with the sockets next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next change.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives. Later than `now`, if everything
    /// that is due has been done and everything that may leave has left.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let tunnel = self.tunnel.next_deadline(now);
        let own = self.supervision_deadline();
        [tunnel, own].into_iter().flatten().min()
    }

    /// A deadline has come. What is to leave and to be delivered now is fetched as always.
    pub fn on_deadline(&mut self, now: Instant) {
        self.tunnel.on_deadline(now);
        self.settle(now);
        self.supervise(now);
    }

    /// Ends the connection: no path is opened again.
    pub fn close(&mut self, now: Instant) {
        self.is_ending = true;
        self.tunnel.close(now);
        self.settle(now);
    }

    /// True once [`Self::close`] is through.
    pub fn is_closed(&self) -> bool {
        self.is_ending && self.tunnel.is_closed()
    }

    /// The present connection.
    pub fn tunnel(&self) -> &Tunnel<P> {
        &self.tunnel
    }

    /// The paths that are configured, by their numbers, with their states.
    pub fn paths(&self) -> impl Iterator<Item = (ClientPathId, PathState)> + '_ {
        self.configured().map(|(id, entry)| (id, entry.shown()))
    }

    /// Which path of the present connection a configured one is.
    pub fn path(&self, id: ClientPathId) -> Option<PathId> {
        self.entry(id).and_then(Entry::path)
    }

    /// What the supervision has done.
    pub fn counters(&self) -> ClientCounters {
        self.counters
    }

    fn entry(&self, id: ClientPathId) -> Option<&Entry> {
        self.paths.get(id.index())?.as_ref()
    }

    fn entry_mut(&mut self, id: ClientPathId) -> Option<&mut Entry> {
        self.paths.get_mut(id.index())?.as_mut()
    }

    fn configured(&self) -> impl Iterator<Item = (ClientPathId, &Entry)> {
        let all = self.paths.iter().enumerate();
        let there = all.filter_map(|(index, entry)| Some((index, entry.as_ref()?)));
        there
            .filter(|(_, entry)| !entry.is_removed)
            .map(|(index, entry)| (ClientPathId(index as u16), entry))
    }
}

fn new_tunnel<P: Payload>(config: &ClientConfig, provision: &mut dyn Provision) -> Tunnel<P> {
    let scheduler = provision.scheduler();
    let seed = provision.seed();
    Tunnel::client(
        config.supervision.applied_to(&config.tunnel),
        scheduler,
        config.shared.clone(),
        seed,
    )
}

/// With the configured path that its path is.
fn addressed<P>(
    by_path: &[Option<ClientPathId>],
    transmit: Transmit<P>,
) -> Option<ClientTransmit<P>> {
    let path = by_path
        .get(usize::from(transmit.path.0))
        .copied()
        .flatten()?;
    Some(ClientTransmit {
        path,
        packet: transmit.packet,
        payload: transmit.payload,
        size: transmit.size,
        ecn: transmit.ecn,
    })
}

#[cfg(test)]
mod tests;
