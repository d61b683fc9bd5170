//! Means over repeats with their confidence intervals.
//!
//! Source: Student's t; the quantile is statrs'. Repeats are independent (each has its own seed),
//! so the interval of a mean of n values is t(0.975, n - 1) s / sqrt(n), with s their standard
//! deviation (n - 1 in the denominator).

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean. Not a number if there was nothing to average.
    pub mean: f64,
    /// The mean lies within plus or minus this with 95 % confidence. Zero for a single value, of
    /// which no interval can be stated.
    pub ci95: f64,
}

/// The mean of independent values and its confidence interval.
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return Estimate { mean, ci95: 0.0 };
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Estimate {
        mean,
        ci95: quantile(values.len() - 1) * (variance / n).sqrt(),
    }
}

/// The mean of the values of each unit, in order; `units` numbers that of each value, equal ones in a row.
pub fn unit_means(values: &[f64], units: &[usize]) -> Vec<f64> {
    let pairs: Vec<(usize, f64)> = units.iter().copied().zip(values.iter().copied()).collect();
    let chunks = pairs.chunk_by(|a, b| a.0 == b.0);
    let mean = |chunk: &[(usize, f64)]| {
        let sum: f64 = chunk.iter().map(|(_, value)| value).sum();
        sum / chunk.len() as f64
    };
    chunks.map(mean).collect()
}

/// A ratio with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The geometric mean of the pairs' ratios.
    pub mean: f64,
    /// Half the width of the interval, which is not centred on the mean. Zero for a single pair.
    pub ci95: f64,
    /// The ratio is at least this with 95 % confidence; above zero.
    pub low: f64,
    /// At most this.
    pub high: f64,
    /// Of how many pairs, or units with several pairs each.
    pub pairs: usize,
}

/// How many times as large `values` are as `base`, pair by pair: values of the same index come from
/// the same seed, so what the seed does to both cancels. Values without a partner are left out, and
/// pairs of two zeros, which have no ratio. Pairs of one unit (`units` numbers that of each, equal ones in a row) are one value
/// of the interval, their mean.
///
/// A ratio and its inverse are to be as likely, and none is below zero: mean and interval are those
/// of the logarithms. None without pairs, or where one value of a pair alone is zero: its logarithm
/// is not finite.
pub fn ratio_of_units(values: &[f64], base: &[f64], units: &[usize]) -> Option<Ratio> {
    let pairs = values.iter().zip(base).zip(units);
    let (units, logarithms): (Vec<usize>, Vec<f64>) = pairs
        .filter(|((value, base), _)| (**value, **base) != (0.0, 0.0))
        .map(|((value, base), unit)| (*unit, (value / base).ln()))
        .unzip();
    if logarithms.is_empty() || !logarithms.iter().all(|logarithm| logarithm.is_finite()) {
        return None;
    }
    let logarithms = unit_means(&logarithms, &units);
    let Estimate { mean, ci95 } = estimate(&logarithms);
    let (low, high) = ((mean - ci95).exp(), (mean + ci95).exp());
    Some(Ratio {
        mean: mean.exp(),
        ci95: (high - low) / 2.0,
        low,
        high,
        pairs: logarithms.len(),
    })
}

