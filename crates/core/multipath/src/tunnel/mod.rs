//! One end of a multipath connection: what is handed in leaves on one of its paths, what arrives on
//! them is delivered in order.
//!
//! ```text
//!            send(P)                                       poll_delivery() -> P
//!               |                                                   ^
//!      [ scheduler buffer ]                                   [ Reorder ]
//!               | Scheduler::choose                                 ^
//!        +------+------+                                     +------+------+
//!     [ path 0 ]    [ path 1 ]   poll_transmit -> ...     [ path 0 ]    [ path 1 ]
//! ```
//!
//! Handing packets in and out is all that a shell does: [`Tunnel::send`], [`Tunnel::receive`],
//! [`Tunnel::poll_transmit`], [`Tunnel::poll_delivery`], [`Tunnel::poll_event`], and
//! [`Tunnel::on_deadline`] at [`Tunnel::next_deadline`].
//!
//! | file | what |
//! | --- | --- |
//! | `handshake`, `accepting` | the first path and joins (RFC 9897 3.3): both halves, the server's half |
//! | `identity`, `refusal` | keys and numbers of both ends; why a Request is rejected |
//! | `compact` | what compact packets are read against |
//! | `closing` | the end of a path and of the connection (RFC 4340 8.3, RFC 9897 3.5) |
//! | `buffer` | what no path has been chosen for (RFC 8289) |
//! | `numbers` | which packets are valid (RFC 4340 7.5) |
//! | `sending`, `receiving` | data and acknowledgements |
//! | `latency` | latency-sensitive packets: their queue, their copies |
//! | `parity` | parities of latency-sensitive packets, and what is rebuilt from them |
//! | `probing` | paths that may not answer any more |
//! | `mtu` | how large packets on each path may be (RFC 8899) |
//! | `repeating` | partial reliability |
//! | `path` | a path's state |

mod accepting;
mod buffer;
mod closing;
mod compact;
mod config;
mod handshake;
mod identity;
mod latency;
mod mtu;
mod numbers;
mod parity;
mod path;
mod probing;
mod receiving;
mod refusal;
mod repeating;
mod sending;
mod settings;
mod signalling;
mod stats;

pub use accepting::ServerEnd;
pub(crate) use accepting::{first_refusal, is_request_proved};
pub use buffer::{BufferQueue, CODEL_INTERVAL, CODEL_TARGET, UnknownBufferQueue};
pub use config::{
    CONTROLLER, Carrier, PathConfig, SCHEDULER_BUFFER, SERVICE, StreamState, TunnelConfig,
};
pub use latency::LatencyCounters;
pub use mtu::{InnerMtu, MtuStats, PathMtu};
pub use numbers::reset_for;
pub use path::PathCounters;
pub use refusal::Refusal;
pub use settings::{Key, NEVER, Setting};
pub use stats::{ClassCounters, PathStats, TunnelStats};

use crate::auth::Secrets;
use crate::class::{Class, FlowLabel};
use crate::packet::{AddressId, Kind, Options, Packet};
use crate::parity::{Fec, Rebuilder};
use crate::path::{Reliability, ReliabilityConfig};
use crate::reorder::Reorder;
use crate::scheduler::{PathSet, PathView, Scheduler};
use crate::seq::{MpSeq, SeqNo};
use crate::signal::{Inbox, Outbox, OutboxConfig};
use crate::{PathId, Payload};
use buffer::Buffer;
use cc::RadioState;
use core::net::IpAddr;
use identity::Identity;
use latency::Latency;
use numbers::Validity;
use path::{Path, Phase, Queued};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Ecn, Instant, Streams};

/// A packet that is to leave.
#[derive(Clone, Debug)]
pub struct Transmit<P> {
    /// The path that it takes.
    pub path: PathId,
    /// The packet.
    pub packet: Packet,
    /// What it carries, if it carries data.
    pub payload: Option<P>,
    /// It is a probe, and padded so that its datagram has this size, without the headers of IP and UDP.
    pub size: Option<Bytes>,
    /// The ECN codepoint of its IP header: that of the payload (RFC 6040 4.1, normal mode), or the path's own
    /// ([`crate::ecn`]).
    pub ecn: Ecn,
}

