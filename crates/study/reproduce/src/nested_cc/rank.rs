//! Rank correlation: whether two lists have the same order.
//!
//! Source: Spearman 1904, with the mean rank for equal values: Pearson's correlation of ranks.

/// Ranks from 1 up, the mean of those that equal values share.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Spearman's rho, from -1 to 1; not a number if the lists differ in length, if either holds what is
/// no number, or has no order.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() || a.iter().chain(b).any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(correlation(&a, &[10.0, 20.0, 30.0, 40.0, 50.0]), 1.0);
        assert_eq!(correlation(&a, &[5.0, 4.0, 3.0, 2.0, 1.0]), -1.0);
        // 1 - 6 * (1 + 1) / (5 * 24)
        let swapped = correlation(&a, &[2.0, 1.0, 3.0, 4.0, 5.0]);
        assert!((swapped - 0.9).abs() < 1e-12, "{swapped}");
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.0]), [3.5, 2.0, 3.5, 1.0]);
    }

    #[test]
    fn what_has_no_order_has_no_correlation() {
        assert!(correlation(&[1.0, 2.0], &[1.0]).is_nan());
        assert!(correlation(&[1.0, f64::NAN], &[1.0, 2.0]).is_nan());
        assert!(correlation(&[1.0, 1.0], &[1.0, 2.0]).is_nan());
        assert!(correlation(&[], &[]).is_nan());
    }

    proptest! {
        #[test]
        fn between_minus_one_and_one_and_symmetric(
            pairs in prop::collection::vec((0u8..20, 0u8..20), 2..30),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) =
                pairs.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).unzip();
            let rho = correlation(&a, &b);
            prop_assert!(rho.is_nan() || (-1.0 - 1e-9..=1.0 + 1e-9).contains(&rho), "{rho}");
            prop_assert!(rho.is_nan() || (rho - correlation(&b, &a)).abs() < 1e-9);
        }
    }
}
