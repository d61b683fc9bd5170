//! Distributions of times.

use super::levels::Levels;
use hdrhistogram::Histogram;
use scenario::Distribution;
use units::Duration;

/// Maximum points of a distribution function in a result.
const CDF_POINTS: usize = 200;
/// Quantiles are kept in steps of this many nanoseconds (or 0.1 %, where that is more).
const STEP_NS: u64 = 100;

/// Samples of a duration: exact minimum, mean and maximum; quantiles to three digits, not finer
/// than 0.1 us.
#[derive(Debug)]
pub struct Samples {
    /// Of all samples but zeros.
    levels: Levels<u32>,
    /// Samples of no time at all: the usual wait in an idle queue.
    zeros: u32,
    sum_ns: u128,
    min: Duration,
    max: Duration,
    count: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            levels: Levels::default(),
            zeros: 0,
            sum_ns: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
            count: 0,
        }
    }
}

impl Samples {
    /// One sample.
    pub fn record(&mut self, sample: Duration) {
        let ns = sample.as_nanos();
        if ns == 0 {
            self.zeros = self.zeros.saturating_add(1);
        } else {
            let step = (ns + STEP_NS / 2) / STEP_NS;
            self.levels.record_n(step, 1);
        }
        self.sum_ns += u128::from(ns);
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        self.count += 1;
    }

    /// What was recorded.
    pub fn distribution(&mut self) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        let zeros = core::mem::take(&mut self.zeros);
        self.levels.record_n(0, zeros.into());
        let (min, max) = (self.min.as_millis_f64(), self.max.as_millis_f64());
        let ms = |step: u64| ((step * STEP_NS) as f64 / 1e6).clamp(min, max);
        let levels = self.levels.all();
        let quantile = |q| ms(levels.value_at_quantile(q));
        Distribution {
            count: self.count,
            min,
            mean: self.sum_ns as f64 / self.count as f64 / 1e6,
            p50: quantile(0.50),
            p90: quantile(0.90),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max,
            cdf: cdf(levels, self.count, ms, max),
        }
    }
}

/// The distribution function: every recorded level where they are few, else as many levels at
/// equal steps of probability.
fn cdf(levels: &Histogram<u32>, count: u64, ms: impl Fn(u64) -> f64, max: f64) -> Vec<(f64, f64)> {
    let total = count as f64;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(CDF_POINTS);
    let mut seen = 0;
    let mut next_share = 0.0;
    for level in levels.iter_recorded() {
        seen += level.count_since_last_iteration();
        let share = seen as f64 / total;
        if share >= next_share {
            points.push((ms(level.value_iterated_to()), share));
            next_share = share + 1.0 / (CDF_POINTS - 1) as f64;
        }
    }
    let is_whole = points.last().is_some_and(|last| last.1 >= 1.0);
    if is_whole || points.len() == CDF_POINTS {
        points.pop();
    }
    points.push((max, 1.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_sample_is_no_distribution() {
        assert_eq!(Samples::default().distribution(), Distribution::default());
    }

    #[test]
    fn zeros_count() {
        let mut samples = Samples::default();
        (0..90).for_each(|_| samples.record(Duration::ZERO));
        (0..10).for_each(|_| samples.record(Duration::from_millis(2)));
        let d = samples.distribution();
        assert_eq!((d.count, d.min, d.p50, d.p90), (100, 0.0, 0.0, 0.0));
        assert!((d.p95 - 2.0).abs() < 0.004 && (d.mean - 0.2).abs() < 1e-9);
        assert_eq!(d.cdf, [(0.0, 0.9), (2.0, 1.0)]);
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut samples = Samples::default();
        (1..=1000).for_each(|us| samples.record(Duration::from_micros(us * 10)));
        let d = samples.distribution();
        assert_eq!((d.count, d.min, d.max), (1000, 0.01, 10.0));
        assert!((d.mean - 5.005).abs() < 1e-9);
        assert!((d.p50 - 5.0).abs() < 0.02 && (d.p99 - 9.9).abs() < 0.02);
        assert!(d.cdf.len() <= CDF_POINTS && d.cdf.len() > 150);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_their_error(
            mut us in prop::collection::vec(1u64..10_000_000, 1..400),
        ) {
            let mut samples = Samples::default();
            us.iter().for_each(|&us| samples.record(Duration::from_micros(us)));
            us.sort_unstable();
            let d = samples.distribution();
            for (q, got) in [(0.5, d.p50), (0.9, d.p90), (0.99, d.p99)] {
                let rank = ((us.len() as f64 * q).ceil() as usize).clamp(1, us.len());
                let exact = us[rank - 1] as f64 / 1e3;
                prop_assert!((got - exact).abs() <= exact * 0.002 + 1e-4, "{got} {exact}");
            }
            prop_assert!(d.cdf.len() <= CDF_POINTS);
            prop_assert!(d.cdf.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
            prop_assert_eq!(d.cdf.last().copied(), Some((d.max, 1.0)));
        }
    }
}
