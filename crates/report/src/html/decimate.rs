//! Fewer points, the same picture: each of so many equal intervals keeps its first, least and
//! greatest point, so that no peak is lost.

/// At most about `2 * buckets + 1` of the points, in order, with the least and the greatest value
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

/// Appends the least and the greatest of `points` in their order in time, once if they are one.
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

    proptest! {
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
