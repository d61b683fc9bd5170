//! The first path and joins (RFC 9897 section 3.3), on top of DCCP's own handshake (RFC 4340 8.1).
//!
//! ```text
//!   first   Request(KEY A) -> Response(KEY B) -> Ack -> Ack
//!   join    Request(JOIN, nonce A) -> Response(JOIN, nonce B, HMAC B) -> Ack(HMAC A) -> Ack
//! ```
//!
//! A join is authenticated by the keys of the first handshake. Those go in the clear: an observer of the
//! first handshake can join, unless both ends have a pre-shared key (see [`crate::auth`]).

use super::config::PathConfig;
use super::identity::Opening;
use super::latency::Outstanding;
use super::path::{Path, Phase, Retry, Windows};
use super::{Event, Refusal, Role, Transmit, Tunnel, TunnelConfig};
use crate::auth::{Offer, PreSharedKey, ProofStep, filler};
use crate::features::Side;
use crate::join::{ClientJoin, JoinOffer};
use crate::packet::{
    AddressId, ConnectionId, DccpOption, Feature, Kind, OptionFault, Options, Packet, ResetCode,
};
use crate::path::Acknowledgement;
use crate::scheduler::{PathSet, Scheduler};
use crate::{PathId, Payload};
use units::{Duration, Instant};

/// First wait for what follows the client's Ack (RFC 4340 8.1.5: 200 ms).
const PART_OPEN_RETRY: Duration = Duration::from_millis(200);

impl<P: Payload> Tunnel<P> {
    /// A client's end, without paths yet. The seed makes its keys and numbers: live it must come from
    /// a source that is unpredictable.
    pub fn client(
        config: TunnelConfig,
        scheduler: Box<dyn Scheduler>,
        shared: Option<PreSharedKey>,
        seed: u64,
    ) -> Self {
        let mut tunnel = Self::new(config, Role::Client, scheduler, seed);
        tunnel.identity.shared = shared;
        tunnel
    }

    /// A client opens a path: the first one makes the connection, others join it, as soon as it is
    /// there. `ports` are DCCP's, the local one first.
    ///
    /// # Errors
    /// [`Refusal::TooManyPaths`], [`Refusal::Closing`], [`Refusal::AddressInUse`],
    /// [`Refusal::Controller`].
    pub fn open_path(
        &mut self,
        now: Instant,
        config: PathConfig,
        ports: (u16, u16),
    ) -> Result<PathId, Refusal> {
        let index = self.add_path(now, config, Phase::Request, ports)?;
        let id = self.paths[index].id;
        if self.identity.is_established
            || self
                .paths
                .iter()
                .filter(|path| path.phase == Phase::Request)
                .count()
                == 1
        {
            self.request(now, index);
        } else {
            self.identity.pending.push(id);
        }
        Ok(id)
    }

    pub(super) fn add_path(
        &mut self,
        now: Instant,
        config: PathConfig,
        phase: Phase,
        ports: (u16, u16),
    ) -> Result<usize, Refusal> {
        if self.is_closing {
            return Err(Refusal::Closing);
        }
        let is_used =
            |path: &Path<P>| path.phase != Phase::Closed && path.config.address == config.address;
        if self.role == Role::Client && self.paths.iter().any(is_used) {
            return Err(Refusal::AddressInUse(config.address.0));
        }
        // the number of a path that is over is free again, once its Reset has left
        let is_free = |path: &Path<P>| path.phase == Phase::Closed && path.reset.is_none();
        let free = self.paths.iter().position(is_free);
        let index = free.unwrap_or(self.paths.len());
        if index >= usize::from(PathSet::MAX_PATHS) {
            return Err(Refusal::TooManyPaths);
        }
        let id = PathId(index as u8);
        self.counters.paths_made += 1;
        let name = format!("path/{}", self.counters.paths_made);
        let windows = Windows {
            sequence: self.config.sequence_window,
            is_kept: self.scheduler.bounds_paths(),
            validation: self.config.window_validation,
            short_ack_ratio: self.config.short_ack_ratio,
        };
        let mut path = Path::new(
            id,
            config,
            phase,
            ports,
            windows,
            self.streams.stream(&name),
            now,
        )
        .map_err(|_| Refusal::Controller)?;
        path.outstanding = self.latency.as_ref().map(|_| Outstanding::default());
        match free {
            Some(index) => self.paths[index] = path,
            None => self.paths.push(path),
        }
        Ok(index)
    }

