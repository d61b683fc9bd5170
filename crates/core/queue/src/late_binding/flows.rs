//! Packets by class and flow: classes in strict priority, flows of a class by deficit round robin,
//! and before all others the *sparse* flows: those of which nothing was left after the last slot, and
//! which have sent little lately. (RFC 8290 section 4.1 has new flows; there a flow is new as soon as
//! it was empty, which a busy one is in every slot where little waits.)
//!
//! How much is little is measured by tokens.
//!
//! A flow is identified by [`Packet::flow`] exactly, without hashing, and removed when its tokens are full.

use super::index::Index;
use super::tokens::{Mint, Tokens, counted};
use crate::{Dequeued, Occupancy, Packet};
use std::collections::VecDeque;
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
    /// What it may send as a sparse flow.
    tokens: Tokens,
    /// The slot in which the first of what is waiting came.
    began_in: u64,
    /// The last slot after which something of it was left.
    left_after: u64,
    /// It is in the list of flows to be removed.
    is_listed: bool,
    /// What is still to pass before it is sent a congestion signal again; it is up to the owner.
    quiet: Bytes,
}

/// The flows of a class.
#[derive(Debug)]
struct Class<P> {
    flows: Vec<Flow<P>>,
    /// Places in `flows` that are free.
    free: Vec<usize>,
    by_id: Index,
    sparse: VecDeque<usize>,
    busy: VecDeque<usize>,
    /// Flows that have become idle, each once; some are not idle any more.
    idle: VecDeque<usize>,
    packets: usize,
}

/// All packets.
#[derive(Debug)]
pub(super) struct Flows<P> {
    classes: Vec<Class<P>>,
    class_of: [u8; QFIS],
    held: Occupancy,
    /// Number of the slot that is filled next.
    slot: u64,
    mint: Mint,
}

/// The context of a class's functions.
#[derive(Clone, Copy, Debug)]
struct Now {
    slot: u64,
    mint: Mint,
}

/// Where a flow is kept, until the next slot at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    class: usize,
    index: usize,
}

/// A packet with its flow.
#[derive(Debug)]
pub(super) struct Taken<P> {
    pub(super) next: Dequeued<P>,
    /// The flow that it belongs to.
    pub(super) flow: Place,
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
            held: Occupancy::default(),
            slot: 2,
            mint: Mint::new(quantum),
        }
    }

    fn now(&self) -> Now {
        Now {
            slot: self.slot,
            mint: self.mint,
        }
    }

    /// A slot has been filled that could carry so much.
    pub(super) fn next_slot(&mut self, capacity: Bytes) {
        self.slot += 1;
        self.mint.next_slot(capacity);
        let now = self.now();
        for class in &mut self.classes {
            class.remove_idle(now);
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        self.held
    }

    /// A packet comes.
    pub(super) fn push(&mut self, enqueued_at: Instant, packet: P) {
        self.held.packets += 1;
        self.held.bytes += packet.bytes();
        let (class, now) = (self.class(packet.qfi()), self.now());
        self.classes[class].push(
            Dequeued {
                packet,
                enqueued_at,
            },
            now,
        );
    }

    /// The next packet, if it fits into `budget`.
    pub(super) fn pop(&mut self, budget: Bytes) -> Option<Taken<P>> {
        let now = self.now();
        let number = self.classes.iter().position(|class| class.packets > 0)?;
        let taken = self.classes[number].pop(number, now, budget)?;
        self.held.packets -= 1;
        self.held.bytes -= taken.next.packet.bytes();
        Some(taken)
    }

    /// A packet joins those of its flow that are waiting, or comes back if there are none.
    pub(super) fn push_behind(&mut self, enqueued_at: Instant, packet: P) -> Result<(), P> {
        let number = self.class(packet.qfi());
        let class = &mut self.classes[number];
        let Some(index) = class.by_id.get(packet.flow()) else {
            return Err(packet);
        };
        let flow = &mut class.flows[index];
        if flow.packets.is_empty() {
            return Err(packet);
        }
        let bytes = packet.bytes();
        flow.bytes += bytes;
        flow.packets.push_back(Dequeued {
            packet,
            enqueued_at,
        });
        class.packets += 1;
        self.held.packets += 1;
        self.held.bytes += bytes;
        Ok(())
    }

    /// What is still to pass of a flow before it is sent a congestion signal again.
    pub(super) fn quiet(&mut self, flow: Place) -> &mut Bytes {
        &mut self.classes[flow.class].flows[flow.index].quiet
    }

    /// The class of a QoS flow identifier; whether it is one of those that are named.
    pub(super) fn is_named(&self, qfi: u8) -> bool {
        self.class(qfi) + 1 < self.classes.len()
    }

    fn class(&self, qfi: u8) -> usize {
        usize::from(self.class_of[usize::from(qfi) % QFIS])
    }
}

impl<P> Flow<P> {
    fn new(id: u64, mint: Mint) -> Self {
        Self {
            id,
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            credit: 0,
            state: State::Idle,
            tokens: Tokens::full(mint),
            began_in: 0,
            left_after: 0,
            is_listed: false,
            quiet: Bytes::ZERO,
        }
    }

    /// Whether it is sparse as its first packet comes.
    fn is_sparse(&mut self, now: Now) -> bool {
        self.tokens.count(now.mint) > 0 && self.left_after + 1 < now.slot
    }
}

