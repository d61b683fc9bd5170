//! The small integers and ratios of the radio.

use core::fmt;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name($int);

        impl $name {
            /// From a number; the range that a table or bandwidth allows is checked by its user.
            pub const fn new(n: $int) -> Self {
                Self(n)
            }
            /// As a number.
            pub const fn get(self) -> $int {
                self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

index!(
    /// A number of physical resource blocks (12 subcarriers of one slot each).
    Prb(u16)
);
index!(
    /// A modulation and coding scheme index into one of the tables of TS 36.213 or TS 38.214.
    Mcs(u8)
);
index!(
    /// A channel quality indicator, 0 (out of range) to 15.
    Cqi(u8)
);
index!(
    /// A frequency in Hz.
    Hertz(u64)
);

impl Hertz {
    /// From kHz.
    pub const fn from_khz(khz: u64) -> Self {
        Self(khz * 1_000)
    }
    /// In GHz, with the fraction.
    pub fn as_ghz_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A ratio in decibel (an SINR, a gain, a loss), or a power in dBm where the name states it.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decibel(f64);

impl Decibel {
    /// From a number of decibels.
    pub const fn new(db: f64) -> Self {
        Self(db)
    }
    /// As a number of decibels.
    pub const fn get(self) -> f64 {
        self.0
    }
    /// As a linear power ratio.
    pub fn to_linear(self) -> f64 {
        10f64.powf(self.0 / 10.0)
    }
    /// From a linear power ratio > 0.
    pub fn from_linear(ratio: f64) -> Self {
        Self(10.0 * ratio.log10())
    }
}
impl core::ops::Add for Decibel {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}
impl core::ops::Sub for Decibel {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}
impl fmt::Display for Decibel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.0)
    }
}
