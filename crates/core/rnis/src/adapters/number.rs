//! Numbers as sources write them, and the bounds within which they are accepted.

use super::Problem;
use serde::{Deserialize, Deserializer};

/// A number, or text that is one; `null`, other text and anything else is no number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub(super) Option<f64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
            Other(serde::de::IgnoredAny),
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Number(number) => Some(number),
            Written::Text(text) => text.trim().parse().ok(),
            Written::Other(_) => None,
        }))
    }
}

/// Reads the fields of one UE or cell, and collects what is wrong with them.
pub(super) struct Fields<'a> {
    pub(super) who: String,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Fields<'_> {
    /// A number from 0 to `most`; none if it is absent, and a problem if it is outside.
    pub(super) fn optional(
        &mut self,
        field: &'static str,
        number: Number,
        most: u64,
    ) -> Option<f64> {
        let value = number.0?;
        if (0.0..=most as f64).contains(&value) {
            return Some(value);
        }
        self.problems.push(Problem::Absurd {
            who: self.who.clone(),
            field,
            value,
            most,
        });
        None
    }

    /// As [`Self::optional`]; absence is a problem as well.
    pub(super) fn needed(&mut self, field: &'static str, number: Number, most: u64) -> Option<f64> {
        if number.0.is_none() {
            self.problems.push(Problem::Missing {
                who: self.who.clone(),
                field,
            });
        }
        self.optional(field, number, most)
    }

    /// As [`Self::optional`], as the whole number below.
    pub(super) fn whole(&mut self, field: &'static str, number: Number, most: u64) -> Option<u64> {
        self.optional(field, number, most).map(|x| x as u64)
    }

    /// A small whole number, or the value that stands for an unknown one.
    pub(super) fn small(
        &mut self,
        field: &'static str,
        number: Number,
        most: u8,
        unknown: u8,
    ) -> u8 {
        self.whole(field, number, most.into())
            .and_then(|n| u8::try_from(n).ok())
            .unwrap_or(unknown)
    }

    /// The growth of a counter since the last message; none at first and after it shrank.
    pub(super) fn growth(
        &mut self,
        field: &'static str,
        before: Option<u64>,
        now: Option<u64>,
    ) -> Option<u64> {
        let (before, now) = (before?, now?);
        if now < before {
            self.problems.push(Problem::CounterReset {
                who: self.who.clone(),
                field,
            });
            return None;
        }
        Some(now - before)
    }
}

/// Largest counter that is accepted: 2^53, to which a JSON number is exact.
pub(super) const COUNTER: u64 = 1 << 53;
/// Largest queue that is accepted, in bytes.
pub(super) const QUEUE: u64 = 1 << 40;
/// Largest bit rate that is accepted, in bit/s.
pub(super) const RATE: u64 = 1_000_000_000_000;
/// Largest CQI.
pub(super) const CQI: u8 = 15;
/// Largest MCS index of any table.
pub(super) const MCS: u8 = 31;
/// Largest number of spatial layers.
pub(super) const LAYERS: u8 = 8;
/// Largest RNTI of a UE (TS 38.321 7.1).
pub(super) const RNTI: u64 = 65_519;
