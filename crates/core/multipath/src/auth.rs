//! Keys, and what is proved with them (RFC 9897 sections 3.2.4, 3.2.6 and 3.3).
//!
//! ```text
//!   MP_KEY of the client: CI-A, Key-A  --+--> d-key of A = Key-A, Key-B [, J] --> HMACs that A sends
//!   MP_KEY of the server: CI-B, Key-B  --+--> d-key of B = Key-B, Key-A [, J] --> HMACs that B sends
//!   pre-shared key --+--> J = HMAC(key, "brimful mp-dccp joins 1")
//!                    +--> P = HMAC(key, "brimful mp-dccp proofs 1") --> proofs of the handshake
//! ```
//!
//! An HMAC is HMAC-SHA256 (RFC 2104, RFC 6234), of which the first 20 bytes count. Keys are of type
//! 0, eight plain bytes (an observer of the first handshake has them, and can join and close), or of type 1, a public key
//! of X25519 (`key`, `ecdhe`): then both d-keys are the hash of what the two ends agree on, and an observer can close only.
//!
//! *Beyond the RFC*: with a pre-shared key that both ends have from a file, the d-keys are longer by
//! J, so that seeing the handshake is not enough to join, and `MP_EXP` options carry proofs that each
//! end has P: on the Request (a server may drop those without one before it keeps anything), on the
//! Response (over both keys: the client's is new, so it is no old one), on the client's first Ack
//! (over both keys: the server's is new). The data of such an option are "BF" (0x42 0x46), the step
//! (1, 2 or 3), then the first 20 bytes of HMAC(P, step, CI-A, Key-A [, CI-B, Key-B]). A client's joins and
//! Syncs carry one of step 4, over the packet's own ports and number: a server that does not have the
//! connection (any more) answers it from another budget than strangers' packets. Beside each proof of step 1 or 4
//! stands an `MP_EXP` of step 5 with the first 8 bytes of N: a server with many clients computes the HMAC of
//! that key alone. It proves nothing, and an end that does not have it ignores it. Without a pre-shared key
//! nothing differs from the RFC.
//!
//! *Not protected*, with or without: what is carried (nothing is encrypted or authenticated), and
//! connections against an attacker on the path that resets paths.

mod ecdhe;
mod key;

pub use ecdhe::{Agreed, PrivateKey};
pub use key::{Key, KeyType, Offer};

use crate::packet::{DccpOption, Hmac, KeyData, MpOption, Options};
use crate::seq::SeqNo;
use core::fmt;
use core::net::IpAddr;
use ring::hmac;
use subtle::ConstantTimeEq;

/// What the data of an `MP_EXP` with a proof begin with.
const PROOF_MARK: [u8; 2] = *b"BF";
/// The step of a proof that is of one packet.
const PACKET_PROOF: u8 = 4;
/// The step of what is no proof: the name of the key that proofs beside it are of.
const KEY_NAME: u8 = 5;
/// The step of what is there for its length only, and that length.
const FILLER: u8 = 6;
const FILLER_LEN: usize = 200;

/// Keys, nonces and numbers of a connection, from its seed: the first 8 bytes of
/// HMAC-SHA256(seed, count). Some of them (nonces are on the wire) do not reveal others (keys), as they
/// would with a generator made for simulations.
#[derive(Clone)]
pub struct Secrets {
    key: hmac::Key,
    drawn: u64,
}

impl Secrets {
    /// The same seed gives the same secrets.
    pub fn new(seed: u64) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &seed.to_be_bytes()),
            drawn: 0,
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let tag = hmac::sign(&self.key, &self.drawn.to_be_bytes());
        self.drawn += 1;
        let first = tag.as_ref().iter().take(8);
        first.fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Why bytes are no pre-shared key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PreSharedKeyError {
    /// Too few to be hard to guess.
    #[error(
        "a pre-shared key has at least {} bytes, this one {bytes}",
        PreSharedKey::MIN_LEN
    )]
    TooShort {
        /// Bytes that there are.
        bytes: usize,
    },
}

/// What both ends have beforehand.
#[derive(Clone)]
pub struct PreSharedKey {
    /// J: what d-keys are longer by.
    joins: [u8; 32],
    /// P: the key of proofs.
    proofs: hmac::Key,
    name: KeyName,
}

/// Which pre-shared key a proof is of: N, its first 8 bytes. No secret, and no proof of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName([u8; 8]);

impl KeyName {
    /// The first one of these options.
    pub fn among(options: &Options) -> Option<Self> {
        let name = proofs_of(options, KEY_NAME).next()?;
        name.try_into().ok().map(Self)
    }

    /// The option with it.
    pub fn option(self) -> DccpOption {
        experimental(KEY_NAME, &self.0)
    }
}