    /// Sends the Request of a path.
    fn request(&mut self, now: Instant, index: usize) {
        let opening = match self.identity.is_established {
            true => Opening::Joining(
                ClientJoin {
                    nonce: self.secrets.next_u64() as u32,
                    connection: self.identity.local.connection,
                },
                None,
            ),
            false => Opening::First,
        };
        let path = &mut self.paths[index];
        path.opening = opening;
        path.retry = Some(Retry::first(now, self.config.handshake_retry));
        path.must_send = true;
    }

    fn request_options(&self, path: &Path<P>) -> Options {
        let identity = &self.identity;
        let mut options = Options::default();
        match &path.opening {
            Opening::Joining(join, _) => {
                let offer = JoinOffer {
                    address: path.config.address,
                    connection: identity
                        .remote
                        .map_or(ConnectionId(0), |remote| remote.connection),
                    nonce: join.nonce,
                };
                options.list.push(offer.option());
                options.list.extend(self.packet_proof(path));
            }
            _ => {
                options.list.push(identity.key_option());
                options
                    .list
                    .extend(identity.prove(self.role, ProofStep::Request));
                // a server under load answers by a cookie, which a usual Request is too short for
                if path.retry.is_some_and(|retry| retry.attempts > 1) {
                    options.list.push(filler());
                }
            }
        }
        options.list.extend(identity.key_name(self.role));
        options
    }

    /// Of the next packet of a path.
    fn packet_proof(&self, path: &Path<P>) -> Option<DccpOption> {
        let next = path.numbers.greatest_sent().next();
        self.identity.prove_packet(self.role, path.ports, next)
    }

    fn response_options(&self, path: &Path<P>) -> Options {
        let identity = &self.identity;
        let mut options = Options::default();
        match (&path.opening, &identity.keys, identity.remote) {
            (Opening::Joined(join), Some(keys), Some(remote)) => {
                let address = path.config.address;
                options
                    .list
                    .extend(join.response(keys, address, remote.connection));
            }
            _ => {
                options.list.push(identity.key_option());
                options
                    .list
                    .extend(identity.prove(self.role, ProofStep::Response));
            }
        }
        options
    }

    /// What stands on the client's packets until the server has answered one.
    fn part_open_options(&self, index: usize) -> Options {
        let path = &self.paths[index];
        let mut options = Options::default();
        match &path.opening {
            Opening::Joining(_, proof) => options.list.extend(proof.clone()),
            _ => options
                .list
                .extend(self.identity.prove(self.role, ProofStep::Ack)),
        }
        options.list.extend(path.cookies.iter().cloned());
        options
    }

    /// What is not data and not an Ack: handshake, Sync, Close, Reset.
    pub(super) fn control_packet(&mut self, now: Instant, index: usize) -> Option<Transmit<P>> {
        let path = &mut self.paths[index];
        if core::mem::take(&mut path.must_send) {
            let ack = path.numbers.greatest_received().unwrap_or_default();
            let service = self.config.service;
            match path.phase {
                Phase::Request => {
                    let options = self.request_options(&self.paths[index]);
                    return Some(self.control(now, index, Kind::Request { service }, options));
                }
                Phase::Respond => {
                    let options = self.response_options(&self.paths[index]);
                    let kind = Kind::Response { ack, service };
                    return Some(self.control(now, index, kind, options));
                }
                Phase::PartOpen => {
                    let options = self.part_open_options(index);
                    return Some(self.control(now, index, Kind::Ack { ack }, options));
                }
                Phase::Closing => return Some(self.close_packet(now, index, ack)),
                Phase::Closed => {}
                Phase::Open => {}
            }
        }
        let path = &mut self.paths[index];
        if let Some(reset) = path.reset.take() {
            let ack = path.numbers.greatest_received().unwrap_or_default();
            let (OptionFault { code, data }, options) = reset;
            let kind = Kind::Reset { ack, code, data };
            return Some(self.control(now, index, kind, options));
        }
        if let Some(ack) = path.sync_ack.take() {
            return Some(self.control(now, index, Kind::SyncAck { ack }, Options::default()));
        }
        if let Some(ack) = path.sync.take() {
            let mut options = Options::default();
            options.list.extend(self.packet_proof(&self.paths[index]));
            options.list.extend(self.identity.key_name(self.role));
            return Some(self.control(now, index, Kind::Sync { ack }, options));
        }
        None
    }

