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
}
