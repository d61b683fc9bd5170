//! Whether cwnd is what limits a sender: only then may it grow (RFC 7661 4.4; Linux `tcp_cwnd_validate`,
//! `tcp_is_cwnd_limited`).
//!
//! Positions are those of the transport: bytes of a stream, or packets' numbers.

use units::Bytes;

/// True if another segment does not fit into cwnd beside what is in flight.
pub fn is_full(in_flight: Bytes, segment: Bytes, cwnd: Bytes) -> bool {
    in_flight + segment > cwnd
}

/// How far the window was used in the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUsage {
    /// cwnd was full at some time of it.
    is_limited: bool,
    /// Maximum outstanding in it; not followed once it is limited.
    max_outstanding: Bytes,
    /// It ends as all before this position is acknowledged.
    until: u64,
}

impl WindowUsage {
    /// Something was sent, or cwnd is full: all before `acked` is acknowledged, `next` is the next to be sent,
    /// `outstanding` what lies between them, and `is_limited` states that cwnd leaves no room ([`is_full`]).
    pub fn on_sent(&mut self, acked: u64, next: u64, outstanding: Bytes, is_limited: bool) {
        let is_more = !self.is_limited && outstanding > self.max_outstanding;
        if acked >= self.until || is_limited || is_more {
            *self = Self {
                is_limited,
                max_outstanding: outstanding,
                until: next,
            };
        }
    }

    /// True if cwnd was full in this round trip. In slow start half of the window is enough: cwnd may become twice what
    /// was acknowledged.
    pub fn is_cwnd_limited(&self, cwnd: Bytes, ssthresh: Option<Bytes>) -> bool {
        if self.is_limited {
            return true;
        }
        let is_slow_start = ssthresh.is_some_and(|ssthresh| cwnd < ssthresh);
        is_slow_start && cwnd < self.max_outstanding * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kb(n: u64) -> Bytes {
        Bytes::new(n * 1_000)
    }

    #[test]
    fn a_window_is_full_if_no_whole_segment_fits() {
        assert!(!is_full(kb(9), kb(1), kb(10)));
        assert!(is_full(kb(9), kb(1), Bytes::new(9_999)));
    }

    #[test]
    fn a_full_window_counts_until_its_round_trip_is_over() {
        let mut usage = WindowUsage::default();
        usage.on_sent(0, 10, kb(10), true);
        usage.on_sent(5, 11, kb(6), false);
        assert!(
            usage.is_cwnd_limited(kb(10), None),
            "in this round trip it was"
        );
        usage.on_sent(10, 12, kb(2), false);
        assert!(!usage.is_cwnd_limited(kb(10), None));
        assert!(!usage.is_cwnd_limited(kb(10), Some(Bytes::MAX)), "a fifth");
        usage.on_sent(10, 16, kb(6), false);
        assert!(
            usage.is_cwnd_limited(kb(10), Some(Bytes::MAX)),
            "more than half"
        );
        assert!(
            !usage.is_cwnd_limited(kb(10), Some(kb(10))),
            "not in slow start"
        );
    }
}