impl PreSharedKey {
    /// Fewest bytes of a pre-shared key.
    pub const MIN_LEN: usize = 16;

    /// Of the bytes of a file, which are taken as they are.
    ///
    /// # Errors
    ///
    /// [`PreSharedKeyError`] if they are fewer than [`PreSharedKey::MIN_LEN`].
    pub fn new(bytes: &[u8]) -> Result<Self, PreSharedKeyError> {
        if bytes.len() < Self::MIN_LEN {
            return Err(PreSharedKeyError::TooShort { bytes: bytes.len() });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let mut joins = [0; 32];
        joins.copy_from_slice(hmac::sign(&key, b"brimful mp-dccp joins 1").as_ref());
        let proofs = hmac::sign(&key, b"brimful mp-dccp proofs 1");
        let mut name = [0; 8];
        name.copy_from_slice(&hmac::sign(&key, b"brimful mp-dccp names 1").as_ref()[..8]);
        Ok(Self {
            joins,
            name: KeyName(name),
            proofs: hmac::Key::new(hmac::HMAC_SHA256, proofs.as_ref()),
        })
    }

    /// Which key this is.
    pub const fn name(&self) -> KeyName {
        self.name
    }

    /// The option that proves, at that step, possession of this key.
    pub fn prove(&self, step: ProofStep, client: Offer, server: Option<Offer>) -> DccpOption {
        experimental(step.code(), &self.proof(step, client, server).0)
    }

    /// True if these options prove, for that step, that their sender has this key.
    pub fn is_proved(
        &self,
        options: &Options,
        step: ProofStep,
        client: Offer,
        server: Option<Offer>,
    ) -> bool {
        // one HMAC a packet at most, whatever it carries
        proofs_of(options, step.code())
            .next()
            .is_some_and(|given| same(given, &self.proof(step, client, server).0))
    }

    /// The option by which a client shows, on a packet of a connection that the server may not have any
    /// more, that it has this key: `ports` are the packet's, the client's first. It does not show that the
    /// packet is new.
    pub fn prove_packet(&self, ports: (u16, u16), seq: SeqNo) -> DccpOption {
        experimental(PACKET_PROOF, &self.packet_proof(ports, seq).0)
    }

    /// True if these options are of a packet as [`Self::prove_packet`] has it.
    pub fn is_packet_proved(&self, options: &Options, ports: (u16, u16), seq: SeqNo) -> bool {
        proofs_of(options, PACKET_PROOF)
            .next()
            .is_some_and(|given| same(given, &self.packet_proof(ports, seq).0))
    }

    fn packet_proof(&self, ports: (u16, u16), seq: SeqNo) -> Hmac {
        let mut message = hmac::Context::with_key(&self.proofs);
        message.update(&[PACKET_PROOF]);
        message.update(&ports.0.to_be_bytes());
        message.update(&ports.1.to_be_bytes());
        message.update(&seq.get().to_be_bytes());
        first_20(&message.sign())
    }

    fn proof(&self, step: ProofStep, client: Offer, server: Option<Offer>) -> Hmac {
        let mut message = hmac::Context::with_key(&self.proofs);
        message.update(&[step.code()]);
        for offer in [Some(client), server].into_iter().flatten() {
            message.update(&offer.connection.0.to_be_bytes());
            message.update(offer.key.bytes());
        }
        first_20(&message.sign())
    }
}

impl fmt::Debug for PreSharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreSharedKey")
    }
}

/// The `MP_EXP` of that step.
fn experimental(step: u8, content: &[u8]) -> DccpOption {
    let data = [&PROOF_MARK[..], &[step], content].concat();
    DccpOption::Multipath(MpOption::Experimental(data))
}

/// What makes a Request longer, so that no answer is longer than it: an `MP_EXP` without content, which others ignore.
pub(crate) fn filler() -> DccpOption {
    experimental(FILLER, &[0; FILLER_LEN])
}

/// What the `MP_EXP` options of that step contain.
fn proofs_of(options: &Options, step: u8) -> impl Iterator<Item = &[u8]> {
    options.list.iter().filter_map(move |option| match option {
        DccpOption::Multipath(MpOption::Experimental(data)) => {
            data.strip_prefix(&PROOF_MARK)?.strip_prefix(&[step])
        }
        _ => None,
    })
}

/// True if a packet claims to prove a key: on a Request that opens a connection by step 1, on all others by
/// step 4.
pub(crate) fn claims_proof(options: &Options, is_first: bool) -> bool {
    let step = if is_first {
        ProofStep::Request.code()
    } else {
        PACKET_PROOF
    };
    proofs_of(options, step).next().is_some()
}

