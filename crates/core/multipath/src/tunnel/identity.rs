//! The keys and numbers of both ends of a connection, and what they prove.

use super::Role;
use crate::PathId;
use crate::auth::{Key, KeyType, Offer, PreSharedKey, PrivateKey, ProofStep, Secrets, SessionKeys};
use crate::join::{ClientJoin, NonceGuard, ServerJoin};
use crate::packet::{ConnectionId, DccpOption, KeyData, MpOption, Options};
use crate::seq::SeqNo;

/// The keys and connection numbers of both ends.
#[derive(Debug)]
pub(super) struct Identity {
    /// Its key: the one that was agreed on; before that the one that proofs are of.
    pub(super) local: Offer,
    /// The types that are offered or taken, the preferred one first.
    types: &'static [KeyType],
    /// Of a key of X25519, once there is one.
    private: Option<PrivateKey>,
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
    pub(super) fn new(role: Role, types: &'static [KeyType], secrets: &mut Secrets) -> Self {
        let mut local = Offer {
            connection: ConnectionId(secrets.next_u64() as u32),
            key: Key::from_random(secrets.next_u64()),
        };
        // a server makes one for the client that offers one
        let is_offered = role == Role::Client && types.contains(&KeyType::Ecdhe);
        let private = is_offered.then(|| PrivateKey::draw(secrets));
        if let (Some(private), false) = (&private, types.contains(&KeyType::Plain)) {
            local.key = private.public();
        }
        Self {
            local,
            types,
            private,
            remote: None,
            keys: None,
            shared: None,
            is_established: false,
            nonces: NonceGuard::new(),
            pending: Vec::new(),
        }
    }

    /// The types that it offers or takes.
    pub(super) const fn types(&self) -> &'static [KeyType] {
        self.types
    }

    /// The `MP_KEY` of this end: of a client's Request with a key of each type.
    pub(super) fn key_option(&self) -> DccpOption {
        if self.remote.is_some() {
            return self.local.option();
        }
        let public = self.private.as_ref().map(PrivateKey::public);
        let of = |kind: &KeyType| match kind {
            KeyType::Plain => Some(self.local.key),
            KeyType::Ecdhe => public,
        };
        let keys: Vec<KeyData> = self.types.iter().filter_map(of).map(Key::data).collect();
        DccpOption::Multipath(MpOption::Key {
            connection: self.local.connection,
            keys,
        })
    }

    /// Takes the peer's offer, of the type that is used. False: its key is none.
    pub(super) fn meet(&mut self, remote: Offer, secrets: &mut Secrets) -> bool {
        let shared = self.shared.as_ref();
        let keys = match remote.key.kind() {
            KeyType::Plain => SessionKeys::new(self.local.key, remote.key, shared),
            KeyType::Ecdhe => {
                let private = self
                    .private
                    .get_or_insert_with(|| PrivateKey::draw(secrets));
                let Some(agreed) = private.agree(&remote.key) else {
                    return false;
                };
                self.local.key = private.public();
                SessionKeys::agreed(self.local.key, remote.key, &agreed, shared)
            }
        };
        self.remote = Some(remote);
        self.keys = Some(keys);
        true
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
