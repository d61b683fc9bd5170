//! Long-term bandwidth: a token-bucket policer is recognised and its rate used.
//!
//! Source: Linux `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done` (the draft mentions it in 4.5.2 as
//! an implementation's matter). Two successive intervals of at least four rounds, each begun and
//! ended by losses, with more than a fifth lost and nearly the same delivery rate, show a policer:
//! for the next 48 rounds their mean is the bandwidth, and nothing probes.

use super::{Bbr, State};
use crate::Ctx;
use crate::delivery_rate::DeliveryRate;
use units::{BitRate, Bytes, Duration, Instant};

/// Least rounds of an interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const INTERVAL_ROUNDS: u32 = 4;
/// Lost over delivered, in 1/256, from which an interval counts (`bbr_lt_loss_thresh`).
const LOSS_THRESHOLD: u128 = 50;
/// Two rates are alike if they differ by at most an eighth (`bbr_lt_bw_ratio`) ...
const SIMILAR_RATIO: u64 = 8;
/// ... or 4 kbit/s (`bbr_lt_bw_diff`).
const SIMILAR_DIFFERENCE: u64 = 4_000;
/// Rounds for which the long-term bandwidth is used (`bbr_lt_bw_max_rtts`).
const MAX_ROUNDS: u32 = 48;
/// Shortest interval that is measured.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// The search for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// Rate of the last interval, or of the policer; 0 if none.
    bandwidth: u64,
    /// The rate is that of a policer, and used.
    is_used: bool,
    /// An interval is running.
    is_sampling: bool,
    /// Rounds of the interval, or since the rate is used.
    rounds: u32,
    /// When the interval began, and what was delivered then.
    since: Instant,
    delivered: Bytes,
    /// Lost in the interval.
    lost: Bytes,
}

impl Policer {
    /// The policer's rate, if there seems to be one.
    pub(super) fn bandwidth(&self) -> Option<BitRate> {
        self.is_used.then_some(BitRate::from_bps(self.bandwidth))
    }

    pub(super) fn reset(&mut self, delivery: &DeliveryRate) {
        *self = Self::default();
        self.start_interval(delivery);
    }

    fn start_interval(&mut self, delivery: &DeliveryRate) {
        self.since = delivery.delivered_at();
        self.delivered = delivery.delivered();
        self.lost = Bytes::ZERO;
        self.rounds = 0;
    }

    /// True if both rates could be those of the same policer.
    fn is_similar(&self, bandwidth: u64) -> bool {
        let difference = self.bandwidth.abs_diff(bandwidth);
        difference <= self.bandwidth / SIMILAR_RATIO || difference <= SIMILAR_DIFFERENCE
    }

    /// An interval has ended with this rate.
    fn end_interval(&mut self, bandwidth: u64, delivery: &DeliveryRate) {
        if self.bandwidth > 0 && self.is_similar(bandwidth) {
            self.bandwidth = bandwidth.midpoint(self.bandwidth);
            self.is_used = true;
            self.rounds = 0;
        } else {
            self.bandwidth = bandwidth;
            self.start_interval(delivery);
        }
    }

    /// Counts an acknowledgement while no policer has been found.
    fn sample(&mut self, lost: Bytes, is_app_limited: bool, is_round: bool, rate: &DeliveryRate) {
        if !self.is_sampling {
            // the first loss shows that the bucket is empty; what came before was its burst
            if lost.is_zero() {
                return;
            }
            self.start_interval(rate);
            self.is_sampling = true;
        } else {
            self.lost += lost;
        }
        if is_app_limited {
            self.reset(rate);
            return;
        }
        self.rounds += u32::from(is_round);
        if self.rounds < INTERVAL_ROUNDS {
            return;
        }
        if self.rounds > 4 * INTERVAL_ROUNDS {
            self.reset(rate);
            return;
        }
        let delivered = rate.delivered().saturating_sub(self.delivered);
        let is_lossy =
            u128::from(self.lost.get()) * 256 >= u128::from(delivered.get()) * LOSS_THRESHOLD;
        let interval = rate.delivered_at().saturating_since(self.since);
        if !lost.is_zero() && !delivered.is_zero() && is_lossy && interval >= MIN_INTERVAL {
            self.end_interval(BitRate::from_bytes_per(delivered, interval).as_bps(), rate);
        }
    }
}

impl Bbr {
    /// Takes the losses that an acknowledgement has shown; after 48 rounds at a policer's rate the
    /// path is probed again.
    pub(super) fn update_policer(&mut self, cx: &mut Ctx<'_>, lost: Bytes, is_app_limited: bool) {
        if !self.policer.is_used {
            self.sample_policer(lost, is_app_limited);
        } else if matches!(self.state, State::ProbeBw { .. }) && self.round.is_start {
            self.policer.rounds += 1;
            if self.policer.rounds >= MAX_ROUNDS {
                self.policer.reset(&self.delivery);
                self.enter_probe_bw(cx);
            }
        }
    }

    /// Takes losses while no policer is known.
    pub(super) fn sample_policer(&mut self, lost: Bytes, is_app_limited: bool) {
        if !self.policer.is_used {
            self.policer
                .sample(lost, is_app_limited, self.round.is_start, &self.delivery);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckSample;

    /// A policer search beside the deliveries it looks at.
    struct Bench {
        policer: Policer,
        rate: DeliveryRate,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            let mut bench = Self {
                policer: Policer::default(),
                rate: DeliveryRate::default(),
                now: Instant::ZERO,
            };
            bench.round(1_000, 1_000);
            bench
        }

        /// A round of 250 ms that delivers and loses so many bytes.
        fn round(&mut self, delivered: u64, lost: u64) {
            self.now += Duration::from_millis(250);
            let ack = AckSample {
                newly_acked: Bytes::new(delivered),
                newly_lost: Bytes::new(lost),
                bytes_in_flight: Bytes::ZERO,
                prior_in_flight: Bytes::ZERO,
                rtt: None,
                srtt: Duration::ZERO,
                min_rtt: Duration::ZERO,
                stamp: None,
                is_recovering: false,
                is_cwnd_limited: true,
                is_round_start: true,
                ecn_echo: false,
                newly_marked: Bytes::ZERO,
            };
            self.rate.on_ack(self.now, &ack);
            self.policer.sample(ack.newly_lost, false, true, &self.rate);
        }
    }

    #[test]
    fn two_lossy_intervals_of_like_rate_show_a_policer() {
        let mut bench = Bench::new();
        // The round of the first loss counts, its bytes do not: three rounds more, 75 kB delivered
        // and 15 kB lost in 750 ms are 51/256 and 800 kbit/s.
        for _ in 0..3 {
            bench.round(25_000, 5_000);
        }
        assert_eq!(bench.policer.bandwidth(), None);
        // 840 kbit/s is within an eighth: the mean is used
        for _ in 0..4 {
            bench.round(26_250, 6_000);
        }
        assert_eq!(bench.policer.bandwidth(), Some(BitRate::from_bps(820_000)));
    }

    #[test]
    fn unlike_rates_or_fewer_losses_do_not() {
        let mut bench = Bench::new();
        for (rounds, kilobytes) in [(3, 25), (4, 30), (4, 25), (4, 30)] {
            for _ in 0..rounds {
                bench.round(kilobytes * 1_000, 8_000);
            }
            assert_eq!(bench.policer.bandwidth(), None);
        }
        let mut bench = Bench::new();
        for _ in 0..40 {
            // 19 % are 48.6/256
            bench.round(25_000, 4_750);
        }
        assert_eq!(bench.policer.bandwidth(), None);
    }
}
