//! Downlink MAC: HARQ feedback, scheduling, and the accounts of PRBs and capacity.

use crate::cell::{Cell, dropper};
use crate::config::{CellConfig, SubBands};
use crate::fill::Room;
use crate::frame::{Frame, SPECIAL_SYMBOLS, SYMBOLS, SlotNumber};
use crate::mac::scheduler::{self, Candidate};
use crate::mac::tables::Tables;
use crate::output::{Direction, DropReason, Output, UeIndex};
use crate::set::IndexSet;
use queue::Packet;
use radio::Link;
use units::{Bytes, Decibel, Instant};

/// Downlink state of a cell.
pub(crate) struct Downlink {
    /// In slots before this one no active UE can be sent anything.
    nothing_before: SlotNumber,
    /// UEs to be notified of the slot that is being scheduled.
    pub(crate) notified: IndexSet,
    /// UEs with data, status reports or HARQ retransmissions to be sent.
    pub(crate) active: IndexSet,
    /// The UE whose turn it is.
    turn: usize,
    /// Weight of the newest slot in average rates.
    pub(crate) weight: f64,
    /// Slots before this one are in the cell's accounts.
    covered: SlotNumber,
    /// The UE last sent to; its channel gives the capacity of idle slots.
    pub(crate) last_served: usize,
    /// PRBs left free by background load in slots without transmission, and PRBs of those slots.
    idle: (u64, u64),
    /// PRBs that each UE was given for new data in the slot that is being scheduled.
    given: Vec<u16>,
    // kept for their memory
    notified_ues: Vec<u32>,
    ues: Vec<u32>,
    candidates: Vec<Candidate>,
}

impl Downlink {
    pub(crate) fn new(config: &CellConfig, ues: usize) -> Self {
        Self {
            nothing_before: 0,
            active: IndexSet::new(ues),
            turn: 0,
            weight: scheduler::weight(config.scheduler, config.rat.slot_duration()),
            covered: 0,
            last_served: 0,
            idle: (0, 0),
            given: vec![0; ues],
            notified: IndexSet::new(ues),
            notified_ues: Vec::with_capacity(ues),
            ues: Vec::with_capacity(ues),
            candidates: Vec::with_capacity(ues),
        }
    }
    /// A UE has something to be sent. What was known of slots without use was known without it.
    pub(crate) fn activate(&mut self, ue: usize) {
        if !self.active.contains(ue) {
            self.active.insert(ue);
            self.nothing_before = 0;
        }
    }
    /// An active UE may be sent something from this slot on.
    pub(crate) fn may_send_from(&mut self, slot: SlotNumber) {
        self.nothing_before = self.nothing_before.min(slot);
    }
    /// The first slot from `slot` on in which it may be possible to send something.
    pub(crate) fn first_useful(&self, slot: SlotNumber) -> SlotNumber {
        slot.max(self.nothing_before)
    }
}

/// One downlink slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DownlinkSlot {
    pub(crate) slot: SlotNumber,
    pub(crate) now: Instant,
    /// Downlink symbols.
    pub(crate) symbols: u64,
    /// PRBs that background load leaves.
    pub(crate) available: u16,
}

impl<P: Packet + Send> Cell<P> {
    /// Schedules and sends in `slot`, which carries downlink.
    pub(crate) fn schedule_downlink(&mut self, slot: SlotNumber, out: &mut Vec<Output<P>>) {
        self.account_to(slot);
        let background = self.background_in(slot);
        let ds = DownlinkSlot {
            slot,
            now: self.frame.start(slot),
            symbols: self.frame.downlink_symbols(slot),
            available: self.config.n_prb.get() - background,
        };
        self.downlink.covered = slot + 1;
        self.stats.downlink_slots += 1;
        self.stats.prbs_offered += u64::from(ds.available);
        self.downlink.nothing_before = SlotNumber::MAX;
        let mut accounts = SlotAccounts::default();
        let mut free = ds.available;

        let mut ues = core::mem::take(&mut self.downlink.ues);
        let mut candidates = core::mem::take(&mut self.downlink.candidates);
        ues.clear();
        candidates.clear();
        self.downlink
            .active
            .collect_from(self.downlink.turn, &mut ues);
        let turn = if self.config.sub_bands == SubBands::None {
            self.serve(ds, &ues, &mut free, &mut accounts, &mut candidates)
        } else {
            self.serve_by_groups(ds, &ues, &mut free, &mut accounts, &mut candidates)
        };
        if let Some(ue) = turn {
            self.downlink.turn = (ue as usize + 1) % self.ues.len();
        }
        if self.forwarder.is_some() {
            self.notify_queues(ds, free, &ues, &candidates, out);
        }
        if self.downlink.nothing_before == SlotNumber::MAX {
            self.downlink.nothing_before = 0;
        }
        self.downlink.ues = ues;
        self.downlink.candidates = candidates;

        self.stats.prbs_used += u64::from(ds.available - free);
        self.close_accounts(ds, &accounts, ds.available - free);
    }

