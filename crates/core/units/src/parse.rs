//! Quantities with their units, as people write them: `15 Mbit/s`, `10 ms`, `200 MB`, `28 GHz`.

use crate::{BitRate, Bits, Bytes, Cqi, Decibel, Duration, Hertz, Mcs, Packets, Prb};
use core::str::FromStr;

/// Why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{what} {text:?}: {problem}, expected for example {example:?}")]
pub struct ParseUnitError {
    /// The text that was given.
    pub text: String,
    /// What it should have been, e.g. "a data rate".
    pub what: &'static str,
    /// A correct example.
    pub example: &'static str,
    /// What is wrong with it.
    pub problem: UnitProblem,
}

/// What is wrong with a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitProblem {
    /// There is no number at the beginning.
    #[error("has no number")]
    NoNumber,
    /// There is a number, but nothing behind it.
    #[error("has no unit")]
    NoUnit,
    /// The unit is not one of this quantity.
    #[error("has the unknown unit {unit:?} (known: {known})")]
    UnknownUnit {
        /// The unit that was given.
        unit: String,
        /// The units that would have been understood.
        known: String,
    },
    /// Negative where that is impossible.
    #[error("is negative")]
    Negative,
    /// Too large for its type.
    #[error("is too large")]
    TooLarge,
    /// A part of what cannot be divided, as half a packet.
    #[error("is no whole number of the smallest unit")]
    Fraction,
}

/// Splits "15.5 Mbit/s" into its number's text and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            let after_exponent = i > 0 && matches!(text.as_bytes()[i - 1], b'e' | b'E');
            let sign = matches!(c, '-' | '+') && (i == 0 || after_exponent);
            !(c.is_ascii_digit() || c == '.' || c == '_' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    (text[..end].trim(), text[end..].trim())
}

/// A decimal number times `factor`, exactly where it is a whole number, else rounded. Of the
/// smallest unit itself (`factor` 1) there are no fractions.
fn scale(number: &str, factor: u64) -> Result<u64, UnitProblem> {
    let cleaned = number.replace('_', "");
    if let Ok(whole) = cleaned.parse::<u64>() {
        return whole.checked_mul(factor).ok_or(UnitProblem::TooLarge);
    }
    let value: f64 = cleaned.parse().map_err(|_| UnitProblem::NoNumber)?;
    if value < 0.0 {
        return Err(UnitProblem::Negative);
    }
    if factor == 1 && value.fract() != 0.0 {
        return Err(UnitProblem::Fraction);
    }
    let scaled = (value * factor as f64).round();
    if !scaled.is_finite() || scaled >= u64::MAX as f64 {
        return Err(UnitProblem::TooLarge);
    }
    Ok(scaled as u64)
}

fn parse(
    text: &str,
    what: &'static str,
    example: &'static str,
    table: &[(&str, u64)],
) -> Result<u64, ParseUnitError> {
    let error = |problem| ParseUnitError {
        text: text.to_owned(),
        what,
        example,
        problem,
    };
    let (number, unit) = split(text);
    if number.is_empty() {
        return Err(error(UnitProblem::NoNumber));
    }
    if unit.is_empty() {
        return Err(error(UnitProblem::NoUnit));
    }
    let Some(&(_, factor)) = table.iter().find(|(name, _)| *name == unit) else {
        let known = table
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ");
        return Err(error(UnitProblem::UnknownUnit {
            unit: unit.to_owned(),
            known,
        }));
    };
    scale(number, factor).map_err(error)
}

macro_rules! from_str {
    ($type:ty, $make:expr, $what:literal, $example:literal, [$($unit:literal = $factor:literal),*]) => {
        impl FromStr for $type {
            type Err = ParseUnitError;
            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                parse(text, $what, $example, &[$(($unit, $factor)),*]).map($make)
            }
        }
    };
}

from_str!(
    Duration,
    Duration::from_nanos,
    "the time",
    "10 ms",
    [
        "ns" = 1,
        "us" = 1_000,
        "ms" = 1_000_000,
        "s" = 1_000_000_000,
        "min" = 60_000_000_000,
        "h" = 3_600_000_000_000
    ]
);
from_str!(
    Bytes,
    Bytes::new,
    "the size",
    "200 MB",
    [
        "B" = 1,
        "kB" = 1_000,
        "MB" = 1_000_000,
        "GB" = 1_000_000_000,
        "TB" = 1_000_000_000_000
    ]
);
from_str!(
    Bits,
    Bits::new,
    "the size",
    "1 Mbit",
    [
        "bit" = 1,
        "kbit" = 1_000,
        "Mbit" = 1_000_000,
        "Gbit" = 1_000_000_000
    ]
);
from_str!(
    Packets,
    Packets::new,
    "the number of packets",
    "30 packets",
    ["packets" = 1, "packet" = 1]
);
from_str!(
    BitRate,
    BitRate::from_bps,
    "the data rate",
    "15 Mbit/s",
    [
        "bit/s" = 1,
        "kbit/s" = 1_000,
        "Mbit/s" = 1_000_000,
        "Gbit/s" = 1_000_000_000,
        "Tbit/s" = 1_000_000_000_000
    ]
);
from_str!(
    Hertz,
    Hertz::new,
    "the frequency",
    "28 GHz",
    [
        "Hz" = 1,
        "kHz" = 1_000,
        "MHz" = 1_000_000,
        "GHz" = 1_000_000_000
    ]
);

