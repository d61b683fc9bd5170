//! The downlink by groups of PRBs, each with a CQI and an SINR of its own (TS 36.213 7.1.6.1, TS 38.214 5.1.2.2.1:
//! allocation by bitmap).
//!
//! A block has one MCS over all its groups; its SINR is the one whose capacity is the mean of theirs. A retransmission
//! takes the groups of the first transmission where they are free, and else the first free ones with as many PRBs.
//!
//! *Deviations*: a UE whose channel has no groups is on all of them what it is on the whole carrier. Reports and capacity
//! are of the CQI of the whole carrier. Background load takes the last PRBs, and all of a group of which it takes some.

use crate::cell::Cell;
use crate::config::SubBands;
use crate::downlink::{DownlinkSlot, SlotAccounts};
use crate::mac::groups::{GroupCandidate, deal, effective_sinr, members, prbs};
use crate::mac::scheduler::Candidate;
use crate::output::Direction;
use queue::Packet;
use radio::{Link, PrbGroups};
use units::{Cqi, Decibel, Mcs};

/// The groups of which all PRBs are among the first so many.
fn groups_within(layout: PrbGroups, available: u16) -> u32 {
    let (mut end, mut groups) = (0, 0);
    for group in 0..layout.count() {
        end += layout.prbs(group);
        if end <= available {
            groups |= 1 << group;
        }
    }
    groups
}

/// The groups for a retransmission on so many PRBs; none where too few are free.
fn groups_again(layout: PrbGroups, before: u32, prb: u16, free: u32) -> Option<u32> {
    if before & !free == 0 {
        return Some(before);
    }
    let mut taken = 0;
    for group in members(free) {
        if prbs(layout, taken) >= prb {
            break;
        }
        taken |= 1 << group;
    }
    (prbs(layout, taken) >= prb).then_some(taken)
}

impl<P: Packet + Send> Cell<P> {
    /// As [`Self::serve`], by groups.
    pub(crate) fn serve_by_groups(
        &mut self,
        ds: DownlinkSlot,
        ues: &[u32],
        free_prbs: &mut u16,
        accounts: &mut SlotAccounts,
        served: &mut Vec<Candidate>,
    ) -> Option<u32> {
        let layout = self.config.prb_groups();
        let mut free = groups_within(layout, ds.available);
        let mut candidates = Vec::new();
        for &ue in ues {
            let taken = self.retransmit_on_groups(ds, ue as usize, free, accounts);
            if taken != 0 {
                free &= !taken;
                *free_prbs -= prbs(layout, taken);
            } else {
                candidates.extend(self.compete_for_groups(ds, ue as usize));
            }
        }
        let kind = self.config.scheduler;
        deal(kind, &mut candidates, free, |ue, groups| {
            let ue = ue as usize;
            let link = self.link_in(ue, ds);
            let link = match self.mcs_of_groups(ds, ue, groups) {
                Some(mcs) => Link::Mcs {
                    mcs,
                    sinr: None,
                    bler: 0.0,
                },
                None => link,
            };
            self.tables.bytes(&link, prbs(layout, groups), ds.symbols)
        });
        for candidate in &candidates {
            let (ue, groups) = (candidate.ue as usize, candidate.given);
            let prb = prbs(layout, groups);
            let link = self.link_on_groups(ds, ue, groups);
            let sent = self.send_block(ds, ue, prb, groups, &link).is_some();
            let mut it = Candidate::new(candidate.ue, prb, 0, candidate.average);
            if sent {
                let whole = self.link_in(ue, ds);
                accounts.add(&self.tables, &whole, ds, prb, ue);
                *free_prbs -= prb;
                it.prb = prb;
            }
            served.push(it);
        }
        candidates.first().map(|first| first.ue)
    }

    /// A UE's block goes out again, if one waits and there is room: the groups that it takes.
    fn retransmit_on_groups(
        &mut self,
        ds: DownlinkSlot,
        ue: usize,
        free: u32,
        accounts: &mut SlotAccounts,
    ) -> u32 {
        let link = self.link_in(ue, ds);
        if self.is_divided(ds, ue) {
            // one of the groups may carry something where the whole carrier would not
            self.downlink.may_send_from(ds.slot + 1);
        } else {
            self.note_opportunity(ds, ue, &link);
        }
        let Some(&block) = self.ues[ue].harq.pending.front() else {
            return 0;
        };
        let layout = self.config.prb_groups();
        let (before, prb) = (self.blocks.get(block).groups, self.blocks.get(block).prb);
        // where load leaves fewer PRBs than the block had, it goes out on those
        let all = groups_within(layout, ds.available);
        let least = prb.min(prbs(layout, all));
        let groups = groups_again(layout, before, least, free).filter(|groups| *groups != 0);
        let Some(groups) = groups else {
            return 0;
        };
        let (sinr, bler) = match (self.sinr_of_groups(ds, ue, groups), link) {
            (Some(sinr), _) => (Some(sinr), 0.0),
            (None, Link::Mcs { sinr, bler, .. }) => (sinr, bler),
            (None, Link::Opportunity { .. }) => (None, 0.0),
            (None, Link::Outage) => return 0,
        };
        let taken = prbs(layout, groups);
        let loss = Decibel::from_linear(f64::from(taken) / f64::from(prb));
        let sinr = sinr.map(|sinr| if taken < prb { sinr + loss } else { sinr });
        self.ues[ue].harq.pending.pop_front();
        self.stats.ues[ue].downlink.retransmissions += 1;
        self.transmit(ds.slot, block, taken, sinr, bler);
        accounts.add(&self.tables, &link, ds, taken, ue);
        groups
    }

