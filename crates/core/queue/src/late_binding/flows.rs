//! Packets by class and flow: classes in strict priority, flows of a class by deficit round robin,
//! and before all others the *sparse* flows: those that have tokens, which is to say that have sent
//! little lately ([`super::tokens`]). Of several, the one of which the least waits goes first.
//!
//! Tokens alone do not separate a flow that sends its share of a small slot from a greedy one that is
//! left the rest: both send as much. What separates them is that the greedy one waits, so the least goes
//! first. Nor is it asked whether a flow has been empty ([`SparseRule::Idle`], as RFC 8290 section 4.1 has
//! it): one that sends exactly its share, and is left over once, would not be empty again for long.
//!
//! A flow is identified by [`Packet::flow`] exactly, without hashing, and removed when its tokens are full.

use super::SparseRule;
use super::index::Index;
use super::tokens::{Mint, Tokens, counted};
use crate::{Dequeued, Occupancy, Packet, Urgent};
use std::collections::{BTreeSet, VecDeque};
use units::Bytes;

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

/// The order of sparse flows: what waits, then how long it has been one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    waiting: Bytes,
    number: u64,
}

/// One flow.
#[derive(Debug)]
struct Flow<P> {
    id: u64,
    packets: VecDeque<Dequeued<P>>,
    /// Their bytes.
    bytes: Bytes,
    /// Of those, what came although there was no room.
    beyond: Bytes,
    /// Bytes that it may send before it goes to the end of the busy flows, at most one quantum.
    credit: i64,
    state: State,
    /// Its key among the sparse flows, while it is one of them.
    rank: Rank,
    /// What it may send as a sparse flow.
    tokens: Tokens,
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
    sparse: BTreeSet<(Rank, usize)>,
    busy: VecDeque<usize>,
    /// Number of the next flow that becomes sparse.
    next_number: u64,
    /// A slot has passed, and busy flows may have become sparse.
    is_to_be_promoted: bool,
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
    /// Bytes of that which came although there was no room.
    beyond: Bytes,
    /// Number of the slot that is filled next.
    slot: u64,
    mint: Mint,
    rule: SparseRule,
}

/// The context of a class's functions.
#[derive(Clone, Copy, Debug)]
struct Now {
    slot: u64,
    mint: Mint,
    rule: SparseRule,
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
    /// How much of it came beyond the room.
    beyond: Bytes,
}

