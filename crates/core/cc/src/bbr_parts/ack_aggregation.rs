//! How much is acknowledged at once beyond what the bandwidth explains.
//!
//! Source: Linux `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd` (2019, after -00);
//! draft-ietf-ccwg-bbr-06 5.5.9. Links that aggregate (Wi-Fi, a radio's slots) acknowledge in bursts;
//! the window gets the largest excess of the last five to ten rounds on top, so that the sender does
//! not pause between bursts.
//!
//! *Deviations*
//! - -06 takes the maximum of exactly ten rounds; here, as in Linux, of two halves of five.
//! - -06 does not bound the excess; here, as in Linux, 100 ms at the estimated bandwidth do.

use units::{BitRate, Bytes, Duration, Instant};

/// Rounds in each of the two halves of the window (`bbr_extra_acked_win_rtts`).
pub(crate) const WINDOW_ROUNDS: u32 = 5;
/// Segments after which an epoch begins anew (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_RESET_SEGMENTS: u64 = 1 << 20;
/// The excess is taken for at most this time at the estimated bandwidth (`bbr_extra_acked_max_us`).
const MAX_EXTRA: Duration = Duration::from_millis(100);

/// Excess of acknowledged over expected bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckAggregation {
    /// When the epoch began in which acknowledgements have run ahead.
    epoch_start: Instant,
    /// Bytes acknowledged since.
    epoch_acked: Bytes,
    /// Largest excess in this half of the window and in the one before.
    extra_acked: [Bytes; 2],
    /// Which of them is this half's.
    half: usize,
    /// Rounds of this half so far; < [`WINDOW_ROUNDS`].
    rounds: u32,
}

/// An acknowledgement with a valid rate sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    /// When it arrived.
    pub(crate) delivered_at: Instant,
    /// Payload that it acknowledged.
    pub(crate) newly_acked: Bytes,
    /// The estimated bandwidth.
    pub(crate) bandwidth: BitRate,
    /// The present window, which bounds the excess.
    pub(crate) cwnd: Bytes,
    /// Most payload of a segment; > 0.
    pub(crate) mss: Bytes,
    /// It began a round.
    pub(crate) is_round_start: bool,
    /// Rounds in each half: [`WINDOW_ROUNDS`], or fewer.
    pub(crate) half_rounds: u32,
}

impl Epoch {
    /// Rounds in each half when the pipe has been filled, and before (-06 5.5.9).
    pub(crate) fn half_rounds(is_pipe_filled: bool) -> u32 {
        if is_pipe_filled { WINDOW_ROUNDS } else { 1 }
    }
}

impl AckAggregation {
    /// A new epoch begins, because an idle sender starts again.
    pub(crate) fn restart_epoch(&mut self, now: Instant) {
        self.epoch_start = now;
        self.epoch_acked = Bytes::ZERO;
    }

    fn start_round(&mut self, half_rounds: u32) {
        self.rounds += 1;
        if self.rounds >= half_rounds {
            self.rounds = 0;
            self.half = 1 - self.half;
            self.extra_acked[self.half] = Bytes::ZERO;
        }
    }

    fn extra_acked(&self) -> Bytes {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    /// Takes an acknowledgement.
    pub(crate) fn update(&mut self, ack: &Epoch) {
        if ack.newly_acked.is_zero() {
            return;
        }
        let reset_threshold = ack.mss * EPOCH_RESET_SEGMENTS;
        if ack.is_round_start {
            self.start_round(ack.half_rounds);
        }
        let elapsed = ack.delivered_at.saturating_since(self.epoch_start);
        let mut expected = ack.bandwidth.bytes_in(elapsed);
        if self.epoch_acked <= expected || self.epoch_acked + ack.newly_acked >= reset_threshold {
            self.restart_epoch(ack.delivered_at);
            expected = Bytes::ZERO;
        }
        self.epoch_acked = (self.epoch_acked + ack.newly_acked).min(reset_threshold);
        let extra = self.epoch_acked.saturating_sub(expected).min(ack.cwnd);
        let largest = &mut self.extra_acked[self.half];
        *largest = extra.max(*largest);
    }

    /// What the window gets on top of gain times BDP.
    pub(crate) fn allowance(&self, bandwidth: BitRate) -> Bytes {
        self.extra_acked().min(bandwidth.bytes_in(MAX_EXTRA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_half_counts_for_five_to_ten_rounds() {
        let mut aggregation = AckAggregation::default();
        aggregation.extra_acked[0] = Bytes::new(9_000);
        for _ in 0..9 {
            aggregation.start_round(WINDOW_ROUNDS);
            assert_eq!(aggregation.extra_acked(), Bytes::new(9_000));
        }
        aggregation.start_round(WINDOW_ROUNDS);
        assert_eq!(aggregation.extra_acked(), Bytes::ZERO);
    }

    #[test]
    fn draft_06_section_5_5_9_before_the_pipe_is_full_one_round_or_two_count() {
        let mut aggregation = AckAggregation::default();
        aggregation.extra_acked[0] = Bytes::new(9_000);
        aggregation.start_round(Epoch::half_rounds(false));
        assert_eq!(aggregation.extra_acked(), Bytes::new(9_000));
        aggregation.start_round(Epoch::half_rounds(false));
        assert_eq!(aggregation.extra_acked(), Bytes::ZERO);
    }
}
