//! Packets by class and flow: classes in strict priority, flows of a class by deficit round robin,
//! and before all others the *sparse* flows: those that have sent nothing in this slot nor in the one
//! before (RFC 8290 section 4.1 has new flows; there a flow is new as soon as it was empty, which a busy
//! one is in every slot where little waits).
//!
//! A flow is told by [`Packet::flow`] exactly, without hashing, and forgotten once it is sparse.

use crate::{Dequeued, Occupancy, Packet};
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Instant};

/// QoS flow identifiers are 6 bits wide (TS 37.324 6.3.4).
const QFIS: usize = 64;

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has nothing waiting.
    Idle,
    /// Among the sparse flows.
    Sparse,
    /// Among the others.
    Busy,
}

/// One flow.
#[derive(Debug)]
struct Flow<P> {
    id: u64,
    packets: VecDeque<Dequeued<P>>,
    /// Their bytes.
    bytes: Bytes,
    /// Bytes that it may send before it goes to the end of the busy flows, at most one quantum.
    credit: i64,
    state: State,
    /// The slot in which it last sent.
    sent_in: u64,
}

/// The flows of a class.
#[derive(Debug)]
struct Class<P> {
    flows: Vec<Flow<P>>,
    /// Places in `flows` that are free.
    free: Vec<usize>,
    by_id: BTreeMap<u64, usize>,
    sparse: VecDeque<usize>,
    busy: VecDeque<usize>,
    /// Flows that have become idle, with the slot, in this order; some are not idle any more.
    idle: VecDeque<(u64, usize)>,
    packets: usize,
}

/// All packets.
#[derive(Debug)]
pub(super) struct Flows<P> {
    classes: Vec<Class<P>>,
    class_of: [u8; QFIS],
    quantum: i64,
    held: Occupancy,
    /// Number of the slot.
    slot: u64,
}

/// A packet with its flow.
#[derive(Debug)]
pub(super) struct Taken<P> {
    pub(super) next: Dequeued<P>,
    /// The flow that it belongs to.
    pub(super) flow: u64,
    /// What waits of that flow behind it.
    pub(super) behind: Bytes,
}

impl<P: Packet> Flows<P> {
    /// Nothing yet. `classes` are QoS flow identifiers in descending priority; all that are not named
    /// come last, together.
    pub(super) fn new(classes: &[Vec<u8>], quantum: Bytes) -> Self {
        let last = classes.len().min(usize::from(u8::MAX)) as u8;
        let mut class_of = [last; QFIS];
        for (index, qfis) in classes.iter().enumerate() {
            for &qfi in qfis {
                if let Some(class) = class_of.get_mut(usize::from(qfi)) {
                    *class = index as u8;
                }
            }
        }
        Self {
            classes: (0..=classes.len()).map(|_| Class::new()).collect(),
            class_of,
            quantum: i64::try_from(quantum.get()).unwrap_or(i64::MAX),
            held: Occupancy::default(),
            slot: 2,
        }
    }