/// t(0.975) of so many degrees of freedom, at least 1.
fn quantile(degrees_of_freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As [`ratio_of_units`], each pair a unit of its own.
    fn paired_ratio(values: &[f64], base: &[f64]) -> Option<Ratio> {
        let units: Vec<usize> = (0..values.len().max(base.len())).collect();
        ratio_of_units(values, base, &units)
    }

    #[test]
    fn quantiles_as_in_printed_tables() {
        // the usual table of t(0.975)
        for (n, t) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (9, 2.262),
            (29, 2.045),
            (1000, 1.962),
        ] {
            assert!((quantile(n) - t).abs() < 6e-4, "{n}: {}", quantile(n));
        }
    }

    #[test]
    fn interval_worked_by_hand() {
        // 1..5: mean 3, s^2 = 10 / 4, s / sqrt(5) = 0.70711, times t(0.975, 4) = 2.77645
        let e = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((e.mean - 3.0).abs() < 1e-12);
        assert!((e.ci95 - 1.963_24).abs() < 1e-4, "{}", e.ci95);
        assert_eq!(
            estimate(&[7.0]),
            Estimate {
                mean: 7.0,
                ci95: 0.0
            }
        );
        assert!(estimate(&[]).mean.is_nan());
    }

    #[test]
    fn pairs_cancel_what_the_seed_does_to_both() {
        // the seed moves both by a factor; the ratio is exactly 2 each time
        let r = paired_ratio(&[2.0, 20.0, 200.0], &[1.0, 10.0, 100.0]).expect("a ratio");
        assert!((r.mean - 2.0).abs() < 1e-12 && r.ci95 < 1e-12, "{r:?}");
        assert_eq!(paired_ratio(&[1.0], &[0.0]), None);
        assert_eq!(paired_ratio(&[], &[]), None);
    }

    #[test]
    fn ratios_are_those_of_logarithms_worked_by_hand() {
        // 1/2, 1 and 8: ln 2 x (-1, 0, 3), mean ln 2 x 2/3, s = ln 2 x 2.081666, n = 3,
        // half width 4.302653 x s / sqrt 3 = ln 2 x 5.17114
        let r = paired_ratio(&[1.0, 2.0, 8.0], &[2.0, 2.0, 1.0]).expect("a ratio");
        let power = |exponent: f64| exponent.exp2();
        assert!((r.mean - power(2.0 / 3.0)).abs() < 1e-9, "{r:?}");
        assert!(
            (r.low / power(2.0 / 3.0 - 5.171_14) - 1.0).abs() < 1e-4,
            "{r:?}"
        );
        assert!(
            (r.high / power(2.0 / 3.0 + 5.171_14) - 1.0).abs() < 1e-4,
            "{r:?}"
        );
        assert!((r.ci95 - (r.high - r.low) / 2.0).abs() < 1e-9);
        // the interval of plain ratios would reach below zero
        let plain = estimate(&[0.5, 1.0, 8.0]);
        assert!(plain.mean - plain.ci95 < 0.0 && r.low > 0.0);
    }

    #[test]
    fn repeats_of_a_unit_are_one_value_of_the_interval() {
        // two traces with two repeats each: ratios 1 and 4 (mean 2), 8 and 8
        let (values, base) = ([1.0, 4.0, 8.0, 8.0], [1.0; 4]);
        let of_traces = ratio_of_units(&values, &base, &[0, 0, 1, 1]).expect("a ratio");
        let by_hand = paired_ratio(&[2.0, 8.0], &[1.0, 1.0]).expect("a ratio");
        assert_eq!(of_traces.pairs, 2);
        assert!(
            (of_traces.low / by_hand.low - 1.0).abs() < 1e-9,
            "{of_traces:?}"
        );
        assert!((of_traces.mean - 4.0).abs() < 1e-9, "{of_traces:?}");
        assert_eq!(unit_means(&values, &[0, 0, 1, 1]), [2.5, 8.0]);
        assert_eq!(unit_means(&values, &[0, 1, 2, 3]), values);
    }

    #[test]
    fn two_zeros_are_no_pair() {
        let r = paired_ratio(&[0.0, 4.0], &[0.0, 2.0]).expect("a ratio");
        assert_eq!((r.mean, r.ci95, r.pairs), (2.0, 0.0, 1));
        assert_eq!(paired_ratio(&[0.0, 4.0], &[1.0, 2.0]), None);
    }

    proptest! {
        #[test]
        fn the_mean_is_between_the_extremes(values in prop::collection::vec(-1e9..1e9f64, 1..20)) {
            let e = estimate(&values);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(e.mean >= low - 1e-3 && e.mean <= high + 1e-3);
            prop_assert!(e.ci95 >= 0.0);
        }

        #[test]
        fn a_ratio_and_its_inverse_are_inverse(
            pairs in prop::collection::vec((1e-3..1e3f64, 1e-3..1e3f64), 2..20)
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let (r, inverse) = (paired_ratio(&a, &b), paired_ratio(&b, &a));
            let (r, inverse) = (r.expect("a ratio"), inverse.expect("a ratio"));
            prop_assert!((r.mean * inverse.mean - 1.0).abs() < 1e-9);
            prop_assert!((r.low * inverse.high - 1.0).abs() < 1e-9);
            prop_assert!(0.0 < r.low && r.low <= r.mean && r.mean <= r.high);
        }
    }
}
