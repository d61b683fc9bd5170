//! The UPF's queue above late binding: flows apart, and a sender notified early that its flow has more
//! waiting than the radio can need.
//!
//! A flow needs enough in flight to fill the largest slot there may be, whatever the slot is now: a
//! slot of the RAN's queue, and a little more here, the *allowance*: the largest slot's rate times a
//! configured time, about the round trip between the sender and the radio. Beyond that its head packet
//! is marked (RFC 3168), or dropped where the flow understands no marks. The head, not the tail: the news
//! leave at once.
//!
//! A flow that is sparse by its tokens, and of which the queue below holds little, and every flow of a named
//! class, goes the express way: down at once, whatever room there is below. How much the queue below holds
//! of a flow is read from it ([`QueueManagement::admits_urgent`]): where a slot is small, a greedy flow is left
//! as little as a sparse one sends, and only what waits of it distinguishes them.
//!
//! After a mark, the flow is left alone until a whole window has passed here: what waited of it in this
//! queue and in the one below. Until then nothing that passes was sent in knowledge of the mark.

use super::flows::{Flows, Place};
use super::largest::Largest;
use super::{MEMORY, SparseRule, check};
use crate::codel::FRAME;
use crate::config::Configure;
use crate::fifo::try_mark;
use crate::fq_codel::QUANTUM_KEY;
use crate::registry::Values;
use crate::{Capacity, ConfigError, Dequeued, Occupancy, Packet, QueueManagement, Slot, Urgent};
use units::{Bytes, Duration, Instant, Rng};

/// The default allowance.
const ALLOWANCE: Duration = Duration::from_millis(15);
/// What a flow may always have waiting: enough for a loss to be found by duplicate acknowledgements.
const MIN_PACKETS: u64 = 4;

/// How the UPF's queue works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacedConfig {
    /// QoS flow identifiers in descending priority; all that are not named come last, together.
    pub classes: Vec<Vec<u8>>,
    /// Bytes that a flow may send in its turn, at least 64.
    pub quantum: Bytes,
    /// For how long the largest slot is kept, above zero.
    pub memory: Duration,
    /// What a flow may keep waiting here, as time at the rate of the largest slot.
    pub allowance: Duration,
    /// Marks packets that allow it, instead of dropping them.
    pub ecn: bool,
    /// Which flows go the express way.
    pub sparse: SparseRule,
}

impl Default for PacedConfig {
    /// No classes, RFC 8290's quantum, 10 s, 15 ms, marks.
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            quantum: FRAME,
            memory: MEMORY,
            allowance: ALLOWANCE,
            ecn: true,
            sparse: SparseRule::default(),
        }
    }
}

impl PacedConfig {
    /// # Errors
    /// A quantum below 64 bytes, a memory of zero, a QFI above 63.
    pub fn check(&self) -> Result<(), ConfigError> {
        check(&self.classes, self.quantum, self.memory)
    }
}

impl PacedConfig {
    pub(super) fn of(values: &Values<'_>) -> Self {
        Self {
            classes: values.shared.classes.clone(),
            quantum: values.bytes(QUANTUM_KEY),
            memory: values.shared.memory,
            allowance: values.shared.allowance,
            ecn: values.shared.ecn,
            sparse: SparseRule::of(values),
        }
    }
}

impl Configure for PacedConfig {
    type Queue<P: Packet + Send> = Paced<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    // it is given times and slots only
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<Paced<P>, ConfigError> {
        Paced::new(self.clone(), capacity)
    }
}

/// The queue.
#[derive(Debug)]
pub struct Paced<P> {
    config: PacedConfig,
    capacity: Capacity,
    flows: Flows<P>,
    largest: Largest,
    /// What a flow may have waiting here; none before the first slot.
    allowed: Option<Bytes>,
}

impl<P: Packet> Paced<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`PacedConfig::check`]; a capacity of zero.
    pub fn new(config: PacedConfig, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            flows: Flows::new(&config.classes, config.quantum, config.sparse),
            largest: Largest::new(config.memory),
            config,
            capacity,
            allowed: None,
        })
    }

    /// What a flow may have waiting here, after a slot.
    fn allowed(&self, tti: Duration) -> Option<Bytes> {
        let largest = self.largest.get();
        if largest.is_zero() || tti.is_zero() {
            return None;
        }
        let part = self.config.allowance.ratio(tti);
        Some(largest.mul_f64(part).max(FRAME * MIN_PACKETS))
    }

    /// Whether a flow is to be sent a congestion signal now, because it sends too much, a packet of `bytes` at its head and
    /// `behind` waiting after it.
    fn signals_congestion(&mut self, flow: Place, bytes: Bytes, behind: Bytes) -> bool {
        let quiet = self.flows.quiet(flow);
        *quiet = quiet.saturating_sub(bytes);
        let is_too_much = self.allowed.is_some_and(|allowed| bytes + behind > allowed);
        if !quiet.is_zero() || !is_too_much {
            return false;
        }
        *quiet = behind + self.largest.get();
        true
    }
}

