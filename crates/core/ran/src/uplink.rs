//! Uplink MAC: scheduling requests, grants, and the division of PRBs (TS 38.321 5.4.1, 5.4.4, 5.8.2;
//! TS 36.321 5.4.1, 5.4.4).
//!
//! A UE that has data but no grant waits for its next scheduling-request opportunity; the grant
//! delay later it may send, and from then on it is granted in every uplink slot, as much as it needs
//! of what its fair share is (its buffer status is known to the base station), until it has been
//! silent for the inactivity time. With configured grants (a request period of zero) it may send in
//! the next uplink slot at any time. Opportunities of different UEs lie in successive slots.
//!
//! *Deviations*: blocks have the configured MCS and one layer, and are free of errors. Buffer status
//! reports take no room. In TDD, requests may be sent in any slot.

use crate::cell::Cell;
use crate::fill::Room;
use crate::frame::SlotNumber;
use crate::mac::scheduler::{Candidate, share_equally};
use crate::output::Direction;
use crate::set::IndexSet;
use queue::Packet;
use units::{Bytes, Duration, Instant};

/// Uplink state of a cell.
pub(crate) struct Uplink {
    /// UEs with data or status reports to be sent.
    pending: IndexSet,
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
        if self.uplink.pending.contains(ue) {
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
        let wake = self
            .uplink
            .wake
            .map_or(usable_from, |wake| wake.min(usable_from));
        self.uplink.wake = Some(wake);
        self.wake_at(wake);
    }

    /// Schedules and sends in `slot`, if it carries uplink.
    pub(crate) fn schedule_uplink(&mut self, slot: SlotNumber) {
        if self.uplink.wake.is_none_or(|wake| slot < wake) || !self.frame.is_uplink(slot) {
            return;
        }
        let now = self.frame.start(slot);
        let mut ues = core::mem::take(&mut self.uplink.ues);
        let mut candidates = core::mem::take(&mut self.uplink.candidates);
        ues.clear();
        candidates.clear();
        self.uplink.pending.collect_from(self.uplink.turn, &mut ues);
        for &ue in &ues {
            if self.ues[ue as usize].grant.usable_from > slot {
                continue;
            }
            let demand = self.demand(now, ue as usize, Direction::Uplink, false);
            if demand == 0 {
                self.uplink.pending.remove(ue as usize);
                continue;
            }
            let need = self.tables.uplink_prbs_for(&self.config, demand);
            candidates.push(Candidate::new(ue, need, 0, 0.0));
        }
        let turn = share_equally(&mut candidates, self.config.uplink.n_prb.get());
        if let Some(ue) = turn {
            self.uplink.turn = (ue as usize + 1) % self.ues.len();
        }
        for candidate in candidates.iter().filter(|c| c.prb > 0) {
            self.send_uplink_block(now, slot, candidate);
        }
        self.uplink.wake = ues
            .iter()
            .filter(|&&ue| self.uplink.pending.contains(ue as usize))
            .map(|&ue| {
                self.frame
                    .next_uplink(self.ues[ue as usize].grant.usable_from.max(slot + 1))
            })
            .min();
        self.uplink.ues = ues;
        self.uplink.candidates = candidates;
    }

    fn send_uplink_block(&mut self, now: Instant, slot: SlotNumber, candidate: &Candidate) {
        let (ue, prb) = (candidate.ue as usize, candidate.prb);
        let bytes = self.tables.uplink_bytes(&self.config, prb);
        let block = self.blocks.start(candidate.ue, Direction::Uplink, prb);
        self.fill(
            now,
            ue,
            Direction::Uplink,
            block,
            Room {
                bytes,
                is_bare: false,
            },
        );
        if self.blocks.get(block).chunks.is_empty() {
            self.blocks.put(block);
            return;
        }
        self.blocks.get_mut(block).is_decoded = true;
        self.arrivals.push_back((slot + self.delivery_slots, block));
        let stats = &mut self.stats.ues[ue].uplink;
        stats.blocks += 1;
        stats.block_bytes += Bytes::new(bytes);
        stats.prbs += u64::from(prb);
        self.ues[ue].grant.kept_until = Some(now + self.config.uplink.inactivity);
        if self.demand(now, ue, Direction::Uplink, false) == 0 {
            self.uplink.pending.remove(ue);
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