    /// Sends to active UEs what they are given of the `free` PRBs, all of which are alike. Candidates are those that
    /// competed for new data. The UE behind which the turn goes on.
    fn serve(
        &mut self,
        ds: DownlinkSlot,
        ues: &[u32],
        free: &mut u16,
        accounts: &mut SlotAccounts,
        candidates: &mut Vec<Candidate>,
    ) -> Option<u32> {
        for &ue in ues {
            *free -= self.retransmit_or_compete(ds, ue as usize, *free, accounts, candidates);
        }
        let turn = scheduler::allocate(self.config.scheduler, candidates, *free);
        for candidate in candidates {
            candidate.prb = self.send_new(ds, candidate, accounts);
            *free -= candidate.prb;
        }
        turn
    }

    /// The queues of all UEs that the slot could have served are notified of it; what their management has
    /// dropped comes out.
    fn notify_queues(
        &mut self,
        ds: DownlinkSlot,
        free: u16,
        active: &[u32],
        served: &[Candidate],
        out: &mut Vec<Output<P>>,
    ) {
        for candidate in served {
            self.downlink.given[candidate.ue as usize] = candidate.prb;
        }
        let mut notified = core::mem::take(&mut self.downlink.notified_ues);
        notified.clear();
        self.downlink.notified.clear();
        active
            .iter()
            .for_each(|&ue| self.downlink.notified.insert(ue as usize));
        self.add_backlogged_above();
        self.downlink.notified.collect_from(0, &mut notified);
        for &ue in &notified {
            let ue = ue as usize;
            let link = self.link_in(ue, ds);
            self.note_opportunity(ds, ue, &link);
            let prb = core::mem::take(&mut self.downlink.given[ue]) + free;
            let capacity = self.tables.bytes(&link, prb, ds.symbols);
            if capacity > 0 {
                self.notify_slot(ds.now, ue, Bytes::new(capacity));
            }
            for bearer in self.ues[ue].bearers.clone() {
                let rlc = self.bearers[bearer].rlc_mut(Direction::Downlink);
                let mut drop = dropper(out, UeIndex(ue), Direction::Downlink);
                rlc.take_dropped(|packet| drop(packet, DropReason::QueueManagement));
            }
        }
        self.downlink.notified_ues = notified;
    }

    /// From when on a UE can be sent something, as far as its link is concerned.
    pub(crate) fn note_opportunity(&mut self, ds: DownlinkSlot, ue: usize, link: &Link) {
        let carries = self.tables.bytes(link, self.config.n_prb.get(), ds.symbols) > 0;
        let from = if carries {
            ds.slot + 1
        } else {
            let state = self.ues[ue].channel.state(&self.frame, ds.slot);
            self.frame.first_from(state.holds_until).max(ds.slot + 1)
        };
        self.downlink.may_send_from(from);
    }

    /// An active UE sends a block again, or becomes a candidate for new data, or has nothing to
    /// send. How many PRBs are taken.
    fn retransmit_or_compete(
        &mut self,
        ds: DownlinkSlot,
        ue: usize,
        free: u16,
        accounts: &mut SlotAccounts,
        candidates: &mut Vec<Candidate>,
    ) -> u16 {
        let link = self.link_in(ue, ds);
        self.note_opportunity(ds, ue, &link);
        let pending = self.ues[ue].harq.pending.front().copied();
        let quality = match link {
            Link::Mcs { sinr, bler, .. } => Some((sinr, bler)),
            // what was recorded got through
            Link::Opportunity { .. } => Some((None, 0.0)),
            Link::Outage => None,
        };
        if let Some(block) = pending
            && let Some((sinr, bler)) = quality
        {
            let prb = self.blocks.get(block).prb;
            // where load leaves fewer PRBs than the block had, it goes out on those
            let taken = prb.min(ds.available);
            if taken > 0 && taken <= free {
                self.ues[ue].harq.pending.pop_front();
                let loss = Decibel::from_linear(f64::from(taken) / f64::from(prb));
                let sinr = sinr.map(|sinr| if taken < prb { sinr + loss } else { sinr });
                self.stats.ues[ue].downlink.retransmissions += 1;
                self.transmit(ds.slot, block, taken, sinr, bler);
                accounts.add(&self.tables, &link, ds, taken, ue);
                return taken;
            }
        }
        let is_bare = matches!(link, Link::Opportunity { .. });
        let demand = self.demand(ds.now, ue, Direction::Downlink, is_bare);
        if demand == 0 {
            if pending.is_none() && !self.holds_data(ue, Direction::Downlink) {
                self.downlink.active.remove(ue);
            }
            return 0;
        }
        let rate = self.tables.bytes(&link, ds.available, ds.symbols);
        let is_blocked =
            !is_bare && self.ues[ue].harq.busy >= u32::from(self.config.harq.processes);
        if rate == 0 || is_blocked {
            return 0;
        }
        let need = if demand >= rate {
            ds.available
        } else {
            self.tables
                .prbs_for(&link, demand, ds.symbols)
                .min(ds.available)
        };
        let average = self.ues[ue].average.before(ds.slot, self.downlink.weight);
        candidates.push(Candidate::new(ue as u32, need, rate, average));
        0
    }

