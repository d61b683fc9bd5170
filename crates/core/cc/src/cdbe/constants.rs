//! Constants of mode `default` that can be set, to see what each is worth. Nothing but the simulator sets any: the
//! kernel's programs have those of [`Constants::DEFAULT`].

use super::server::ONE;

/// Constants of [`super::steering`] and [`super::competing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Target of the slowest flows, us; above zero.
    pub target_max: i64,
    /// Target of the fastest flows, us; above zero, [`Constants::target_max`] at most.
    pub target_min: i64,
    /// What the target falls by with each doubling of the report, us; not below zero.
    pub target_octave: i64,
    /// Pacing beyond window over round trip, thousandths: the window limits. A rate that varies from slot to slot is
    /// not followed with less (with 1.1, 0.96 of the goodput over a radio, and a third of a wire beside its like).
    pub pacing_gain: u64,
    /// Pacing gain of a drain, thousandths; below [`ONE`].
    pub draining_gain: u64,
    /// Time without a queue that is nearly empty after which a flow drains, us.
    pub drain_after: u64,
    /// A window in which more than one part in so many is lost has overflowed a buffer.
    pub losses: u64,
    /// Largest part of the target that losses take, thousandths; below [`ONE`].
    pub max_backoff: u64,
    /// Part of the bottleneck that is aimed at beside others, thousandths.
    pub share: u64,
}

impl Constants {
    /// What mode `default` has.
    pub const DEFAULT: Self = Self {
        target_max: 19_000,
        target_min: 2_000,
        target_octave: 1_900,
        pacing_gain: 1_500,
        draining_gain: 500,
        drain_after: 2_000_000,
        losses: 50,
        max_backoff: 875,
        share: 480,
    };

    /// How long it takes for a queue of one's own to run off in a drain, in its own time; a queue of 0 to 2^40 us.
    pub fn run_off(&self, queue: u64) -> u64 {
        queue * ONE / ONE.saturating_sub(self.draining_gain).max(1)
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_half_the_report_a_queue_runs_off_in_twice_its_time() {
        assert_eq!(Constants::DEFAULT.run_off(10_001), 20_002);
        let slowly = Constants {
            draining_gain: 750,
            ..Constants::DEFAULT
        };
        assert_eq!(slowly.run_off(10_000), 40_000);
    }
}