    /// The next slot begins.
    pub(super) fn next_slot(&mut self) {
        self.slot += 1;
        for class in &mut self.classes {
            class.forget(self.slot);
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        self.held
    }

    /// A packet comes.
    pub(super) fn push(&mut self, enqueued_at: Instant, packet: P) {
        self.held.packets += 1;
        self.held.bytes += packet.bytes();
        let class = self.class(packet.qfi());
        self.classes[class].push(
            Dequeued {
                packet,
                enqueued_at,
            },
            self.quantum,
            self.slot,
        );
    }

    /// The next packet, if it fits into `budget`.
    pub(super) fn pop(&mut self, budget: Bytes) -> Option<Taken<P>> {
        let (quantum, slot) = (self.quantum, self.slot);
        let class = self.classes.iter_mut().find(|class| class.packets > 0)?;
        let taken = class.pop(quantum, slot, budget)?;
        self.held.packets -= 1;
        self.held.bytes -= taken.next.packet.bytes();
        Some(taken)
    }

    /// Whether packets of this flow, which has this QoS flow identifier, are waiting.
    pub(super) fn holds(&self, flow: u64, qfi: u8) -> bool {
        let class = &self.classes[self.class(qfi)];
        let known = class.by_id.get(&flow);
        known.is_some_and(|&index| !class.flows[index].packets.is_empty())
    }

    /// The class of a QoS flow identifier; whether it is one of those that are named.
    pub(super) fn is_named(&self, qfi: u8) -> bool {
        self.class(qfi) + 1 < self.classes.len()
    }

    fn class(&self, qfi: u8) -> usize {
        usize::from(self.class_of[usize::from(qfi) % QFIS])
    }
}

/// Whether a flow that last sent in that slot is sparse now.
fn is_sparse(sent_in: u64, slot: u64) -> bool {
    slot - sent_in > 1
}

impl<P: Packet> Class<P> {
    fn new() -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            sparse: VecDeque::new(),
            busy: VecDeque::new(),
            idle: VecDeque::new(),
            packets: 0,
        }
    }

    fn push(&mut self, packet: Dequeued<P>, quantum: i64, slot: u64) {
        let id = packet.packet.flow();
        let index = match self.by_id.get(&id) {
            Some(&index) => index,
            None => self.begin(id),
        };
        let flow = &mut self.flows[index];
        if flow.state == State::Idle {
            if is_sparse(flow.sent_in, slot) {
                (flow.state, flow.credit) = (State::Sparse, quantum);
                self.sparse.push_back(index);
            } else {
                flow.state = State::Busy;
                self.busy.push_back(index);
            }
        }
        flow.bytes += packet.packet.bytes();
        flow.packets.push_back(packet);
        self.packets += 1;
    }

    /// A flow that is not known has never sent.
    fn begin(&mut self, id: u64) -> usize {
        let index = self.free.pop().unwrap_or(self.flows.len());
        if index == self.flows.len() {
            self.flows.push(Flow {
                id,
                packets: VecDeque::new(),
                bytes: Bytes::ZERO,
                credit: 0,
                state: State::Idle,
                sent_in: 0,
            });
        }
        let flow = &mut self.flows[index];
        (flow.id, flow.sent_in) = (id, 0);
        self.by_id.insert(id, index);
        index
    }

    /// The flow whose turn it is, one with credit; all that are listed have a packet.
    fn next(&mut self, quantum: i64) -> Option<usize> {
        if let Some(&index) = self.sparse.front() {
            return Some(index);
        }
        loop {
            let &index = self.busy.front()?;
            let flow = &mut self.flows[index];
            if flow.credit > 0 {
                return Some(index);
            }
            flow.credit += quantum;
            self.busy.rotate_left(1);
        }
    }

    fn pop(&mut self, quantum: i64, slot: u64, budget: Bytes) -> Option<Taken<P>> {
        let index = self.next(quantum)?;
        let flow = &mut self.flows[index];
        let bytes = flow.packets.front()?.packet.bytes();
        if bytes > budget {
            return None;
        }
        let next = flow.packets.pop_front()?;
        flow.bytes -= bytes;
        flow.credit -= i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        flow.sent_in = slot;
        let taken = Taken {
            next,
            flow: flow.id,
            behind: flow.bytes,
        };
        self.packets -= 1;
        let list = match flow.state {
            State::Sparse => &mut self.sparse,
            State::Busy | State::Idle => &mut self.busy,
        };
        if flow.packets.is_empty() {
            flow.state = State::Idle;
            list.pop_front();
            self.idle.push_back((slot, index));
        } else if flow.state == State::Sparse && flow.credit <= 0 {
            flow.state = State::Busy;
            list.pop_front();
            self.busy.push_back(index);
        }
        Some(taken)
    }

    /// Flows that are sparse and have nothing waiting are forgotten.
    fn forget(&mut self, slot: u64) {
        while let Some(&(since, index)) = self.idle.front()
            && is_sparse(since, slot)
        {
            self.idle.pop_front();
            let flow = &self.flows[index];
            let is_idle = flow.state == State::Idle && flow.sent_in == since;
            if is_idle && self.by_id.get(&flow.id) == Some(&index) {
                self.by_id.remove(&flow.id);
                self.free.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;

    fn packet(flow: u64, qfi: u8) -> TestPacket {
        TestPacket::new(1500).with_flow(flow).with_qfi(qfi)
    }

    fn order(flows: &mut Flows<TestPacket>) -> Vec<u64> {
        core::iter::from_fn(|| flows.pop(Bytes::MAX).map(|taken| taken.flow)).collect()
    }

    #[test]
    fn a_sparse_flow_goes_before_a_busy_one() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        (0..4).for_each(|_| flows.push(Instant::ZERO, packet(1, 0)));
        assert!(flows.holds(1, 0) && !flows.holds(2, 0));
        assert_eq!(flows.pop(Bytes::MAX).unwrap().flow, 1);
        assert_eq!(flows.pop(Bytes::MAX).unwrap().behind, Bytes::new(3000));
        flows.push(Instant::ZERO, packet(2, 0));
        assert_eq!(order(&mut flows), [2, 1, 1]);
        assert_eq!(flows.occupancy(), Occupancy::default());
    }

    #[test]
    fn a_flow_of_every_slot_is_not_sparse_although_it_was_empty() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        for slot in 0..40 {
            flows.push(Instant::ZERO, packet(1, 0));
            if slot % 4 == 3 {
                // it comes after the busy flow's, and goes first
                flows.push(Instant::ZERO, packet(2, 0));
                assert_eq!(order(&mut flows), [2, 1], "{slot}");
            } else {
                assert_eq!(order(&mut flows), [1]);
            }
            flows.next_slot();
        }
    }

    #[test]
    fn idle_flows_are_forgotten() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        for flow in 0..1000 {
            flows.push(Instant::ZERO, packet(flow, 0));
            flows.pop(Bytes::MAX).unwrap();
            flows.next_slot();
        }
        assert!(flows.classes[0].flows.len() <= 3, "{flows:?}");
        assert!(flows.classes[0].by_id.len() <= 2);
    }

    #[test]
    fn classes_come_in_their_order_and_flows_in_turn() {
        let mut flows = Flows::new(&[vec![5], vec![7, 8]], Bytes::new(1500));
        for (flow, qfi) in [(1, 0), (2, 8), (3, 5), (1, 0), (2, 8), (4, 7), (4, 7)] {
            flows.push(Instant::ZERO, packet(flow, qfi));
        }
        assert_eq!(order(&mut flows), [3, 2, 4, 2, 4, 1, 1]);
    }
}
