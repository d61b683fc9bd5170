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
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Recurrence(u64);

impl Recurrence {
    pub(crate) fn is_due(&mut self, probability: u64) -> bool {
        if probability >= ONE {
            return true;
        }
        self.0 += probability;
        if self.0 > ONE {
            self.0 -= ONE;
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
        assert!((0..10).all(|_| events.is_due(ONE)));
        let due = (0..1000).filter(|_| events.is_due(ONE / 4)).count();
        assert!((249..=250).contains(&due), "{due}");
    }
}
