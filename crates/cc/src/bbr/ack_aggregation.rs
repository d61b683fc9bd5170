//! How much is acknowledged at once beyond what the bandwidth explains.
//!
//! Source: Linux `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd` (2019, after the draft).
//! Links that aggregate (Wi-Fi, a radio's slots) acknowledge in bursts; the window gets the largest
//! excess of the last five to ten rounds on top, so that the sender does not pause between bursts.

use super::Bbr;
use crate::AckSample;
use units::{Bytes, Duration, Instant};

/// Rounds in each of the two halves of the window (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// Segments after which an epoch begins anew (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_RESET_SEGMENTS: u64 = 1 << 20;
/// The excess is taken for at most this time at the estimated bandwidth (`bbr_extra_acked_max_us`).
const MAX_EXTRA: Duration = Duration::from_millis(100);

/// Excess of acknowledged over expected bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
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

impl AckAggregation {
    /// A new epoch begins, because an idle sender starts again.
    pub(super) fn restart_epoch(&mut self, now: Instant) {
        self.epoch_start = now;
        self.epoch_acked = Bytes::ZERO;
    }

    fn start_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.half = 1 - self.half;
            self.extra_acked[self.half] = Bytes::ZERO;
        }
    }

    fn extra_acked(&self) -> Bytes {
        self.extra_acked[0].max(self.extra_acked[1])
    }
}

impl Bbr {
    /// Called for acknowledgements with a valid rate sample.
    pub(super) fn update_ack_aggregation(&mut self, ack: &AckSample) {
        if ack.newly_acked.is_zero() {
            return;
        }
        let bandwidth = self.bandwidth();
        let delivered_at = self.delivery.delivered_at();
        let (cwnd, reset_threshold) = (self.cwnd, self.mss * EPOCH_RESET_SEGMENTS);
        let epoch = &mut self.aggregation;
        if self.round.is_start {
            epoch.start_round();
        }
        let mut expected = bandwidth.bytes_in(delivered_at.saturating_since(epoch.epoch_start));
        if epoch.epoch_acked <= expected || epoch.epoch_acked + ack.newly_acked >= reset_threshold {
            epoch.restart_epoch(delivered_at);
            expected = Bytes::ZERO;
        }
        epoch.epoch_acked = (epoch.epoch_acked + ack.newly_acked).min(reset_threshold);
        let extra = epoch.epoch_acked.saturating_sub(expected).min(cwnd);
        let largest = &mut epoch.extra_acked[epoch.half];
        *largest = extra.max(*largest);
    }

    /// What the window gets on top of gain times BDP.
    pub(super) fn ack_aggregation_cwnd(&self) -> Bytes {
        if !self.full_pipe.is_filled {
            return Bytes::ZERO;
        }
        self.aggregation
            .extra_acked()
            .min(self.bandwidth().bytes_in(MAX_EXTRA))
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
            aggregation.start_round();
            assert_eq!(aggregation.extra_acked(), Bytes::new(9_000));
        }
        aggregation.start_round();
        assert_eq!(aggregation.extra_acked(), Bytes::ZERO);
    }
}
