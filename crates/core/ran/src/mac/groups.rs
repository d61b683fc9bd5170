//! Which UE gets which groups of PRBs.
//!
//! Each group goes to the UE with the largest metric in it, as long as that has more to send than its groups carry:
//! proportional fair and maximum rate as in `scheduler.rs`, by the rate of the group. Of UEs with the same metric the one
//! whose turn it is gets it.

use crate::config::SchedulerKind;
use crate::mac::scheduler::MIN_AVERAGE;
use radio::PrbGroups;
use units::Decibel;

/// A UE that has something to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupCandidate {
    pub(crate) ue: u32,
    /// Bytes that wait.
    pub(crate) demand: u64,
    /// Bytes that each group alone would carry for it.
    pub(crate) rates: [u64; PrbGroups::MAX],
    /// Its average rate, bytes a slot.
    pub(crate) average: f64,
    /// The groups that it gets, one bit each.
    pub(crate) given: u32,
}

/// The groups whose bits are set.
pub(crate) fn members(groups: u32) -> impl Iterator<Item = usize> {
    (0..PrbGroups::MAX).filter(move |group| groups >> group & 1 == 1)
}

/// PRBs of some groups.
pub(crate) fn prbs(layout: PrbGroups, groups: u32) -> u16 {
    members(groups).map(|group| layout.prbs(group)).sum()
}

/// The groups of which any of `count` PRBs from `first` on is one.
pub(crate) fn groups_across(layout: PrbGroups, first: u16, count: u16) -> u32 {
    let (mut begin, mut groups) = (0, 0);
    for group in 0..layout.count() {
        let end = begin + layout.prbs(group);
        if begin < first + count && end > first {
            groups |= 1 << group;
        }
        begin = end;
    }
    groups
}

/// The SINR whose capacity is the mean of those of some groups, linear, weighted by their PRBs.
pub(crate) fn effective_sinr(layout: PrbGroups, groups: u32, sinr: &[f32]) -> Decibel {
    let (mut bits, mut all) = (0.0, 0.0);
    for group in members(groups) {
        let prb = f64::from(layout.prbs(group));
        bits += prb * f64::from(sinr[group]).ln_1p();
        all += prb;
    }
    Decibel::from_linear((bits / all).exp_m1())
}

/// Deals the `free` groups out; what a candidate carries on some groups is `carried`.
pub(crate) fn deal(
    kind: SchedulerKind,
    candidates: &mut [GroupCandidate],
    free: u32,
    mut carried: impl FnMut(u32, u32) -> u64,
) {
    let mut is_served = vec![false; candidates.len()];
    for group in members(free) {
        let metric = |candidate: &GroupCandidate| {
            let rate = candidate.rates[group] as f64;
            match kind {
                SchedulerKind::ProportionalFair { .. } => rate / candidate.average.max(MIN_AVERAGE),
                SchedulerKind::RoundRobin | SchedulerKind::MaximumRate => rate,
            }
        };
        let mut best: Option<(f64, usize)> = None;
        for (at, candidate) in candidates.iter().enumerate() {
            if is_served[at] || candidate.rates[group] == 0 {
                continue;
            }
            let metric = metric(candidate);
            if best.is_none_or(|(most, _)| metric > most) {
                best = Some((metric, at));
            }
        }
        if let Some((_, at)) = best {
            let candidate = &mut candidates[at];
            candidate.given |= 1 << group;
            is_served[at] = carried(candidate.ue, candidate.given) >= candidate.demand;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Duration;

    const PF: SchedulerKind = SchedulerKind::ProportionalFair {
        time_constant: Duration::from_millis(100),
    };

    fn candidate(ue: u32, demand: u64, rates: &[u64], average: f64) -> GroupCandidate {
        let mut all = [0; PrbGroups::MAX];
        all[..rates.len()].copy_from_slice(rates);
        GroupCandidate {
            ue,
            demand,
            rates: all,
            average,
            given: 0,
        }
    }

    fn dealt(kind: SchedulerKind, candidates: &mut [GroupCandidate], free: u32) -> Vec<u32> {
        let rates: Vec<_> = candidates.iter().map(|c| c.rates).collect();
        let sum = |ue: u32, given| members(given).map(|g| rates[ue as usize][g]).sum();
        deal(kind, candidates, free, sum);
        candidates.iter().map(|c| c.given).collect()
    }

    /// Rates over averages: 10 / 10 and 30 / 10 of the first, 20 / 5 and 10 / 5 of the second.
    #[test]
    fn each_group_goes_to_the_largest_metric() {
        let mut c = [
            candidate(0, 1000, &[10, 30], 10.0),
            candidate(1, 1000, &[20, 10], 5.0),
        ];
        assert_eq!(dealt(PF, &mut c, 0b11), [0b10, 0b01]);
        let mut c = c.map(|c| GroupCandidate { given: 0, ..c });
        assert_eq!(dealt(SchedulerKind::MaximumRate, &mut c, 0b10), [0b10, 0]);
    }

    #[test]
    fn none_gets_more_groups_than_it_needs() {
        let mut c = [
            candidate(0, 15, &[10, 10, 10, 10], 1.0),
            candidate(1, 99, &[1, 1, 1, 0], 1.0),
        ];
        assert_eq!(dealt(PF, &mut c, 0b1111), [0b0011, 0b0100]);
    }

    /// 2^((log2(1 + 1) + log2(1 + 7)) / 2) - 1 = 3.
    #[test]
    fn effective_sinr_is_of_the_mean_capacity() {
        let sinr = effective_sinr(PrbGroups::lte(100), 0b101, &[1.0, 99.0, 7.0]);
        assert!((sinr.to_linear() - 3.0).abs() < 1e-6, "{sinr}");
    }

    /// Groups of four: PRBs 3 to 8 are of the first three.
    #[test]
    fn groups_across_some_prbs() {
        let layout = PrbGroups::lte(100);
        assert_eq!(groups_across(layout, 3, 6), 0b111);
        assert_eq!(groups_across(layout, 4, 4), 0b010);
        assert_eq!(groups_across(layout, 0, 100), (1 << 25) - 1);
    }

    proptest! {
        #[test]
        fn groups_are_dealt_once_and_none_is_wasted(
            ues in prop::collection::vec((prop::collection::vec(0u64..50, 25), 1u64..400, 0.0f64..50.0), 1..8),
            free in 0u32..1 << 25,
        ) {
            let mut c: Vec<_> = (0..)
                .zip(&ues)
                .map(|(ue, (rates, demand, average))| candidate(ue, *demand, rates, *average))
                .collect();
            let given = dealt(PF, &mut c, free);
            prop_assert_eq!(given.iter().map(|g| g.count_ones()).sum::<u32>(), given.iter().fold(0, |a, g| a | g).count_ones());
            prop_assert!(given.iter().all(|g| g & !free == 0));
            let left = free & !given.iter().fold(0, |a, g| a | g);
            for (c, given) in c.iter().zip(&given) {
                let carried: u64 = members(*given).map(|g| c.rates[g]).sum();
                // a group is left over only if it carries nothing for those that need more
                prop_assert!(carried >= c.demand || members(left).all(|g| c.rates[g] == 0));
            }
        }
    }
}
