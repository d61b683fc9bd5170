//! When to acknowledge: RFC 1122 4.2.3.2, RFC 5681 4.2, and Linux's quick acknowledgements.

use units::{Duration, Instant};

/// How long an acknowledgement may be held back (Linux `TCP_DELACK_MIN`).
pub(super) const DELAY: Duration = Duration::from_millis(40);
/// Acknowledgements sent without delay at the start, after a duplicate and after a pause of the
/// sender, while it is probably in slow start (Linux `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;

/// What is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// At `deadline` at the latest.
    Later,
    Now,
}

/// Decides when an acknowledgement leaves.
#[derive(Debug)]
pub(super) struct AckPolicy {
    /// Acknowledgements may be held back at all.
    may_delay: bool,
    owed: Owed,
    /// When a held acknowledgement leaves; [`Instant::MAX`] if none is held.
    deadline: Instant,
    /// Quick acknowledgements left.
    quick: u32,
    /// When data arrived last.
    last_data_at: Instant,
}

impl AckPolicy {
    pub(super) fn new(may_delay: bool) -> Self {
        Self {
            may_delay,
            owed: Owed::Nothing,
            deadline: Instant::MAX,
            quick: QUICK_ACKS,
            last_data_at: Instant::ZERO,
        }
    }

    /// Data arrived in order and left no gap behind. `unacknowledged` is what arrived since the last
    /// acknowledgement, `pause` the silence after which the sender has presumably restarted.
    pub(super) fn on_in_order(
        &mut self,
        now: Instant,
        unacknowledged: u64,
        mss: u64,
        pause: Duration,
    ) {
        if now.saturating_since(self.last_data_at) > pause {
            self.quick = self.quick.max(QUICK_ACKS);
        }
        self.last_data_at = now;
        // RFC 5681 4.2: at least every second full-sized segment
        if !self.may_delay || self.quick > 0 || unacknowledged > mss {
            self.owed = Owed::Now;
        } else if self.owed == Owed::Nothing {
            self.owed = Owed::Later;
            self.deadline = now + DELAY;
        }
    }

    /// A segment must be answered without delay: out of order, filling a gap, FIN, a probe.
    pub(super) fn require(&mut self) {
        self.owed = Owed::Now;
    }

    /// A duplicate: the sender may have lost acknowledgements (Linux `tcp_enter_quickack_mode`).
    pub(super) fn on_duplicate(&mut self) {
        self.quick = QUICK_ACKS;
        self.owed = Owed::Now;
    }

    /// The delay of a held acknowledgement may have run out.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        if self.deadline <= now {
            self.deadline = Instant::MAX;
            self.owed = Owed::Now;
        }
    }

    /// A segment with the acknowledgement left.
    pub(super) fn on_acknowledged(&mut self) {
        if self.owed != Owed::Nothing {
            self.quick = self.quick.saturating_sub(1);
        }
        self.owed = Owed::Nothing;
        self.deadline = Instant::MAX;
    }

    pub(super) fn is_due(&self) -> bool {
        self.owed == Owed::Now
    }
    /// An acknowledgement is owed, and held back.
    pub(super) fn is_held(&self) -> bool {
        self.owed == Owed::Later
    }
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(200);

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// A policy that has used up its quick acknowledgements, at `ms(16)`.
    fn settled() -> AckPolicy {
        let mut p = AckPolicy::new(true);
        for k in 0..16 {
            p.on_in_order(ms(k), 1_000, 1_000, RTO);
            assert!(p.is_due(), "quick acknowledgement {k}");
            p.on_acknowledged();
        }
        p
    }

    #[test]
    fn rfc_5681_4_2_every_second_full_segment() {
        let mut p = settled();
        p.on_in_order(ms(17), 1_000, 1_000, RTO);
        assert!(!p.is_due());
        assert_eq!(p.deadline(), ms(57));
        p.on_in_order(ms(18), 2_000, 1_000, RTO);
        assert!(p.is_due());
        p.on_acknowledged();
        assert_eq!(p.deadline(), Instant::MAX);
    }

    #[test]
    fn rfc_1122_4_2_3_2_a_single_segment_after_the_delay() {
        let mut p = settled();
        p.on_in_order(ms(17), 1_000, 1_000, RTO);
        p.on_deadline(ms(56));
        assert!(!p.is_due());
        p.on_deadline(ms(57));
        assert!(p.is_due());
    }

    #[test]
    fn a_pause_brings_quick_acknowledgements_back() {
        let mut p = settled();
        p.on_in_order(ms(216), 1_000, 1_000, RTO);
        assert!(p.is_due());
    }

    #[test]
    fn without_delay_each_segment_is_acknowledged() {
        let mut p = AckPolicy::new(false);
        for k in 0..40 {
            p.on_in_order(ms(k), 1_000, 1_000, RTO);
            assert!(p.is_due());
            p.on_acknowledged();
        }
    }
}