/// A change that is reported to the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is established: its first path is open.
    Established,
    /// A path is open, or answers again.
    PathUp(PathId),
    /// A path does not answer: nothing is sent on it until it does.
    PathDown(PathId),
    /// A path is over.
    PathClosed(PathId),
    /// The peer has a further address, at which it takes joins.
    AddressAdded {
        /// Its number.
        id: AddressId,
        /// The address.
        address: IpAddr,
        /// Its port, if not that of the path on which it was signalled.
        port: Option<u16>,
    },
    /// An address of the peer is gone, and its paths with it.
    AddressRemoved {
        /// Its number.
        id: AddressId,
    },
    /// The server does not have the connection (it was restarted, or has dropped it), and no path works:
    /// a new one has to be made.
    ConnectionUnknown,
    /// The connection is over.
    Closed,
}

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens paths.
    Client,
    /// It answers.
    Server,
}

/// One end of a multipath connection.
pub struct Tunnel<P> {
    config: TunnelConfig,
    role: Role,
    secrets: Secrets,
    streams: Streams,
    identity: Identity,
    paths: Vec<Path<P>>,
    scheduler: Box<dyn Scheduler>,
    waiting: Buffer<P>,
    /// Latency-sensitive packets, if the scheduler has classes.
    latency: Option<Latency<P>>,
    /// Packets of the peer that were delivered past the reordering.
    unordered: u64,
    /// What the peer's packets are rebuilt from, if it is asked for, and how many were.
    rebuilder: Option<Rebuilder<P>>,
    rebuilt: u64,
    /// The peer has stated that it rebuilds packets.
    peer_rebuilds: bool,
    /// Packets that had one, and need another.
    again: VecDeque<Queued<P>>,
    /// Packets that no path takes.
    too_big: VecDeque<P>,
    /// What may have to be sent again, with partial reliability.
    kept: Option<Reliability<P>>,
    next_mp_seq: MpSeq,
    /// The greatest number of the connection that was received.
    latest_mp_seq: MpSeq,
    /// All that had a path then has been given to it, and nothing has happened since.
    settled_at: Option<Instant>,
    /// Scratch for the scheduler.
    views: Vec<PathView>,
    reorder: Reorder<P>,
    outbox: Outbox,
    inbox: Inbox,
    events: VecDeque<Event>,
    is_closing: bool,
    is_closed: bool,
    /// The server has stated that it does not have the connection, and no path has answered since.
    is_unknown: bool,
    /// The path that was served last: they take turns.
    turn: usize,
    counters: stats::Counters,
}

impl<P: Payload> Tunnel<P> {
    fn new(config: TunnelConfig, role: Role, scheduler: Box<dyn Scheduler>, seed: u64) -> Self {
        let mut scheduler = scheduler;
        scheduler.set_max_lag(config.reorder.max_lag());
        scheduler.set_deadline(config.latency_deadline);
        let streams = Streams::new(seed);
        let mut secrets = Secrets::new(seed);
        let next_mp_seq = MpSeq::new(secrets.next_u64());
        let mut reorder = config.reorder;
        // what a path has lost may come again
        reorder.has_fast_loss_detection &= config.reliability.is_none();
        let kept = config
            .reliability
            .map(|deadline| Reliability::new(ReliabilityConfig::new(deadline)));
        let waiting = Buffer::new(&config);
        let rebuilder = (config.fec == Fec::Auto).then(|| Rebuilder::new(config.latency_deadline));
        let has_classes = scheduler.has_classes();
        let latency = has_classes.then(|| Latency::new(config.latency_deadline));
        Self {
            reorder: Reorder::new(reorder),
            identity: Identity::new(role, config.key_types, &mut secrets),
            config,
            role,
            secrets,
            streams,
            paths: Vec::new(),
            scheduler,
            waiting,
            latency,
            unordered: 0,
            rebuilder,
            rebuilt: 0,
            peer_rebuilds: false,
            again: VecDeque::new(),
            too_big: VecDeque::new(),
            kept,
            next_mp_seq,
            latest_mp_seq: MpSeq::default(),
            settled_at: None,
            views: Vec::new(),
            outbox: Outbox::new(OutboxConfig::default()),
            inbox: Inbox::new(),
            events: VecDeque::new(),
            is_closing: false,
            is_closed: false,
            is_unknown: false,
            turn: 0,
            counters: stats::Counters::default(),
        }
    }

