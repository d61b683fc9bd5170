//! Round-trip times of a path, for the timeout that RFC 4341 section 5.1 requires of CCID 2 ([`recovery::rto`]).
//!
//! Sequence numbers are never used twice, so that no sample is ambiguous. The time for which the peer reports
//! that it held the acknowledgement back (Elapsed Time, RFC 4340 13.2) is taken off, but never below the
//! minimum time measured without it (RFC 9002 5.3): a peer cannot pretend to be nearer than it is.

use recovery::RttEstimator;
use units::Duration;

/// RFC 9002 5.3: the sample without the time that the acknowledgement waited.
fn without_delay(sample: Duration, elapsed: Duration, min_rtt: Duration) -> Duration {
    if sample >= min_rtt + elapsed {
        sample - elapsed
    } else {
        sample
    }
}

/// A round trip was measured, of which the acknowledgement waited `elapsed` at the peer. Returns the sample as it counts.
pub(super) fn take_sample(
    rtt: &mut RttEstimator,
    measured: Duration,
    elapsed: Duration,
) -> Duration {
    let measured = measured.max(Duration::from_nanos(1));
    rtt.on_min_sample(measured);
    let min_rtt = rtt.min_rtt().unwrap_or(measured);
    let sample = without_delay(measured, elapsed, min_rtt);
    rtt.on_sample(sample);
    sample
}

/// The least round-trip time of the round that goes on and the one before. A queue that stands makes every packet late; a host
/// that is late, a radio that sends again, an acknowledgement that waits make some.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentMinimum {
    /// [`Duration::MAX`]: no sample yet.
    current: Duration,
    last: Duration,
}

impl Default for RecentMinimum {
    fn default() -> Self {
        Self {
            current: Duration::MAX,
            last: Duration::MAX,
        }
    }
}

impl RecentMinimum {
    /// A round trip was measured.
    pub(super) fn on_sample(&mut self, sample: Duration) {
        self.current = self.current.min(sample);
    }

    /// What was in flight as the round began has arrived. One without a sample does not count.
    pub(super) fn on_round(&mut self) {
        if self.current < Duration::MAX {
            self.last = self.current;
            self.current = Duration::MAX;
        }
    }

    /// None before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        let least = self.current.min(self.last);
        (least < Duration::MAX).then_some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recovery::RtoConfig;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// RFC 9002 5.3: the delay counts unless the path would seem shorter than it is known to be.
    #[test]
    fn rfc_9002_5_3_elapsed_time_is_taken_off_down_to_the_minimum() {
        let mut rtt = RttEstimator::new(RtoConfig::LINUX);
        let mut sample = |measured, elapsed| take_sample(&mut rtt, ms(measured), ms(elapsed));
        assert_eq!(sample(20, 5), ms(20), "nothing to compare with");
        assert_eq!(sample(30, 8), ms(22));
        assert_eq!(sample(30, 10), ms(20));
        assert_eq!(sample(30, 11), ms(30), "would be below the minimum");
        assert_eq!(rtt.min_rtt(), Some(ms(20)));
    }

    #[test]
    fn the_recent_minimum_is_of_two_rounds() {
        let mut recent = RecentMinimum::default();
        assert_eq!(recent.get(), None);
        recent.on_round();
        assert_eq!(recent.get(), None);
        recent.on_sample(ms(30));
        recent.on_sample(ms(20));
        recent.on_round();
        recent.on_sample(ms(25));
        assert_eq!(recent.get(), Some(ms(20)));
        recent.on_round();
        assert_eq!(recent.get(), Some(ms(25)));
        recent.on_round();
        assert_eq!(recent.get(), Some(ms(25)), "a round without a sample");
    }
}
