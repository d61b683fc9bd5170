//! Round-trip times and the timeout that follows from them: RFC 6298.
//!
//! | section | here |
//! | --- | --- |
//! | 2.1: 1 s before the first sample | [`INITIAL_RTO`] |
//! | 2.2, 2.3: SRTT, RTTVAR, RTO = SRTT + max(G, 4 RTTVAR) | [`RttEstimator::on_sample`] |
//! | 2.4, 2.5: minimum and maximum | [`RtoConfig`] |
//! | 5.5: doubled as the timer runs out | [`RttEstimator::back_off`] |
//!
//! Which samples count (Karn's rule, timestamps, Elapsed Time) is the transport's to decide.
//!
//! *Deviations*
//! - As in Linux, the minimum (200 ms there; 2.4 states 1 s) bounds the variation's term, so that the timeout is at least
//!   SRTT and that. The clock's granularity G is a nanosecond and does not count.
//! - 5.7 (3 s after a lost SYN) is left out: a handshake's timer is the transport's.

use units::{Duration, Instant};

/// 2.1: the timeout before the first sample.
pub const INITIAL_RTO: Duration = Duration::from_secs(1);
/// 2.4 as Linux has it (`TCP_RTO_MIN`): the minimum term of the variation.
pub const MIN_RTO: Duration = Duration::from_millis(200);
/// Maximum doublings that are counted: from 200 ms on they make 58 hours, more than any maximum.
const MAX_BACKOFF: u32 = 20;

/// The limits of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Minimum term of the variation (2.4).
    pub min: Duration,
    /// The longest timeout, backoff included (2.5 allows 60 s or more).
    pub max: Duration,
}

impl RtoConfig {
    /// As Linux's TCP: 200 ms and 120 s (`TCP_RTO_MIN`, `TCP_RTO_MAX`).
    pub const LINUX: Self = Self {
        min: MIN_RTO,
        max: Duration::from_secs(120),
    };
}

/// Smoothed round-trip time, its variation, and the timeout.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    /// SRTT; none before the first sample.
    srtt: Option<Duration>,
    /// RTTVAR.
    rttvar: Duration,
    /// The last sample.
    latest: Duration,
    /// Minimum; [`Duration::MAX`] before the first.
    min_rtt: Duration,
    /// Timeout without backoff; at most the configured maximum.
    base: Duration,
    /// Doublings of the timeout since the last sample, at most [`MAX_BACKOFF`].
    backoff: u32,
}

/// 2.3: (1 - 1/4) RTTVAR + 1/4 |SRTT - R'|.
fn smoothed_variation(rttvar: Duration, srtt: Duration, sample: Duration) -> Duration {
    let deviation = srtt.max(sample) - srtt.min(sample);
    (rttvar * 3 + deviation) / 4
}

/// 2.3: (1 - 1/8) SRTT + 1/8 R'.
fn smoothed_rtt(srtt: Duration, sample: Duration) -> Duration {
    (srtt * 7 + sample) / 8
}

