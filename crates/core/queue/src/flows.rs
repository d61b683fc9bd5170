//! Flows hashed to queues, their packets, and the order in which queues have their turn.
//!
//! All that a queue has is in one place: its packets, what it may still send, and which queue has its turn
//! after it. So changing between flows touches one entry each.

use crate::slab::{Chain, NONE, Slab};
use crate::{Capacity, Dequeued, Occupancy, Packet};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// One queue: its packets and their bytes, its turn, and what the discipline adds. Half a cache line with
/// an `S` of one byte.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct FlowQueue<S> {
    chain: Chain,
    /// The queue that has its turn after it, where it is in a ring.
    after: u32,
    /// It is in a ring.
    pub(crate) is_waiting: bool,
    pub(crate) state: S,
    /// What it may still send in this turn; below zero by less than a packet.
    pub(crate) deficit: i64,
    /// Always the sum of the packets' bytes.
    backlog: u64,
}

impl<S> FlowQueue<S> {
    fn new(state: S) -> Self {
        Self {
            chain: Chain::EMPTY,
            after: NONE,
            is_waiting: false,
            state,
            deficit: 0,
            backlog: 0,
        }
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }
}

/// The packets of flows, each flow hashed to one of a fixed number of queues.
#[derive(Debug)]
pub(crate) struct FlowQueues<P, S> {
    slab: Slab<P>,
    queues: Vec<FlowQueue<S>>,
    /// What waits, with packets that have been dropped and not been handed over yet; always the sum of
    /// both.
    occupancy: Occupancy,
    /// Packets that have been dropped for an arrival and wait to be given back.
    condemned: VecDeque<P>,
    /// Bytes of `condemned`; always their sum.
    condemned_bytes: Bytes,
    salt: u64,
}

/// A number in 0..n that depends on flow and salt: the finaliser of SplitMix64, scaled.
pub(crate) fn hash(flow: u64, salt: u64, n: usize) -> usize {
    let mut h = flow ^ salt;
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^= h >> 31;
    ((u128::from(h) * n as u128) >> 64) as usize
}

impl<P: Packet, S: Clone> FlowQueues<P, S> {
    /// Empty queues, all in one state.
    pub(crate) fn new(queues: u32, salt: u64, state: S) -> Self {
        Self {
            slab: Slab::new(),
            queues: vec![FlowQueue::new(state); queues as usize],
            occupancy: Occupancy::default(),
            condemned: VecDeque::new(),
            condemned_bytes: Bytes::ZERO,
            salt,
        }
    }
}