/// Which packet of the first handshake a proof is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofStep {
    /// The client's Request: without the server's offer.
    Request,
    /// The server's Response.
    Response,
    /// The client's Ack of it.
    Ack,
}

impl ProofStep {
    const fn code(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Response => 2,
            Self::Ack => 3,
        }
    }
}

/// The keys of a connection as one end sees them: what it signs with, and what it checks with.
#[derive(Clone)]
pub struct SessionKeys {
    local: Key,
    peer: Key,
    /// This end's d-key.
    signing: hmac::Key,
    /// The peer's d-key.
    checking: hmac::Key,
}

impl SessionKeys {
    /// From both ends' plain keys, and the pre-shared one if there is one.
    pub fn new(local: Key, peer: Key, shared: Option<&PreSharedKey>) -> Self {
        let d_key = |first: Key, second: Key| d_key(&[first.bytes(), second.bytes()], shared);
        Self {
            local,
            peer,
            signing: d_key(local, peer),
            checking: d_key(peer, local),
        }
    }

    /// From what both ends' public keys agree on, and the pre-shared key if there is one.
    pub fn agreed(local: Key, peer: Key, agreed: &Agreed, shared: Option<&PreSharedKey>) -> Self {
        let key = d_key(&[agreed.hash()], shared);
        Self {
            local,
            peer,
            signing: key.clone(),
            checking: key,
        }
    }

    /// This end's HMAC of a join: `HMAC(d-key, own nonce, peer's nonce)` (RFC 9897 3.2.6).
    pub fn sign_join(&self, own_nonce: u32, peer_nonce: u32) -> Hmac {
        join(&self.signing, own_nonce, peer_nonce)
    }

    /// True if it is the peer's HMAC of a join with these nonces.
    pub fn is_join(&self, hmac: &Hmac, own_nonce: u32, peer_nonce: u32) -> bool {
        same(&join(&self.checking, peer_nonce, own_nonce).0, &hmac.0)
    }

    /// This end's HMAC of an `MP_ADDADDR` or `MP_REMOVEADDR`; `None` for all other options, which
    /// have none of their own.
    pub fn sign(&self, option: &MpOption) -> Option<Hmac> {
        signal(&self.signing, option)
    }

    /// True if it is the peer's HMAC of that option.
    pub fn is_signed(&self, option: &MpOption, hmac: &Hmac) -> bool {
        signal(&self.checking, option).is_some_and(|own| same(&own.0, &hmac.0))
    }

    /// What an `MP_CLOSE` or `MP_FAST_CLOSE` to the peer carries: the peer's key (RFC 9897 3.2.3,
    /// 3.2.11).
    pub fn closing(&self) -> KeyData {
        self.peer.data()
    }

    /// True if the key of an `MP_CLOSE` or `MP_FAST_CLOSE` is this end's.
    pub fn is_closing(&self, key: &KeyData) -> bool {
        same(self.local.bytes(), &key.data)
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKeys")
    }
}

/// A d-key: its parts, and J of the pre-shared key.
fn d_key(parts: &[&[u8]], shared: Option<&PreSharedKey>) -> hmac::Key {
    let joins = shared.map_or(&[][..], |shared| &shared.joins);
    let bytes = [parts.concat().as_slice(), joins].concat();
    hmac::Key::new(hmac::HMAC_SHA256, &bytes)
}

fn join(key: &hmac::Key, own_nonce: u32, peer_nonce: u32) -> Hmac {
    let mut message = hmac::Context::with_key(key);
    message.update(&own_nonce.to_be_bytes());
    message.update(&peer_nonce.to_be_bytes());
    first_20(&message.sign())
}

/// Address number, nonce, and for `MP_ADDADDR` address and port, which is zero if the option has
/// none (RFC 9897 3.2.6).
fn signal(key: &hmac::Key, option: &MpOption) -> Option<Hmac> {
    let mut message = hmac::Context::with_key(key);
    match option {
        MpOption::AddAddress {
            id,
            nonce,
            address,
            port,
        } => {
            message.update(&[id.0]);
            message.update(&nonce.to_be_bytes());
            match address {
                IpAddr::V4(v4) => message.update(&v4.octets()),
                IpAddr::V6(v6) => message.update(&v6.octets()),
            }
            message.update(&port.unwrap_or(0).to_be_bytes());
        }
        MpOption::RemoveAddress { id, nonce } => {
            message.update(&[id.0]);
            message.update(&nonce.to_be_bytes());
        }
        _ => return None,
    }
    Some(first_20(&message.sign()))
}

fn first_20(tag: &hmac::Tag) -> Hmac {
    let mut hmac = Hmac([0; 20]);
    hmac.0.copy_from_slice(&tag.as_ref()[..20]);
    hmac
}

/// Compares in a time that depends on the lengths only.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests;