    /// The class of a packet that comes now; of what its `label` shows only if the scheduler has classes. Each packet is asked
    /// for once: what is decided of the next ones of its flow depends on it.
    pub fn class(
        &mut self,
        now: Instant,
        bytes: Bytes,
        label: impl FnOnce() -> FlowLabel,
    ) -> Class {
        match &mut self.latency {
            Some(latency) => latency.class(now, label(), bytes),
            None => Class::Bulk,
        }
    }

    /// Hands a packet in.
    ///
    /// # Errors
    /// As [`Self::send_as`].
    pub fn send(&mut self, now: Instant, payload: P) -> Result<(), P> {
        let bytes = Bytes::new(payload.len() as u64);
        let class = self.class(now, bytes, || payload.label());
        self.send_as(now, payload, class)
    }

    /// Hands a packet in of which [`Self::class`] was decided.
    ///
    /// # Errors
    /// The packet itself, if the scheduler buffer is full or the connection is closing. For latency-sensitive packets those
    /// that wait for a path do not count.
    pub fn send_as(&mut self, now: Instant, payload: P, class: Class) -> Result<(), P> {
        if self.is_closing {
            self.counters.refused += 1;
            return Err(payload);
        }
        let (most, on_paths) = (self.config.scheduler_buffer.get(), self.backlog_of_paths());
        let latency = self
            .latency
            .as_mut()
            .filter(|latency| class == Class::Latency && latency.len() as u64 + on_paths < most);
        if let Some(latency) = latency {
            latency.push(payload);
        } else if self.backlog() >= most {
            self.counters.refused += 1;
            return Err(payload);
        } else {
            self.waiting.push(now, payload);
        }
        self.settled_at = None;
        Ok(())
    }

    /// Packets that wait for a path, and those on one beyond its window.
    fn backlog(&self) -> u64 {
        let latency = self.latency.as_ref().map_or(0, Latency::len);
        (self.waiting.len() + latency) as u64 + self.backlog_of_paths()
    }

    /// True if so many packets that are not sensitive to latency can be handed in; if not, they count as refused.
    pub fn has_room(&mut self, packets: u64) -> bool {
        let has_room = self.backlog() + packets <= self.config.scheduler_buffer.get();
        self.counters.refused += if has_room { 0 } else { packets };
        has_room
    }

    /// Packets for which no path has been chosen; those that are sensitive to latency do not count.
    pub fn unassigned(&self) -> usize {
        self.waiting.len()
    }

    /// True if packets wait for a path or on one.
    pub fn has_waiting(&self) -> bool {
        let is_queued = |path: &Path<P>| !path.queue.is_empty();
        let has_latency = self.latency.as_ref().is_some_and(|of| of.len() > 0);
        !self.waiting.is_empty()
            || !self.again.is_empty()
            || has_latency
            || self.paths.iter().any(is_queued)
    }

    /// Packets on a path beyond its window.
    fn backlog_of_paths(&self) -> u64 {
        let beyond = self.paths.iter().map(|path| {
            let queued = path.queue.len() as u64;
            queued.saturating_sub(path.sender.room().get())
        });
        beyond.sum()
    }

