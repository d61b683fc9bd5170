//! Secrecy of the tunnel: a handshake that authenticates both ends, and sealed datagrams.
//!
//! ```text
//!   initiator (client)                               responder (server)
//!     Init      e, [own static key], [offer]    -->    half-open: keys, nothing accepted yet
//!               <-- Cookie, under load                 (Init again, with it)
//!     session   <-- Response  e, [choice]
//!     Data      first packet under new keys     -->    the session is current
//!               <-- Data, from now on under new keys; the previous keys still open for some seconds
//! ```
//!
//! | module | what | source |
//! | --- | --- | --- |
//! | [`identity`] | static keys, the optional pre-shared secret | RFC 7748 |
//! | `noise` | the handshake `Noise_IKpsk2_25519_ChaChaPoly_SHA256` | Noise specification, revision 34 |
//! | [`message`] | layouts | |
//! | `cookie` | what shows that a peer receives at its address | |
//! | [`session`] | sealed datagrams, limits of a key | RFC 8439, RFC 5116, RFC 9001 section 6.6 |
//! | [`window`] | which numbers have come | RFC 6479 |
//! | [`initiator`] | the client's state machine, one for each path | |
//! | [`responder`] | the server's state machine, one for all clients | |
//!
//! [Brackets] are encrypted. Time and randomness are arguments; nothing here has a socket.
//!
//! What this crate is *not*: it does not look into what it seals, retransmits none of it, and does not
//! hide lengths or times.
#![forbid(unsafe_code)]

mod cookie;
pub mod identity;
pub mod initiator;
pub mod message;
#[cfg(test)]
mod model;
mod noise;
pub mod responder;
pub mod session;
pub mod window;

pub use identity::{PrivateKey, PublicKey, SharedSecret};
pub use initiator::{Initiator, Input, Local};
pub use responder::{Channel, Client, LinkId, Received, Responder, ResponderConfig};
pub use session::{Algorithm, Algorithms, Limits, Reserved, Session};

/// Why a datagram was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is none of the messages, or has another length.
    #[error("it is no message of an encrypted tunnel")]
    Malformed,
    /// It is of a version that is not spoken here.
    #[error("it is of another version of the protocol")]
    Version,
    /// Its tag does not verify: it was changed, or made without the key.
    #[error("it is forged or damaged")]
    Forged,
    /// It was accepted before, or is older than the replay window.
    #[error("it was received before")]
    Replayed,
    /// No session has its identifier, at least not on this socket.
    #[error("it is of no session known here")]
    UnknownSession,
    /// The static key in it is of no client.
    #[error("its key is of no client known here")]
    UnknownClient,
    /// The keys of its session have been used for as long as they may be.
    #[error("the keys of its session have expired")]
    Expired,
    /// There are too many handshakes, and its address is not proven or has its share of them.
    #[error("too many handshakes are in progress")]
    Busy,
    /// No algorithm is offered that is available here.
    #[error("no algorithm is available at both ends")]
    NoAlgorithm,
    /// There is no randomness.
    #[error("there is no randomness")]
    NoEntropy,
}

impl Refused {
    /// All, in the order of their names.
    pub const ALL: [Self; 10] = [
        Self::Busy,
        Self::Expired,
        Self::Forged,
        Self::Malformed,
        Self::NoAlgorithm,
        Self::NoEntropy,
        Self::Replayed,
        Self::UnknownClient,
        Self::UnknownSession,
        Self::Version,
    ];

    /// As metrics have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Expired => "expired",
            Self::Forged => "forged",
            Self::Malformed => "malformed",
            Self::NoAlgorithm => "no-algorithm",
            Self::NoEntropy => "no-entropy",
            Self::Replayed => "replayed",
            Self::UnknownClient => "unknown-client",
            Self::UnknownSession => "unknown-session",
            Self::Version => "version",
        }
    }
}

/// Random bytes that cannot be guessed, from outside.
pub trait Entropy {
    /// 32 of them; none if there is no source.
    fn draw(&mut self) -> Option<[u8; 32]>;
}

impl<F: FnMut() -> Option<[u8; 32]>> Entropy for F {
    fn draw(&mut self) -> Option<[u8; 32]> {
        self()
    }
}

/// Identifiers that are drawn for one session: with half of them in use, one of a million finds none that is free.
const MAX_DRAWS: usize = 20;

/// An identifier of a session out of it: 15 random bits, those of none that is used.
fn draw_id(entropy: &mut dyn Entropy, is_used: impl Fn(u32) -> bool) -> Result<u32, Refused> {
    for _ in 0..MAX_DRAWS {
        let [_, _, a, b, ..] = entropy.draw().ok_or(Refused::NoEntropy)?;
        let id = u32::from(u16::from_be_bytes([a, b])) | message::SESSION_BIT;
        if !is_used(id) {
            return Ok(id);
        }
    }
    Err(Refused::Busy)
}
