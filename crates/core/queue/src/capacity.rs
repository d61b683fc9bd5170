//! How much a queue may hold.

use crate::{ConfigError, Occupancy};
use units::{Bytes, Packets};

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many bytes, whatever the number of packets.
    Bytes(Bytes),
    /// So many packets, whatever their size.
    Packets(Packets),
    /// Without limit.
    Unlimited,
}

impl Capacity {
    /// Whether a packet of so many bytes fits beside what is there.
    pub(crate) fn admits(self, held: Occupancy, bytes: Bytes) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes + bytes <= limit,
            Self::Packets(limit) => (held.packets as u64) < limit.get(),
            Self::Unlimited => true,
        }
    }
    /// Whether so much is not too much.
    pub(crate) fn holds(self, held: Occupancy) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes <= limit,
            Self::Packets(limit) => held.packets as u64 <= limit.get(),
            Self::Unlimited => true,
        }
    }
    /// # Errors
    /// A capacity of zero.
    pub fn check(self) -> Result<(), ConfigError> {
        match self {
            Self::Bytes(Bytes::ZERO) | Self::Packets(Packets::ZERO) => {
                Err(ConfigError::ZeroCapacity)
            }
            _ => Ok(()),
        }
    }
}
