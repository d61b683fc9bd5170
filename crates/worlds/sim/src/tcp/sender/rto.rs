//! The retransmission timeout: RFC 6298.
//!
//! *Deviations*
//! - As in Linux, the minimum value (200 ms; RFC 6298 2.4 states 1 s) bounds the variance's term, so the
//!   timeout is at least srtt + 200 ms; the maximum is 120 s (2.5 allows 60 s or more).
//! - 5.7 (3 s after a lost SYN) is left out: timestamps give a sample of a repeated SYN.

use units::{Duration, Instant};

/// RFC 6298 2.1.
pub(in super::super) const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Minimum term of the variance (Linux `TCP_RTO_MIN`).
pub(super) const MIN_RTO: Duration = Duration::from_millis(200);
/// Greatest timeout (Linux `TCP_RTO_MAX`).
const MAX_RTO: Duration = Duration::from_secs(120);
/// 2^10 x 200 ms exceeds [`MAX_RTO`].
const MAX_BACKOFF: u32 = 10;

/// Smoothed round-trip time, its variation, and the timeout that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttEstimator {
    /// SRTT; zero before the first sample.
    srtt: Duration,
    /// RTTVAR.
    rttvar: Duration,
    /// Minimum sample.
    min_rtt: Duration,
    /// Timeout without backoff.
    base: Duration,
    /// Doublings of the timeout since the last sample.
    backoff: u32,
}

/// RFC 6298 2.3: (1 - 1/4) RTTVAR + 1/4 |SRTT - R'|.
fn smoothed_variation(rttvar: Duration, srtt: Duration, sample: Duration) -> Duration {
    let deviation = srtt.max(sample) - srtt.min(sample);
    (rttvar * 3 + deviation) / 4
}

/// RFC 6298 2.3: (1 - 1/8) SRTT + 1/8 R'.
fn smoothed_rtt(srtt: Duration, sample: Duration) -> Duration {
    (srtt * 7 + sample) / 8
}

impl RttEstimator {
    pub(super) fn new() -> Self {
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::MAX,
            base: INITIAL_RTO,
            backoff: 0,
        }
    }

    /// A round trip was measured: RFC 6298 2.2 and 2.3. Ends the backoff.
    pub(super) fn on_sample(&mut self, sample: Duration) {
        if self.srtt.is_zero() {
            self.srtt = sample.max(Duration::from_nanos(1));
            self.rttvar = sample / 2;
        } else {
            self.rttvar = smoothed_variation(self.rttvar, self.srtt, sample);
            self.srtt = smoothed_rtt(self.srtt, sample);
        }
        self.base = (self.srtt + (self.rttvar * 4).max(MIN_RTO)).min(MAX_RTO);
        self.backoff = 0;
    }

    /// A round trip that was not ambiguous, for the minimum.
    pub(super) fn on_clean_sample(&mut self, sample: Duration) {
        self.min_rtt = self.min_rtt.min(sample);
    }

    /// RFC 6298 5.5: the timer ran out.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// The timeout, backoff included.
    pub(super) fn rto(&self) -> Duration {
        if self.backoff == 0 {
            self.base
        } else {
            self.backed_off(self.backoff)
        }
    }
    /// The timeout after so many doublings.
    pub(super) fn backed_off(&self, doublings: u32) -> Duration {
        (self.base * (1 << doublings.min(MAX_BACKOFF))).min(MAX_RTO)
    }
    pub(super) fn srtt(&self) -> Option<Duration> {
        (!self.srtt.is_zero()).then_some(self.srtt)
    }
    /// Smoothed round-trip time, zero before the first sample.
    pub(super) fn srtt_or_zero(&self) -> Duration {
        self.srtt
    }
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        (self.min_rtt < Duration::MAX).then_some(self.min_rtt)
    }
    /// Minimum round-trip time; [`Duration::MAX`] before the first sample.
    pub(super) fn min_rtt_or_max(&self) -> Duration {
        self.min_rtt
    }
    /// When a timer started now runs out.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        now + self.rto()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn rfc_6298_2_1_one_second_before_any_sample() {
        assert_eq!(RttEstimator::new().rto(), Duration::from_secs(1));
    }

    /// 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
    #[test]
    fn rfc_6298_2_2_the_first_sample() {
        let mut e = RttEstimator::new();
        e.on_sample(ms(400));
        assert_eq!((e.srtt, e.rttvar, e.rto()), (ms(400), ms(200), ms(1_200)));
    }

    /// 2.3 by hand: R = 400, then R' = 800: RTTVAR = 3/4 200 + 1/4 400 = 250,
    /// SRTT = 7/8 400 + 1/8 800 = 450, RTO = 450 + 1000.
    #[test]
    fn rfc_6298_2_3_a_later_sample_uses_the_old_srtt_for_the_variation() {
        let mut e = RttEstimator::new();
        e.on_sample(ms(400));
        e.on_sample(ms(800));
        assert_eq!((e.srtt, e.rttvar, e.rto()), (ms(450), ms(250), ms(1_450)));
    }

    /// Linux: srtt + max(4 rttvar, 200 ms).
    #[test]
    fn linux_the_variation_counts_for_at_least_200_ms() {
        let mut e = RttEstimator::new();
        e.on_sample(ms(20));
        assert_eq!(e.rto(), ms(220));
    }

    #[test]
    fn rfc_6298_5_5_the_timeout_doubles_up_to_120_s_and_a_sample_ends_that() {
        let mut e = RttEstimator::new();
        e.on_sample(ms(20));
        for doublings in 1..=9 {
            e.back_off();
            assert_eq!(e.rto(), ms(220 << doublings));
        }
        for _ in 0..40 {
            e.back_off();
            assert_eq!(e.rto(), Duration::from_secs(120));
        }
        e.on_sample(ms(20));
        assert_eq!(e.rto(), ms(220));
    }
}
