//! One BLER curve: from published samples to a grid that is looked up.

use super::Published;
use statrs::function::erf::{erfc, erfc_inv};

/// Samples nearer to 0 or 1 than this show only that the curve has ended there.
const SATURATED: f64 = 1e-4;
/// Slope of curves that have no fit: the usual value of long code blocks.
const DEFAULT_SIGMA_DB: f64 = 0.2;
/// Steepest and flattest end of a curve. Fits above it are those of curves with several steps,
/// whose ends are as steep as others'.
const SIGMA_RANGE_DB: (f64, f64) = (0.05, 0.5);
/// The grid covers BLER from 1 - 1e-6 down to 1e-6.
const MAX_PROBIT: f64 = 4.753;
const STEP_DB: f64 = 1.0 / STEPS_PER_DB;
const STEPS_PER_DB: f64 = 50.0;

/// BLER = Phi(-z) with z piecewise linear in the SINR.
#[derive(Clone, Debug)]
pub(super) struct Waterfall {
    /// (SINR in dB, z), both ascending.
    knots: Vec<(f64, f64)>,
    /// Inverse slope of z outside the knots.
    sigma_db: f64,
}

impl Waterfall {
    /// Fails at any SINR.
    pub(super) const NEVER: Self = Self {
        knots: Vec::new(),
        sigma_db: DEFAULT_SIGMA_DB,
    };

    /// A normal-shaped curve by its SINR at 50 % and its standard deviation.
    pub(super) fn probit(median_db: f64, sigma_db: f64) -> Self {
        Self {
            knots: vec![(median_db, 0.0)],
            sigma_db,
        }
    }

    /// A published curve: its samples, or its fit where there are none. None if neither states where
    /// the waterfall is.
    pub(super) fn published(curve: &Published) -> Option<Self> {
        let sigma_db = curve.probit.map_or(DEFAULT_SIGMA_DB, |(_, sigma)| sigma);
        let sigma_db = sigma_db.clamp(SIGMA_RANGE_DB.0, SIGMA_RANGE_DB.1);
        if curve.snr_db.is_empty() {
            return curve
                .probit
                .map(|(median, _)| Self::probit(median, sigma_db));
        }
        let knots: Vec<(f64, f64)> = curve
            .snr_db
            .iter()
            .zip(falling(curve.bler))
            .filter(|(_, bler)| (SATURATED..=1.0 - SATURATED).contains(bler))
            .map(|(&snr, bler)| (snr, probit_of(bler)))
            .collect();
        (!knots.is_empty()).then_some(Self { knots, sigma_db })
    }

    /// Moved so that it agrees with samples of which none lies inside the waterfall.
    pub(super) fn within(mut self, samples: &Published) -> Self {
        let pairs = || samples.snr_db.iter().zip(samples.bler);
        let last_one = pairs().rfind(|(_, b)| **b > 0.5).map(|(s, _)| *s);
        let first_zero = pairs().find(|(_, b)| **b <= 0.5).map(|(s, _)| *s);
        if let (Some(low), Some(high), [(median, _)]) =
            (last_one, first_zero, self.knots.as_mut_slice())
        {
            let margin = (3.0 * self.sigma_db).min((high - low) / 2.0);
            *median = median.clamp(low + margin, high - margin);
        }
        self
    }

    /// The SINR at 50 %.
    pub(super) fn median_db(&self) -> f64 {
        self.sinr_at(0.0)
    }

    /// The inverse slope of the probit at its ends.
    pub(super) fn sigma_db(&self) -> f64 {
        self.sigma_db
    }

    /// z at an SINR.
    fn probit_at(&self, sinr_db: f64) -> f64 {
        let above = self.knots.partition_point(|&(snr, _)| snr <= sinr_db);
        match (
            above.checked_sub(1).map(|i| self.knots[i]),
            self.knots.get(above),
        ) {
            (None, None) => f64::NEG_INFINITY,
            (None, Some(&(snr, z))) | (Some((snr, z)), None) => z + (sinr_db - snr) / self.sigma_db,
            (Some((s0, z0)), Some(&(s1, z1))) => z0 + (z1 - z0) * (sinr_db - s0) / (s1 - s0),
        }
    }

    /// The lowest SINR that has at least this z.
    fn sinr_at(&self, probit: f64) -> f64 {
        let above = self.knots.partition_point(|&(_, z)| z < probit);
        match (
            above.checked_sub(1).map(|i| self.knots[i]),
            self.knots.get(above),
        ) {
            (None, None) => f64::INFINITY,
            (None, Some(&(snr, z))) | (Some((snr, z)), None) => snr + (probit - z) * self.sigma_db,
            (Some((s0, z0)), Some(&(s1, z1))) => s0 + (s1 - s0) * (probit - z0) / (z1 - z0),
        }
    }
}

/// z of a BLER between 0 and 1.
fn probit_of(bler: f64) -> f64 {
    core::f64::consts::SQRT_2 * erfc_inv(2.0 * bler)
}

/// BLER of a z.
fn bler_of(probit: f64) -> f64 {
    0.5 * erfc(probit / core::f64::consts::SQRT_2)
}

