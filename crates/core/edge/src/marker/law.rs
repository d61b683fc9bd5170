//! The classic law: a PI controller whose output p' marks L4S packets with k p' and classic ones with p'^2 (RFC 9332
//! appendix A), and how events of a probability are spread.
//!
//! *Deviations*
//! - The controller is updated as packets come, no more often than each 16 ms; what an update missed while none came counts
//!   with the delay that is found then (up to a second; after that p' is 0).
//! - The delay that it looks at is at most 100 ms: a radio that stops for a moment leads to no overload by one step.

use super::fixed::ONE;

/// Tupdate, ns.
const INTERVAL: u64 = 16_000_000;
/// Updates that count as missed at the most.
const MAX_MISSED: u64 = 64;
/// alpha: 0.16 Hz of each second of delay, as 2^-46 of each ns.
const INTEGRAL: i64 = 11_259;
/// beta: 3.2 Hz of each second of delay.
const PROPORTIONAL: i64 = 225_180;
/// What gains are divided by.
const GAIN: i64 = 1 << 16;
/// The longest delay that counts, ns.
const MAX_DELAY: u64 = 100_000_000;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Pi {
    /// p', 2^-30.
    pub(crate) base: u64,
    /// At the last update, ns.
    last_delay: u64,
    updated_at: u64,
}

impl Pi {
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.base, self.last_delay, self.updated_at]
    }

    /// `p' += alpha (delay - target) + beta (delay - last delay)` if an update is due.
    pub(crate) fn follow(&mut self, now: u64, delay: u64, target: u64) {
        let mut missed = now.saturating_sub(self.updated_at) / INTERVAL;
        if missed == 0 {
            return;
        }
        if missed > MAX_MISSED {
            *self = Self::default();
            missed = 1;
        }
        let delay = delay.min(MAX_DELAY) as i64;
        let target = target.min(1_000_000_000) as i64;
        let integral = (delay - target) * INTEGRAL / GAIN * missed as i64;
        let proportional = (delay - self.last_delay as i64) * PROPORTIONAL / GAIN;
        let base = self.base as i64 + integral + proportional;
        self.base = base.clamp(0, ONE as i64) as u64;
        self.last_delay = delay as u64;
        self.updated_at = now;
    }
}

/// Spreads events evenly (RFC 9332 appendix A.1, `recur`). What is certain happens at once.
///
/// An event of a super-packet counts as one of each of its segments, so that the part of segments that have one is the
/// probability: it happens once half of them, and half a packet more, are due, and what it took in advance is made up
/// for by later ones. For one packet this is the RFC's rule.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Recurrence(i64);

impl Recurrence {
    pub(crate) fn word(&self) -> u64 {
        self.0.cast_unsigned()
    }

    /// `segments` from 1 to 2^16 - 1: what is due stays between -2^45 and 2^46.
    pub(crate) fn is_due(&mut self, probability: u64, segments: u32) -> bool {
        if probability >= ONE {
            return true;
        }
        let segments = u64::from(segments);
        self.0 += (probability * segments) as i64;
        if 2 * self.0 > ((segments + 1) * ONE) as i64 {
            self.0 -= (segments * ONE) as i64;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TARGET: u64 = 15 * MS;

    fn share(base: u64) -> f64 {
        base as f64 / ONE as f64
    }

    #[test]
    fn a_step_of_delay_moves_it_by_both_gains() {
        let mut pi = Pi::default();
        pi.follow(16 * MS, 35 * MS, TARGET);
        // 0.16 x 20 ms + 3.2 x 35 ms
        assert!((share(pi.base) - 0.1152).abs() < 1e-5, "{}", share(pi.base));
        pi.follow(31 * MS, 90 * MS, TARGET);
        assert!((share(pi.base) - 0.1152).abs() < 1e-5, "not due yet");
        pi.follow(32 * MS, 15 * MS, TARGET);
        // - 3.2 x 20 ms
        assert!((share(pi.base) - 0.0512).abs() < 1e-5);
    }

    #[test]
    fn missed_updates_count_and_a_long_pause_forgets() {
        let mut pi = Pi::default();
        pi.follow(16 * MS, 65 * MS, TARGET);
        // 0.16 x 50 ms + 3.2 x 65 ms
        assert!((share(pi.base) - 0.216).abs() < 1e-5);
        pi.follow(96 * MS, 65 * MS, TARGET);
        assert!((share(pi.base) - 0.256).abs() < 1e-5, "five of 0.008");
        pi.follow(3_000 * MS, 0, TARGET);
        assert_eq!(pi.base, 0);
    }

    #[test]
    fn one_step_is_no_overload() {
        let mut pi = Pi::default();
        pi.follow(16 * MS, u64::MAX, TARGET);
        assert!(share(pi.base) < 0.5, "{}", share(pi.base));
    }

    #[test]
    fn events_are_spread_evenly_and_the_certain_ones_are_all() {
        let mut events = Recurrence::default();
        assert!((0..10).all(|_| events.is_due(ONE, 1)));
        let due = (0..1000).filter(|_| events.is_due(ONE / 4, 1)).count();
        assert!((249..=250).contains(&due), "{due}");
    }

    #[test]
    fn of_segments_in_super_packets_the_same_part_has_an_event() {
        let mut events = Recurrence::default();
        let mut due = 0;
        let mut all = 0;
        for number in 0..30_000_u32 {
            let segments = [1, 44, 3, 1, 10, 65][number as usize % 6];
            all += segments;
            if events.is_due(ONE / 50, segments) {
                due += segments;
            }
        }
        // what is due is never off by more than half of the largest
        let expected = all / 50;
        assert!(
            (expected - 33..=expected + 33).contains(&due),
            "{due} of {expected}"
        );
    }

    #[test]
    fn the_largest_super_packets_overflow_nothing() {
        let mut events = Recurrence::default();
        for number in 0..1_000_u64 {
            let segments = [super::super::MAX_SEGMENTS, 1][number as usize % 2];
            events.is_due(ONE - 1 - number, segments);
            let due = events.word().cast_signed();
            assert!((-(1 << 45)..=1 << 46).contains(&due), "{due}");
        }
    }
}
