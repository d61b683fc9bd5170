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
//! 0: eight plain bytes. An observer of the first handshake has them, and can join and close.
//!
//! *Beyond the RFC*: with a pre-shared key that both ends have from a file, the d-keys are longer by
//! J, so that seeing the handshake is not enough to join, and `MP_EXP` options carry proofs that each
//! end has P: on the Request (a server may drop those without one before it keeps anything), on the
//! Response (over both keys: the client's is new, so it is no old one), on the client's first Ack
//! (over both keys: the server's is new). The data of such an option are "BF" (0x42 0x46), the step
//! (1, 2 or 3), then the first 20 bytes of HMAC(P, step, CI-A, Key-A [, CI-B, Key-B]). A client's joins and
//! Syncs carry one of step 4, over the packet's own ports and number: a server that does not have the
//! connection (any more) answers it from another budget than strangers' packets. Without a pre-shared key
//! nothing differs from the RFC.
//!
//! *Not protected*, with or without: what is carried (nothing is encrypted or authenticated), and
//! connections against an attacker on the path that resets paths.

use crate::packet::{ConnectionId, DccpOption, Hmac, KeyData, MpOption, Options};
use crate::seq::SeqNo;
use core::fmt;
use core::hint::black_box;
use core::net::IpAddr;
use ring::hmac;

/// Type of a plain key (RFC 9897 table 5).
pub const PLAIN_KEY: u8 = 0;
/// What the data of an `MP_EXP` with a proof begin with.
const PROOF_MARK: [u8; 2] = *b"BF";
/// The step of a proof that is of one packet.
const PACKET_PROOF: u8 = 4;

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

/// A plain key of one end, made for one connection.
#[derive(Clone, Copy)]
pub struct Key([u8; Key::LEN]);

impl Key {
    /// Bytes of a key.
    pub const LEN: usize = 8;

    /// Of random bits, from a cryptographic source.
    pub const fn from_random(bits: u64) -> Self {
        Self(bits.to_be_bytes())
    }

    /// The first plain key among those of an `MP_KEY`.
    pub fn among(keys: &[KeyData]) -> Option<Self> {
        keys.iter()
            .find(|key| key.kind == PLAIN_KEY)
            .and_then(|key| key.data.as_slice().try_into().ok())
            .map(Self)
    }

    /// As an option carries it.
    pub fn data(self) -> KeyData {
        KeyData {
            kind: PLAIN_KEY,
            data: self.0.to_vec(),
        }
    }
}

/// In constant time.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}
impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a key is not for logs
        f.write_str("Key")
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
        Ok(Self {
            joins,
            proofs: hmac::Key::new(hmac::HMAC_SHA256, proofs.as_ref()),
        })
    }

    /// The option that proves, at that step, possession of this key.
    pub fn prove(&self, step: ProofStep, client: Offer, server: Option<Offer>) -> DccpOption {
        let mut data = PROOF_MARK.to_vec();
        data.push(step.code());
        data.extend(self.proof(step, client, server).0);
        DccpOption::Multipath(MpOption::Experimental(data))
    }

    /// True if these options prove, for that step, that their sender has this key.
    pub fn is_proved(
        &self,
        options: &Options,
        step: ProofStep,
        client: Offer,
        server: Option<Offer>,
    ) -> bool {
        let proof = self.proof(step, client, server);
        options.list.iter().any(|option| match option {
            DccpOption::Multipath(MpOption::Experimental(data)) => data
                .strip_prefix(&PROOF_MARK)
                .and_then(|data| data.strip_prefix(&[step.code()]))
                .is_some_and(|given| same(given, &proof.0)),
            _ => false,
        })
    }

    /// The option by which a client shows, on a packet of a connection that the server may not have any
    /// more, that it has this key: `ports` are the packet's, the client's first. It does not show that the
    /// packet is new.
    pub fn prove_packet(&self, ports: (u16, u16), seq: SeqNo) -> DccpOption {
        let mut data = PROOF_MARK.to_vec();
        data.push(PACKET_PROOF);
        data.extend(self.packet_proof(ports, seq).0);
        DccpOption::Multipath(MpOption::Experimental(data))
    }

    /// True if these options are of a packet as [`Self::prove_packet`] has it.
    pub fn is_packet_proved(&self, options: &Options, ports: (u16, u16), seq: SeqNo) -> bool {
        let mut proofs = options.list.iter().filter_map(|option| match option {
            DccpOption::Multipath(MpOption::Experimental(data)) => data
                .strip_prefix(&PROOF_MARK)
                .and_then(|data| data.strip_prefix(&[PACKET_PROOF])),
            _ => None,
        });
        // one HMAC a packet, whatever it carries
        proofs
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
            message.update(&offer.key.0);
        }
        first_20(&message.sign())
    }
}

