//! Fewer points, the same picture: the minimum and the maximum of each column of pixels; of rates the means.

/// The column of `width` between `from` and `to` that a time is in.
fn column(time: f64, from: f64, to: f64, width: usize) -> usize {
    let column = (to - from) / width.max(1) as f64;
    (((time - from) / column) as usize).min(width.max(1) - 1)
}

/// Means of rates, so that there are at most two in each of `width` equal parts of the time from `from` to `to`: a rate that
/// is below another over the time of a mean has a line below it. Times rise, and lie within; a value is the mean since the time before
/// it, as is each mean.
pub(super) fn means(
    times: &[f64],
    values: &[f64],
    from: f64,
    to: f64,
    width: usize,
) -> (Vec<f64>, Vec<f64>) {
    let count = times.len().min(values.len());
    if count <= 2 * width {
        return (times[..count].to_vec(), values[..count].to_vec());
    }
    let points: Vec<(f64, f64)> = times.iter().copied().zip(values.iter().copied()).collect();
    points
        .chunk_by(|a, b| column(a.0, from, to, 2 * width) == column(b.0, from, to, 2 * width))
        .map(|of| {
            let sum: f64 = of.iter().map(|(_, value)| value).sum();
            (of[of.len() - 1].0, sum / of.len() as f64)
        })
        .unzip()
}

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
    let column_of = |i: usize| column(times[i], from, to, width);
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

    #[test]
    fn bursts_below_a_capacity_on_the_whole_have_means_below_it() {
        // 40 Mbit in each fourth step of 10 ms, of a capacity of 20
        let times: Vec<f64> = (1..=1_000).map(|i| f64::from(i) * 0.01).collect();
        let bursts: Vec<f64> = (1..=1_000)
            .map(|i| if i % 4 == 0 { 40.0 } else { 0.0 })
            .collect();
        let (t, v) = means(&times, &bursts, 0.0, 10.0, 50);
        assert_eq!((t.len(), v.len()), (100, 100));
        assert!(v.iter().all(|mean| *mean < 20.0), "{v:?}");
        let mean = v.iter().sum::<f64>() / 100.0;
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
        // few stay as they are
        assert_eq!(
            means(&times[..90], &bursts[..90], 0.0, 0.9, 50).1,
            bursts[..90]
        );
    }

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
