//! What one end signals to the other about its addresses and its paths' priorities, reliably
//! (RFC 9897 sections 3.2.1 and 3.2.8 to 3.2.10).
//!
//! ```text
//!   Outbox  -- MP_SEQ n, MP_ADDADDR / MP_REMOVEADDR and MP_HMAC, MP_PRIO -->  Inbox
//!           <-- MP_CONFIRM(n, the option) ----------------------------------
//! ```
//!
//! A signal is about a dataset: an address (by its id) or a path. It goes out on a packet with an
//! `MP_SEQ`, and again with another one until a Confirm names it with one of them; a newer signal of
//! the same dataset takes its place. The receiver takes the signal with the latest `MP_SEQ` of each
//! dataset, confirms it (duplicates too, a Confirm may be lost), and passes over older ones.
//!
//! `MP_SEQ` on a packet without data is a number of its own, which no data packet has: the receiver
//! counts it as arrived, with nothing to deliver.
//!
//! *Deviations*: outdated signals are not confirmed (the RFC allows both); a signal whose address id
//! is taken by another address, and one whose nonce was used before, are rejected. `MP_CLOSE` is no
//! signal of this kind: the Close that carries it is sent again until a Reset answers it.

mod inbox;
mod outbox;
#[cfg(test)]
mod tests;

pub use inbox::{Inbox, InboxCounts};
pub use outbox::{Outbox, OutboxConfig, OutboxCounts, OutboxError};

use crate::PathId;
use crate::packet::{AddressId, MpOption, PathPriority};
use core::net::IpAddr;

/// Something that one end signals to the other, and has confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A further address, at which the sender takes joins.
    AddAddress {
        /// Its number.
        id: AddressId,
        /// The address.
        address: IpAddr,
        /// Its port, if not that of the path on which this is signalled.
        port: Option<u16>,
    },
    /// An address is gone, and the paths that use it with it.
    RemoveAddress {
        /// Its number.
        id: AddressId,
    },
    /// How the sender prefers a path to be used; sent on that path.
    Priority {
        /// The path, by this end's number.
        path: PathId,
        /// Its priority.
        priority: PathPriority,
    },
}

/// What a signal is about: a later one of the same takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dataset {
    Address(AddressId),
    Path(PathId),
}

impl Signal {
    const fn dataset(self) -> Dataset {
        match self {
            Self::AddAddress { id, .. } | Self::RemoveAddress { id } => Dataset::Address(id),
            Self::Priority { path, .. } => Dataset::Path(path),
        }
    }

    /// As an option, with the nonce that addresses have.
    const fn option(self, nonce: u32) -> MpOption {
        match self {
            Self::AddAddress { id, address, port } => MpOption::AddAddress {
                id,
                nonce,
                address,
                port,
            },
            Self::RemoveAddress { id } => MpOption::RemoveAddress { id, nonce },
            Self::Priority { priority, .. } => MpOption::Priority(priority),
        }
    }
}