    /// A UE becomes a candidate for new data, or has nothing to send.
    fn compete_for_groups(&mut self, ds: DownlinkSlot, ue: usize) -> Option<GroupCandidate> {
        let link = self.link_in(ue, ds);
        let is_bare = matches!(link, Link::Opportunity { .. });
        let demand = self.demand(ds.now, ue, Direction::Downlink, is_bare);
        let harq = &self.ues[ue].harq;
        if demand == 0 {
            if harq.pending.is_empty() && !self.holds_data(ue, Direction::Downlink) {
                self.downlink.active.remove(ue);
            }
            return None;
        }
        if !is_bare && harq.busy >= u32::from(self.config.harq.processes) {
            return None;
        }
        let layout = self.config.prb_groups();
        let mut rates = [0; PrbGroups::MAX];
        for (group, rate) in rates.iter_mut().enumerate().take(layout.count()) {
            let link = match self.mcs_of_groups(ds, ue, 1 << group) {
                Some(mcs) => Link::Mcs {
                    mcs,
                    sinr: None,
                    bler: 0.0,
                },
                None if self.is_divided(ds, ue) => Link::Outage,
                None => link,
            };
            *rate = self.tables.bytes(&link, layout.prbs(group), ds.symbols);
        }
        let average = self.ues[ue].average.before(ds.slot, self.downlink.weight);
        Some(GroupCandidate {
            ue: ue as u32,
            demand,
            rates,
            average,
            given: 0,
        })
    }

    fn is_divided(&mut self, ds: DownlinkSlot, ue: usize) -> bool {
        let channel = &mut self.ues[ue].channel;
        channel.sub_bands(&self.frame, ds.slot).is_some()
    }

    /// The MCS of a block on some groups; none where a UE has no groups, or cannot be sent anything.
    fn mcs_of_groups(&mut self, ds: DownlinkSlot, ue: usize, groups: u32) -> Option<Mcs> {
        let policy = self.config.sub_bands;
        let channel = &mut self.ues[ue].channel;
        let bands = channel.sub_bands(&self.frame, ds.slot)?;
        let cqis = members(groups).map(|group| bands.cqi[group]);
        let cqi = match policy {
            SubBands::Mean => bands.rule.mean(cqis),
            SubBands::None | SubBands::Worst => cqis.min().unwrap_or(Cqi::new(0)),
        };
        // CQI 0 is out of range (TS 36.213 Table 7.2.3-1), whatever a policy makes of it
        if cqi.get() == 0 {
            return None;
        }
        bands.rule.mcs(cqi)
    }

    /// The SINR now on some groups; none where a UE has no groups.
    fn sinr_of_groups(&mut self, ds: DownlinkSlot, ue: usize, groups: u32) -> Option<Decibel> {
        let layout = self.config.prb_groups();
        let channel = &mut self.ues[ue].channel;
        let bands = channel.sub_bands(&self.frame, ds.slot)?;
        Some(effective_sinr(layout, groups, bands.sinr))
    }

    /// A UE's link on some groups.
    fn link_on_groups(&mut self, ds: DownlinkSlot, ue: usize, groups: u32) -> Link {
        let whole = self.link_in(ue, ds);
        if groups == 0 {
            return Link::Outage;
        }
        let Some(sinr) = self.sinr_of_groups(ds, ue, groups) else {
            return whole;
        };
        match self.mcs_of_groups(ds, ue, groups) {
            Some(mcs) => Link::Mcs {
                mcs,
                sinr: Some(sinr),
                bler: self.tables.curves.bler(mcs, sinr),
            },
            None => Link::Outage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 PRBs: 16 groups of 3 and one of 2.
    #[test]
    fn groups_of_the_first_prbs() {
        let layout = PrbGroups::lte(50);
        assert_eq!(groups_within(layout, 50), (1 << 17) - 1);
        assert_eq!(groups_within(layout, 49), (1 << 16) - 1);
        assert_eq!(groups_within(layout, 5), 1);
        assert_eq!(prbs(layout, 1 << 16 | 1), 5);
    }

    #[test]
    fn retransmissions_keep_their_groups_where_they_can() {
        let layout = PrbGroups::lte(100);
        assert_eq!(groups_again(layout, 0b0110, 8, 0b1111), Some(0b0110));
        assert_eq!(groups_again(layout, 0b0110, 8, 0b1101), Some(0b0101));
        assert_eq!(groups_again(layout, 0b0110, 8, 0b1000), None);
    }
}
