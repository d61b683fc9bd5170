//! What has a unit in a scenario file.

use core::fmt::Display;
use core::str::FromStr;
use units::{BitRate, Bytes, Decibel, Duration, Hertz, ParseUnitError};

/// A quantity with a unit.
pub(crate) trait Quantity: FromStr<Err = ParseUnitError> + Display + Copy {
    /// Its value in the base unit of the ranges in the table of keys.
    fn base(self) -> f64;
}

impl Quantity for Duration {
    fn base(self) -> f64 {
        self.as_secs_f64()
    }
}
impl Quantity for Bytes {
    fn base(self) -> f64 {
        self.get() as f64
    }
}
impl Quantity for BitRate {
    fn base(self) -> f64 {
        self.as_bps() as f64
    }
}
impl Quantity for Decibel {
    fn base(self) -> f64 {
        self.get()
    }
}

/// A frequency that prints as people write it.
#[derive(Clone, Copy)]
pub(crate) struct Frequency(pub(crate) Hertz);

impl FromStr for Frequency {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        text.parse().map(Self)
    }
}
impl Display for Frequency {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0.get() {
            hz if hz >= 1_000_000_000 => write!(f, "{} GHz", hz as f64 / 1e9),
            hz if hz >= 1_000_000 => write!(f, "{} MHz", hz as f64 / 1e6),
            hz => write!(f, "{hz} Hz"),
        }
    }
}
impl Quantity for Frequency {
    fn base(self) -> f64 {
        self.0.get() as f64
    }
}