impl fmt::Debug for PreSharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreSharedKey")
    }
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

/// The content of an end's `MP_KEY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its number of the connection.
    pub connection: ConnectionId,
    /// Its key.
    pub key: Key,
}

impl Offer {
    /// The `MP_KEY` with this content.
    pub fn option(self) -> DccpOption {
        DccpOption::Multipath(MpOption::Key {
            connection: self.connection,
            keys: vec![self.key.data()],
        })
    }

    /// The content of the first `MP_KEY` of these options; `None` if there is none, or none with a plain
    /// key.
    pub fn among(options: &Options) -> Option<Self> {
        options.list.iter().find_map(|option| match option {
            DccpOption::Multipath(MpOption::Key { connection, keys }) => Some(Self {
                connection: *connection,
                key: Key::among(keys)?,
            }),
            _ => None,
        })
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
    /// From both ends' keys, and the pre-shared one if there is one.
    pub fn new(local: Key, peer: Key, shared: Option<&PreSharedKey>) -> Self {
        let joins = shared.map_or(&[][..], |shared| &shared.joins);
        let d_key = |first: Key, second: Key| {
            let bytes = [&first.0[..], &second.0, joins].concat();
            hmac::Key::new(hmac::HMAC_SHA256, &bytes)
        };
        Self {
            local,
            peer,
            signing: d_key(local, peer),
            checking: d_key(peer, local),
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
        same(&self.local.0, &key.data)
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKeys")
    }
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
    let differences = a
        .iter()
        .zip(b)
        .fold(0, |or, (a, b)| black_box(or | (a ^ b)));
    a.len() == b.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::AddressId;
    use core::net::Ipv4Addr;

    const A: Key = Key([1, 2, 3, 4, 5, 6, 7, 8]);
    const B: Key = Key([0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
    const RA: u32 = 0xA0A1_A2A3;
    const RB: u32 = 0xB0B1_B2B3;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn shared() -> PreSharedKey {
        let bytes: Vec<u8> = (0..32).collect();
        PreSharedKey::new(&bytes).expect("long enough")
    }

    /// RFC 4231, test cases 1, 2, 3 and 6, their first 20 bytes.
    #[test]
    fn rfc_4231_hmac_sha256() {
        for (key, message, first) in [
            (
                vec![0x0B; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f08",
            ),
            (
                vec![0xAA; 20],
                vec![0xDD; 50],
                "773ea91e36800e46854db8ebd09181a72959098b",
            ),
            (
                vec![0xAA; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc621",
            ),
        ] {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
            assert_eq!(hex(&first_20(&hmac::sign(&key, &message)).0), first);
        }
    }

    /// Worked by another implementation of HMAC (Python's): seed 1, counts 0 and 1.
    #[test]
    fn secrets_are_hmacs_of_a_count() {
        let mut secrets = Secrets::new(1);
        let drawn = [secrets.next_u64(), secrets.next_u64()];
        assert_eq!(drawn, [0x46E9_BFD8_FE39_F715, 0x5AA4_D5CD_5734_C6DC]);
        assert_ne!(Secrets::new(2).next_u64(), drawn[0]);
    }

    /// RFC 9897 3.2.6, worked by another implementation of HMAC (Python's).
    #[test]
    fn joins_and_signals_of_both_ends() {
        let a = SessionKeys::new(A, B, None);
        let b = SessionKeys::new(B, A, None);
        let from_a = a.sign_join(RA, RB);
        let from_b = b.sign_join(RB, RA);
        assert_eq!(hex(&from_a.0), "d9ca817565d81a1767e2236171d5ab0eef9e09cf");
        assert_eq!(hex(&from_b.0), "552515388d5173b5c3a04450fe6645cce8dd8ddd");
        assert!(b.is_join(&from_a, RB, RA) && a.is_join(&from_b, RA, RB));
        // neither an end's own, nor with other nonces
        assert!(!a.is_join(&from_a, RA, RB) && !b.is_join(&from_a, RB + 1, RA));

        let add = |port| MpOption::AddAddress {
            id: AddressId(3),
            nonce: 0x5566_7788,
            address: Ipv4Addr::new(192, 0, 2, 1).into(),
            port,
        };
        let remove = MpOption::RemoveAddress {
            id: AddressId(3),
            nonce: 0x5566_7788,
        };
        for (option, expected) in [
            (add(Some(6511)), "9420def8928cc4fc5489757701e4797cca5cb4bb"),
            (add(None), "0d5a876da29b6f4a114f27fc872d42502ab8569d"),
            (remove, "b51fd68a49291b67a50f974ac0b34361c339703c"),
        ] {
            let hmac = a.sign(&option).expect("such options are signed");
            assert_eq!(hex(&hmac.0), expected);
            assert!(b.is_signed(&option, &hmac) && !a.is_signed(&option, &hmac));
            let mut wrong = hmac;
            wrong.0[19] ^= 1;
            assert!(!b.is_signed(&option, &wrong));
        }
        assert_eq!(a.sign(&MpOption::Close(A.data())), None);
    }

    #[test]
    fn closing_takes_the_key_of_the_end_that_is_closed() {
        let a = SessionKeys::new(A, B, None);
        let b = SessionKeys::new(B, A, None);
        assert!(b.is_closing(&a.closing()) && a.is_closing(&b.closing()));
        assert!(!a.is_closing(&a.closing()));
        let part = KeyData {
            kind: PLAIN_KEY,
            data: a.closing().data[..7].to_vec(),
        };
        assert!(!b.is_closing(&part));
    }

    /// With both plain keys but without the pre-shared one an eavesdropper cannot join.
    #[test]
    fn a_pre_shared_key_changes_what_joins_take() {
        let shared = shared();
        let a = SessionKeys::new(A, B, Some(&shared));
        let b = SessionKeys::new(B, A, Some(&shared));
        let from_a = a.sign_join(RA, RB);
        assert_eq!(hex(&from_a.0), "accd1d3d93b65438f010bb530586985a6dccb76a");
        assert!(b.is_join(&from_a, RB, RA));
        let eavesdropper = SessionKeys::new(A, B, None);
        assert!(!b.is_join(&eavesdropper.sign_join(RA, RB), RB, RA));
    }

    #[test]
    fn proofs_hold_for_their_step_and_offers_only() {
        use ProofStep::{Ack, Request, Response};
        let shared = shared();
        let client = Offer {
            connection: ConnectionId(0x1122_3344),
            key: A,
        };
        let server = Some(Offer {
            connection: ConnectionId(0x99AA_BBCC),
            key: B,
        });
        let cases = [
            (Request, None, "373d08087d7b648ecad3c2ba0a825795a0eb52c0"),
            (Response, server, "caf1cecf72f345c743bcf916a44aeb25ac68a6f2"),
            (Ack, server, "4c120eea32e0401dddc1138e436cc6a2c13c494a"),
        ];
        for (step, server, expected) in cases {
            let option = shared.prove(step, client, server);
            let DccpOption::Multipath(MpOption::Experimental(data)) = &option else {
                panic!("{option:?}");
            };
            assert_eq!(data[..3], [0x42, 0x46, step.code()]);
            assert_eq!(hex(&data[3..]), expected);
            let options = Options {
                list: vec![DccpOption::SlowReceiver, option],
                ..Options::default()
            };
            for (other, other_server, _) in cases {
                let proved = shared.is_proved(&options, other, client, other_server);
                assert_eq!(proved, other == step, "{step:?} as {other:?}");
            }
            let other_key = Offer { key: B, ..client };
            assert!(!shared.is_proved(&options, step, other_key, server));
            let stranger = PreSharedKey::new(&[7; 16]).expect("long enough");
            assert!(!stranger.is_proved(&options, step, client, server));
        }
        assert!(!shared.is_proved(&Options::default(), Request, client, None));
    }

    #[test]
    fn offers_go_through_options() {
        let offer = Offer {
            connection: ConnectionId(5),
            key: A,
        };
        let mut options = Options::default();
        assert_eq!(Offer::among(&options), None);
        options.list.push(offer.option());
        assert_eq!(Offer::among(&options), Some(offer));
        // a plain key after one of another type, and none at all
        let other = KeyData {
            kind: 1,
            data: vec![0; 32],
        };
        assert_eq!(Key::among(&[other.clone(), A.data()]), Some(A));
        assert_eq!(Key::among(&[other]), None);
    }

    #[test]
    fn keys_are_not_printed_and_short_keys_are_rejected() {
        let error = PreSharedKey::new(&[0; 15]).expect_err("too short");
        assert_eq!(
            error.to_string(),
            "a pre-shared key has at least 16 bytes, this one 15"
        );
        let shown = format!(
            "{:?}",
            (A, shared(), SessionKeys::new(A, B, None), A.data())
        );
        assert_eq!(
            shown,
            "(Key, PreSharedKey, SessionKeys, KeyData { kind: 0, bytes: 8 })"
        );
    }
}