    /// The next packet that has arrived and may be delivered.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<P> {
        self.reorder.poll(now)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Self::on_deadline`] is to be called although nothing arrives.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let keepalive = self.config.keepalive;
        let paths = self.paths.iter();
        let path = paths
            .filter_map(|path| path.next_deadline(now, keepalive))
            .min();
        let signals = self.outbox.next_deadline();
        [
            path,
            self.reorder.next_deadline(),
            self.next_departure(now),
            self.next_parity(),
            signals.filter(|_| self.is_established()),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A deadline has come. What is to leave and to be delivered now is fetched as always.
    pub fn on_deadline(&mut self, now: Instant) {
        self.settled_at = None;
        for index in 0..self.paths.len() {
            match self.paths[index].phase {
                Phase::Open => self.on_open_deadline(now, index),
                Phase::Closed => {}
                _ => self.on_retry(now, index),
            }
        }
        self.outbox.give_up(now);
    }

    /// A radio report of the link under a path: `slot` is the time in which the reported block is
    /// carried.
    pub fn on_radio(&mut self, now: Instant, path: PathId, state: &RadioState, slot: Duration) {
        if let Some(path) = self.path_mut(path) {
            let rate = BitRate::from_bytes_per(state.tbs, slot);
            path.radio_rate = Some((rate, state.made_at));
            path.sender.on_radio(now, state);
        }
    }

    /// The state of the stream under a path; to be set before [`Self::poll_transmit`].
    pub fn on_stream(&mut self, _now: Instant, path: PathId, state: StreamState) {
        if let Some(path) = self.path_mut(path) {
            let sample = state
                .srtt
                .filter(|_| path.stream.and_then(|old| old.srtt) != state.srtt);
            path.unreported_rtt = sample.or(path.unreported_rtt);
            path.stream = Some(state);
            path.written = Bytes::ZERO;
        }
    }

    /// True once data may flow on at least one path.
    pub fn is_established(&self) -> bool {
        self.paths.iter().any(|path| path.phase == Phase::Open)
    }

    /// True if a packet would be taken for the peer's on that path.
    pub fn is_valid(&self, path: PathId, packet: &Packet) -> bool {
        let path = self.paths.get(usize::from(path.0));
        path.is_some_and(|path| {
            path.phase == Phase::Open && path.numbers.check(packet) == Validity::Valid
        })
    }

    /// A Sync that acknowledges `seq`, to be sent to an address at which the caller has to confirm the peer.
    pub fn sync_packet(&mut self, now: Instant, path: PathId, seq: SeqNo) -> Option<Packet> {
        let index = usize::from(path.0);
        self.paths.get(index)?;
        let kind = Kind::Sync { ack: seq };
        Some(self.control(now, index, kind, Options::default()).packet)
    }

    /// True once the connection is over.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Which end it is.
    pub fn role(&self) -> Role {
        self.role
    }

    fn path_mut(&mut self, path: PathId) -> Option<&mut Path<P>> {
        self.settled_at = None;
        self.paths.get_mut(usize::from(path.0))
    }

    /// Reports paths that came up or went down since it was last called.
    fn note_changes(&mut self, index: usize) {
        self.settled_at = None;
        let path = &mut self.paths[index];
        let (was, is) = (path.was_usable, path.is_usable());
        if was == is {
            return;
        }
        path.was_usable = is;
        let id = path.id;
        self.events.push_back(match (is, path.phase) {
            (true, _) => Event::PathUp(id),
            (false, Phase::Open) => Event::PathDown(id),
            (false, _) => Event::PathClosed(id),
        });
        if !is {
            self.abandon(index);
            self.check_unknown();
        }
    }

    /// A path carries nothing any more: what waits on it goes elsewhere.
    fn abandon(&mut self, index: usize) {
        let path = &mut self.paths[index];
        let id = path.id;
        let queue = core::mem::take(&mut path.queue);
        self.put_back(queue);
        self.reorder.on_path_gone(id);
        self.outbox.remove_path(id);
    }

    /// Packets that a path does not carry after all go elsewhere.
    fn put_back(&mut self, queue: VecDeque<Queued<P>>) {
        if let Some(kept) = &mut self.kept {
            for queued in queue.iter().filter(|queued| queued.parity_of.is_none()) {
                kept.on_withdrawn(queued.mp_seq);
            }
        }
        self.settled_at = None;
        // a parity is of no use on the path of its packets
        let queue = queue
            .into_iter()
            .filter(|queued| queued.parity_of.is_none());
        match &mut self.latency {
            None => self.again.extend(queue),
            Some(latency) => queue.for_each(|queued| match queued.is_urgent {
                true => latency.again(queued),
                false => self.again.push_back(queued),
            }),
        }
        let again = self.again.make_contiguous();
        again.sort_by(|a, b| a.mp_seq.circular_cmp(b.mp_seq));
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrapping;
