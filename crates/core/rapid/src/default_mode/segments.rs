//! Windows in whole segments, so that what is handed out together is what was meant.
//!
//! A sender rounds its window down to whole segments (RFC 9293 3.8.6.2.1): of 25 flows with 3.4 segments each, an
//! eighth of the link stays empty. Here the parts of segments are added up, and go as whole ones to those flows that
//! lack most of what they were meant to have until now (the method of the largest remainder, with what it leaves
//! carried over), anew every [`ROTATION`].
//!
//! ```text
//!   whole_i = floor(ideal_i) + (1 for those with the largest owed_i, until the sum is that of ideal_i)
//!   owed_i += (ideal_i - whole_i) x elapsed
//! ```

use super::flow::whole_part;

/// The part of a segment goes to others after so much time, seconds.
const ROTATION: f64 = 0.01;
/// From so many segments on a part of one is too little to be worth the change of a window.
const LARGE: f64 = 64.0;

/// What a flow was meant to have and did not get, and whether it has one more now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remainder {
    /// Segments x seconds.
    owed: f64,
    has_more: bool,
}

/// A window to be rounded.
#[derive(Clone, Copy, Debug)]
struct Entry {
    whole: f64,
    /// Those with the largest are rounded up.
    key: f64,
    flow: usize,
}

/// Rounds windows of one direction.
#[derive(Debug, Default)]
pub(super) struct Rounding {
    /// Since the last rotation, seconds.
    age: f64,
    parts: Vec<Entry>,
}

impl Rounding {
    /// Rounds each of `ideals`, in segments, up or down. `remainders` has one for each of them; `elapsed` since
    /// the last call, seconds.
    pub(super) fn round(&mut self, elapsed: f64, ideals: &mut [f64], remainders: &mut [Remainder]) {
        self.age += elapsed;
        let is_rotated = self.age >= ROTATION;
        if is_rotated {
            self.age = 0.0;
        }
        self.parts.clear();
        let mut extra = 0.0;
        let (mut had, mut least_of_had, mut most_of_others) = (0, f64::INFINITY, -f64::INFINITY);
        for (flow, (ideal, remainder)) in ideals.iter().zip(remainders.iter_mut()).enumerate() {
            if *ideal >= LARGE {
                *remainder = Remainder::default();
                continue;
            }
            let whole = whole_part(*ideal);
            let fraction = ideal - whole;
            extra += fraction;
            let given = f64::from(u8::from(remainder.has_more));
            remainder.owed += (fraction - given) * elapsed;
            // between rotations those that have one more keep it
            let kept = match is_rotated {
                true => 0.0,
                false => given * f64::from(u16::MAX),
            };
            let key = remainder.owed + kept;
            if remainder.has_more {
                had += 1;
                least_of_had = key.min(least_of_had);
            } else {
                most_of_others = key.max(most_of_others);
            }
            self.parts.push(Entry { whole, key, flow });
        }
        let extra = extra.round() as usize;
        // most often the same flows have one more, and need no sorting
        let is_same = had == extra && least_of_had > most_of_others;
        if !is_same {
            self.parts.sort_by(|a, b| b.key.total_cmp(&a.key));
        }
        for (rank, part) in self.parts.iter().enumerate() {
            let remainder = &mut remainders[part.flow];
            if !is_same {
                remainder.has_more = rank < extra;
            }
            let more = f64::from(u8::from(remainder.has_more));
            ideals[part.flow] = part.whole + more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounded(rounding: &mut Rounding, ideals: &[f64], remainders: &mut [Remainder]) -> Vec<f64> {
        let mut windows = ideals.to_vec();
        rounding.round(0.001, &mut windows, remainders);
        windows
    }

    proptest! {
        #[test]
        fn the_sum_holds_and_none_is_off_by_a_segment(
            ideals in prop::collection::vec(0.0f64..60.0, 1..40), calls in 1usize..40,
        ) {
            let mut rounding = Rounding::default();
            let mut remainders = vec![Remainder::default(); ideals.len()];
            for _ in 0..calls {
                let windows = rounded(&mut rounding, &ideals, &mut remainders);
                let sums = [&windows, &ideals].map(|of| of.iter().sum::<f64>());
                prop_assert!((sums[0] - sums[1]).abs() <= 0.5 + 1e-9, "{sums:?}");
                for (window, ideal) in windows.iter().zip(&ideals) {
                    prop_assert!(window.fract() == 0.0 && (window - ideal).abs() < 1.0);
                }
            }
        }
    }

    #[test]
    fn over_time_every_flow_has_what_was_meant() {
        let ideals = [3.4; 25];
        let mut rounding = Rounding::default();
        let mut remainders = [Remainder::default(); 25];
        let mut sums = [0.0; 25];
        for _ in 0..10_000 {
            let windows = rounded(&mut rounding, &ideals, &mut remainders);
            sums.iter_mut().zip(windows).for_each(|(sum, w)| *sum += w);
        }
        for sum in sums {
            assert!((sum / 10_000.0 - 3.4).abs() < 0.01, "{sum}");
        }
    }

    #[test]
    fn between_rotations_no_window_changes() {
        let ideals = [2.5, 2.5, 7.25, 7.75];
        let mut rounding = Rounding::default();
        let mut remainders = [Remainder::default(); 4];
        let first = rounded(&mut rounding, &ideals, &mut remainders);
        for _ in 0..8 {
            assert_eq!(rounded(&mut rounding, &ideals, &mut remainders), first);
        }
    }
}