impl<P: Packet> Flows<P> {
    /// Nothing yet. `classes` are QoS flow identifiers in descending priority; all that are not named
    /// come last, together.
    pub(super) fn new(classes: &[Vec<u8>], quantum: Bytes, rule: SparseRule) -> Self {
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
            beyond: Bytes::ZERO,
            slot: 2,
            mint: Mint::new(quantum),
            rule,
        }
    }

    fn now(&self) -> Now {
        Now {
            slot: self.slot,
            mint: self.mint,
            rule: self.rule,
        }
    }

    /// A slot has been filled that could carry so much.
    pub(super) fn next_slot(&mut self, capacity: Bytes) {
        self.slot += 1;
        self.mint.next_slot(capacity);
        let now = self.now();
        for class in &mut self.classes {
            class.next_slot(now);
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        self.held
    }

    /// Bytes of that which came although there was no room.
    pub(super) fn beyond(&self) -> Bytes {
        self.beyond
    }

    /// A packet comes, `is_beyond` where there was no room for it.
    pub(super) fn push(&mut self, packet: Dequeued<P>, is_beyond: bool) {
        let bytes = packet.packet.bytes();
        self.held.packets += 1;
        self.held.bytes += bytes;
        let beyond = if is_beyond { bytes } else { Bytes::ZERO };
        self.beyond += beyond;
        let (class, now) = (self.class(packet.packet.qfi()), self.now());
        self.classes[class].push(packet, beyond, now);
    }

    /// The next packet, if it fits into `budget`.
    pub(super) fn pop(&mut self, budget: Bytes) -> Option<Taken<P>> {
        let now = self.now();
        let number = self.classes.iter().position(|class| class.packets > 0)?;
        let taken = self.classes[number].pop(number, now, budget)?;
        self.held.packets -= 1;
        self.held.bytes -= taken.next.packet.bytes();
        self.beyond -= taken.beyond;
        Some(taken)
    }

    /// Busy flows that have tokens by now, and that `admits`, are sparse; once after each slot.
    pub(super) fn promote(&mut self, mut admits: impl FnMut(Urgent) -> bool) {
        let now = self.now();
        for class in &mut self.classes {
            class.promote(now, &mut admits);
        }
    }

    /// Whether the next packet is of a named class, or of a sparse flow that `admits`; those that it
    /// does not admit are busy until the next slot.
    pub(super) fn is_urgent(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        self.promote(&mut *admits);
        let Some((last, named)) = self.classes.split_last_mut() else {
            return false;
        };
        named.iter().any(|class| class.packets > 0) || last.first_sparse(admits)
    }

    /// What waits of a flow.
    pub(super) fn waiting(&self, qfi: u8, flow: u64) -> Bytes {
        let class = &self.classes[self.class(qfi)];
        let index = class.by_id.get(flow);
        index.map_or(Bytes::ZERO, |index| class.flows[index].bytes)
    }

    /// What is still to pass of a flow before it is sent a congestion signal again.
    pub(super) fn quiet(&mut self, flow: Place) -> &mut Bytes {
        &mut self.classes[flow.class].flows[flow.index].quiet
    }

    /// Whether a flow is of one of the classes that are named.
    pub(super) fn is_in_named(&self, flow: Place) -> bool {
        flow.class + 1 < self.classes.len()
    }

    /// The class of a QoS flow identifier; whether it is one of those that are named.
    pub(super) fn is_named(&self, qfi: u8) -> bool {
        self.class(qfi) + 1 < self.classes.len()
    }

    fn class(&self, qfi: u8) -> usize {
        usize::from(self.class_of[usize::from(qfi) % QFIS])
    }
}

impl<P: Packet> Flow<P> {
    fn new(id: u64, mint: Mint) -> Self {
        Self {
            id,
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            beyond: Bytes::ZERO,
            credit: 0,
            state: State::Idle,
            rank: Rank::default(),
            tokens: Tokens::full(mint),
            left_after: 0,
            is_listed: false,
            quiet: Bytes::ZERO,
        }
    }

    /// Whether it is sparse as its first packet comes.
    fn is_sparse(&mut self, now: Now) -> bool {
        let was_empty = match now.rule {
            SparseRule::Tokens => true,
            SparseRule::Idle => self.left_after + 1 < now.slot,
        };
        was_empty && self.tokens.count(now.mint) > 0
    }

    /// Its first packet.
    fn urgent(&self) -> Option<Urgent> {
        let first = &self.packets.front()?.packet;
        Some(Urgent {
            flow: first.flow(),
            qfi: first.qfi(),
            bytes: first.bytes(),
        })
    }
}

