//! Distributions, as means over the repeats.

use super::mean;
use crate::result::Distribution;
use serde::Serialize;

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
    /// How many samples a repeat had.
    pub samples: f64,
}

impl Spread {
    /// True if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.samples == 0.0
    }

    /// The mean of each number over the repeats that have samples.
    pub(super) fn of<'a>(repeats: impl Iterator<Item = &'a Distribution> + Clone) -> Self {
        let measured = repeats.clone().filter(|d| d.count > 0);
        let of = |value: fn(&Distribution) -> f64| mean(measured.clone().map(value));
        Self {
            min: of(|d| d.min),
            mean: of(|d| d.mean),
            p50: of(|d| d.p50),
            p90: of(|d| d.p90),
            p95: of(|d| d.p95),
            p99: of(|d| d.p99),
            max: of(|d| d.max),
            samples: mean(repeats.map(|d| d.count as f64)),
        }
    }
}
