//! Round-trip times and the timeout that follows from them: RFC 6298, as RFC 4341 section 5.1 requires
//! of CCID 2.
//!
//! Sequence numbers are never used twice, so that no sample is ambiguous. The time for which the peer reports
//! that it held the acknowledgement back (Elapsed Time, RFC 4340 13.2) is taken off, but never below the
//! minimum time measured without it (RFC 9002 5.3): a peer cannot pretend to be nearer than it is.
//!
//! *Deviations*
//! - The minimum value (200 ms by default; RFC 6298 2.4 states 1 s, Linux 200 ms) bounds the variance's
//!   term, so that the timeout is at least srtt and that, as in Linux.

use units::{Duration, Instant};

/// RFC 6298 2.1.
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Maximum doublings that are counted; beyond them the greatest timeout holds anyway.
const MAX_BACKOFF: u32 = 20;

/// Smoothed round-trip time, its variation, and the timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttEstimator {
    /// SRTT; none before the first sample.
    srtt: Option<Duration>,
    /// RTTVAR.
    rttvar: Duration,
    /// Minimum time, with what acknowledgements waited; [`Duration::MAX`] before the first.
    min_rtt: Duration,
    latest: Duration,
    /// Timeout without backoff.
    base: Duration,
    /// Doublings of the timeout since the last sample.
    backoff: u32,
    min_rto: Duration,
    max_rto: Duration,
}

/// RFC 6298 2.3: (1 - 1/4) RTTVAR + 1/4 |SRTT - R'|.
fn smoothed_variation(rttvar: Duration, srtt: Duration, sample: Duration) -> Duration {
    (rttvar * 3 + (srtt.max(sample) - srtt.min(sample))) / 4
}

/// RFC 6298 2.3: (1 - 1/8) SRTT + 1/8 R'.
fn smoothed_rtt(srtt: Duration, sample: Duration) -> Duration {
    (srtt * 7 + sample) / 8
}

/// RFC 9002 5.3: the sample without the time that the acknowledgement waited.
fn without_delay(sample: Duration, elapsed: Duration, min_rtt: Duration) -> Duration {
    if sample >= min_rtt + elapsed {
        sample - elapsed
    } else {
        sample
    }
}

impl RttEstimator {
    pub(super) fn new(min_rto: Duration, max_rto: Duration) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            min_rtt: Duration::MAX,
            latest: Duration::ZERO,
            base: INITIAL_RTO.min(max_rto),
            backoff: 0,
            min_rto,
            max_rto,
        }
    }

    /// A round trip was measured, of which the acknowledgement waited `elapsed` at the peer
    /// (RFC 6298 2.2 and 2.3). Ends the backoff. Returns the sample as it counts.
    pub(super) fn on_sample(&mut self, measured: Duration, elapsed: Duration) -> Duration {
        let measured = measured.max(Duration::from_nanos(1));
        self.min_rtt = self.min_rtt.min(measured);
        let sample = without_delay(measured, elapsed, self.min_rtt);
        match self.srtt {
            None => {
                self.srtt = Some(sample);
                self.rttvar = sample / 2;
            }
            Some(srtt) => {
                self.rttvar = smoothed_variation(self.rttvar, srtt, sample);
                self.srtt = Some(smoothed_rtt(srtt, sample));
            }
        }
        self.latest = sample;
        let variation = (self.rttvar * 4).max(self.min_rto);
        self.base = (self.srtt.unwrap_or(sample) + variation).min(self.max_rto);
        self.backoff = 0;
        sample
    }

    /// RFC 6298 5.5: the timer ran out.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// The timeout, backoff included.
    pub(super) fn rto(&self) -> Duration {
        (self.base * (1 << self.backoff)).min(self.max_rto)
    }

    /// When a timer started now runs out.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        now + self.rto()
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    pub(super) fn rttvar(&self) -> Duration {
        self.rttvar
    }
    pub(super) fn latest(&self) -> Option<Duration> {
        self.srtt.map(|_| self.latest)
    }
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.srtt.map(|_| self.min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn estimator() -> RttEstimator {
        RttEstimator::new(ms(200), Duration::from_secs(60))
    }

    #[test]
    fn rfc_6298_2_1_one_second_before_any_sample() {
        assert_eq!(estimator().rto(), Duration::from_secs(1));
    }

    /// 2.2: SRTT = R, RTTVAR = R/2. 2.3 by hand: R = 400, then R' = 800: RTTVAR = 3/4 200 + 1/4 400
    /// = 250, SRTT = 7/8 400 + 1/8 800 = 450, RTO = 450 + 1000.
    #[test]
    fn rfc_6298_2_2_and_2_3_by_hand() {
        let mut e = estimator();
        e.on_sample(ms(400), Duration::ZERO);
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Some(ms(400)), ms(200), ms(1_200))
        );
        e.on_sample(ms(800), Duration::ZERO);
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Some(ms(450)), ms(250), ms(1_450))
        );
    }

    #[test]
    fn rfc_6298_5_5_the_timeout_doubles_up_to_the_greatest_and_a_sample_ends_that() {
        let mut e = estimator();
        e.on_sample(ms(20), Duration::ZERO);
        assert_eq!(e.rto(), ms(220));
        for doublings in 1..=8 {
            e.back_off();
            assert_eq!(e.rto(), ms(220 << doublings));
        }
        for _ in 0..60 {
            e.back_off();
            assert_eq!(e.rto(), Duration::from_secs(60));
        }
        e.on_sample(ms(20), Duration::ZERO);
        assert_eq!(e.rto(), ms(220));
    }

    /// RFC 9002 5.3: the delay counts unless the path would seem shorter than it is known to be.
    #[test]
    fn rfc_9002_5_3_elapsed_time_is_taken_off_down_to_the_minimum() {
        let mut e = estimator();
        assert_eq!(
            e.on_sample(ms(20), ms(5)),
            ms(20),
            "nothing to compare with"
        );
        assert_eq!(e.on_sample(ms(30), ms(8)), ms(22));
        assert_eq!(e.on_sample(ms(30), ms(10)), ms(20));
        assert_eq!(
            e.on_sample(ms(30), ms(11)),
            ms(30),
            "would be below the minimum"
        );
        assert_eq!(e.min_rtt(), Some(ms(20)));
    }
}
