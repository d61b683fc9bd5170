//! Fewer points, the same picture: the minimum and the maximum of each column of pixels.

/// Which of the points to keep, so that there are at most two in each of `width` equal parts of the
/// time from `from` to `to`. Times rise, and lie within.
pub(super) fn decimate(
    times: &[f64],
    values: &[f64],
    from: f64,
    to: f64,
    width: usize,
) -> Vec<usize> {
    let count = times.len().min(values.len());
    if count <= 2 * width {
        return (0..count).collect();
    }
    let column = (to - from) / width.max(1) as f64;
    let column_of = |i: usize| (((times[i] - from) / column) as usize).min(width.max(1) - 1);
    let mut kept = Vec::with_capacity(2 * width);
    let mut begin = 0;
    while begin < count {
        let here = column_of(begin);
        let (mut lowest, mut highest) = (begin, begin);
        let mut i = begin;
        while i < count && column_of(i) == here {
            if values[i] < values[lowest] {
                lowest = i;
            }
            if values[i] > values[highest] {
                highest = i;
            }
            i += 1;
        }
        kept.push(lowest.min(highest));
        if lowest != highest {
            kept.push(lowest.max(highest));
        }
        begin = i;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn peaks_stay_and_times_rise(
            values in prop::collection::vec(-1e6f64..1e6, 0..2000), width in 1usize..300
        ) {
            let times: Vec<f64> = (0..values.len()).map(|i| i as f64 * 0.01).collect();
            let to = times.last().copied().unwrap_or(0.0);
            let kept = decimate(&times, &values, 0.0, to, width);
            prop_assert!(kept.len() <= (2 * width).max(values.len().min(2 * width)));
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            let max = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::MIN, f64::max);
            let lowest = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::MAX, f64::min);
            let of_kept = || kept.iter().map(|i| values[*i]);
            prop_assert_eq!(max(&mut of_kept()), max(&mut values.iter().copied()));
            prop_assert_eq!(lowest(&mut of_kept()), lowest(&mut values.iter().copied()));
        }
    }
}
