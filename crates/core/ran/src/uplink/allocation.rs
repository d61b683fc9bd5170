//! How many PRBs an uplink block gets and which MCS: the fewest that carry what a UE has, or those that carry the most.

use crate::cell::Cell;
use crate::frame::SlotNumber;
use crate::mac::groups::{effective_sinr, groups_across, members};
use queue::Packet;
use units::{Decibel, Instant, Mcs};

impl<P: Packet + Send> Cell<P> {
    /// The robust MCS of the worst of some PRBs, as sounded; none where a UE is out of range or has no process.
    pub(super) fn worst_mcs(
        &mut self,
        now: Instant,
        ue: usize,
        first: u16,
        prb: u16,
    ) -> Option<Mcs> {
        let across = groups_across(self.config.uplink_groups(), first, prb);
        let uplink = self.ues[ue].uplink.as_mut()?;
        if uplink.harq.busy >= u32::from(self.config.harq.processes) {
            return None;
        }
        let state = uplink.channel.state(now);
        let of = |group: usize| state.measured_groups.get(group).copied();
        let worst = members(across).filter_map(of).reduce(f32::min);
        let sinr = worst.map_or(state.measured, |it| Decibel::from_linear(f64::from(it)));
        uplink.channel.robust_mcs(sinr)
    }

    /// The SINR of a UE whose power is on so many PRBs from `first` on; none where its blocks have no errors.
    pub(super) fn uplink_sinr(
        &mut self,
        now: Instant,
        ue: usize,
        first: u16,
        prb: u16,
    ) -> Option<Decibel> {
        let layout = self.config.uplink_groups();
        let state = self.ues[ue].uplink.as_mut()?.channel.state(now);
        let sinr = match state.groups {
            [] => state.sinr,
            groups => effective_sinr(layout, groups_across(layout, first, prb), groups),
        };
        Some(sinr + denser(self.tables.density(prb), state.density_limit))
    }

    /// PRBs, at most `max`, and MCS with which a UE sends so many bytes, or as many as it can; none where it cannot.
    pub(super) fn allocation(
        &mut self,
        slot: SlotNumber,
        ue: usize,
        bytes: u64,
        max: u16,
    ) -> Option<Allocation> {
        let now = self.frame.start(slot);
        if let Some(recorded) = &mut self.ues[ue].recorded {
            let all = recorded.bytes(&self.frame, slot);
            let prb = self.tables.recorded_uplink_prbs_for(bytes, all).min(max);
            let bytes = self.tables.recorded_uplink_bytes(all, prb);
            return (bytes > 0).then_some(Allocation {
                prb,
                mcs: None,
                bytes,
            });
        }
        let Some(uplink) = &mut self.ues[ue].uplink else {
            let mcs = self.config.uplink.mcs;
            let prb = self.tables.uplink_prbs_for(mcs, bytes).min(max);
            return Some(Allocation {
                prb,
                mcs: Some(mcs),
                bytes: self.tables.uplink_bytes(mcs, prb),
            });
        };
        if uplink.harq.busy >= u32::from(self.config.harq.processes) {
            return None;
        }
        let state = uplink.channel.state(now);
        let (measured, limit) = (state.measured, state.density_limit);
        let mcs = |prb| {
            let density = denser(self.tables.density(prb), limit);
            uplink.channel.mcs(measured + density)
        };
        best_allocation(max, bytes, mcs, |mcs, prb| {
            self.tables.uplink_bytes(mcs, prb)
        })
    }
}

/// PRBs of an uplink block, its MCS (none where what it carries was recorded) and its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allocation {
    pub(super) prb: u16,
    pub(super) mcs: Option<Mcs>,
    pub(super) bytes: u64,
}

/// By how much the power on each PRB is above that of the whole carrier at full power, where it is spread over fewer, or as
/// power control limits it.
fn denser(density: Decibel, limit: Option<Decibel>) -> Decibel {
    limit.map_or(density, |limit| {
        Decibel::new(density.get().min(limit.get()))
    })
}

/// The fewest PRBs that carry so many bytes, or, where no number of them up to `max` does, those that carry the most:
/// each further PRB takes power from the others, whose MCS may fall. None where no MCS is possible on any number.
fn best_allocation(
    max: u16,
    bytes: u64,
    mcs: impl Fn(u16) -> Option<Mcs>,
    carried: impl Fn(Mcs, u16) -> u64,
) -> Option<Allocation> {
    let mut best = None;
    for prb in 1..=max {
        let Some(mcs) = mcs(prb) else {
            continue;
        };
        let allocation = Allocation {
            prb,
            mcs: Some(mcs),
            bytes: carried(mcs, prb),
        };
        if allocation.bytes >= bytes {
            return Some(allocation);
        }
        if best.is_none_or(|best: Allocation| allocation.bytes > best.bytes) {
            best = Some(allocation);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UE whose power reaches MCS 10 on one PRB, 5 on up to three and none on more; a block carries its MCS times its
    /// PRBs.
    #[test]
    fn power_limits_the_prbs_of_a_grant() {
        let mcs = |prb| match prb {
            1 => Some(Mcs::new(10)),
            2 | 3 => Some(Mcs::new(5)),
            _ => None,
        };
        let best = |max, bytes| {
            let carried = |mcs: Mcs, prb| u64::from(mcs.get()) * u64::from(prb);
            best_allocation(max, bytes, mcs, carried).map(|it| (it.prb, it.mcs.map_or(0, Mcs::get)))
        };
        assert_eq!(best(100, 8), Some((1, 10)));
        assert_eq!(best(100, 12), Some((3, 5)));
        // more than it can: the most that it can, on the fewest PRBs
        assert_eq!(best(100, 99), Some((3, 5)));
        assert_eq!(best(2, 99), Some((1, 10)));
        assert_eq!(best_allocation(9, 1, |_| None, |_, _| 1), None);
    }
}