impl<P: Packet> Class<P> {
    fn new() -> Self {
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            by_id: Index::new(),
            sparse: BTreeSet::new(),
            busy: VecDeque::new(),
            next_number: 0,
            is_to_be_promoted: false,
            idle: VecDeque::new(),
            packets: 0,
        }
    }

    fn push(&mut self, packet: Dequeued<P>, beyond: Bytes, now: Now) {
        let id = packet.packet.flow();
        let index = match self.by_id.get(id) {
            Some(index) => index,
            None => self.begin(id, now),
        };
        let flow = &mut self.flows[index];
        flow.bytes += packet.packet.bytes();
        flow.beyond += beyond;
        flow.packets.push_back(packet);
        self.packets += 1;
        if flow.state == State::Idle {
            if flow.is_sparse(now) {
                self.set_sparse(index, now);
            } else {
                flow.state = State::Busy;
                self.busy.push_back(index);
            }
        } else if flow.state == State::Sparse {
            self.rank(index, now);
        }
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

    /// A flow that is not in any list is sparse from now on.
    fn set_sparse(&mut self, index: usize, now: Now) {
        let flow = &mut self.flows[index];
        flow.state = State::Sparse;
        flow.credit = now.mint.quantum();
        flow.rank = Rank {
            waiting: Bytes::ZERO,
            number: self.next_number,
        };
        self.next_number += 1;
        self.sparse.insert((flow.rank, index));
        self.rank(index, now);
    }

    /// What waits of a sparse flow has changed.
    fn rank(&mut self, index: usize, now: Now) {
        if now.rule == SparseRule::Idle {
            return;
        }
        let flow = &mut self.flows[index];
        self.sparse.remove(&(flow.rank, index));
        flow.rank.waiting = flow.bytes;
        self.sparse.insert((flow.rank, index));
    }

    /// A sparse flow that has packets is not sparse any more.
    fn set_busy(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        self.sparse.remove(&(flow.rank, index));
        flow.state = State::Busy;
        self.busy.push_back(index);
    }

    fn next_slot(&mut self, now: Now) {
        self.is_to_be_promoted = now.rule == SparseRule::Tokens;
        if now.rule == SparseRule::Idle {
            // a slot has passed and left them waiting
            while let Some(&(_, index)) = self.sparse.first() {
                self.set_busy(index);
            }
            for &index in &self.busy {
                self.flows[index].left_after = now.slot - 1;
            }
        }
        self.remove_idle(now);
    }

    fn promote(&mut self, now: Now, admits: &mut impl FnMut(Urgent) -> bool) {
        if !core::mem::replace(&mut self.is_to_be_promoted, false) {
            return;
        }
        let mut left = self.busy.len();
        while left > 0
            && let Some(index) = self.busy.pop_front()
        {
            left -= 1;
            let flow = &mut self.flows[index];
            if flow.tokens.count(now.mint) > 0 && flow.urgent().is_some_and(&mut *admits) {
                self.set_sparse(index, now);
            } else {
                self.busy.push_back(index);
            }
        }
    }

    /// Whether there is a sparse flow that is admitted; those before it that are not are busy.
    fn first_sparse(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        while let Some(&(_, index)) = self.sparse.first() {
            if self.flows[index].urgent().is_some_and(&mut *admits) {
                return true;
            }
            self.set_busy(index);
        }
        false
    }

    /// The flow whose turn it is; a busy one has credit. All that are listed have a packet.
    fn next(&mut self, now: Now) -> Option<usize> {
        if let Some(&(_, index)) = self.sparse.first() {
            return Some(index);
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
        let beyond = flow.beyond.min(bytes);
        flow.beyond -= beyond;
        flow.bytes -= bytes;
        flow.credit -= counted(bytes);
        flow.tokens.take(now.mint, bytes);
        let taken = Taken {
            next,
            flow: Place { class, index },
            behind: flow.bytes,
            beyond,
        };
        self.packets -= 1;
        self.settle(index, now);
        Some(taken)
    }

    /// A packet of this flow, whose turn it was, has left.
    fn settle(&mut self, index: usize, now: Now) {
        let flow = &mut self.flows[index];
        if flow.packets.is_empty() {
            match flow.state {
                State::Sparse => {
                    self.sparse.remove(&(flow.rank, index));
                }
                State::Busy | State::Idle => {
                    self.busy.pop_front();
                }
            }
            flow.state = State::Idle;
            if !core::mem::replace(&mut flow.is_listed, true) {
                self.idle.push_back(index);
            }
            return;
        }
        if flow.state != State::Sparse {
            return;
        }
        let stays = match now.rule {
            SparseRule::Tokens => flow.tokens.count(now.mint) > 0,
            SparseRule::Idle => flow.credit > 0,
        };
        if stays {
            self.rank(index, now);
        } else {
            self.set_busy(index);
        }
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
    use units::Instant;

    /// One comes, for which there is room.
    fn push(flows: &mut Flows<TestPacket>, flow: u64, qfi: u8) {
        let packet = TestPacket::new(1500).with_flow(flow).with_qfi(qfi);
        let packet = Dequeued {
            packet,
            enqueued_at: Instant::ZERO,
        };
        flows.push(packet, false);
    }

    fn flows(quantum: u64, rule: SparseRule) -> Flows<TestPacket> {
        Flows::new(&[], Bytes::new(quantum), rule)
    }

    /// A slot passes; flows that have tokens are sparse.
    fn next_slot(flows: &mut Flows<TestPacket>) {
        flows.next_slot(SLOT);
        flows.promote(|_| true);
    }

    fn order(flows: &mut Flows<TestPacket>) -> Vec<u64> {
        core::iter::from_fn(|| flows.pop(Bytes::MAX).map(|taken| taken.next.packet.flow)).collect()
    }

    #[test]
    fn a_sparse_flow_goes_before_a_busy_one() {
        let mut flows = flows(1514, SparseRule::Tokens);
        (0..4).for_each(|_| push(&mut flows, 1, 0));
        assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 1);
        assert_eq!(flows.pop(Bytes::MAX).unwrap().behind, Bytes::new(3000));
        push(&mut flows, 2, 0);
        assert_eq!(order(&mut flows), [2, 1, 1]);
        assert_eq!(flows.occupancy(), Occupancy::default());
    }

    /// What a slot could carry in the tests below.
    const SLOT: Bytes = Bytes::new(3000);

    #[test]
    fn a_flow_that_is_always_left_over_is_not_sparse_and_one_that_is_not_is() {
        let mut flows = flows(1514, SparseRule::Tokens);
        (0..3).for_each(|_| push(&mut flows, 1, 0));
        for slot in 0..40 {
            // the busy flow always has three packets, and one is served
            if slot % 3 == 2 {
                push(&mut flows, 2, 0);
                assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 2, "{slot}");
            } else {
                assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 1, "{slot}");
                push(&mut flows, 1, 0);
            }
            next_slot(&mut flows);
        }
    }

    #[test]
    fn a_sparse_flow_takes_no_more_than_three_quarters() {
        let mut flows = flows(1500, SparseRule::Tokens);
        push(&mut flows, 1, 0);
        let (mut served, mut is_offered) = ([0; 3], false);
        for _ in 0..1000 {
            // one packet fits into a slot; flow 2 offers one, and flow 1 has always some left
            push(&mut flows, 1, 0);
            if !is_offered {
                push(&mut flows, 2, 0);
                is_offered = true;
            }
            let flow = flows.pop(Bytes::MAX).unwrap().next.packet.flow;
            served[flow as usize] += 1;
            is_offered &= flow != 2;
            next_slot(&mut flows);
        }
        assert!((245..=260).contains(&served[1]), "{served:?}");
    }

    #[test]
    fn idle_flows_are_removed() {
        let mut flows = flows(1514, SparseRule::Tokens);
        for flow in 0..1000 {
            push(&mut flows, flow, 0);
            flows.pop(Bytes::MAX).unwrap();
            next_slot(&mut flows);
        }
        assert!(flows.classes[0].flows.len() <= 10, "{flows:?}");
        assert!(flows.classes[0].by_id.len() <= 9);
    }

    #[test]
    fn classes_come_in_their_order_and_flows_by_what_waits_or_in_turn() {
        for (rule, expected) in [
            (SparseRule::Tokens, [3, 2, 2, 4, 4, 1, 1]),
            (SparseRule::Idle, [3, 2, 4, 2, 4, 1, 1]),
        ] {
            let mut flows = Flows::new(&[vec![5], vec![7, 8]], Bytes::new(1500), rule);
            for (flow, qfi) in [(1, 0), (2, 8), (3, 5), (1, 0), (2, 8), (4, 7), (4, 7)] {
                push(&mut flows, flow, qfi);
            }
            assert_eq!(order(&mut flows), expected);
        }
    }

    #[test]
    fn busy_flows_come_in_turn() {
        let mut flows = flows(1500, SparseRule::Tokens);
        for flow in [1, 2] {
            (0..7).for_each(|_| push(&mut flows, flow, 0));
        }
        assert_eq!(order(&mut flows)[4..], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    }

    /// One packet fits into a slot. Flow 2 offers one every second slot on average, which is its share,
    /// flow 1 always has three waiting. How many slots the packets of flow 2 waited on average.
    fn wait_of_an_exact_share(rule: SparseRule, seed: u64) -> f64 {
        let mut flows = flows(1514, rule);
        let mut rng = units::Streams::new(seed).stream("arrivals");
        let (mut next, mut came, mut waits) = (0, VecDeque::new(), Vec::new());
        let (mut greedy, mut above) = (0, 0);
        for slot in 0..20_000u64 {
            while next <= slot {
                above += 1;
                came.push_back(slot);
                // now and then two in a slot
                next += if rng.chance(0.125) {
                    0
                } else if rng.chance(1.0 / 7.0) {
                    4
                } else {
                    2
                };
            }
            // no more than two quanta come down, as `LateBinding::admits_urgent` has it
            while above > 0 && (rule == SparseRule::Idle || flows.waiting(0, 2) <= Bytes::new(1528))
            {
                push(&mut flows, 2, 0);
                above -= 1;
            }
            while greedy < 3 {
                push(&mut flows, 1, 0);
                greedy += 1;
            }
            match flows.pop(Bytes::MAX).unwrap().next.packet.flow {
                2 => waits.push(slot - came.pop_front().unwrap()),
                _ => greedy -= 1,
            }
            flows.next_slot(Bytes::new(1500));
            flows.promote(|_| true);
        }
        waits.iter().sum::<u64>() as f64 / waits.len() as f64
    }

    #[test]
    fn a_flow_that_sends_its_share_does_not_wait_behind_a_greedy_one() {
        for seed in 1..=5 {
            let [by_tokens, by_idleness] = [SparseRule::Tokens, SparseRule::Idle]
                .map(|rule| wait_of_an_exact_share(rule, seed));
            let waits = format!("{seed}: {by_tokens} {by_idleness}");
            assert!(by_tokens < 1.0, "{waits}");
            // left over once, it is left over from then on
            assert!(by_idleness > 5.0, "{waits}");
        }
    }

    #[test]
    fn what_is_not_admitted_is_busy_until_the_next_slot() {
        let mut flows = flows(1514, SparseRule::Tokens);
        for flow in [1, 1, 2] {
            push(&mut flows, flow, 0);
        }
        let mut asked = 0;
        let mut is_urgent = |flows: &mut Flows<TestPacket>| {
            flows.is_urgent(&mut |packet| {
                asked += 1;
                packet.flow == 1
            })
        };
        assert!(is_urgent(&mut flows));
        let first = flows.pop(Bytes::MAX).unwrap().next.packet.flow;
        assert_eq!(first, 1);
        assert!(is_urgent(&mut flows));
        flows.pop(Bytes::MAX).unwrap();
        assert!(!is_urgent(&mut flows) && !is_urgent(&mut flows));
        assert_eq!(flows.pop(Bytes::MAX).unwrap().next.packet.flow, 2);
        assert!(asked <= 4, "{asked}");
    }

    #[test]
    fn what_came_beyond_the_room_leaves_first() {
        let mut flows = flows(1514, SparseRule::Tokens);
        push(&mut flows, 1, 0);
        let packet = TestPacket::new(500).with_flow(1);
        let enqueued_at = Instant::ZERO;
        flows.push(
            Dequeued {
                packet,
                enqueued_at,
            },
            true,
        );
        assert_eq!(flows.beyond(), Bytes::new(500));
        flows.pop(Bytes::MAX).unwrap();
        assert_eq!(flows.beyond(), Bytes::ZERO);
    }
}
