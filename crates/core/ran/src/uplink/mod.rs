//! Uplink MAC: scheduling requests, grants, and the division of PRBs (TS 38.321 5.4.1, 5.4.4, 5.8.2;
//! TS 36.321 5.4.1, 5.4.4).
//!
//! A UE that has data but no grant waits for its next scheduling-request opportunity; the grant
//! delay later it may send, and from then on it is granted in every uplink slot, as much as it needs
//! of what its fair share is, until it has been
//! silent for the inactivity time. What it needs is shown to the base station at once ([`Grants::Demand`]), or by the reports that
//! its blocks carry ([`Grants::BufferStatus`], see `buffer_status`): a request is then for a small block, each grant follows what was
//! reported the grant delay before, and a block for which the UE has nothing
//! is padding. With configured grants (a request period of zero) it may send in
//! the next uplink slot at any time. Opportunities of different UEs lie in successive slots.
//!
//! Blocks have the configured MCS and are free of errors, or carry what was recorded of the whole carrier (by PRBs, where
//! several UEs share it; without headers, which what was recorded had already), or follow the link budget of each UE: its power is spread
//! over the PRBs that it is granted, of which it is granted as few as carry what it has, or as many as carry the most
//! ([`UplinkLink::Ns3`] has another rule). A block lies on adjoining PRBs (SC-FDMA); where the carrier has groups, its
//! SINR is that of the groups across which it lies. Retransmissions come first, on as many PRBs as before, but adaptive:
//! where they lie may change.
//!
//! *Deviations*: one layer. With power headroom the MCS is by the mean of the carrier. In TDD, requests may be sent in any slot. Requests and
//! HARQ feedback have no errors, also of a UE that is out of range for data.

mod allocation;
pub(crate) mod buffer_status;

use crate::cell::{Cell, dropper};
use crate::config::{Grants, UplinkLink};
use crate::fill::Room;
use crate::frame::SlotNumber;
use crate::mac::scheduler::{Candidate, share_equally};
use crate::output::{Direction, DropReason, Output, UeIndex};
use crate::set::IndexSet;
use allocation::Allocation;
use buffer_status::{REPORT_BYTES, Report, reported};
use queue::Packet;
use units::{Bytes, Duration, Instant};

/// The fewest PRBs that ns-3 grants.
const NS3_MIN_PRB: u16 = 3;

/// Uplink state of a cell.
pub(crate) struct Uplink {
    /// UEs with data or status reports to be sent.
    pending: IndexSet,
    /// UEs with blocks to be sent again.
    again: IndexSet,
    /// The first slot in which one of them may send.
    wake: Option<SlotNumber>,
    /// The UE whose turn it is.
    turn: usize,
    // kept for their memory
    ues: Vec<u32>,
    candidates: Vec<Candidate>,
}

impl Uplink {
    pub(crate) fn new(ues: usize) -> Self {
        Self {
            pending: IndexSet::new(ues),
            again: IndexSet::new(ues),
            wake: None,
            turn: 0,
            ues: Vec::with_capacity(ues),
            candidates: Vec::with_capacity(ues),
        }
    }
    /// The first slot in which a UE may send.
    pub(crate) fn wake(&self) -> Option<SlotNumber> {
        self.wake
    }
    /// A UE has left.
    pub(crate) fn forget(&mut self, ue: usize) {
        self.pending.remove(ue);
        self.again.remove(ue);
    }
    /// A UE has a block to be sent again, from the uplink slot `from` on.
    pub(crate) fn send_again(&mut self, ue: usize, from: SlotNumber) {
        self.again.insert(ue);
        self.wake = Some(self.wake.map_or(from, |wake| wake.min(from)));
    }
}

/// The first scheduling-request opportunity at `now` or later, of UE number `ue`. The period is not
/// zero.
pub(crate) fn next_request(now: Instant, period: Duration, slot: Duration, ue: usize) -> Instant {
    let offset = slot * (ue as u64 % (period / slot).max(1));
    let since = now.since_start().saturating_sub(offset);
    let periods = since.as_nanos().div_ceil(period.as_nanos());
    Instant::ZERO + offset + period * periods
}