    /// A packet for a path whose Request is unanswered.
    pub(super) fn on_answer(&mut self, now: Instant, index: usize, packet: &Packet) {
        let path = &mut self.paths[index];
        let first = path.numbers.first_sent();
        let last = path.numbers.greatest_sent();
        let is_answer = packet
            .kind
            .ack()
            .is_some_and(|ack| !first.is_after(ack) && !ack.is_after(last));
        if !is_answer {
            path.counters.invalid += units::Packets::new(1);
            return;
        }
        match packet.kind {
            Kind::Reset { code, .. } => {
                let is_join = matches!(path.opening, Opening::Joining(..));
                self.fail_path(now, index);
                if is_join && code == ResetCode::NO_CONNECTION {
                    self.on_unknown(now);
                }
            }
            Kind::Response { .. } => self.on_response(now, index, packet),
            _ => path.counters.invalid += units::Packets::new(1),
        }
    }

    /// A join was refused: the server does not have the connection. Paths that still seem to work are
    /// queried at once; while none does, the connection is of no use.
    fn on_unknown(&mut self, now: Instant) {
        self.is_unknown = true;
        for path in self.paths.iter_mut().filter(|path| path.is_usable()) {
            path.query_or_probe(now);
        }
        self.check_unknown();
    }

    /// Reports once that the server does not have the connection, when no path contradicts that.
    pub(super) fn check_unknown(&mut self) {
        if self.is_unknown && !self.paths.iter().any(Path::is_usable) {
            self.is_unknown = false;
            self.events.push_back(Event::ConnectionUnknown);
        }
    }

    /// The Response leaves at once: it gives the path's first round-trip time.
    fn measure_handshake(&mut self, now: Instant, index: usize, packet: &Packet) {
        let path = &mut self.paths[index];
        let Some(ack) = packet.kind.ack().filter(|_| !path.is_stream()) else {
            return;
        };
        let acknowledgement = Acknowledgement {
            ack,
            vector: None,
            elapsed: Some(Duration::ZERO),
        };
        path.sender.on_ack(now, &acknowledgement, &mut path.outcome);
        self.after_outcome(now, index);
    }

    fn on_response(&mut self, now: Instant, index: usize, packet: &Packet) {
        let options = &packet.options;
        let path = &mut self.paths[index];
        let is_right = match (&mut path.opening, &self.identity.keys) {
            (Opening::Joining(join, proof), Some(keys)) => match join.on_response(keys, options) {
                Ok((address, hmac)) => {
                    path.remote_address = address;
                    *proof = Some(hmac);
                    true
                }
                Err(_) => false,
            },
            (Opening::First, _) => match Offer::chosen(options, self.identity.types()) {
                Some(remote) => {
                    self.identity.meet(remote, &mut self.secrets)
                        && self
                            .identity
                            .is_proved(self.role, ProofStep::Response, options)
                }
                None => false,
            },
            _ => false,
        };
        let path = &mut self.paths[index];
        let is_right = is_right
            && path.read_features(packet).is_ok()
            && path
                .features
                .is_agreed(Side::Remote, Feature::MULTIPATH_CAPABLE);
        if !is_right {
            self.counters.refused_handshakes += 1;
            self.paths[index].numbers.accept(packet);
            self.reset(index, ResetCode::OPTION_ERROR, Options::default());
            return self.fail_path(now, index);
        }
        let path = &mut self.paths[index];
        path.numbers.accept(packet);
        path.receiver
            .on_packet(now, packet.seq, units::Ecn::NotEct, false);
        let is_cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
        path.cookies = options.list.iter().filter(is_cookie).cloned().collect();
        path.phase = Phase::PartOpen;
        path.retry = Some(Retry::first(now, PART_OPEN_RETRY));
        path.must_send = true;
        if matches!(path.opening, Opening::First) {
            self.begin_numbers(index, packet.seq);
        }
        self.measure_handshake(now, index, packet);
    }

