//! The rate of a transmitter over time: one rate, or a rate that changes in steps.

use units::{BitRate, Bytes, Duration, Instant};

/// Rate over time. It never is zero, and steps are in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Until the first step.
    first: BitRate,
    /// From when on which rate.
    steps: Vec<(Instant, BitRate)>,
}

impl Rates {
    /// One rate for ever.
    pub fn constant(rate: BitRate) -> Self {
        Self {
            first: rate,
            steps: Vec::new(),
        }
    }

    /// A rate, and from when on which other. Times rise.
    pub fn stepped(first: BitRate, steps: &[(Duration, BitRate)]) -> Self {
        let steps = steps
            .iter()
            .map(|&(at, rate)| (Instant::ZERO + at, rate))
            .collect();
        Self { first, steps }
    }

    /// The rate at a time.
    pub fn at(&self, now: Instant) -> BitRate {
        self.piece(now).0
    }

    /// The rate at a time, and until when it holds.
    fn piece(&self, now: Instant) -> (BitRate, Instant) {
        if self.steps.is_empty() {
            return (self.first, Instant::MAX);
        }
        let passed = self.steps.partition_point(|&(at, _)| at <= now);
        let rate = match passed {
            0 => self.first,
            passed => self.steps[passed - 1].1,
        };
        let until = self.steps.get(passed).map_or(Instant::MAX, |step| step.0);
        (rate, until)
    }

    /// When bytes that begin at a time have been sent. Where the rate changes on the way, what a piece
    /// carries is rounded down to a byte.
    pub fn sent_at(&self, mut begin: Instant, mut bytes: Bytes) -> Instant {
        loop {
            let (rate, until) = self.piece(begin);
            let end = begin + bytes / rate;
            if end <= until {
                return end;
            }
            bytes = bytes.saturating_sub(rate.bytes_in(until - begin));
            begin = until;
        }
    }

    /// The bytes that pass from one time to another, rounded down in each piece.
    pub fn bytes_between(&self, mut from: Instant, to: Instant) -> Bytes {
        let mut bytes = Bytes::ZERO;
        while from < to {
            let (rate, until) = self.piece(from);
            let end = until.min(to);
            bytes += rate.bytes_in(end - from);
            from = end;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn steps() -> Rates {
        let steps = [(1_000, 24), (3_000, 6)];
        let steps = steps.map(|(us, mbps)| (Duration::from_micros(us), BitRate::from_mbps(mbps)));
        Rates::stepped(BitRate::from_mbps(12), &steps)
    }

    #[test]
    fn a_packet_goes_on_at_the_new_rate() {
        let rates = steps();
        let packet = Bytes::new(1500);
        // 1 ms at 12 Mbit/s
        assert_eq!(rates.sent_at(at_us(0), packet), at_us(1_000));
        // 750 B at 12, the rest at 24 Mbit/s
        assert_eq!(rates.sent_at(at_us(500), packet), at_us(1_250));
        // 375 B at 12, 6000 B at 24, the last 375 B at 6 Mbit/s
        assert_eq!(rates.sent_at(at_us(750), Bytes::new(6_750)), at_us(3_500));
        let at = |us| rates.at(at_us(us)).as_bps() / 1_000_000;
        assert_eq!(
            [at(0), at(999), at(1_000), at(2_999), at(3_000), at(1 << 40)],
            [12, 12, 24, 24, 6, 6]
        );
        assert_eq!(
            rates.bytes_between(at_us(500), at_us(4_000)),
            Bytes::new(750 + 6_000 + 750)
        );
        assert_eq!(rates.bytes_between(at_us(5), at_us(5)), Bytes::ZERO);
    }

    proptest! {
        /// What a time carries takes that time, but for a byte of each piece.
        #[test]
        fn sending_and_carrying_agree(begin in 0u64..5_000, bytes in 1u64..20_000) {
            let rates = steps();
            let end = rates.sent_at(at_us(begin), Bytes::new(bytes));
            let carried = rates.bytes_between(at_us(begin), end).get();
            prop_assert!(carried.abs_diff(bytes) <= 3, "{} of {}", carried, bytes);
        }

        #[test]
        fn one_rate_is_plain_division(begin in 0u64..5_000, bytes in 1u64..20_000, bps in 1u64..10_000_000_000) {
            let rate = BitRate::from_bps(bps);
            let rates = Rates::constant(rate);
            let begin = at_us(begin);
            prop_assert_eq!(rates.sent_at(begin, Bytes::new(bytes)), begin + Bytes::new(bytes) / rate);
        }
    }
}
