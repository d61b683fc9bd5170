//! Distribution functions, as figures draw them.

use scenario::Distribution;

/// Of values, as steps.
pub(super) fn of_values(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let share = |count: usize| count as f64 / values.len() as f64;
    let both = |(i, value): (usize, &f64)| [(*value, share(i)), (*value, share(i + 1))];
    values.iter().enumerate().flat_map(both).collect()
}

/// Of several measured distributions, each of which counts alike.
pub(super) fn of_all<'a>(
    distributions: impl Iterator<Item = &'a Distribution> + Clone,
) -> Vec<(f64, f64)> {
    let count = distributions.clone().count().max(1) as f64;
    let mut jumps: Vec<(f64, f64)> = distributions
        .flat_map(|of| {
            let before = core::iter::once(0.0).chain(of.cdf.iter().map(|(_, share)| *share));
            of.cdf
                .iter()
                .zip(before)
                .map(|((ms, share), before)| (*ms, share - before))
        })
        .collect();
    jumps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let points = jumps.iter().map(|(ms, jump)| {
        sum += jump / count;
        (*ms, sum)
    });
    thinned(points.collect())
}

/// Every so many points, and the last, so that there are at most about 400.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MAX_POINTS: usize = 400;
    let every = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.into_iter().enumerate();
    kept.filter(|(i, _)| i % every == 0 || *i == last)
        .map(|(_, point)| point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_distributions_count_alike() {
        let of = |cdf: &[(f64, f64)]| Distribution {
            cdf: cdf.to_vec(),
            ..Distribution::default()
        };
        // half of the first at 1 ms, the rest at 3 ms; all of the second at 2 ms
        let both = [of(&[(1.0, 0.5), (3.0, 1.0)]), of(&[(2.0, 1.0)])];
        assert_eq!(of_all(both.iter()), [(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]);
        assert_eq!(of_all([].iter()), []);
    }

    #[test]
    fn values_are_steps() {
        assert_eq!(
            of_values(vec![4.0, 1.0]),
            [(1.0, 0.0), (1.0, 0.5), (4.0, 0.5), (4.0, 1.0)]
        );
    }

    #[test]
    fn thinning_keeps_the_last_point() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), 0.0)).collect();
        let kept = thinned(points);
        assert!(
            kept.len() <= 401 && kept.last() == Some(&(999.0, 0.0)),
            "{}",
            kept.len()
        );
    }
}
