//! The server's half of the handshake: Requests that make a connection or join one, and the Acks that prove them.

use super::config::PathConfig;
use super::identity::Opening;
use super::path::{Path, Phase, Retry};
use super::{Refusal, Role, Tunnel, TunnelConfig};
use crate::auth::{Offer, PreSharedKey, ProofStep};
use crate::features::Side;
use crate::join::{JoinOffer, ServerJoin};
use crate::packet::{Feature, Kind, Packet};
use crate::scheduler::Scheduler;
use crate::{PathId, Payload};
use units::{Duration, Instant};

/// How long a server waits for the client's Ack.
const HALF_OPEN: Duration = Duration::from_secs(10);

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

/// True if a Request that opens a connection proves that key.
pub(crate) fn is_request_proved(packet: &Packet, shared: &PreSharedKey) -> bool {
    let client = Offer::among(&packet.options);
    client.is_some_and(|client| shared.is_proved(&packet.options, ProofStep::Request, client, None))
}

/// Why a Request that proves no key opens no connection.
pub(crate) fn first_refusal(packet: &Packet, service: u32) -> Refusal {
    match check_service(packet, service) {
        Err(refusal) => refusal,
        Ok(()) if Offer::among(&packet.options).is_none() => Refusal::NotMultipath,
        Ok(()) => Refusal::Credentials,
    }
}

impl<P: Payload> Tunnel<P> {
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
        let is_proved = |shared: &PreSharedKey| is_request_proved(packet, shared);
        let proved = shared.iter().position(is_proved);
        if proved.is_none() && !shared.is_empty() {
            return Err(first_refusal(packet, end.config.service));
        }
        let key = proved.map(|index| shared[index].clone());
        Ok((Self::accept_proved(now, packet, key, end)?, proved))
    }

    /// As [`Self::accept`], of a Request that has proved that key, if one is needed.
    pub(crate) fn accept_proved(
        now: Instant,
        packet: &Packet,
        shared: Option<PreSharedKey>,
        end: ServerEnd,
    ) -> Result<Self, Refusal> {
        check_service(packet, end.config.service)?;
        let client = Offer::preferred(&packet.options, end.config.key_types);
        let client = client.ok_or(Refusal::NotMultipath)?;
        let mut tunnel = Self::new(end.config, Role::Server, end.scheduler, end.seed);
        tunnel.identity.shared = shared;
        if !tunnel.identity.meet(client, &mut tunnel.secrets) {
            return Err(Refusal::BadKey);
        }
        let first = tunnel.respond(now, end.path, packet, Opening::First)?;
        tunnel.begin_numbers(usize::from(first.0), packet.seq);
        Ok(tunnel)
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

    /// The client's Ack proves what it must.
    pub(super) fn is_proven(&mut self, index: usize, packet: &Packet) -> bool {
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
}
