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
use super::path::{Path, Phase, Retry, Windows};
use super::{Event, Role, Transmit, Tunnel, TunnelConfig};
use crate::auth::{Key, Offer, PreSharedKey, ProofStep, Secrets, SessionKeys};
use crate::features::Side;
use crate::join::{ClientJoin, JoinOffer, NonceGuard, ServerJoin};
use crate::packet::{
    AddressId, ConnectionId, DccpOption, Feature, Kind, OptionFault, Options, Packet, ResetCode,
};
use crate::path::Acknowledgement;
use crate::scheduler::{PathSet, Scheduler};
use crate::seq::SeqNo;
use crate::{PathId, Payload};
use units::{Duration, Instant};

/// How long a server waits for the client's Ack.
const HALF_OPEN: Duration = Duration::from_secs(10);
/// First wait for what follows the client's Ack (RFC 4340 8.1.5: 200 ms).
const PART_OPEN_RETRY: Duration = Duration::from_millis(200);

/// Why a Request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no Request.
    #[error("it is no Request")]
    NotARequest,
    /// It requests another service.
    #[error("it requests service {0:#010x}, which is not offered here")]
    Service(u32),
    /// It carries neither a key nor a join.
    #[error("it carries neither MP_KEY with a plain key nor MP_JOIN")]
    NotMultipath,
    /// It requires a feature value that is not available.
    #[error("it requires a feature value that is not available here")]
    Features,
    /// It does not state that it is multipath capable.
    #[error("it is not multipath capable (version 0)")]
    NotCapable,
    /// The client did not show that it has the pre-shared key.
    #[error("it does not prove that it has the pre-shared key of a client known here")]
    Credentials,
    /// It joins a connection that is not there.
    #[error("it joins connection {0:#010x}, which is not there")]
    UnknownConnection(u32),
    /// That address has a path already.
    #[error("address number {0} has a path already")]
    AddressInUse(u8),
    /// The same nonce was used for a join before.
    #[error("its nonce was used before")]
    Replayed,
    /// There are as many paths as there may be.
    #[error("there are {} paths already", PathSet::MAX_PATHS)]
    TooManyPaths,
    /// There are as many connections as there may be.
    #[error("there are as many connections as there may be")]
    TooManyConnections,
    /// The connection is closing.
    #[error("the connection is closing")]
    Closing,
    /// The controller of the path is not known.
    #[error("no congestion control has the configured name")]
    Controller,
}

impl Refusal {
    /// The code of the Reset that answers it.
    pub const fn reset_code(self) -> ResetCode {
        match self {
            Self::NotARequest | Self::UnknownConnection(_) => ResetCode::NO_CONNECTION,
            Self::Service(_) => ResetCode::BAD_SERVICE_CODE,
            Self::NotMultipath | Self::NotCapable => ResetCode::OPTION_ERROR,
            Self::Features => ResetCode::MANDATORY_ERROR,
            Self::TooManyPaths | Self::TooManyConnections => ResetCode::TOO_BUSY,
            _ => ResetCode::CONNECTION_REFUSED,
        }
    }
}

/// What a server makes its end of a connection with.
pub struct ServerEnd {
    /// Of the connection.
    pub config: TunnelConfig,
    /// Its scheduler.
    pub scheduler: Box<dyn Scheduler>,
    /// Of its first path.
    pub path: PathConfig,
    /// As of [`Tunnel::client`].
    pub seed: u64,
}

fn check_service(packet: &Packet, expected: u32) -> Result<(), Refusal> {
    match packet.kind {
        Kind::Request { service } if service == expected => Ok(()),
        Kind::Request { service } => Err(Refusal::Service(service)),
        _ => Err(Refusal::NotARequest),
    }
}

/// The keys and connection numbers of both ends.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) local: Offer,
    pub(super) remote: Option<Offer>,
    pub(super) keys: Option<SessionKeys>,
    shared: Option<PreSharedKey>,
    pub(super) is_established: bool,
    nonces: NonceGuard,
    /// Paths that wait for the first handshake.
    pending: Vec<PathId>,
}

/// What a path's handshake is about.
#[derive(Clone, Debug)]
pub(super) enum Opening {
    /// The connection itself.
    First,
    /// A client's join; with the proof, once the server has answered.
    Joining(ClientJoin, Option<DccpOption>),
    /// A join at the server.
    Joined(ServerJoin),
}

impl Identity {
    pub(super) fn new(secrets: &mut Secrets) -> Self {
        Self {
            local: Offer {
                connection: ConnectionId(secrets.next_u64() as u32),
                key: Key::from_random(secrets.next_u64()),
            },
            remote: None,
            keys: None,
            shared: None,
            is_established: false,
            nonces: NonceGuard::new(),
            pending: Vec::new(),
        }
    }

    fn meet(&mut self, remote: Offer) {
        self.remote = Some(remote);
        self.keys = Some(SessionKeys::new(
            self.local.key,
            remote.key,
            self.shared.as_ref(),
        ));
    }

    /// The client's offer and the server's.
    fn offers(&self, role: Role) -> (Offer, Option<Offer>) {
        match (role, self.remote) {
            (Role::Client, remote) => (self.local, remote),
            (Role::Server, Some(remote)) => (remote, Some(self.local)),
            (Role::Server, None) => (self.local, None),
        }
    }

    fn prove(&self, role: Role, step: ProofStep) -> Option<DccpOption> {
        let (client, server) = self.offers(role);
        let server = server.filter(|_| step != ProofStep::Request);
        Some(self.shared.as_ref()?.prove(step, client, server))
    }