impl<P: Packet> Class<P> {
    fn new() -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            by_id: Index::new(),
            sparse: VecDeque::new(),
            busy: VecDeque::new(),
            idle: VecDeque::new(),
            packets: 0,
        }
    }

    fn push(&mut self, packet: Dequeued<P>, now: Now) {
        let id = packet.packet.flow();
        let index = match self.by_id.get(id) {
            Some(index) => index,
            None => self.begin(id, now),
        };
        let flow = &mut self.flows[index];
        if flow.state == State::Idle {
            flow.began_in = now.slot;
            if flow.is_sparse(now) {
                (flow.state, flow.credit) = (State::Sparse, now.mint.quantum());
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

    /// A flow that is not known has sent nothing for long.
    fn begin(&mut self, id: u64, now: Now) -> usize {
        let index = self.free.pop().unwrap_or(self.flows.len());
        if index == self.flows.len() {
            self.flows.push(Flow::new(id, now.mint));
        }
        let flow = &mut self.flows[index];
        (flow.id, flow.left_after, flow.quiet) = (id, 0, Bytes::ZERO);
        flow.tokens = Tokens::full(now.mint);
        self.by_id.insert(id, index);
        index
    }

    /// The flow whose turn it is, one with credit; all that are listed have a packet.
    fn next(&mut self, now: Now) -> Option<usize> {
        while let Some(&index) = self.sparse.front() {
            let flow = &mut self.flows[index];
            if flow.began_in == now.slot && flow.credit > 0 {
                return Some(index);
            }
            // a slot has passed and left it waiting, or it has had its turn
            flow.state = State::Busy;
            self.sparse.pop_front();
            self.busy.push_back(index);
        }
        loop {
            let &index = self.busy.front()?;
            let flow = &mut self.flows[index];
            if flow.credit > 0 {
                return Some(index);
            }
            flow.credit += now.mint.quantum();
            self.busy.rotate_left(1);
        }
    }

    fn pop(&mut self, class: usize, now: Now, budget: Bytes) -> Option<Taken<P>> {
        let index = self.next(now)?;
        let flow = &mut self.flows[index];
        let bytes = flow.packets.front()?.packet.bytes();
        if bytes > budget {
            return None;
        }
        let next = flow.packets.pop_front()?;
        flow.bytes -= bytes;
        flow.credit -= counted(bytes);
        flow.tokens.take(now.mint, bytes);
        let taken = Taken {
            next,
            flow: Place { class, index },
            behind: flow.bytes,
        };
        self.packets -= 1;
        if flow.packets.is_empty() {
            let list = match flow.state {
                State::Sparse => &mut self.sparse,
                State::Busy | State::Idle => &mut self.busy,
            };
            list.pop_front();
            flow.state = State::Idle;
            if flow.began_in < now.slot {
                flow.left_after = now.slot - 1;
            }
            if !core::mem::replace(&mut flow.is_listed, true) {
                self.idle.push_back(index);
            }
        }
        Some(taken)
    }

    /// Flows that have been idle for so long that they are as new ones are removed.
    fn remove_idle(&mut self, now: Now) {
        while let Some(&index) = self.idle.front() {
            let flow = &mut self.flows[index];
            if flow.state == State::Idle {
                if !flow.tokens.is_full(now.mint) {
                    return;
                }
                self.by_id.remove(flow.id);
                self.free.push(index);
            }
            flow.is_listed = false;
            self.idle.pop_front();
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
        core::iter::from_fn(|| flows.pop(Bytes::MAX).map(|taken| taken.next.packet.flow)).collect()
    }

    #[test]
    fn a_sparse_flow_goes_before_a_busy_one() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        (0..4).for_each(|_| flows.push(Instant::ZERO, packet(1, 0)));
        assert!(flows.push_behind(Instant::ZERO, packet(2, 0)).is_err());
        assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 1);
        assert_eq!(flows.pop(Bytes::MAX).unwrap().behind, Bytes::new(3000));
        flows.push(Instant::ZERO, packet(2, 0));
        assert_eq!(order(&mut flows), [2, 1, 1]);
        assert_eq!(flows.occupancy(), Occupancy::default());
    }

    /// What a slot could carry in the tests below.
    const SLOT: Bytes = Bytes::new(3000);

    #[test]
    fn a_flow_that_is_always_left_over_is_not_sparse_and_one_that_is_not_is() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        (0..3).for_each(|_| flows.push(Instant::ZERO, packet(1, 0)));
        for slot in 0..40 {
            // the busy flow always has three packets, and one is served
            if slot % 3 == 2 {
                flows.push(Instant::ZERO, packet(2, 0));
                assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 2, "{slot}");
            } else {
                assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 1, "{slot}");
                flows.push(Instant::ZERO, packet(1, 0));
            }
            flows.next_slot(SLOT);
        }
    }

    #[test]
    fn a_sparse_flow_takes_no_more_than_three_quarters() {
        let mut flows = Flows::new(&[], Bytes::new(1500));
        flows.push(Instant::ZERO, packet(1, 0));
        let (mut served, mut is_offered) = ([0; 3], false);
        for _ in 0..1000 {
            // one packet fits into a slot; flow 2 offers one, and flow 1 has always some left
            flows.push(Instant::ZERO, packet(1, 0));
            if !is_offered {
                flows.push(Instant::ZERO, packet(2, 0));
                is_offered = true;
            }
            let flow = flows.pop(Bytes::MAX).unwrap().next.packet.flow;
            served[flow as usize] += 1;
            is_offered &= flow != 2;
            flows.next_slot(SLOT);
        }
        assert!((245..=260).contains(&served[1]), "{served:?}");
    }

    #[test]
    fn idle_flows_are_removed() {
        let mut flows = Flows::new(&[], Bytes::new(1514));
        for flow in 0..1000 {
            flows.push(Instant::ZERO, packet(flow, 0));
            flows.pop(Bytes::MAX).unwrap();
            flows.next_slot(SLOT);
        }
        assert!(flows.classes[0].flows.len() <= 10, "{flows:?}");
        assert!(flows.classes[0].by_id.len() <= 9);
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