impl<P: Packet + Send> Cell<P> {
    /// A UE has something to send.
    pub(crate) fn request_uplink(&mut self, now: Instant, ue: usize) {
        let is_by_reports = self.config.uplink.grants == Grants::BufferStatus;
        let is_known = !is_by_reports || self.ues[ue].buffer_status.expects_grants();
        if is_known && self.uplink.pending.contains(ue) {
            return;
        }
        self.uplink.pending.insert(ue);
        let config = &self.config.uplink;
        let grant = &mut self.ues[ue].grant;
        let has_grant =
            config.sr_period.is_zero() || grant.kept_until.is_some_and(|until| now <= until);
        let usable_at = if has_grant {
            now
        } else {
            let slot = self.frame.slot();
            next_request(now, config.sr_period, slot, ue) + config.grant_delay
        };
        let from = self.frame.first_from(usable_at).max(self.next_slot);
        grant.usable_from = self.frame.next_uplink(from);
        let usable_from = grant.usable_from;
        if is_by_reports {
            let status = &mut self.ues[ue].buffer_status;
            status.request(self.next_slot, usable_from);
        }
        let wake = self
            .uplink
            .wake
            .map_or(usable_from, |wake| wake.min(usable_from));
        self.uplink.wake = Some(wake);
        self.wake_at(wake);
    }

    /// Schedules and sends in `slot`, if it carries uplink.
    pub(crate) fn schedule_uplink(&mut self, slot: SlotNumber, out: &mut Vec<Output<P>>) {
        if self.uplink.wake.is_none_or(|wake| slot < wake) || !self.frame.is_uplink(slot) {
            return;
        }
        let mut ues = core::mem::take(&mut self.uplink.ues);
        let mut candidates = core::mem::take(&mut self.uplink.candidates);
        let free = self.config.uplink.n_prb.get() - self.send_uplink_again(slot, &mut ues);
        ues.clear();
        candidates.clear();
        self.uplink.pending.collect_from(self.uplink.turn, &mut ues);
        for &ue in &ues {
            if self.ues[ue as usize].grant.usable_from > slot {
                continue;
            }
            let demand = self.demand_in(slot, ue as usize);
            if demand == 0 {
                continue;
            }
            let all = self.config.uplink.n_prb.get();
            let need = match self.config.uplink.link {
                UplinkLink::Ns3 => Some(all),
                _ => self
                    .allocation(slot, ue as usize, demand, all)
                    .map(|it| it.prb),
            };
            candidates.extend(need.map(|need| Candidate::new(ue, need, 0, 0.0)));
        }
        let turn = if self.config.uplink.link == UplinkLink::Ns3 {
            self.send_equal_blocks(slot, &candidates, free, out)
        } else {
            self.send_blocks(slot, &mut candidates, free, out)
        };
        if let Some(ue) = turn {
            self.uplink.turn = (ue as usize + 1) % self.ues.len();
        }
        let waiting = ues
            .iter()
            .filter(|&&ue| self.uplink.pending.contains(ue as usize))
            .map(|&ue| self.ues[ue as usize].grant.usable_from.max(slot + 1));
        let again = (!self.uplink.again.is_empty()).then_some(slot + 1);
        let from = waiting.chain(again).min();
        self.uplink.wake = from.map(|from| self.frame.next_uplink(from));
        self.uplink.ues = ues;
        self.uplink.candidates = candidates;
    }

    /// New blocks of candidates, each on a fair share of what is free. The UE behind which the turn goes on.
    fn send_blocks(
        &mut self,
        slot: SlotNumber,
        candidates: &mut [Candidate],
        free: u16,
        out: &mut Vec<Output<P>>,
    ) -> Option<u32> {
        let now = self.frame.start(slot);
        let turn = share_equally(candidates, free);
        let mut first = self.config.uplink.n_prb.get() - free;
        for candidate in candidates.iter().filter(|c| c.prb > 0) {
            let ue = candidate.ue as usize;
            let demand = self.granted_demand(now, ue);
            // on fewer PRBs than it needs, another MCS may be right
            if let Some(allocation) = self.allocation(slot, ue, demand, candidate.prb) {
                self.send_uplink_block(slot, ue, first, allocation, out);
            }
            first += candidate.prb;
        }
        turn
    }

