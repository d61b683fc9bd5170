//! The keys and numbers of both ends of a connection, and what they prove.

use super::Role;
use crate::PathId;
use crate::auth::{Key, Offer, PreSharedKey, ProofStep, Secrets, SessionKeys};
use crate::join::{ClientJoin, NonceGuard, ServerJoin};
use crate::packet::{ConnectionId, DccpOption, Options};
use crate::seq::SeqNo;

/// The keys and connection numbers of both ends.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) local: Offer,
    pub(super) remote: Option<Offer>,
    pub(super) keys: Option<SessionKeys>,
    pub(super) shared: Option<PreSharedKey>,
    pub(super) is_established: bool,
    pub(super) nonces: NonceGuard,
    /// Paths that wait for the first handshake.
    pub(super) pending: Vec<PathId>,
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

    pub(super) fn meet(&mut self, remote: Offer) {
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

    /// Which key the client's proofs are of, for a server that has not found it yet.
    pub(super) fn key_name(&self, role: Role) -> Option<DccpOption> {
        let shared = self.shared.as_ref().filter(|_| role == Role::Client)?;
        Some(shared.name().option())
    }

    pub(super) fn prove(&self, role: Role, step: ProofStep) -> Option<DccpOption> {
        let (client, server) = self.offers(role);
        let server = server.filter(|_| step != ProofStep::Request);
        Some(self.shared.as_ref()?.prove(step, client, server))
    }

    /// What a client's packet with that number carries of which the server may not have the connection.
    pub(super) fn prove_packet(
        &self,
        role: Role,
        ports: (u16, u16),
        seq: SeqNo,
    ) -> Option<DccpOption> {
        let shared = self.shared.as_ref().filter(|_| role == Role::Client)?;
        Some(shared.prove_packet(ports, seq))
    }

    pub(super) fn is_proved(&self, role: Role, step: ProofStep, options: &Options) -> bool {
        let (client, server) = self.offers(role);
        let server = server.filter(|_| step != ProofStep::Request);
        self.shared
            .as_ref()
            .is_none_or(|shared| shared.is_proved(options, step, client, server))
    }
}
