//! STARTUP: the rate doubles each round until the pipe is full.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.2, Linux
//! `bbr_check_full_bw_reached`.

use super::Bbr;
use crate::delivery_rate::RateSample;

/// Growth that shows that the pipe is not full yet: a quarter (4.3.2.3).
const FULL_BW_PERCENT: u128 = 125;
/// Rounds without it after which the pipe is taken to be full (4.3.2.3).
const FULL_BW_ROUNDS: u32 = 3;

/// Whether STARTUP has filled the pipe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth in bit/s that growth is measured against.
    full_bw: u64,
    /// Rounds without growth since, at most [`FULL_BW_ROUNDS`].
    rounds: u32,
    /// Reached once; stays so.
    pub(super) is_filled: bool,
}

impl FullPipe {
    /// 4.3.2.3 BBRCheckFullPipe, at the start of a round that was not application-limited.
    fn on_round(&mut self, max_bw: u64) {
        if u128::from(max_bw) * 100 >= u128::from(self.full_bw) * FULL_BW_PERCENT {
            self.full_bw = max_bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.is_filled = self.rounds >= FULL_BW_ROUNDS;
    }

    /// Growth is measured anew: after a timeout, or a recovery that was not necessary.
    pub(super) fn reset_growth(&mut self) {
        self.full_bw = 0;
        self.rounds = 0;
    }

    /// After a timeout Linux drops the bandwidth, but keeps the count.
    pub(super) fn reset_bandwidth(&mut self) {
        self.full_bw = 0;
    }
}

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample else { return };
        if !self.full_pipe.is_filled && self.round.is_start && !sample.is_app_limited {
            self.full_pipe.on_round(self.max_bw.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_4_3_2_3_three_rounds_below_a_quarter_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        for bandwidth in [100, 125, 156, 195] {
            pipe.on_round(bandwidth);
        }
        // 156 is only 24.8 % above 125 and counts as a round without growth; 195 starts again
        assert_eq!((pipe.full_bw, pipe.rounds), (195, 0));
        for (bandwidth, is_filled) in [(200, false), (243, false), (200, true)] {
            pipe.on_round(bandwidth);
            assert_eq!(pipe.is_filled, is_filled);
        }
    }

    #[test]
    fn growth_starts_the_count_again() {
        let mut pipe = FullPipe::default();
        for bandwidth in [100, 101, 102, 125, 126, 127] {
            pipe.on_round(bandwidth);
            assert!(!pipe.is_filled);
        }
        pipe.on_round(128);
        assert!(pipe.is_filled);
    }
}
