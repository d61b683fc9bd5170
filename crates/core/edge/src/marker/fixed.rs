//! Integer arithmetic of the packet side: what a program in the kernel has to repeat to the bit.
//!
//! | quantity | unit | most |
//! | --- | --- | --- |
//! | time | ns | 2^64, differences are cut at 2^32 (4.3 s) |
//! | rate ("drain") | bytes in 2^24 ns | 2^31 - 1, 1.02 Tbit/s |
//! | queue | 2^-16 bytes | 2^48 (4.3 GB) |
//! | probability | 2^-30 | 2^30 |

/// A drain is of 2^24 ns (16.8 ms).
pub(crate) const DRAIN_SHIFT: u32 = 24;
/// Queues have so many bits behind the byte.
pub(crate) const BYTE_SHIFT: u32 = 16;
/// The largest drain.
pub(crate) const MAX_DRAIN: u64 = (1 << 31) - 1;
/// The longest time that is reckoned with, ns.
pub(crate) const MAX_ELAPSED: u64 = 1 << 32;
/// The longest queue.
pub(crate) const MAX_QUEUE: u64 = 1 << 48;
/// The probability of what is certain.
pub(crate) const ONE: u64 = 1 << 30;

/// What drains in a time, in units of a queue. 2^32 x 2^31 fits.
pub(crate) fn drained(elapsed: u64, drain: u64) -> u64 {
    (elapsed.min(MAX_ELAPSED) * drain.min(MAX_DRAIN)) >> (DRAIN_SHIFT - BYTE_SHIFT)
}

/// Bytes as a queue; cut at the largest.
pub(crate) fn queue_of(bytes: u64) -> u64 {
    bytes.min(MAX_QUEUE >> BYTE_SHIFT) << BYTE_SHIFT
}

/// How long a queue takes at a drain above zero, ns.
pub(crate) fn delay(queue: u64, drain: u64) -> u64 {
    (queue.min(MAX_QUEUE) << (DRAIN_SHIFT - BYTE_SHIFT)) / drain.max(1)
}

/// RFC 9332 appendix A.1, `laqm`: 0 up to `from`, certain from `to` on, a line between.
pub(crate) fn ramp(delay: u64, from: u64, to: u64) -> u64 {
    if delay <= from {
        0
    } else if delay >= to {
        ONE
    } else {
        // the width is a second at the most, so that the product fits
        (delay - from) * ONE / (to - from)
    }
}

/// p'^2.
pub(crate) fn squared(probability: u64) -> u64 {
    let probability = probability.min(ONE);
    (probability * probability) >> 30
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_megabyte_a_second_drains_a_thousand_bytes_a_millisecond() {
        // 1e6 B/s in 2^24 ns: 16,777
        let drain = 16_777;
        let bytes = drained(MS, drain) >> BYTE_SHIFT;
        assert!((999..=1_000).contains(&bytes), "{bytes}");
        // 10,000 bytes take 10 ms, to 16 parts in a million that 16,777 is short of 16,777.2
        let took = delay(queue_of(10_000), drain);
        assert!((10 * MS..10 * MS + 200).contains(&took), "{took}");
    }

    #[test]
    fn extremes_fit() {
        assert_eq!(drained(u64::MAX, u64::MAX), ((1 << 32) * MAX_DRAIN) >> 8);
        assert_eq!(queue_of(u64::MAX), MAX_QUEUE);
        assert_eq!(delay(u64::MAX, 0), MAX_QUEUE << 8);
        assert_eq!(ramp(999_999_999, 0, 1_000_000_000), 1_073_741_822);
        assert_eq!(squared(u64::MAX), ONE);
    }

    #[test]
    fn the_ramp_is_a_line_between_its_ends() {
        let at = |delay| ramp(delay, 2 * MS, 6 * MS);
        assert_eq!([at(2 * MS), at(4 * MS), at(6 * MS)], [0, ONE / 2, ONE]);
        assert_eq!(squared(ONE / 2), ONE / 4);
    }
}
