//! A UE leaves the cell and comes into it: the cell's part of a handover (TS 36.300 10.1.2.1, TS 38.300 9.2.3.2).
//!
//! A UE that leaves takes nothing along: its HARQ processes are flushed (TS 38.321 5.12), its RLC entities are re-established (TS
//! 38.322 5.1.2), and all its packets are handed out, in the order in which they would have been sent. What becomes of them, who
//! forwards them and who puts them in order is the caller's.

use crate::cell::Cell;
use crate::mac::block::{Chunk, Pool};
use crate::mac::scheduler::Average;
use crate::output::{Direction, UeIndex};
use crate::packet::Held;
use crate::ue::Grant;
use crate::uplink::buffer_status::BufferStatus;
use queue::{Packet, Queue, QueueManagement};
use units::{Bytes, Duration, Instant};

/// What the cell held of one direction of a bearer, in order.
#[derive(Clone, Debug)]
pub struct Left<P> {
    /// Sent in part or whole, and not delivered: those that the receiver has wait there for one that it has not.
    pub sent: Vec<SentPacket<P>>,
    /// Of which nothing was sent.
    pub waiting: Vec<P>,
}

/// A packet that was sent and not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket<P> {
    /// The packet.
    pub packet: P,
    /// The receiver has all of it.
    pub is_received: bool,
}

/// What the cell held of one bearer.
#[derive(Clone, Debug)]
pub struct LeftBearer<P> {
    /// Towards the UE.
    pub downlink: Left<P>,
    /// From the UE.
    pub uplink: Left<P>,
}

impl<P> Left<P> {
    /// The same of what the packets hold.
    pub fn map<Q>(self, inner: impl Fn(P) -> Q) -> Left<Q> {
        let sent = self.sent.into_iter().map(|it| SentPacket {
            packet: inner(it.packet),
            is_received: it.is_received,
        });
        Left {
            sent: sent.collect(),
            waiting: self.waiting.into_iter().map(&inner).collect(),
        }
    }

    /// True without packets.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }
}

/// Takes all packets out of a queue, in its order; what its management would drop at this end is among them.
pub(crate) fn drain<P: Packet + Send>(queue: &mut Queue<Held<P>>, now: Instant) -> Vec<Held<P>> {
    /// What a queue does not give yet, it gives this much later.
    const LATER: Duration = Duration::from_secs(10);
    let mut all = Vec::with_capacity(queue.occupancy().packets);
    for at in [now, now + LATER] {
        while queue.occupancy().packets > 0 {
            let mut rejected = Vec::new();
            let next = queue.dequeue(at, Bytes::MAX, &mut |packet| rejected.push(packet));
            let has_none = next.is_none() && rejected.is_empty();
            all.append(&mut rejected);
            all.extend(next.map(|next| next.packet));
            if has_none {
                break;
            }
        }
    }
    all
}

impl<P: Packet + Send> Cell<P> {
    /// Whether the cell serves a UE.
    pub fn serves(&self, ue: UeIndex) -> bool {
        self.is_served.get(ue.0).copied().unwrap_or(false)
    }

    /// Whether what waits for a UE, at any layer and in either direction, or the packets of it in the cell may have changed
    /// since this was last called for it; a UE that does not exist has not.
    pub fn take_changed(&mut self, ue: UeIndex) -> bool {
        let changed = self.has_changed.get_mut(ue.0);
        changed.is_some_and(core::mem::take)
    }

    /// The cell serves a UE from now on.
    pub fn take_in(&mut self, now: Instant, ue: UeIndex) {
        let slot = self.frame.containing(now);
        if let Some(is_served) = self
            .is_served
            .get_mut(ue.0)
            .filter(|is_served| !**is_served)
        {
            *is_served = true;
            let state = &mut self.ues[ue.0];
            state.channel.accounted = state.channel.accounted.max(slot);
            if !self.serves(UeIndex(self.downlink.last_served)) {
                self.downlink.last_served = ue.0;
            }
        }
    }

    /// A UE leaves: what the cell held of each of its bearers. Until it comes back it must be sent nothing, and it is in no
    /// report.
    pub fn let_go(&mut self, now: Instant, ue: UeIndex) -> Vec<LeftBearer<P>> {
        if !self.serves(ue) {
            return Vec::new();
        }
        let slot = self.frame.containing(now);
        self.account_to(slot);
        self.take_feedback(slot);
        self.count_capacity(ue.0, slot);
        self.flush_harq(ue.0);
        self.is_served[ue.0] = false;
        let state = &mut self.ues[ue.0];
        state.grant = Grant {
            usable_from: 0,
            kept_until: None,
        };
        state.buffer_status = BufferStatus::default();
        state.average = Average::default();
        state.turn = [0; 2];
        self.downlink.active.remove(ue.0);
        self.uplink.forget(ue.0);
        if self.downlink.last_served == ue.0 {
            let served = self.is_served.iter().position(|is_served| *is_served);
            self.downlink.last_served = served.unwrap_or(ue.0);
        }
        let bearers = self.ues[ue.0].bearers.clone();
        bearers.map(|bearer| self.empty(now, bearer)).collect()
    }

    /// Forgets all transport blocks of a UE.
    fn flush_harq(&mut self, ue: usize) {
        let blocks = &self.blocks;
        let is_of = |block: u32| blocks.get(block).ue as usize == ue;
        let mut gone: Vec<u32> = Vec::new();
        self.arrivals.retain(|&(_, block)| {
            let is_gone = is_of(block);
            gone.extend(is_gone.then_some(block));
            !is_gone
        });
        for feedback in &mut self.feedback {
            feedback.forget(ue as u32, |block| {
                let is_gone = is_of(block);
                gone.extend(is_gone.then_some(block));
                is_gone
            });
        }
        for direction in [Direction::Downlink, Direction::Uplink] {
            let harq = self.ues[ue].harq_mut(direction);
            gone.extend(harq.pending.drain(..));
            harq.busy = 0;
        }
        for block in gone {
            for &chunk in &self.blocks.get(block).chunks {
                if let Chunk::Status { status, .. } = chunk {
                    Pool::put(&mut self.statuses, status);
                }
            }
            self.blocks.put(block);
        }
    }

    /// Takes out all that is held of a bearer, and has it begin anew.
    fn empty(&mut self, now: Instant, bearer: usize) -> LeftBearer<P> {
        let mut above: Vec<Held<P>> = Vec::new();
        if let Some(forwarder) = &mut self.forwarder {
            let state = &self.bearers[bearer];
            let stats = &mut self.stats.ues[state.ue as usize].bearers[state.number].downlink;
            above = forwarder.empty(now, bearer, stats);
        }
        let on_n3 = self.upf.take(bearer as u32);
        let mut left = [Direction::Downlink, Direction::Uplink].map(|direction| {
            let (rlc, mut cx) = self.entity(now, bearer, direction);
            rlc.leave(&mut cx)
        });
        let state = &self.bearers[bearer];
        let stats = &mut self.stats.ues[state.ue as usize].bearers[state.number].downlink;
        let come = above.into_iter().map(|held| held.packet);
        for packet in come.chain(on_n3) {
            stats.core.remove(packet.bytes());
            stats.handed_over.add(packet.bytes());
            left[0].waiting.push(packet);
        }
        // what comes after the UE is back is another RLC entity's
        stats.transmitted = None;
        let [downlink, uplink] = left;
        LeftBearer { downlink, uplink }
    }
}
