//! Fewer points, the same picture: what is least and greatest in each of so many equal intervals is
//! kept, so that no peak is lost.

/// At most about `2 * buckets + 1` of the points, in order, with the smallest and the greatest value
/// of every interval of x among them. Points that are not finite are left out.
pub(crate) fn decimate(points: &[(f64, f64)], buckets: usize) -> Vec<(f64, f64)> {
    let finite: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let (Some(first), Some(last)) = (finite.first(), finite.last()) else {
        return finite;
    };
    let buckets = buckets.max(1);
    if finite.len() <= 2 * buckets + 1 {
        return finite;
    }
    let width = (last.0 - first.0) / buckets as f64;
    let bucket_of = |x: f64| (((x - first.0) / width) as usize).min(buckets - 1);
    let mut out = Vec::with_capacity(2 * buckets + 1);
    let mut rest = finite.as_slice();
    while let Some(head) = rest.first() {
        let bucket = bucket_of(head.0);
        let end = rest.partition_point(|p| bucket_of(p.0) <= bucket).max(1);
        push_extremes(&mut out, &rest[..end]);
        rest = &rest[end..];
    }
    if out.last() != Some(last) {
        out.push(*last);
    }
    out
}

/// Appends the smallest and the greatest of `points` in their order in time, once if they are one.
fn push_extremes(out: &mut Vec<(f64, f64)>, points: &[(f64, f64)]) {
    let mut least = 0;
    let mut greatest = 0;
    for (i, p) in points.iter().enumerate() {
        if p.1 < points[least].1 {
            least = i;
        }
        if p.1 > points[greatest].1 {
            greatest = i;
        }
    }
    out.push(points[least.min(greatest)]);
    if least != greatest {
        out.push(points[least.max(greatest)]);
    }
}

/// A line by fewer points.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reduced {
    /// The mean of each interval, in its middle.
    pub(crate) means: Vec<(f64, f64)>,
    /// The middle, the smallest and the greatest value of each interval; nothing if each is one point.
    pub(crate) band: Vec<(f64, f64, f64)>,
    /// Length of an interval; of a line with all its points, the usual step between them.
    pub(crate) width: f64,
}

/// The median of the steps of x that are not zero.
fn usual_step(points: &[(f64, f64)]) -> f64 {
    let steps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let mut steps: Vec<f64> = steps.filter(|step| *step > 0.0).collect();
    let middle = steps.len() / 2;
    if steps.is_empty() {
        1.0
    } else {
        *steps.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// Cuts x into at most about so many equal intervals, each as long as a whole number of the usual
/// steps between points, so that about equally many are in each. Points that are not finite are
/// left out.
pub(crate) fn reduce(points: &[(f64, f64)], buckets: usize) -> Reduced {
    let finite: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let buckets = buckets.max(1);
    let step = usual_step(&finite);
    if finite.len() <= buckets {
        return Reduced {
            means: finite,
            band: Vec::new(),
            width: step,
        };
    }
    let first = finite[0].0;
    let steps = ((finite[finite.len() - 1].0 - first) / step).round() + 1.0;
    let width = step * (steps / buckets as f64).ceil();
    // half a step before the first point, so that rounding moves no point over a border
    let bucket_of = |x: f64| ((x - first + step / 2.0) / width) as usize;
    let mut reduced = Reduced {
        width,
        ..Reduced::default()
    };
    let mut rest = finite.as_slice();
    while let Some(head) = rest.first() {
        let bucket = bucket_of(head.0);
        let (here, later) =
            rest.split_at(rest.partition_point(|p| bucket_of(p.0) <= bucket).max(1));
        let count = here.len() as f64;
        let x = here.iter().map(|p| p.0).sum::<f64>() / count;
        let values = || here.iter().map(|p| p.1);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        // rounding of the sum must not lead out of the band
        reduced
            .means
            .push((x, (values().sum::<f64>() / count).clamp(low, high)));
        reduced.band.push((x, low, high));
        rest = later;
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_single_peak_among_many_points_is_kept() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[54_321].1 = 99.0;
        points[77_777].1 = -3.0;
        let few = decimate(&points, 100);
        assert!(few.len() <= 201, "{}", few.len());
        assert!(few.contains(&(54_321.0, 99.0)) && few.contains(&(77_777.0, -3.0)));
        assert_eq!(few.last(), points.last());
    }

    #[test]
    fn equal_steps_are_reduced_to_equal_counts() {
        let points: Vec<(f64, f64)> = (0..1000)
            .map(|i| (f64::from(i) * 0.01, f64::from(i % 10)))
            .collect();
        let reduced = reduce(&points, 100);
        assert_eq!(reduced.means.len(), 100);
        for (mean, band) in reduced.means.iter().zip(&reduced.band) {
            // 0 to 9, whose mean is 4.5
            assert_eq!((mean.1, band.1, band.2), (4.5, 0.0, 9.0));
        }
        let few = reduce(&points[..100], 100);
        assert_eq!((few.means.as_slice(), few.band.len()), (&points[..100], 0));
    }

    #[test]
    fn pauses_do_not_lengthen_the_intervals() {
        // a page of 100 samples, 10 ms apart, every ten seconds
        let page = |k: u32| (0..100).map(move |i| (f64::from(k) * 10.0 + f64::from(i) * 0.01, 1.0));
        let points: Vec<(f64, f64)> = (0..6).flat_map(page).collect();
        let reduced = reduce(&points, 400);
        // 51 s in 400 intervals are 127.5 ms, which is 13 steps
        assert!((reduced.width - 0.13).abs() < 1e-9, "{}", reduced.width);
    }

    proptest! {
        #[test]
        fn bands_hold_every_value_and_means_lie_within(
            values in prop::collection::vec(-1e6f64..1e6, 0..3000), buckets in 1usize..200
        ) {
            let points: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(i, y)| (i as f64 * 0.01, *y)).collect();
            let Reduced { means, band, .. } = reduce(&points, buckets);
            prop_assert!(means.len() <= buckets + 1);
            prop_assert!(means.windows(2).all(|w| w[0].0 < w[1].0));
            if !band.is_empty() {
                let greatest = values.iter().copied().fold(f64::MIN, f64::max);
                let least = values.iter().copied().fold(f64::MAX, f64::min);
                prop_assert_eq!(band.iter().map(|b| b.2).fold(f64::MIN, f64::max), greatest);
                prop_assert_eq!(band.iter().map(|b| b.1).fold(f64::MAX, f64::min), least);
                let within = |(m, b): (&(f64, f64), &(f64, f64, f64))| b.1 <= m.1 && m.1 <= b.2;
                prop_assert!(means.iter().zip(&band).all(within));
            }
        }

        #[test]
        fn extremes_and_order_survive(
            values in prop::collection::vec(-1e6f64..1e6, 0..3000), buckets in 1usize..200
        ) {
            let points: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(i, y)| (i as f64 * 0.5, *y)).collect();
            let few = decimate(&points, buckets);
            prop_assert!(few.len() <= 2 * buckets + 1);
            prop_assert!(few.windows(2).all(|w| w[0].0 < w[1].0));
            let greatest = |p: &[(f64, f64)]| p.iter().map(|p| p.1).fold(f64::MIN, f64::max);
            let least = |p: &[(f64, f64)]| p.iter().map(|p| p.1).fold(f64::MAX, f64::min);
            prop_assert_eq!(greatest(&few), greatest(&points));
            prop_assert_eq!(least(&few), least(&points));
        }
    }
}