impl FromStr for Decibel {
    type Err = ParseUnitError;
    /// A decibel value may be negative.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let error = |problem| ParseUnitError {
            text: text.to_owned(),
            what: "the ratio",
            example: "17.5 dB",
            problem,
        };
        let (number, unit) = split(text);
        let value: f64 = number.parse().map_err(|_| error(UnitProblem::NoNumber))?;
        match unit {
            "" => Err(error(UnitProblem::NoUnit)),
            "dB" if value.is_finite() => Ok(Self::new(value)),
            "dB" => Err(error(UnitProblem::TooLarge)),
            _ => Err(error(UnitProblem::UnknownUnit {
                unit: unit.to_owned(),
                known: "dB".to_owned(),
            })),
        }
    }
}

macro_rules! bare_number {
    ($($type:ident($int:ty), $what:literal, $example:literal;)*) => {$(
        impl FromStr for $type {
            type Err = ParseUnitError;
            /// A plain number: this quantity has no unit.
            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                let problem = match text.trim().parse::<$int>() {
                    Ok(n) => return Ok(Self::new(n)),
                    Err(_) if text.trim().starts_with('-') => UnitProblem::Negative,
                    Err(_) if text.trim().parse::<u128>().is_ok() => UnitProblem::TooLarge,
                    Err(_) => UnitProblem::NoNumber,
                };
                Err(ParseUnitError { text: text.to_owned(), what: $what, example: $example, problem })
            }
        }
    )*};
}
bare_number! {
    Prb(u16), "the number of PRBs", "25";
    Mcs(u8), "the MCS index", "27";
    Cqi(u8), "the CQI", "15";
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!("15 Mbit/s".parse(), Ok(BitRate::from_mbps(15)));
        assert_eq!("1.5Mbit/s".parse(), Ok(BitRate::from_bps(1_500_000)));
        assert_eq!("10 ms".parse(), Ok(Duration::from_millis(10)));
        assert_eq!("125 us".parse(), Ok(Duration::from_micros(125)));
        assert_eq!("200 MB".parse(), Ok(Bytes::new(200_000_000)));
        assert_eq!("28 GHz".parse(), Ok(Hertz::new(28_000_000_000)));
        assert_eq!("-3.5 dB".parse(), Ok(Decibel::new(-3.5)));
        assert_eq!("1e3 ms".parse(), Ok(Duration::from_secs(1)));
        assert_eq!("30 packets".parse(), Ok(Packets::new(30)));
    }

    #[test]
    fn each_fault_is_distinguished() {
        let problem = |t: &str| t.parse::<BitRate>().unwrap_err().problem;
        assert_eq!(problem("15"), UnitProblem::NoUnit);
        assert_eq!(problem("Mbit/s"), UnitProblem::NoNumber);
        assert_eq!(problem("-1 Mbit/s"), UnitProblem::Negative);
        assert_eq!(
            problem("99999999999999999999 Tbit/s"),
            UnitProblem::TooLarge
        );
        assert!(matches!(
            problem("15 Mbps"),
            UnitProblem::UnknownUnit { .. }
        ));
        let message = "15".parse::<BitRate>().unwrap_err().to_string();
        assert_eq!(
            message,
            "the data rate \"15\": has no unit, expected for example \"15 Mbit/s\""
        );
    }

    #[test]
    fn the_smallest_unit_is_not_divided() {
        let packets = |t: &str| t.parse::<Packets>().map_err(|e| e.problem);
        assert_eq!(packets("1.5 packets"), Err(UnitProblem::Fraction));
        assert_eq!(packets("2.0 packets"), Ok(Packets::new(2)));
        assert_eq!(packets("1e3 packets"), Ok(Packets::new(1000)));
        let bytes = |t: &str| t.parse::<Bytes>().map_err(|e| e.problem);
        assert_eq!(bytes("0.5 B"), Err(UnitProblem::Fraction));
        assert_eq!(bytes("1.5 kB"), Ok(Bytes::new(1500)));
    }

    proptest! {
        #[test]
        fn never_panics(text in ".{0,40}") {
            let _ = text.parse::<BitRate>();
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Decibel>();
            let _ = text.parse::<Prb>();
        }

        #[test]
        fn what_is_printed_is_read_back(ns in 0u64..1 << 45, bytes in 0u64..1 << 45) {
            let d = Duration::from_nanos(ns);
            prop_assert_eq!(d.to_string().parse::<Duration>(), Ok(d));
            let b = Bytes::new(bytes);
            prop_assert_eq!(b.to_string().parse::<Bytes>(), Ok(b));
        }
    }
}