    /// A valid packet moves the handshake on. False: it is to be ignored.
    pub(super) fn has_advanced(&mut self, now: Instant, index: usize, packet: &Packet) -> bool {
        let path = &mut self.paths[index];
        match path.phase {
            Phase::Respond => {
                let is_ack = matches!(packet.kind, Kind::Ack { .. } | Kind::DataAck { .. });
                if !is_ack {
                    return matches!(packet.kind, Kind::Reset { .. } | Kind::Close { .. });
                }
                if !self.is_proven(index, packet) {
                    self.counters.refused_handshakes += 1;
                    self.reset(index, ResetCode::CONNECTION_REFUSED, Options::default());
                    self.end_path(index);
                    return false;
                }
                self.paths[index].must_ack = true;
                self.open(now, index);
            }
            Phase::PartOpen if !matches!(packet.kind, Kind::Response { .. }) => {
                self.open(now, index);
                self.start_pending(now);
            }
            _ => {}
        }
        true
    }

    /// The connection is there: other paths join.
    fn start_pending(&mut self, now: Instant) {
        for id in core::mem::take(&mut self.identity.pending) {
            let index = usize::from(id.0);
            if self.paths[index].phase == Phase::Request {
                self.request(now, index);
            }
        }
    }

    /// The handshake or the close of a path waits too long.
    pub(super) fn on_retry(&mut self, now: Instant, index: usize) {
        let attempts = self.config.handshake_attempts.max(1);
        let max_retry = self.config.handshake_max_retry;
        let path = &mut self.paths[index];
        let Some(retry) = path.retry.filter(|retry| retry.at <= now) else {
            return;
        };
        match path.phase {
            Phase::Request | Phase::PartOpen | Phase::Closing if retry.attempts < attempts => {
                path.retry = Some(retry.again(now, max_retry));
                path.must_send = true;
            }
            Phase::Open => path.retry = None,
            _ => self.fail_path(now, index),
        }
    }

    /// The path did not come to be.
    fn fail_path(&mut self, now: Instant, index: usize) {
        self.end_path(index);
        if self.role == Role::Client && !self.identity.is_established && !self.is_closing {
            // another path tries to make the connection
            let mut pending = core::mem::take(&mut self.identity.pending).into_iter();
            if let Some(next) = pending.next() {
                self.request(now, usize::from(next.0));
            }
            self.identity.pending = pending.collect();
        }
    }

    /// A path is over.
    pub(super) fn end_path(&mut self, index: usize) {
        let path = &mut self.paths[index];
        if path.phase == Phase::Closed {
            return;
        }
        let was_usable = path.was_usable;
        path.phase = Phase::Closed;
        path.retry = None;
        path.probe = None;
        let id = path.id;
        if was_usable {
            self.note_changes(index);
        } else {
            self.events.push_back(Event::PathClosed(id));
            self.abandon(index);
        }
        let is_last = self.paths.iter().all(|path| path.phase == Phase::Closed);
        if is_last && (self.is_closing || self.role == Role::Server) && !self.is_closed {
            self.is_closed = true;
            self.events.push_back(Event::Closed);
        }
    }

    /// The number and key of the client that this end met.
    pub(crate) fn peer_offer(&self) -> Option<Offer> {
        self.identity.remote
    }

    /// The number of the connection at this end: what joins name.
    pub fn connection_id(&self) -> ConnectionId {
        self.identity.local.connection
    }

    /// The number of the local address of a path.
    pub fn address(&self, path: PathId) -> Option<AddressId> {
        self.paths
            .get(usize::from(path.0))
            .map(|path| path.config.address)
    }
}
