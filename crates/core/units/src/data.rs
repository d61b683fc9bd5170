//! Amounts of data and their rates.

use crate::Duration;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(u64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// The most that can be counted.
            pub const MAX: Self = Self(u64::MAX);

            /// From a count.
            pub const fn new(n: u64) -> Self {
                Self(n)
            }
            /// As a count.
            pub const fn get(self) -> u64 {
                self.0
            }
            /// True for nothing.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
            /// Subtraction that stops at zero.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
            /// Multiplied by a ratio >= 0, rounded to the nearest.
            #[must_use]
            pub fn mul_f64(self, ratio: f64) -> Self {
                Self((self.0 as f64 * ratio).round() as u64)
            }
            /// This amount as a multiple of `other`.
            pub fn ratio(self, other: Self) -> f64 {
                self.0 as f64 / other.0 as f64
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, rhs: Self) -> Self {
                Self(self.0.saturating_add(rhs.0))
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, rhs: Self) {
                *self = *self + rhs;
            }
        }
        impl Sub for $name {
            type Output = Self;
            /// Stops at zero in release builds, panics where overflow checks are on.
            fn sub(self, rhs: Self) -> Self {
                debug_assert!(self.0 >= rhs.0, "negative amount: {self:?} - {rhs:?}");
                Self(self.0.saturating_sub(rhs.0))
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, rhs: Self) {
                *self = *self - rhs;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, rhs: u64) -> Self {
                Self(self.0.saturating_mul(rhs))
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            /// Rounds down.
            fn div(self, rhs: u64) -> Self {
                Self(self.0 / rhs)
            }
        }
        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }
    };
}

amount!(
    /// A number of bytes (8 bits each).
    Bytes
);
amount!(
    /// A number of bits.
    Bits
);
amount!(
    /// A number of packets.
    Packets
);
amount!(
    /// A data rate in bit/s.
    BitRate
);

impl Bytes {
    /// The bits in these bytes.
    pub const fn bits(self) -> Bits {
        Bits(self.0.saturating_mul(8))
    }
}

impl Bits {
    /// The whole bytes in these bits, rounded down.
    pub const fn whole_bytes(self) -> Bytes {
        Bytes(self.0 / 8)
    }
}

impl BitRate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// From Mbit/s.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }
    /// In bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// In Mbit/s, with the fraction.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The rate at which `bytes` pass in `time`, rounded down; zero time gives the largest rate.
    pub fn from_bytes_per(bytes: Bytes, time: Duration) -> Self {
        if time.is_zero() {
            return Self::MAX;
        }
        let bits = u128::from(bytes.0) * 8 * 1_000_000_000;
        Self(u64::try_from(bits / u128::from(time.as_nanos())).unwrap_or(u64::MAX))
    }
    /// The bytes that pass in `time`, rounded down: the bandwidth-delay product.
    pub fn bytes_in(self, time: Duration) -> Bytes {
        // the usual amounts fit in 64 bits, whose division is several times faster
        if let Some(product) = self.0.checked_mul(time.as_nanos()) {
            return Bytes(product / 8_000_000_000);
        }
        let bits = u128::from(self.0) * u128::from(time.as_nanos());
        Bytes(u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX))
    }
}

impl Div<BitRate> for Bytes {
    type Output = Duration;
    /// The time to send these bytes at that rate, rounded up to a nanosecond; rate zero gives
    /// [`Duration::MAX`].
    fn div(self, rate: BitRate) -> Duration {
        if rate.0 == 0 {
            return Duration::MAX;
        }
        if let Some(bits_ns) = self.0.checked_mul(8_000_000_000) {
            return Duration::from_nanos(bits_ns.div_ceil(rate.0));
        }
        let ns = (u128::from(self.0) * 8_000_000_000).div_ceil(u128::from(rate.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

fn scaled(f: &mut fmt::Formatter<'_>, n: u64, unit: &str) -> fmt::Result {
    const STEPS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    for (step, prefix) in STEPS {
        if n >= step {
            return write!(f, "{} {prefix}{unit}", n as f64 / step as f64);
        }
    }
    write!(f, "{n} {unit}")
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, "B")
    }
}
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, "bit")
    }
}
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, "bit/s")
    }
}
impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.0)
    }
}
macro_rules! debug_as_display {
    ($($t:ty),*) => {$(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(Bytes, Bits, Packets, BitRate);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_over_rate_is_time() {
        // 1500 B at 12 Mbit/s take 1 ms
        assert_eq!(
            Bytes::new(1500) / BitRate::from_mbps(12),
            Duration::from_millis(1)
        );
        assert_eq!(
            BitRate::from_mbps(12).bytes_in(Duration::from_millis(1)),
            Bytes::new(1500)
        );
        assert_eq!(Bytes::new(1) / BitRate::ZERO, Duration::MAX);
    }

    #[test]
    fn amounts_print_with_decimal_multiples() {
        assert_eq!(BitRate::from_mbps(850).to_string(), "850 Mbit/s");
        assert_eq!(Bytes::new(10_000_000).to_string(), "10 MB");
    }

    proptest! {
        #[test]
        fn time_rounds_up_and_bytes_round_down(b in 0u64..1 << 50, r in 1u64..1 << 50) {
            let (bytes, rate) = (Bytes::new(b), BitRate::from_bps(r));
            let t = bytes / rate;
            prop_assume!(t < Duration::MAX);
            prop_assert!(rate.bytes_in(t) >= bytes);
        }
    }
}
