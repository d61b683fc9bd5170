//! What algorithms count, and ratios that can be compared.

use crate::{Occupancy, Room};
use units::Bytes;

/// The bytes of a full packet by default: the IP packet that fits an Ethernet frame.
pub const MTU: Bytes = Bytes::new(1500);

/// What the limits of an algorithm count.
///
/// Limits are always written in bytes. Counted in packets, a limit of so many bytes is the number of
/// whole packets of `mtu` bytes in it (rounded down, as the emulator's integers do), and every packet
/// counts one, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Packets, as in the authors' emulator.
    Packets {
        /// Bytes of a full packet, above zero.
        mtu: Bytes,
    },
}

impl Unit {
    /// A limit, counted.
    pub(crate) fn limit(self, bytes: Bytes) -> u64 {
        match self {
            Self::Bytes => bytes.get(),
            Self::Packets { mtu } => bytes.get() / mtu.get().max(1),
        }
    }
    /// What waits, counted.
    pub(crate) fn held(self, held: Occupancy) -> u64 {
        match self {
            Self::Bytes => held.bytes.get(),
            Self::Packets { .. } => held.packets as u64,
        }
    }
    /// One packet, counted.
    pub(crate) fn packet(self, bytes: Bytes) -> u64 {
        match self {
            Self::Bytes => bytes.get(),
            Self::Packets { .. } => 1,
        }
    }
    /// Room for so much.
    pub(crate) fn room(self, counted: u64) -> Room {
        match self {
            Self::Bytes => Room::Bytes(Bytes::new(counted)),
            Self::Packets { .. } => Room::Packets(counted),
        }
    }
}

/// A ratio of two equal quantities, in steps of one millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One to one.
    pub const ONE: Self = Self(1_000_000);

    /// From parts per million.
    pub const fn from_ppm(ppm: u64) -> Self {
        Self(ppm)
    }
    /// From a number, rounded to the nearest millionth; negative numbers and NaN give zero.
    pub fn from_f64(ratio: f64) -> Self {
        Self((ratio * 1e6).round() as u64)
    }
    /// In parts per million.
    pub const fn as_ppm(self) -> u64 {
        self.0
    }
    /// As a number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_whole_packets() {
        let unit = Unit::Packets { mtu: MTU };
        assert_eq!(unit.limit(Bytes::new(4_499)), 2);
        assert_eq!(unit.packet(Bytes::new(60)), 1);
        assert_eq!(unit.room(3), Room::Packets(3));
        assert_eq!(Unit::Bytes.limit(Bytes::new(4_499)), 4_499);
        assert_eq!(Unit::Bytes.packet(Bytes::new(60)), 60);
    }

    #[test]
    fn ratios_are_exact_to_a_millionth() {
        assert_eq!(Ratio::from_f64(0.33), Ratio::from_ppm(330_000));
        assert_eq!(Ratio::from_f64(-1.0), Ratio::ZERO);
        assert_eq!(Ratio::ONE.as_f64(), 1.0);
    }
}
