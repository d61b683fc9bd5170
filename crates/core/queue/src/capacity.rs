//! How much a queue may hold.

use crate::{ConfigError, Occupancy};
use units::{Bytes, Packets};

/// What a scaled capacity is no less than, unless it was less.
const MIN_PACKETS: u64 = 10;
const MIN_BYTES: Bytes = Bytes::new(MIN_PACKETS * crate::MTU.get());

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
    #[inline]
    pub fn admits(self, held: Occupancy, bytes: Bytes) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes + bytes <= limit,
            Self::Packets(limit) => (held.packets as u64) < limit.get(),
            Self::Unlimited => true,
        }
    }
    /// Whether so much is not too much.
    #[inline]
    pub fn holds(self, held: Occupancy) -> bool {
        match self {
            Self::Bytes(limit) => held.bytes <= limit,
            Self::Packets(limit) => held.packets as u64 <= limit.get(),
            Self::Unlimited => true,
        }
    }
    /// The capacity where rates are `ratio` times what they were; at least ten packets, where it was as much.
    #[must_use]
    pub fn scaled(self, ratio: f64) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.mul_f64(ratio).max(MIN_BYTES.min(bytes))),
            Self::Packets(packets) => {
                let fewer = (packets.get() as f64 * ratio).round() as u64;
                Self::Packets(Packets::new(fewer.max(packets.get().min(MIN_PACKETS))))
            }
            Self::Unlimited => Self::Unlimited,
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