impl<P: Packet, S> FlowQueues<P, S> {
    /// The queue of a packet.
    #[inline]
    pub(crate) fn queue_of(&self, packet: &P) -> usize {
        hash(packet.flow(), self.salt, self.queues.len())
    }
    /// What waits in the queues.
    pub(crate) fn held(&self) -> Occupancy {
        Occupancy {
            packets: self.occupancy.packets - self.condemned.len(),
            bytes: self.occupancy.bytes - self.condemned_bytes,
        }
    }
    /// What waits, with packets that have been dropped and not been handed over yet.
    #[inline]
    pub(crate) fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
    /// How many queues there are.
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }
    #[inline]
    pub(crate) fn queue(&self, queue: usize) -> &FlowQueue<S> {
        &self.queues[queue]
    }
    #[inline]
    pub(crate) fn queue_mut(&mut self, queue: usize) -> &mut FlowQueue<S> {
        &mut self.queues[queue]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, queue: usize, now: Instant, packet: P) {
        let bytes = packet.bytes();
        self.occupancy.packets += 1;
        self.occupancy.bytes += bytes;
        let queue = &mut self.queues[queue];
        queue.backlog += bytes.get();
        self.slab.push(&mut queue.chain, now, packet);
    }

    /// One queue to take packets from.
    #[inline(always)]
    pub(crate) fn open(&mut self, queue: usize) -> OneQueue<'_, P, S> {
        OneQueue {
            slab: &mut self.slab,
            occupancy: &mut self.occupancy,
            queue: &mut self.queues[queue],
        }
    }

    /// Whether something is to be given back: what is over the capacity, or what was before.
    #[inline(always)]
    pub(crate) fn is_over(&self, capacity: Capacity) -> bool {
        !self.condemned.is_empty() || !capacity.holds(self.occupancy)
    }

    /// Drops from the heads of the longest queues (by bytes) until the capacity is kept. One packet is
    /// given back; what had to be dropped beside it is given back by the next calls, or by
    /// [`FlowQueues::hand_over`].
    #[cold]
    pub(crate) fn shed(&mut self, capacity: Capacity) -> Result<(), P> {
        while !capacity.holds(self.held())
            && let Some(victim) = self.open(self.longest()).pop()
        {
            let bytes = victim.packet.bytes();
            self.condemned_bytes += bytes;
            self.condemned.push_back(victim.packet);
            // it has left its queue, and not yet this place
            self.occupancy.packets += 1;
            self.occupancy.bytes += bytes;
        }
        self.next_condemned().map_or(Ok(()), Err)
    }

    fn next_condemned(&mut self) -> Option<P> {
        let packet = self.condemned.pop_front()?;
        let bytes = packet.bytes();
        self.condemned_bytes -= bytes;
        self.occupancy.packets -= 1;
        self.occupancy.bytes -= bytes;
        Some(packet)
    }

    /// The queue with the largest backlog, the first of equals.
    fn longest(&self) -> usize {
        let (mut longest, mut max) = (0, 0);
        for (index, queue) in self.queues.iter().enumerate() {
            if queue.backlog > max {
                (longest, max) = (index, queue.backlog);
            }
        }
        longest
    }

    /// Hands over the packets that have been dropped and not been given back.
    #[inline]
    pub(crate) fn hand_over(&mut self, dropped: &mut dyn FnMut(P)) {
        while let Some(packet) = self.next_condemned() {
            dropped(packet);
        }
    }

    /// Hashes all flows anew. Packets of a flow stay in their order: they were in one queue, and go
    /// into one.
    pub(crate) fn rehash(&mut self, salt: u64) {
        self.salt = salt;
        let mut node = self.chain_all();
        while let Some((packet, next)) = self.slab.unchain(node) {
            let queue = hash(packet.flow(), salt, self.queues.len());
            let queue = &mut self.queues[queue];
            queue.backlog += packet.bytes().get();
            self.slab.append(&mut queue.chain, node);
            node = next;
        }
    }

    /// Empties the queues into one chain; its first node.
    fn chain_all(&mut self) -> u32 {
        let mut all = Chain::EMPTY;
        for queue in &mut self.queues {
            queue.backlog = 0;
            let chain = std::mem::replace(&mut queue.chain, Chain::EMPTY);
            self.slab.concatenate(&mut all, chain);
        }
        all.first
    }
}

/// A queue that packets are taken from.
pub(crate) struct OneQueue<'a, P, S> {
    slab: &'a mut Slab<P>,
    occupancy: &'a mut Occupancy,
    pub(crate) queue: &'a mut FlowQueue<S>,
}

impl<P: Packet, S> OneQueue<'_, P, S> {
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Dequeued<P>> {
        self.slab.front(self.queue.chain)
    }
    /// The packet at the head.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut P> {
        self.slab.front_mut(self.queue.chain)
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Dequeued<P>> {
        let bytes = self.front()?.packet.bytes();
        self.take(bytes)
    }
    /// The head, which has so many bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self, bytes: Bytes) -> Option<Dequeued<P>> {
        self.queue.backlog -= bytes.get();
        self.occupancy.packets -= 1;
        self.occupancy.bytes -= bytes;
        self.slab.pop(&mut self.queue.chain)
    }
    /// Bytes that wait in it.
    #[inline]
    pub(crate) fn backlog(&self) -> Bytes {
        Bytes::new(self.queue.backlog)
    }
}

/// Queues that wait for their turn, first come, first served. A queue is in one ring at most.
#[derive(Debug)]
pub(crate) struct Ring(Chain);

