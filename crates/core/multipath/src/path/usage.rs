//! Whether cwnd is what limits a path: only then may it grow (RFC 7661, Linux
//! `tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use units::Bytes;

/// How far the window was used in the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    /// cwnd was full at some time of it.
    is_limited: bool,
    /// Maximum in flight in it; not followed once it is limited.
    max_in_flight: Bytes,
    /// It ends as this number arrives.
    until: u64,
}

impl WindowUsage {
    /// A packet was sent: `arrived` is the greatest number that has arrived, `next` the next to be
    /// sent.
    pub(super) fn on_sent(&mut self, arrived: u64, next: u64, in_flight: Bytes, is_limited: bool) {
        let is_more = !self.is_limited && in_flight > self.max_in_flight;
        if arrived >= self.until || is_limited || is_more {
            *self = Self {
                is_limited,
                max_in_flight: in_flight,
                until: next,
            };
        }
    }

    /// In slow start half of the window is enough: cwnd may become twice what was acknowledged.
    pub(super) fn is_cwnd_limited(&self, cwnd: Bytes, ssthresh: Option<Bytes>) -> bool {
        let is_slow_start = ssthresh.is_some_and(|ssthresh| cwnd < ssthresh);
        self.is_limited || is_slow_start && cwnd < self.max_in_flight * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_counts_until_its_round_trip_is_over() {
        let mut usage = WindowUsage::default();
        let kb = |n: u64| Bytes::new(n * 1_000);
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