impl RttEstimator {
    /// Before any sample.
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            srtt: None,
            rttvar: Duration::ZERO,
            latest: Duration::ZERO,
            min_rtt: Duration::MAX,
            base: INITIAL_RTO.min(config.max),
            backoff: 0,
        }
    }

    /// 2.2 and 2.3: a round trip was measured; taken as at least a nanosecond. Ends the backoff.
    pub fn on_sample(&mut self, sample: Duration) {
        let sample = sample.max(Duration::from_nanos(1));
        let srtt = match self.srtt {
            None => {
                self.rttvar = sample / 2;
                sample
            }
            Some(srtt) => {
                self.rttvar = smoothed_variation(self.rttvar, srtt, sample);
                smoothed_rtt(srtt, sample)
            }
        };
        self.srtt = Some(srtt);
        self.latest = sample;
        self.base = (srtt + (self.rttvar * 4).max(self.config.min)).min(self.config.max);
        self.backoff = 0;
    }

    /// A round trip that counts for the minimum: not ambiguous, and with all that the peer waited.
    pub fn on_min_sample(&mut self, sample: Duration) {
        self.min_rtt = self.min_rtt.min(sample);
    }

    /// 5.5: the timer ran out.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// The timeout, backoff included.
    pub fn rto(&self) -> Duration {
        self.backed_off(self.backoff)
    }

    /// The timeout after so many doublings (of a timer with a backoff of its own).
    pub fn backed_off(&self, doublings: u32) -> Duration {
        (self.base * (1 << doublings.min(MAX_BACKOFF))).min(self.config.max)
    }

    /// When a timer started now runs out.
    pub fn deadline(&self, now: Instant) -> Instant {
        now + self.rto()
    }

    /// Smoothed round-trip time; none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Variation of the round-trip time (RTTVAR); zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The last sample.
    pub fn latest(&self) -> Option<Duration> {
        self.srtt.map(|_| self.latest)
    }

    /// Minimum round-trip time; none before the first.
    pub fn min_rtt(&self) -> Option<Duration> {
        (self.min_rtt < Duration::MAX).then_some(self.min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn linux() -> RttEstimator {
        RttEstimator::new(RtoConfig::LINUX)
    }

    #[test]
    fn rfc_6298_2_1_one_second_before_any_sample() {
        assert_eq!(linux().rto(), Duration::from_secs(1));
        let short = RtoConfig {
            max: ms(300),
            ..RtoConfig::LINUX
        };
        assert_eq!(RttEstimator::new(short).rto(), ms(300));
    }

    /// 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
    #[test]
    fn rfc_6298_2_2_the_first_sample() {
        let mut e = linux();
        assert_eq!((e.srtt(), e.latest(), e.min_rtt()), (None, None, None));
        e.on_sample(ms(400));
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Some(ms(400)), ms(200), ms(1_200))
        );
    }

    /// 2.3 by hand: R = 400, then R' = 800: RTTVAR = 3/4 200 + 1/4 400 = 250,
    /// SRTT = 7/8 400 + 1/8 800 = 450, RTO = 450 + 1000.
    #[test]
    fn rfc_6298_2_3_a_later_sample_uses_the_old_srtt_for_the_variation() {
        let mut e = linux();
        e.on_sample(ms(400));
        e.on_sample(ms(800));
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Some(ms(450)), ms(250), ms(1_450))
        );
        assert_eq!(e.latest(), Some(ms(800)));
    }

    /// Linux: srtt + max(4 rttvar, 200 ms).
    #[test]
    fn linux_the_variation_counts_for_at_least_200_ms() {
        let mut e = linux();
        e.on_sample(ms(20));
        assert_eq!(e.rto(), ms(220));
    }

    #[test]
    fn rfc_6298_5_5_the_timeout_doubles_up_to_the_maximum_and_a_sample_ends_that() {
        for max in [60, 120].map(Duration::from_secs) {
            let mut e = RttEstimator::new(RtoConfig {
                max,
                ..RtoConfig::LINUX
            });
            e.on_sample(ms(20));
            for doublings in 1..=8 {
                e.back_off();
                assert_eq!(e.rto(), ms(220 << doublings));
                assert_eq!(e.deadline(Instant::ZERO), Instant::ZERO + e.rto());
            }
            for _ in 0..60 {
                e.back_off();
            }
            assert_eq!(e.rto(), max);
            assert_eq!(e.backed_off(1), ms(440), "another timer's doublings");
            e.on_sample(ms(20));
            assert_eq!(e.rto(), ms(220));
        }
    }

    #[test]
    fn the_minimum_is_of_the_samples_that_count_for_it() {
        let mut e = linux();
        e.on_sample(ms(10));
        e.on_min_sample(ms(30));
        e.on_min_sample(ms(40));
        assert_eq!(e.min_rtt(), Some(ms(30)));
    }

    proptest! {
        /// SRTT stays between the least and the greatest sample; the timeout between its limits.
        #[test]
        fn estimates_stay_within_what_was_measured(
            samples in prop::collection::vec(0u64..10_000_000_000, 1..50),
            back_offs in 0u32..40,
        ) {
            let mut e = linux();
            for &nanos in &samples {
                e.on_sample(Duration::from_nanos(nanos));
            }
            let (min, max) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
            let srtt = e.srtt().unwrap();
            // rounded down at each step
            prop_assert!(srtt.as_nanos() + 8 >= *min && srtt.as_nanos() <= (*max).max(1));
            for _ in 0..back_offs {
                let before = e.rto();
                e.back_off();
                prop_assert!(e.rto() >= before);
            }
            prop_assert!(e.rto() >= (srtt + MIN_RTO).min(RtoConfig::LINUX.max));
            prop_assert!(e.rto() <= RtoConfig::LINUX.max);
        }
    }
}