impl Ring {
    pub(crate) const EMPTY: Self = Self(Chain::EMPTY);

    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        (!self.0.is_empty()).then_some(self.0.first as usize)
    }
    #[inline]
    pub(crate) fn push<P, S>(&mut self, flows: &mut FlowQueues<P, S>, queue: usize) {
        let index = queue as u32;
        flows.queues[queue].after = NONE;
        if self.0.is_empty() {
            self.0.first = index;
        } else {
            flows.queues[self.0.last as usize].after = index;
        }
        self.0.last = index;
    }
    #[inline]
    pub(crate) fn pop<P, S>(&mut self, flows: &FlowQueues<P, S>) {
        if let Some(first) = self.first() {
            self.0.first = flows.queues[first].after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;
    use proptest::prelude::*;
    use units::Packets;

    fn packet(flow: u64, number: u64) -> TestPacket {
        TestPacket {
            number,
            ..TestPacket::new(100 + flow).of_flow(flow)
        }
    }

    /// As a discipline does.
    fn enqueue(
        flows: &mut FlowQueues<TestPacket, ()>,
        packet: TestPacket,
        capacity: Capacity,
    ) -> Result<(), TestPacket> {
        flows.push(flows.queue_of(&packet), Instant::ZERO, packet);
        if flows.is_over(capacity) {
            flows.shed(capacity)
        } else {
            Ok(())
        }
    }

    #[test]
    fn nodes_are_used_again() {
        let mut flows = FlowQueues::new(16, 1, ());
        for number in 0..1000 {
            let packet = packet(number % 5, number);
            flows.push(flows.queue_of(&packet), Instant::ZERO, packet);
            if number >= 10 {
                let longest = flows.longest();
                assert!(flows.open(longest).pop().is_some());
            }
        }
        assert_eq!(flows.slab.len(), 11);
    }

    #[test]
    fn an_overflow_takes_the_head_of_the_longest_queue() {
        let mut flows = FlowQueues::new(1024, 1, ());
        let capacity = Capacity::Packets(Packets::new(10));
        let mut put = |flow, number| enqueue(&mut flows, packet(flow, number), capacity);
        for number in 0..9 {
            assert!(put(1, number).is_ok());
        }
        assert!(put(2, 0).is_ok());
        assert_eq!(put(2, 1).unwrap_err(), packet(1, 0));
        assert_eq!(put(1, 9).unwrap_err(), packet(1, 1));
    }

    #[test]
    fn small_packets_make_way_for_a_large_one_as_many_as_it_takes() {
        let mut flows = FlowQueues::new(1024, 1, ());
        let capacity = Capacity::Bytes(Bytes::new(3000));
        for number in 0..20 {
            let small = TestPacket {
                number,
                ..TestPacket::new(150).of_flow(1)
            };
            enqueue(&mut flows, small, capacity).unwrap();
        }
        let large = TestPacket::new(1400).of_flow(2);
        let first = enqueue(&mut flows, large, capacity);
        assert_eq!(first.unwrap_err().number, 0);
        assert_eq!(flows.held().bytes, Bytes::new(1400 + 10 * 150));
        assert_eq!(flows.occupancy().packets, 20);
        // the next arrival fits, and brings back another
        let small = TestPacket::new(100).of_flow(3);
        let second = enqueue(&mut flows, small, capacity);
        assert_eq!(second.unwrap_err().number, 1);
        assert_eq!(flows.occupancy().packets, 20);
        let mut numbers = Vec::new();
        flows.hand_over(&mut |packet: TestPacket| numbers.push(packet.number));
        assert_eq!(numbers, (2..10).collect::<Vec<_>>());
        assert_eq!(flows.occupancy(), flows.held());
    }

    proptest! {
        #[test]
        fn hashing_anew_keeps_packets_and_their_order(
            flows_of in prop::collection::vec(0u64..20, 1..200),
            salts in prop::collection::vec(any::<u64>(), 1..5),
        ) {
            let mut flows = FlowQueues::new(8, 0, ());
            let mut sent = [0u64; 20];
            for &flow in &flows_of {
                let packet = packet(flow, sent[flow as usize]);
                sent[flow as usize] += 1;
                flows.push(flows.queue_of(&packet), Instant::ZERO, packet);
            }
            let held = flows.held();
            for salt in salts {
                flows.rehash(salt);
            }
            prop_assert_eq!(flows.held(), held);
            let mut came = [0u64; 20];
            for queue in 0..8 {
                while let Some(out) = flows.open(queue).pop() {
                    prop_assert_eq!(out.packet.number, came[out.packet.flow as usize]);
                    prop_assert_eq!(flows.queue_of(&out.packet), queue);
                    came[out.packet.flow as usize] += 1;
                }
                prop_assert!(flows.open(queue).backlog().is_zero());
            }
            prop_assert_eq!(came, sent);
        }

        #[test]
        fn hashes_are_in_range_and_repeat(flow: u64, salt: u64, queues in 1usize..70_000) {
            prop_assert!(hash(flow, salt, queues) < queues);
            prop_assert_eq!(hash(flow, salt, queues), hash(flow, salt, queues));
        }
    }

    #[test]
    fn hashes_spread_evenly_and_differ_by_salt() {
        for salt in [0, 1, u64::MAX] {
            let mut of = vec![0u32; 1024];
            for flow in 0..1_024_000 {
                of[hash(flow, salt, 1024)] += 1;
            }
            // binomial with n = 1,024,000 and p = 1/1024: mean 1000, standard deviation 31.6; six of them
            assert!(of.iter().all(|&n| n.abs_diff(1000) <= 190));
        }
        let same = (0..1000).filter(|&flow| hash(flow, 1, 1024) == hash(flow, 2, 1024));
        assert!(same.count() < 20);
    }
}
