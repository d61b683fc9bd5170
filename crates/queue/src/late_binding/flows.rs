//! Packets by class and flow: classes in strict priority, flows of a class by deficit round robin,
//! and before all others those flows that had nothing waiting (the new flows of RFC 8290 section 4.1).
//!
//! A flow is told by [`Packet::flow`] exactly, without hashing; it is forgotten once it is empty and
//! its turn comes.

use crate::{Dequeued, Occupancy, Packet};
use std::collections::{BTreeMap, VecDeque};
use units::{Bytes, Instant};

/// QoS flow identifiers are 6 bits wide (TS 37.324 6.3.4).
const QFIS: usize = 64;

/// Which list of its class a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
}

/// One flow.
#[derive(Debug)]
struct Flow<P> {
    id: u64,
    packets: VecDeque<Dequeued<P>>,
    /// Their bytes.
    bytes: Bytes,
    /// Bytes that it may send before it goes to the end of the old flows, at most one quantum.
    credit: i64,
}

/// The flows of a class.
#[derive(Debug)]
struct Class<P> {
    flows: Vec<Flow<P>>,
    /// Places in `flows` that are free.
    free: Vec<usize>,
    by_id: BTreeMap<u64, usize>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
}

/// All packets.
#[derive(Debug)]
pub(super) struct Flows<P> {
    classes: Vec<Class<P>>,
    class_of: [u8; QFIS],
    quantum: i64,
    held: Occupancy,
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
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        self.held
    }

    /// A packet comes.
    pub(super) fn push(&mut self, enqueued_at: Instant, packet: P) {
        self.held.packets += 1;
        self.held.bytes += packet.bytes();
        let qfi = usize::from(packet.qfi()) % QFIS;
        let class = &mut self.classes[usize::from(self.class_of[qfi])];
        class.push(
            Dequeued {
                packet,
                enqueued_at,
            },
            self.quantum,
        );
    }

    /// The next packet, if it fits into `budget`.
    pub(super) fn pop(&mut self, budget: Bytes) -> Option<Taken<P>> {
        let quantum = self.quantum;
        let class = self.classes.iter_mut().find(|class| class.packets > 0)?;
        let taken = class.pop(quantum, budget)?;
        self.held.packets -= 1;
        self.held.bytes -= taken.next.packet.bytes();
        Some(taken)
    }

    /// Whether the next packet is of a flow that had nothing waiting.
    pub(super) fn is_new_next(&mut self) -> bool {
        let quantum = self.quantum;
        let class = self.classes.iter_mut().find(|class| class.packets > 0);
        class.is_some_and(|class| matches!(class.next(quantum), Some((List::New, _))))
    }
}

impl<P: Packet> Class<P> {
    fn new() -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
        }
    }

    fn push(&mut self, packet: Dequeued<P>, quantum: i64) {
        let id = packet.packet.flow();
        let index = match self.by_id.get(&id) {
            Some(&index) => index,
            None => self.begin(id, quantum),
        };
        let flow = &mut self.flows[index];
        flow.bytes += packet.packet.bytes();
        flow.packets.push_back(packet);
        self.packets += 1;
    }

    /// A flow that is not known is new, with a whole quantum.
    fn begin(&mut self, id: u64, quantum: i64) -> usize {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.flows.push(Flow {
                    id,
                    packets: VecDeque::new(),
                    bytes: Bytes::ZERO,
                    credit: 0,
                });
                self.flows.len() - 1
            }
        };
        (self.flows[index].id, self.flows[index].credit) = (id, quantum);
        self.by_id.insert(id, index);
        self.new.push_back(index);
        index
    }

    /// The flow whose turn it is; it has a packet and credit (RFC 8290 section 4.2).
    fn next(&mut self, quantum: i64) -> Option<(List, usize)> {
        loop {
            let (list, index) = match (self.new.front(), self.old.front()) {
                (Some(&index), _) => (List::New, index),
                (None, Some(&index)) => (List::Old, index),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index];
            let is_empty = flow.packets.is_empty();
            if flow.credit > 0 && !is_empty {
                return Some((list, index));
            }
            match list {
                List::New => drop(self.new.pop_front()),
                List::Old => drop(self.old.pop_front()),
            }
            if is_empty && list == List::Old {
                self.by_id.remove(&flow.id);
                self.free.push(index);
                continue;
            }
            if flow.credit <= 0 {
                flow.credit += quantum;
            }
            self.old.push_back(index);
        }
    }

    fn pop(&mut self, quantum: i64, budget: Bytes) -> Option<Taken<P>> {
        let (_, index) = self.next(quantum)?;
        let flow = &mut self.flows[index];
        let bytes = flow.packets.front()?.packet.bytes();
        if bytes > budget {
            return None;
        }
        let next = flow.packets.pop_front()?;
        flow.bytes -= bytes;
        flow.credit -= i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        self.packets -= 1;
        Some(Taken {
            next,
            flow: flow.id,
            behind: flow.bytes,
        })
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
    fn a_flow_that_had_nothing_waiting_goes_before_a_backlog() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        (0..4).for_each(|_| flows.push(Instant::ZERO, packet(1, 0)));
        assert!(flows.is_new_next());
        assert_eq!(flows.pop(Bytes::MAX).unwrap().flow, 1);
        assert_eq!(flows.pop(Bytes::MAX).unwrap().behind, Bytes::new(3000));
        assert!(!flows.is_new_next());
        flows.push(Instant::ZERO, packet(2, 0));
        assert!(flows.is_new_next());
        assert_eq!(order(&mut flows), [2, 1, 1]);
        assert_eq!(flows.occupancy(), Occupancy::default());
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