    /// The same on equally many PRBs, whatever a UE needs ([`UplinkLink::Ns3`]).
    fn send_equal_blocks(
        &mut self,
        slot: SlotNumber,
        candidates: &[Candidate],
        free: u16,
        out: &mut Vec<Output<P>>,
    ) -> Option<u32> {
        let (now, all) = (self.frame.start(slot), self.config.uplink.n_prb.get());
        let share = all / u16::try_from(candidates.len().max(1)).unwrap_or(u16::MAX);
        let share = share.max(NS3_MIN_PRB);
        let (mut first, mut turn) = (all - free, None);
        for candidate in candidates {
            let (ue, prb) = (candidate.ue as usize, share.min(all - first));
            if prb < NS3_MIN_PRB {
                break;
            }
            if let Some(mcs) = self.worst_mcs(now, ue, first, prb) {
                let bytes = self.tables.uplink_bytes(mcs, prb);
                let mcs = Some(mcs);
                let allocation = Allocation { prb, mcs, bytes };
                self.send_uplink_block(slot, ue, first, allocation, out);
                first += prb;
                turn = Some(candidate.ue);
            }
        }
        turn
    }

    /// Blocks that were not decoded go out again, as far as there is room. How many PRBs are taken.
    fn send_uplink_again(&mut self, slot: SlotNumber, ues: &mut Vec<u32>) -> u16 {
        if self.uplink.again.is_empty() {
            return 0;
        }
        let (now, all) = (self.frame.start(slot), self.config.uplink.n_prb.get());
        ues.clear();
        self.uplink.again.collect_from(self.uplink.turn, ues);
        let mut taken = 0;
        for &ue in &*ues {
            let ue = ue as usize;
            let Some(uplink) = &mut self.ues[ue].uplink else {
                continue;
            };
            // one block of a UE in a slot
            let next = uplink.harq.pending.front();
            let Some(block) = next.copied() else {
                continue;
            };
            let prb = self.blocks.get(block).prb;
            if taken + prb > all {
                continue;
            }
            uplink.harq.pending.pop_front();
            if uplink.harq.pending.is_empty() {
                self.uplink.again.remove(ue);
            }
            let sinr = self.uplink_sinr(now, ue, taken, prb);
            taken += prb;
            self.stats.ues[ue].uplink.retransmissions += 1;
            self.transmit(slot, block, prb, sinr, 0.0);
        }
        taken
    }

    /// Bytes for which a UE is to be granted in `slot`; zero if it is not, and it leaves those that wait unless it has more.
    fn demand_in(&mut self, slot: SlotNumber, ue: usize) -> u64 {
        let now = self.frame.start(slot);
        let demand = self.uplink_demand(now, ue);
        if self.config.uplink.grants == Grants::Demand {
            if demand == 0 {
                self.uplink.pending.remove(ue);
            }
            return demand;
        }
        let status = &mut self.ues[ue].buffer_status;
        status.catch_up(slot);
        if demand == 0 && status.is_idle() {
            self.uplink.pending.remove(ue);
        } else if demand > 0 && !status.expects_grants() {
            self.request_uplink(now, ue);
        }
        self.ues[ue].buffer_status.next_grant()
    }

    /// Bytes for which a UE is granted, by the same rule.
    fn granted_demand(&self, now: Instant, ue: usize) -> u64 {
        match self.config.uplink.grants {
            Grants::Demand => self.uplink_demand(now, ue),
            Grants::BufferStatus => self.ues[ue].buffer_status.next_grant(),
        }
    }

    /// A block with a buffer status report was decoded at `now`, or given up.
    pub(crate) fn on_buffer_status(
        &mut self,
        now: Instant,
        ue: usize,
        report: Report,
        is_decoded: bool,
    ) {
        let decoding = self.frame.slot() * self.delivery_slots;
        let delay = self.config.uplink.grant_delay.saturating_sub(decoding);
        let from = self.frame.first_from(now + delay);
        let status = &mut self.ues[ue].buffer_status;
        status.on_block(report, is_decoded.then_some(from));
    }

