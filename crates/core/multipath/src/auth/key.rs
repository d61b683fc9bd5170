//! Keys as `MP_KEY` carries them (RFC 9897 section 3.2.4, table 5).
//!
//! | type | | bytes | d-key |
//! | --- | --- | --- | --- |
//! | 0 | plain | 8 | both keys, the sender's first |
//! | 1 | ECDHE-C25519-SHA256 | 32 | SHA-256 of what X25519 agrees on |
//! | 2 | ECDHE-C25519-SHA512 | | not used: the drafts have 64 bytes for it, a public key of X25519 has 32 |

use super::same;
use crate::packet::{ConnectionId, DccpOption, KeyData, MpOption, Options};
use core::fmt;

/// A type of key that this implementation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// Eight bytes in the clear.
    Plain,
    /// A public key of X25519; SHA-256 makes the d-key.
    Ecdhe,
}

impl KeyType {
    /// Its number (RFC 9897 table 5).
    pub const fn code(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Ecdhe => 1,
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::Plain => 8,
            Self::Ecdhe => 32,
        }
    }
}

/// A key of one end, made for one connection.
#[derive(Clone, Copy)]
pub struct Key {
    kind: KeyType,
    /// What is behind its length is zero.
    bytes: [u8; 32],
}

impl Key {
    /// A plain one of random bits, from a cryptographic source.
    pub const fn from_random(bits: u64) -> Self {
        let mut bytes = [0; 32];
        let plain = bits.to_be_bytes();
        let mut at = 0;
        while at < plain.len() {
            bytes[at] = plain[at];
            at += 1;
        }
        Self {
            kind: KeyType::Plain,
            bytes,
        }
    }

    /// A public key of X25519.
    pub const fn public(bytes: [u8; 32]) -> Self {
        Self {
            kind: KeyType::Ecdhe,
            bytes,
        }
    }

    /// The first key of that type among those of an `MP_KEY`.
    pub fn of_type(kind: KeyType, keys: &[KeyData]) -> Option<Self> {
        let found = keys.iter().find(|key| key.kind == kind.code())?;
        let mut bytes = [0; 32];
        if found.data.len() != kind.len() {
            return None;
        }
        bytes[..kind.len()].copy_from_slice(&found.data);
        Some(Self { kind, bytes })
    }

    /// The first key that this implementation can use, a plain one before any other: what proofs are of.
    pub fn among(keys: &[KeyData]) -> Option<Self> {
        Self::of_type(KeyType::Plain, keys).or_else(|| Self::of_type(KeyType::Ecdhe, keys))
    }

    /// Its type.
    pub const fn kind(self) -> KeyType {
        self.kind
    }

    /// As it is on the wire, without its type.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.kind.len()]
    }

    /// The public key that it is, if it is one.
    pub const fn as_public(&self) -> Option<[u8; 32]> {
        match self.kind {
            KeyType::Ecdhe => Some(self.bytes),
            KeyType::Plain => None,
        }
    }

    /// As an option carries it.
    pub fn data(self) -> KeyData {
        KeyData {
            kind: self.kind.code(),
            data: self.bytes().to_vec(),
        }
    }
}

/// In constant time.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && same(&self.bytes, &other.bytes)
    }
}
impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a key is not for logs
        f.write_str("Key")
    }
}

/// The content of an end's `MP_KEY`, as far as it is used.
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

    /// The content of the first `MP_KEY` of these options; `None` if there is none, or none with a key that
    /// is understood.
    pub fn among(options: &Options) -> Option<Self> {
        let (connection, keys) = content(options)?;
        let key = Key::among(keys)?;
        Some(Self { connection, key })
    }

    /// The same, with the key of the first of these types of which there is one.
    pub fn preferred(options: &Options, types: &[KeyType]) -> Option<Self> {
        let (connection, keys) = content(options)?;
        let key = types.iter().find_map(|kind| Key::of_type(*kind, keys))?;
        Some(Self { connection, key })
    }

    /// That of a Response, which has one key only (RFC 9897 3.2.4), of one of these types.
    pub fn chosen(options: &Options, types: &[KeyType]) -> Option<Self> {
        content(options).filter(|(_, keys)| keys.len() == 1)?;
        Self::preferred(options, types)
    }
}

fn content(options: &Options) -> Option<(ConnectionId, &[KeyData])> {
    options.list.iter().find_map(|option| match option {
        DccpOption::Multipath(MpOption::Key { connection, keys }) => {
            Some((*connection, keys.as_slice()))
        }
        _ => None,
    })
}
