//! Maximum over a sliding window of rounds.
//!
//! Source: Kathleen Nichols' windowed filter as in Linux `lib/win_minmax.c`: three samples, the best
//! of the window and the best of its later parts, stand for all of it, in constant space and time.
//! The result is the true maximum or a little less than it, never more.

/// A measurement and the round in which it was made.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: u64,
}

/// The maximum of the values of the last `window` rounds.
#[derive(Clone, Debug)]
pub(super) struct WindowedMax {
    /// Length in rounds; > 0.
    window: u64,
    /// Best, second and third best; rounds never fall, values never rise from one to the next.
    best: [Sample; 3],
}

impl WindowedMax {
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            best: [Sample::default(); 3],
        }
    }

    /// The maximum; 0 before the first sample.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes a value measured in `round`; rounds never fall.
    pub(super) fn update(&mut self, round: u64, value: u64) {
        let sample = Sample { round, value };
        let is_all_old = round.saturating_sub(self.best[2].round) > self.window;
        if value >= self.best[0].value || is_all_old {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.expire(sample);
    }

    /// Drops a best that has left the window, and keeps the second and third best from later parts
    /// of it, so that something recent can take its place.
    fn expire(&mut self, sample: Sample) {
        let age = sample.round.saturating_sub(self.best[0].round);
        if age > self.window {
            self.promote(sample);
            if sample.round.saturating_sub(self.best[0].round) > self.window {
                self.promote(sample);
            }
        } else if self.best[1].round == self.best[0].round && age > self.window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].round == self.best[1].round && age > self.window / 2 {
            self.best[2] = sample;
        }
    }

    fn promote(&mut self, newest: Sample) {
        self.best = [self.best[1], self.best[2], newest];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peak_lasts_for_the_window_and_no_longer() {
        let mut filter = WindowedMax::new(10);
        filter.update(5, 100);
        for round in 6..=15 {
            filter.update(round, 60);
            assert_eq!(filter.get(), 100, "round {round}");
        }
        filter.update(16, 60);
        assert_eq!(filter.get(), 60);
    }

    #[test]
    fn silence_longer_than_the_window_expires_all() {
        let mut filter = WindowedMax::new(10);
        filter.update(0, 100);
        filter.update(11, 1);
        assert_eq!(filter.get(), 1);
    }

    proptest! {
        #[test]
        fn never_above_the_true_maximum_nor_below_the_last_value(
            steps in prop::collection::vec((0u64..4, 0u64..1_000), 1..200),
        ) {
            let mut filter = WindowedMax::new(10);
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut round = 0;
            for (advance, value) in steps {
                round += advance;
                seen.push((round, value));
                filter.update(round, value);
                let in_window = seen.iter().filter(|(r, _)| round - r <= 10);
                let maximum = in_window.map(|&(_, v)| v).max().unwrap_or(0);
                prop_assert!(filter.get() <= maximum);
                prop_assert!(filter.get() >= value);
            }
        }
    }
}