    /// A candidate sends new data on the PRBs that it was given. How many it uses.
    fn send_new(
        &mut self,
        ds: DownlinkSlot,
        candidate: &Candidate,
        accounts: &mut SlotAccounts,
    ) -> u16 {
        let (ue, prb) = (candidate.ue as usize, candidate.prb);
        let link = self.link_in(ue, ds);
        let bytes = self.tables.bytes(&link, prb, ds.symbols);
        let Some(filled) = self.send_block(ds, ue, prb, 0, &link) else {
            return 0;
        };
        accounts.add(&self.tables, &link, ds, prb, ue);
        if matches!(link, Link::Opportunity { .. }) {
            // recorded bytes, not PRBs, are what can be left over
            accounts.unfilled += bytes - filled;
        }
        prb
    }

    /// Fills a new block and sends it: the bytes used, headers included; none if nothing went in. The UE's average
    /// rate counts it.
    pub(crate) fn send_block(
        &mut self,
        ds: DownlinkSlot,
        ue: usize,
        prb: u16,
        groups: u32,
        link: &Link,
    ) -> Option<u64> {
        let bytes = self.tables.bytes(link, prb, ds.symbols);
        let filled = match bytes {
            0 => None,
            _ => self.fill_and_send(ds, ue, (prb, groups, bytes), link),
        };
        let sent = if filled.is_some() { bytes } else { 0 };
        let average = &mut self.ues[ue].average;
        average.update(ds.slot, self.downlink.weight, sent);
        filled
    }

    fn fill_and_send(
        &mut self,
        ds: DownlinkSlot,
        ue: usize,
        (prb, groups, bytes): (u16, u32, u64),
        link: &Link,
    ) -> Option<u64> {
        let block = self.blocks.start(ue as u32, Direction::Downlink, prb);
        self.blocks.get_mut(block).groups = groups;
        let is_bare = matches!(link, Link::Opportunity { .. });
        let filled = self.fill(
            ds.now,
            ue,
            Direction::Downlink,
            block,
            Room { bytes, is_bare },
        );
        if self.blocks.get(block).chunks.is_empty() {
            self.blocks.put(block);
            return None;
        }
        let stats = &mut self.stats.ues[ue].downlink;
        stats.blocks += 1;
        stats.block_bytes += Bytes::new(bytes);
        match *link {
            Link::Mcs { mcs, sinr, bler } => {
                self.blocks.get_mut(block).attempts.mcs = mcs;
                self.ues[ue].harq.busy += 1;
                self.transmit(ds.slot, block, prb, sinr, bler);
            }
            // a recorded opportunity is what got through, whatever HARQ did
            Link::Opportunity { .. } | Link::Outage => {
                stats.prbs += u64::from(prb);
                self.blocks.get_mut(block).is_decoded = true;
                self.arrivals
                    .push_back((ds.slot + self.delivery_slots, block));
            }
        }
        Some(filled)
    }

    // accounts

    /// The UE's link in a slot that is being scheduled. Counts its capacity up to and with this slot.
    pub(crate) fn link_in(&mut self, ue: usize, ds: DownlinkSlot) -> Link {
        if self.ues[ue].channel.accounted <= ds.slot {
            self.count_capacity(ue, ds.slot + 1);
        }
        self.ues[ue].channel.state(&self.frame, ds.slot).link
    }