impl<P: Packet + Send> QueueManagement<P> for Paced<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        self.flows.push(now, packet);
        Ok(())
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        loop {
            let taken = self.flows.pop(budget)?;
            let is_signalled = !self.flows.is_in_named(taken.flow)
                && self.signals_congestion(taken.flow, taken.bytes, taken.behind);
            if !is_signalled {
                return self.flows.release(taken);
            }
            let mut next = self.flows.release(taken)?;
            if self.config.ecn && try_mark(&mut next.packet) {
                return Some(next);
            }
            dropped(next.packet);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.flows.occupancy()
    }

    fn is_urgent(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        self.flows.is_urgent(admits)
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        self.flows.next_slot(slot.capacity);
        self.largest.add(now, slot.capacity);
        self.allowed = self.allowed(slot.tti);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::test_packet::TestPacket;

    /// Slots of 5 packets every 10 ms; 10 ms of that rate are 5 packets. Flow 1 has sent three quanta.
    fn paced() -> Paced<TestPacket> {
        let config = PacedConfig {
            allowance: Duration::from_millis(10),
            ..PacedConfig::default()
        };
        let mut paced = Paced::new(config, Capacity::Unlimited).unwrap();
        let slot = Slot {
            remaining: Occupancy::default(),
            capacity: Bytes::new(7500),
            tti: Duration::from_millis(10),
        };
        paced.on_slot(Instant::ZERO, slot);
        push(&mut paced, 3, Ecn::NotEct);
        for _ in 0..3 {
            assert!(paced.is_urgent(&mut |_| true));
            paced
                .dequeue(Instant::ZERO, Bytes::MAX, &mut |_| ())
                .unwrap();
        }
        paced
    }

    fn push(paced: &mut Paced<TestPacket>, packets: usize, ecn: Ecn) {
        for _ in 0..packets {
            let packet = TestPacket::new(1500).with_flow(1).with_ecn(ecn);
            paced.enqueue(Instant::ZERO, packet).unwrap();
        }
    }

    #[test]
    fn beyond_the_allowance_the_head_is_marked_once_a_window() {
        let mut paced = paced();
        push(&mut paced, 5, Ecn::Ect0);
        let mut marks = Vec::new();
        // a packet comes for each that goes: 6 wait
        for _ in 0..40 {
            push(&mut paced, 1, Ecn::Ect0);
            let out = paced.dequeue(Instant::ZERO, Bytes::MAX, &mut |_| unreachable!());
            marks.push(out.unwrap().packet.ecn() == Ecn::Ce);
        }
        let marked: Vec<usize> = (0..40).filter(|&at| marks[at]).collect();
        // 5 behind the marked one, and 5 in the slot below
        assert_eq!(marked, [0, 10, 20, 30]);
    }

    #[test]
    fn a_flow_that_sends_little_goes_the_express_way() {
        let mut paced = paced();
        push(&mut paced, 2, Ecn::Ect0);
        assert!(!paced.is_urgent(&mut |_| true));
        let game = TestPacket::new(100).with_flow(2);
        paced.enqueue(Instant::ZERO, game).unwrap();
        assert!(paced.is_urgent(&mut |_| true));
        let mut flow = || {
            let out = paced.dequeue(Instant::ZERO, Bytes::MAX, &mut |_| unreachable!());
            out.unwrap().packet.flow()
        };
        assert_eq!([flow(), flow(), flow()], [2, 1, 1]);
    }

    #[test]
    fn within_the_allowance_no_congestion_is_signalled() {
        let mut paced = paced();
        push(&mut paced, 4, Ecn::NotEct);
        for _ in 0..40 {
            push(&mut paced, 1, Ecn::NotEct);
            let out = paced.dequeue(Instant::ZERO, Bytes::MAX, &mut |_| unreachable!());
            assert!(out.is_some());
        }
    }

    #[test]
    fn packets_that_are_not_ecn_capable_are_dropped_from_the_head() {
        let mut paced = paced();
        push(&mut paced, 7, Ecn::NotEct);
        let mut dropped = 0;
        let out = paced.dequeue(Instant::ZERO, Bytes::MAX, &mut |_| dropped += 1);
        assert!(out.is_some());
        assert_eq!((dropped, paced.occupancy().packets), (1, 5));
    }
}