    /// Bytes that all that a UE has to send would need.
    fn uplink_demand(&self, now: Instant, ue: usize) -> u64 {
        let is_bare = self.config.uplink.link == UplinkLink::Recorded;
        self.demand(now, ue, Direction::Uplink, is_bare)
    }

    fn send_uplink_block(
        &mut self,
        slot: SlotNumber,
        ue: usize,
        first: u16,
        Allocation { prb, mcs, bytes }: Allocation,
        out: &mut Vec<Output<P>>,
    ) {
        let (now, is_bare) = (self.frame.start(slot), mcs.is_none());
        let block = self.blocks.start(ue as u32, Direction::Uplink, prb);
        self.fill_uplink(slot, ue, block, Room { bytes, is_bare }, out);
        let (is_empty, has_report) = {
            let block = self.blocks.get(block);
            (block.chunks.is_empty(), block.buffer_status.is_some())
        };
        if is_empty && !has_report {
            self.blocks.put(block);
            return;
        }
        let stats = &mut self.stats.ues[ue].uplink;
        stats.blocks += 1;
        stats.block_bytes += Bytes::new(bytes);
        let sinr = self.uplink_sinr(now, ue, first, prb);
        let stats = &mut self.stats.ues[ue].uplink;
        if let (Some(_), Some(mcs)) = (sinr, mcs) {
            self.ues[ue].harq_mut(Direction::Uplink).busy += 1;
            self.blocks.get_mut(block).attempts.mcs = mcs;
            self.transmit(slot, block, prb, sinr, 0.0);
        } else {
            stats.prbs += u64::from(prb);
            self.blocks.get_mut(block).is_decoded = true;
            self.arrivals.push_back((slot + self.delivery_slots, block));
        }
        if !is_empty {
            self.ues[ue].grant.kept_until = Some(now + self.config.uplink.inactivity);
        }
        if self.config.uplink.grants == Grants::Demand && self.uplink_demand(now, ue) == 0 {
            self.uplink.pending.remove(ue);
        }
    }

    /// Fills a block, with a buffer status report where grants follow them; hands out what queue management drops meanwhile.
    fn fill_uplink(
        &mut self,
        slot: SlotNumber,
        ue: usize,
        block: u32,
        mut room: Room,
        out: &mut Vec<Output<P>>,
    ) {
        let now = self.frame.start(slot);
        let has_report = self.config.uplink.grants == Grants::BufferStatus;
        if has_report {
            self.ues[ue].buffer_status.grant(room.bytes);
            if !room.is_bare {
                room.bytes = room.bytes.saturating_sub(REPORT_BYTES);
            }
        }
        self.fill(now, ue, Direction::Uplink, block, room);
        for bearer in self.ues[ue].bearers.clone() {
            let rlc = self.bearers[bearer].rlc_mut(Direction::Uplink);
            let mut drop = dropper(out, UeIndex(ue), Direction::Uplink);
            rlc.take_dropped(|packet| drop(packet, DropReason::QueueManagement));
        }
        if has_report {
            // with the next report, without which the last bytes might never find room
            let left = match self.uplink_demand(now, ue) {
                0 => 0,
                bytes => bytes + REPORT_BYTES,
            };
            let left = reported(self.config.rat, left);
            let report = self.ues[ue].buffer_status.report(slot, left);
            self.blocks.get_mut(block).buffer_status = Some(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_different_ues_lie_in_successive_slots() {
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let next =
            |now, ue| next_request(now, Duration::from_millis(10), Duration::from_millis(1), ue);
        assert_eq!(next(ms(0), 0), ms(0));
        assert_eq!(next(ms(1), 0), ms(10));
        assert_eq!(next(ms(1), 3), ms(3));
        assert_eq!(next(ms(4), 3), ms(13));
        assert_eq!(next(ms(4), 13), ms(13));
    }
}