/// The non-increasing sequence nearest to the samples (least squares): pool adjacent violators.
fn falling(samples: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(samples.len());
    for &sample in samples {
        let mut pool = (sample, 1usize);
        while let Some(&(mean, count)) = pools.last() {
            if mean >= pool.0 {
                break;
            }
            pools.pop();
            let total = count + pool.1;
            pool = (
                (mean * count as f64 + pool.0 * pool.1 as f64) / total as f64,
                total,
            );
        }
        pools.push(pool);
    }
    pools
        .iter()
        .flat_map(|&(mean, count)| core::iter::repeat_n(mean, count))
        .collect()
}

/// A waterfall sampled every 0.02 dB, so that a lookup needs no error function.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    low_db: f64,
    /// BLER at `low_db + i * STEP_DB`, non-increasing: from 1 to 0, at least two.
    bler: Vec<f32>,
}

impl Grid {
    pub(super) fn new(waterfall: &Waterfall) -> Self {
        if waterfall.knots.is_empty() {
            return Self {
                low_db: 0.0,
                bler: vec![1.0; 2],
            };
        }
        let low_db = waterfall.sinr_at(-MAX_PROBIT);
        let high_db = waterfall.sinr_at(MAX_PROBIT);
        let steps = ((high_db - low_db) / STEP_DB).ceil() as usize;
        let at = |i: usize| bler_of(waterfall.probit_at(low_db + i as f64 * STEP_DB)) as f32;
        let inside = (0..=steps).map(at);
        Self {
            low_db: low_db - STEP_DB,
            bler: [1.0].into_iter().chain(inside).chain([0.0]).collect(),
        }
    }

    /// Without a branch: what a faded link needs is now before, now in and now behind the waterfall.
    pub(super) fn bler(&self, sinr_db: f64) -> f64 {
        let position = (sinr_db - self.low_db) * STEPS_PER_DB;
        // an SINR that is no number is before the waterfall too
        let position = if position > 0.0 { position } else { 0.0 };
        let last = self.bler.len() - 1;
        let position = position.min(last as f64);
        let cell = (position as usize).min(last - 1);
        let (left, right) = (f64::from(self.bler[cell]), f64::from(self.bler[cell + 1]));
        left + (right - left) * (position - cell as f64)
    }

    pub(super) fn sinr_for(&self, target: f64) -> f64 {
        let above = self.bler.partition_point(|&bler| f64::from(bler) > target);
        if above == self.bler.len() {
            return f64::INFINITY;
        }
        let Some(before) = above.checked_sub(1) else {
            return self.low_db;
        };
        let (left, right) = (f64::from(self.bler[before]), f64::from(self.bler[above]));
        self.low_db + (above as f64 - (target - right) / (left - right)) * STEP_DB
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_gives_the_nearest_falling_sequence() {
        assert_eq!(falling(&[1.0, 0.5, 0.0]), [1.0, 0.5, 0.0]);
        let pooled = falling(&[0.9, 0.25, 0.5, 0.1]);
        assert_eq!(pooled, [0.9, 0.375, 0.375, 0.1]);
        let pooled = falling(&[0.3, 0.3, 0.6, 0.0]);
        assert!(pooled[..3].iter().all(|x| (x - 0.4).abs() < 1e-12));
        assert_eq!(falling(&[]), [0.0; 0]);
    }

    #[test]
    fn probit_and_its_inverse() {
        // Phi(-1.2815515655) = 0.1, Phi(-2.3263478740) = 0.01
        assert!((probit_of(0.1) - 1.281_551_565_5).abs() < 1e-9);
        assert!((bler_of(2.326_347_874) - 0.01).abs() < 1e-9);
    }

    #[test]
    fn normal_waterfall() {
        let curve = Waterfall::probit(10.0, 0.2);
        let grid = Grid::new(&curve);
        assert!((grid.bler(10.0) - 0.5).abs() < 1e-3);
        assert!((grid.bler(10.0 + 0.2 * 1.2816) - 0.1).abs() < 1e-3);
        assert!((grid.sinr_for(0.1) - 10.2563).abs() < 5e-3);
        assert_eq!(grid.bler(8.0), 1.0);
        assert_eq!(grid.bler(12.0), 0.0);
        assert_eq!(grid.bler(f64::NAN), 1.0);
        assert_eq!(grid.bler(f64::INFINITY), 0.0);
        assert_eq!(grid.bler(f64::NEG_INFINITY), 1.0);
    }

    #[test]
    fn curve_without_a_sample_inside_stays_between_its_neighbours() {
        let samples = Published {
            mcs: 0,
            probit: None,
            snr_db: &[1.0, 2.0, 3.0],
            bler: &[1.0, 1.0, 0.0],
        };
        assert!(Waterfall::published(&samples).is_none());
        let median = |m| Waterfall::probit(m, 0.1).within(&samples).median_db();
        assert!((median(0.0) - 2.3).abs() < 1e-12);
        assert!((median(2.4) - 2.4).abs() < 1e-12);
        assert!((median(9.0) - 2.7).abs() < 1e-12);
    }
}
