//! Which UE gets which PRBs of a slot.
//!
//! Round robin shares equally, by water-filling: no UE gets more than it needs, and what one leaves
//! is shared by the others; PRBs that cannot be divided go round. Proportional fair and maximum rate
//! serve UEs in the order of a metric, each as far as it needs (all PRBs are alike; where they are not,
//! see `groups.rs`): the rate now over the average rate (Jalali, Padovani, Pankaj: Data throughput of
//! CDMA-HDR, VTC 2000), or the rate now. Candidates of the same metric are served in rotation.

use crate::config::SchedulerKind;
use crate::frame::SlotNumber;
use units::Duration;

/// Minimum average rate, bytes a slot: a UE that was never served has a large metric, not an
/// infinite one.
pub(crate) const MIN_AVERAGE: f64 = 1e-3;

/// A UE that has something to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) ue: u32,
    /// PRBs that it could use.
    pub(crate) need: u16,
    /// PRBs that it gets.
    pub(crate) prb: u16,
    /// Bytes that all free PRBs would carry for it.
    pub(crate) rate: u64,
    /// Its average rate, bytes a slot.
    pub(crate) average: f64,
    /// Set by [`allocate`]: what it is ordered by, and its place in the rotation.
    order: (f64, u32),
}

impl Candidate {
    pub(crate) fn new(ue: u32, need: u16, rate: u64, average: f64) -> Self {
        Self {
            ue,
            need,
            prb: 0,
            rate,
            average,
            order: (0.0, 0),
        }
    }
}

/// An exponentially weighted average of the bytes served in each slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Average {
    bytes: f64,
    /// Slot up to which it is valid.
    at: SlotNumber,
}

impl Average {
    /// The average before `slot`; in the slots since the last update nothing was served.
    pub(crate) fn before(&mut self, slot: SlotNumber, weight: f64) -> f64 {
        let idle = slot - self.at;
        if idle > 0 {
            self.bytes *= (1.0 - weight).powi(i32::try_from(idle).unwrap_or(i32::MAX));
            self.at = slot;
        }
        self.bytes
    }
    /// `bytes` were served in `slot`.
    pub(crate) fn update(&mut self, slot: SlotNumber, weight: f64, bytes: u64) {
        let before = self.before(slot, weight);
        self.bytes = before + weight * (bytes as f64 - before);
        self.at = slot + 1;
    }
}

/// Weight of the newest slot in averages: a slot over the time constant.
pub(crate) fn weight(kind: SchedulerKind, slot: Duration) -> f64 {
    match kind {
        SchedulerKind::ProportionalFair { time_constant } => slot.ratio(time_constant).min(1.0),
        SchedulerKind::RoundRobin | SchedulerKind::MaximumRate => 1.0,
    }
}

/// Sets the PRBs of all candidates; at most `free` in all. Candidates come in rotation: the first
/// is the one whose turn it is. The UE behind which the turn goes on, if it moves.
pub(crate) fn allocate(
    kind: SchedulerKind,
    candidates: &mut [Candidate],
    free: u16,
) -> Option<u32> {
    if let [only] = candidates {
        only.prb = only.need.min(free);
        return None;
    }
    match kind {
        SchedulerKind::RoundRobin => share_equally(candidates, free),
        SchedulerKind::ProportionalFair { .. } => serve_in_order(candidates, free, |c| {
            c.rate as f64 / c.average.max(MIN_AVERAGE)
        }),
        SchedulerKind::MaximumRate => serve_in_order(candidates, free, |c| c.rate as f64),
    }
}

/// Water-filling. The last UE that was given one of the PRBs that could not be divided.
pub(crate) fn share_equally(candidates: &mut [Candidate], free: u16) -> Option<u32> {
    for candidate in &mut *candidates {
        candidate.prb = 0;
    }
    let mut free = free;
    loop {
        let hungry = candidates.iter().filter(|c| c.prb < c.need).count();
        if hungry == 0 || free == 0 {
            return None;
        }
        let share = usize::from(free) / hungry;
        if share == 0 {
            // fewer PRBs than UEs: one each, in turn
            let mut last = None;
            for candidate in candidates
                .iter_mut()
                .filter(|c| c.prb < c.need)
                .take(free.into())
            {
                candidate.prb += 1;
                last = Some(candidate.ue);
            }
            return last;
        }
        let share = u16::try_from(share).unwrap_or(u16::MAX);
        for candidate in candidates.iter_mut().filter(|c| c.prb < c.need) {
            let more = share.min(candidate.need - candidate.prb);
            candidate.prb += more;
            free -= more;
        }
    }
}