    /// Counts what the whole carrier would have carried to a UE in the slots before `to` that have
    /// not been counted; how many bytes these are.
    pub(crate) fn count_capacity(&mut self, ue: usize, to: SlotNumber) -> u64 {
        let state = &mut self.ues[ue];
        let channel = &mut state.channel;
        if !self.is_served[ue] {
            channel.accounted = channel.accounted.max(to);
            return 0;
        }
        let mut bytes = 0;
        while channel.accounted < to {
            let from = channel.accounted;
            let state = channel.state(&self.frame, from);
            let until = self.frame.first_from(state.holds_until).clamp(from + 1, to);
            bytes += carried(
                &self.tables,
                &self.frame,
                &self.config,
                &state.link,
                from,
                until,
            );
            channel.accounted = until;
        }
        self.stats.ues[ue].capacity += Bytes::new(bytes);
        bytes
    }

    /// Counts slots before `slot` that were not scheduled.
    pub(crate) fn account_to(&mut self, slot: SlotNumber) {
        let from = self.downlink.covered;
        if from < slot {
            let (_, slots) = self.frame.downlink_between(from, slot);
            let all = slots * u64::from(self.config.n_prb.get());
            let mut taken = 0;
            for skipped in from..if self.background.is_some() {
                slot
            } else {
                from
            } {
                if self.frame.downlink_symbols(skipped) > 0 {
                    taken += u64::from(self.background_in(skipped));
                }
            }
            self.stats.downlink_slots += slots;
            self.stats.prbs_offered += all - taken;
            self.downlink.idle.0 += all - taken;
            self.downlink.idle.1 += all;
            self.downlink.covered = slot;
        }
        self.stats.covered_until = self.frame.start(self.downlink.covered);
        let bytes = Bytes::new(self.count_capacity(self.downlink.last_served, slot));
        let (free, all) = core::mem::take(&mut self.downlink.idle);
        let is_whole = free == all;
        self.stats.capacity += if is_whole {
            bytes
        } else {
            bytes.mul_f64(free as f64 / all as f64)
        };
    }

    /// PRBs that background load takes in a downlink slot.
    fn background_in(&mut self, slot: SlotNumber) -> u16 {
        let Some(load) = &mut self.background else {
            return 0;
        };
        let prb = load
            .prb(self.frame.start(slot), self.frame.slot())
            .min(self.config.n_prb)
            .get();
        self.stats.prbs_background += u64::from(prb);
        prb
    }

    /// Adds the capacity of a scheduled slot to the cell's.
    fn close_accounts(&mut self, ds: DownlinkSlot, accounts: &SlotAccounts, used: u16) {
        self.stats.covered_until = self.frame.start(self.downlink.covered);
        if let Some(bytes) = accounts.weighted.checked_div(accounts.prbs) {
            self.stats.capacity += Bytes::new(bytes);
            let part = (bytes * u64::from(used)).checked_div(u64::from(ds.available));
            let part = part.unwrap_or(0).saturating_sub(accounts.unfilled);
            self.stats.capacity_used += Bytes::new(part);
            self.downlink.last_served = accounts.last;
            return;
        }
        let last = self.downlink.last_served;
        if self.ues[last].channel.accounted > ds.slot {
            let link = self.ues[last].channel.state(&self.frame, ds.slot).link;
            let bytes = self.tables.bytes(&link, ds.available, ds.symbols);
            self.stats.capacity += Bytes::new(bytes);
        } else {
            self.downlink.idle.0 += u64::from(ds.available);
            self.downlink.idle.1 += u64::from(self.config.n_prb.get());
        }
    }
}

/// What one slot sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotAccounts {
    prbs: u64,
    /// For each UE sent to, what all available PRBs would have carried, times its PRBs.
    weighted: u64,
    /// Bytes of recorded opportunities that were left over.
    unfilled: u64,
    /// The last of them.
    last: usize,
}

impl SlotAccounts {
    pub(crate) fn add(
        &mut self,
        tables: &Tables,
        link: &Link,
        ds: DownlinkSlot,
        prb: u16,
        ue: usize,
    ) {
        self.prbs += u64::from(prb);
        self.weighted += tables.bytes(link, ds.available, ds.symbols) * u64::from(prb);
        self.last = ue;
    }
}

/// Bytes that the whole carrier carries on an unchanging link in the slots from `from` to before
/// `to`.
fn carried(
    tables: &Tables,
    frame: &Frame,
    config: &CellConfig,
    link: &Link,
    from: SlotNumber,
    to: SlotNumber,
) -> u64 {
    let prb = config.n_prb.get();
    let (symbols, slots) = frame.downlink_between(from, to);
    let special = (slots * SYMBOLS - symbols) / (SYMBOLS - SPECIAL_SYMBOLS);
    (slots - special) * tables.bytes(link, prb, SYMBOLS)
        + special * tables.bytes(link, prb, SPECIAL_SYMBOLS)
}