    /// What a client's packet with that number carries that the server may not know the connection of.
    pub(super) fn prove_packet(
        &self,
        role: Role,
        ports: (u16, u16),
        seq: SeqNo,
    ) -> Option<DccpOption> {
        let shared = self.shared.as_ref().filter(|_| role == Role::Client)?;
        Some(shared.prove_packet(ports, seq))
    }

    fn is_proved(&self, role: Role, step: ProofStep, options: &Options) -> bool {
        let (client, server) = self.offers(role);
        let server = server.filter(|_| step != ProofStep::Request);
        self.shared
            .as_ref()
            .is_none_or(|shared| shared.is_proved(options, step, client, server))
    }
}

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

    fn add_path(
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
        };
        let path = Path::new(
            id,
            config,
            phase,
            ports,
            windows,
            self.streams.stream(&name),
            now,
        )
        .map_err(|_| Refusal::Controller)?;
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
                options.list.push(identity.local.option());
                options
                    .list
                    .extend(identity.prove(self.role, ProofStep::Request));
            }
        }
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
                options.list.push(identity.local.option());
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
            (Opening::First, _) => match Offer::among(options) {
                Some(remote) => {
                    self.identity.meet(remote);
                    self.identity
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
        path.phase = Phase::PartOpen;
        path.retry = Some(Retry::first(now, PART_OPEN_RETRY));
        path.must_send = true;
        self.measure_handshake(now, index, packet);
    }

    /// The server's end of a new connection, made by a Request with a key. `shared` are the
    /// pre-shared keys that clients may have; the number of the one that the client proved is given
    /// back. With none of them nothing need be proved.
    ///
    /// # Errors
    /// Why it is rejected.
    pub fn accept(
        now: Instant,
        packet: &Packet,
        shared: &[PreSharedKey],
        end: ServerEnd,
    ) -> Result<(Self, Option<usize>), Refusal> {
        check_service(packet, end.config.service)?;
        let client = Offer::among(&packet.options).ok_or(Refusal::NotMultipath)?;
        let is_proved = |shared: &PreSharedKey| {
            shared.is_proved(&packet.options, ProofStep::Request, client, None)
        };
        let proved = shared.iter().position(is_proved);
        if proved.is_none() && !shared.is_empty() {
            return Err(Refusal::Credentials);
        }
        let mut tunnel = Self::new(end.config, Role::Server, end.scheduler, end.seed);
        tunnel.identity.shared = proved.map(|index| shared[index].clone());
        tunnel.identity.meet(client);
        tunnel.respond(now, end.path, packet, Opening::First)?;
        Ok((tunnel, proved))
    }

    /// A Request that joins this connection.
    ///
    /// # Errors
    /// Why it is rejected.
    pub fn accept_join(
        &mut self,
        now: Instant,
        path: PathConfig,
        packet: &Packet,
    ) -> Result<PathId, Refusal> {
        check_service(packet, self.config.service)?;
        let offer = JoinOffer::among(&packet.options).ok_or(Refusal::NotMultipath)?;
        if offer.connection != self.identity.local.connection || !self.identity.is_established {
            return Err(Refusal::UnknownConnection(offer.connection.0));
        }
        let is_used =
            |path: &Path<P>| path.phase != Phase::Closed && path.remote_address == offer.address;
        if self.paths.iter().any(is_used) {
            return Err(Refusal::AddressInUse(offer.address.0));
        }
        self.identity
            .nonces
            .check(offer.nonce)
            .map_err(|_| Refusal::Replayed)?;
        let join = ServerJoin::new(offer, self.secrets.next_u64() as u32);
        let id = self.respond(now, path, packet, Opening::Joined(join))?;
        self.paths[usize::from(id.0)].remote_address = offer.address;
        Ok(id)
    }

    fn respond(
        &mut self,
        now: Instant,
        config: PathConfig,
        packet: &Packet,
        opening: Opening,
    ) -> Result<PathId, Refusal> {
        let ports = (packet.destination, packet.source);
        let index = self.add_path(now, config, Phase::Respond, ports)?;
        let path = &mut self.paths[index];
        path.opening = opening;
        path.numbers.begin(packet.seq);
        let read = path.read_features(packet);
        let is_capable = path
            .features
            .is_agreed(Side::Local, Feature::MULTIPATH_CAPABLE);
        if read.is_err() || !is_capable {
            // its place is free again, as if nothing had come
            path.phase = Phase::Closed;
            return Err(match read {
                Err(_) => Refusal::Features,
                Ok(()) => Refusal::NotCapable,
            });
        }
        path.receiver
            .on_packet(now, packet.seq, units::Ecn::NotEct, false);
        path.must_send = true;
        // one that never goes on expires (RFC 4340 8.1.3: no Response is repeated by a timer)
        path.retry = Some(Retry::first(now, HALF_OPEN));
        Ok(path.id)
    }

    /// A client repeats its Request: so is the Response.
    pub(super) fn on_repeated_request(&mut self, index: usize, packet: &Packet) {
        let path = &mut self.paths[index];
        let is_next = path
            .numbers
            .greatest_received()
            .is_some_and(|last| packet.seq.is_after(last));
        if path.phase == Phase::Respond && is_next {
            path.numbers.accept(packet);
            path.must_send = true;
        } else {
            path.counters.invalid += units::Packets::new(1);
        }
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

    /// The client's Ack proves what it must.
    fn is_proven(&mut self, index: usize, packet: &Packet) -> bool {
        match (&self.paths[index].opening, &self.identity.keys) {
            (Opening::Joined(join), Some(keys)) => {
                let is_right = join.on_ack(keys, &packet.options).is_ok();
                if is_right {
                    self.identity.nonces.used(join.client_nonce);
                }
                is_right
            }
            _ => self
                .identity
                .is_proved(self.role, ProofStep::Ack, &packet.options),
        }
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
