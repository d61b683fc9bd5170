//! Transmissions of blocks in either direction, and the HARQ feedback that they lead to.

use crate::cell::Cell;
use crate::frame::SlotNumber;
use crate::output::Direction;
use crate::stats::{MacStats, UeStats};
use queue::Packet;
use std::collections::VecDeque;
use units::Decibel;

/// Feedback that has not come yet, in ascending order of slots.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    /// Processes that become free: slot and UE.
    acks: VecDeque<(SlotNumber, u32)>,
    /// Blocks to be sent again: slot and block.
    nacks: VecDeque<(SlotNumber, u32)>,
}

impl Feedback {
    /// Forgets what is on its way about a UE: its processes, and the blocks that `is_gone` says are its.
    pub(crate) fn forget(&mut self, ue: u32, mut is_gone: impl FnMut(u32) -> bool) {
        self.acks.retain(|&(_, of)| of != ue);
        self.nacks.retain(|&(_, block)| !is_gone(block));
    }
}

/// The first of a queue, if it is due.
fn pop_due(queue: &mut VecDeque<(SlotNumber, u32)>, slot: SlotNumber) -> Option<u32> {
    let (_, what) = queue.pop_front_if(|(due, _)| *due <= slot)?;
    Some(what)
}

impl UeStats {
    fn mac_mut(&mut self, direction: Direction) -> &mut MacStats {
        match direction {
            Direction::Downlink => &mut self.downlink,
            Direction::Uplink => &mut self.uplink,
        }
    }
}

impl<P: Packet + Send> Cell<P> {
    /// Processes whose feedback has come by the beginning of `slot` become free.
    pub(crate) fn take_feedback(&mut self, slot: SlotNumber) {
        for direction in [Direction::Downlink, Direction::Uplink] {
            while let Some(ue) = pop_due(&mut self.feedback[direction as usize].acks, slot) {
                self.ues[ue as usize].harq_mut(direction).busy -= 1;
            }
        }
    }

    /// When HARQ feedback next requests a retransmission.
    pub(crate) fn next_feedback(&self) -> Option<SlotNumber> {
        let first = |feedback: &Feedback| feedback.nacks.front().map(|&(slot, _)| slot);
        self.feedback.iter().filter_map(first).min()
    }

    /// Retransmissions whose feedback has come wait for PRBs from now on.
    pub(crate) fn take_nacks(&mut self, slot: SlotNumber) {
        for direction in [Direction::Downlink, Direction::Uplink] {
            while let Some(block) = pop_due(&mut self.feedback[direction as usize].nacks, slot) {
                let ue = self.blocks.get(block).ue as usize;
                let harq = self.ues[ue].harq_mut(direction);
                harq.pending.push_back(block);
                match direction {
                    Direction::Downlink => self.downlink.activate(ue),
                    Direction::Uplink => self.uplink.send_again(ue, self.frame.next_uplink(slot)),
                }
            }
        }
    }

    /// One transmission of a block; what becomes of it is drawn at once, and known at the receiver
    /// after decoding and at the base station after the HARQ round trip.
    pub(crate) fn transmit(
        &mut self,
        slot: SlotNumber,
        id: u32,
        prb: u16,
        sinr: Option<Decibel>,
        bler: f64,
    ) {
        let block = self.blocks.get_mut(id);
        let ue = block.ue as usize;
        let direction = block.direction;
        let harq = self.ues[ue].harq_mut(direction);
        let stats = self.stats.ues[ue].mac_mut(direction);
        let feedback = &mut self.feedback[direction as usize];
        stats.prbs += u64::from(prb);
        let config = &self.config.harq;
        let p = block
            .attempts
            .error_probability(&self.tables.curves, config.combining, sinr, bler);
        block.is_decoded = p <= 0.0 || !harq.rng.chance(p);
        let feedback_slot = slot + u64::from(config.round_trip_slots);
        if !block.is_decoded {
            stats.errors += 1;
            block.attempts.add(sinr);
            let error = self.config.harq_feedback_error;
            let is_taken_for_ack = error > 0.0 && harq.rng.chance(error);
            if block.attempts.count < config.max_transmissions && !is_taken_for_ack {
                feedback.nacks.push_back((feedback_slot, id));
                return;
            }
            stats.failures += 1;
        }
        feedback.acks.push_back((feedback_slot, ue as u32));
        self.arrivals.push_back((slot + self.delivery_slots, id));
    }
}