/// Highest metric first. The first UE, if not all can be served.
fn serve_in_order(
    candidates: &mut [Candidate],
    mut free: u16,
    metric: impl Fn(&Candidate) -> f64,
) -> Option<u32> {
    let needed: u64 = candidates.iter().map(|c| u64::from(c.need)).sum();
    let is_scarce = needed > u64::from(free);
    if is_scarce {
        for (turn, candidate) in candidates.iter_mut().enumerate() {
            candidate.order = (metric(candidate), turn as u32);
        }
        candidates.sort_unstable_by(|a, b| {
            b.order
                .0
                .total_cmp(&a.order.0)
                .then(a.order.1.cmp(&b.order.1))
        });
    }
    for candidate in &mut *candidates {
        candidate.prb = candidate.need.min(free);
        free -= candidate.prb;
    }
    candidates.first().filter(|_| is_scarce).map(|c| c.ue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PF: SchedulerKind = SchedulerKind::ProportionalFair {
        time_constant: Duration::from_millis(100),
    };

    fn candidate(ue: u32, need: u16, rate: u64, average: f64) -> Candidate {
        Candidate::new(ue, need, rate, average)
    }
    fn prbs(candidates: &[Candidate]) -> Vec<u16> {
        candidates.iter().map(|c| c.prb).collect()
    }

    #[test]
    fn round_robin_fills_like_water() {
        let mut c = [2, 50, 50, 50].map(|need| candidate(0, need, 1, 1.0));
        allocate(SchedulerKind::RoundRobin, &mut c, 25);
        assert_eq!(prbs(&c), [2, 8, 8, 7]);
        let mut c = [5, 5, 5].map(|need| candidate(0, need, 1, 1.0));
        allocate(SchedulerKind::RoundRobin, &mut c, 2);
        assert_eq!(prbs(&c), [1, 1, 0]);
    }

    #[test]
    fn proportional_fair_weighs_the_rate_by_the_average() {
        let mut c = [candidate(0, 25, 1000, 500.0), candidate(1, 25, 400, 100.0)];
        allocate(PF, &mut c, 25);
        assert_eq!((c[0].ue, c[0].prb, c[1].prb), (1, 25, 0));
    }

    #[test]
    fn maximum_rate_serves_the_best_as_far_as_it_needs() {
        let mut c = [candidate(0, 25, 400, 1.0), candidate(1, 10, 1000, 1.0)];
        allocate(SchedulerKind::MaximumRate, &mut c, 25);
        assert_eq!((c[0].ue, c[0].prb, c[1].prb), (1, 10, 15));
    }

    #[test]
    fn average_of_a_constant_and_of_silence() {
        let mut average = Average::default();
        for slot in 0..2000 {
            average.update(slot, 0.01, 1000);
        }
        assert!((average.before(2000, 0.01) - 1000.0).abs() < 1e-3);
        // after one time constant of silence, 1/e is left (to the first order of the weight)
        assert!((average.before(2100, 0.01) / 366.03 - 1.0).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn no_more_than_free_no_more_than_needed_nothing_wasted(
            needs in prop::collection::vec((1u16..300, 1u64..5000, 0.0f64..5000.0), 1..40),
            free in 0u16..275,
            kind in 0usize..3,
        ) {
            let kind = [SchedulerKind::RoundRobin, PF, SchedulerKind::MaximumRate][kind];
            let mut c: Vec<Candidate> =
                needs.iter().map(|&(need, rate, avg)| candidate(0, need, rate, avg)).collect();
            allocate(kind, &mut c, free);
            let given: u32 = c.iter().map(|c| u32::from(c.prb)).sum();
            let needed: u32 = c.iter().map(|c| u32::from(c.need)).sum();
            prop_assert_eq!(given, needed.min(u32::from(free)));
            prop_assert!(c.iter().all(|c| c.prb <= c.need));
            if kind == SchedulerKind::RoundRobin {
                // no UE whose need is unmet has two PRBs less than another
                let max = c.iter().map(|c| c.prb).max().unwrap();
                prop_assert!(c.iter().all(|c| c.prb == c.need || c.prb + 1 >= max));
            }
        }
    }
}
