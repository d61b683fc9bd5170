//! Packets in the queues of their flows, and the order in which flows have their turn.
//!
//! All packets lie in one slab and are chained by indices, so that nothing is allocated for a packet
//! once the slab is as large as the queue has ever been.

use crate::{Capacity, Dequeued, Occupancy, Packet};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// No index.
const NONE: u32 = u32::MAX;

/// One flow's packets, or flows that wait for their turn: a chain of indices.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };
}

/// One queue: its packets and their bytes.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    chain: Chain,
    /// Always the sum of the packets' bytes.
    backlog: u64,
}

impl FlowQueue {
    const EMPTY: Self = Self {
        chain: Chain::EMPTY,
        backlog: 0,
    };
}

/// The packets of flows, each flow hashed to one of a fixed number of queues.
#[derive(Debug)]
pub(crate) struct FlowQueues<P> {
    /// The slab; none where it is free.
    nodes: Vec<Option<Dequeued<P>>>,
    /// For each node the one behind it, in its queue or in the chain of free ones. Apart from the
    /// nodes, so that a queue is extended without touching its last packet.
    next: Vec<u32>,
    /// First of the chain of free nodes.
    free: u32,
    queues: Vec<FlowQueue>,
    /// What all queues hold; always their sum.
    held: Occupancy,
    /// Packets that have been dropped for an arrival and wait to be given back.
    condemned: VecDeque<P>,
    /// Bytes of `condemned`; always their sum.
    condemned_bytes: Bytes,
    salt: u64,
}

/// A number in 0..n that depends on flow and salt: the finaliser of SplitMix64, scaled.
fn hash(flow: u64, salt: u64, n: usize) -> usize {
    let mut h = flow ^ salt;
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^= h >> 31;
    ((u128::from(h) * n as u128) >> 64) as usize
}

impl<P: Packet> FlowQueues<P> {
    pub(crate) fn new(queues: u32, salt: u64) -> Self {
        Self {
            nodes: Vec::new(),
            next: Vec::new(),
            free: NONE,
            queues: vec![FlowQueue::EMPTY; queues as usize],
            held: Occupancy::default(),
            condemned: VecDeque::new(),
            condemned_bytes: Bytes::ZERO,
            salt,
        }
    }

    /// The queue of a packet.
    pub(crate) fn queue_of(&self, packet: &P) -> usize {
        hash(packet.flow(), self.salt, self.queues.len())
    }
    /// What waits in the queues.
    #[cfg(test)]
    pub(crate) fn held(&self) -> Occupancy {
        self.held
    }
    /// What waits, with packets that have been dropped and not been handed over yet.
    pub(crate) fn occupancy(&self) -> Occupancy {
        Occupancy {
            packets: self.held.packets + self.condemned.len(),
            bytes: self.held.bytes + self.condemned_bytes,
        }
    }
    /// Bytes of one queue.
    pub(crate) fn backlog(&self, queue: usize) -> Bytes {
        Bytes::new(self.queues[queue].backlog)
    }
    pub(crate) fn is_empty(&self, queue: usize) -> bool {
        self.queues[queue].chain.first == NONE
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, queue: usize, now: Instant, packet: P) {
        let bytes = packet.bytes();
        self.held.packets += 1;
        self.held.bytes += bytes;
        self.queues[queue].backlog += bytes.get();
        let node = self.place(Dequeued {
            packet,
            enqueued_at: now,
        });
        self.append(queue, node);
    }

    /// Puts an entry into a free node.
    #[inline(always)]
    fn place(&mut self, entry: Dequeued<P>) -> u32 {
        let index = self.free;
        let Some(node) = self.nodes.get_mut(index as usize) else {
            self.nodes.push(Some(entry));
            self.next.push(NONE);
            return (self.nodes.len() - 1) as u32;
        };
        *node = Some(entry);
        self.free = std::mem::replace(&mut self.next[index as usize], NONE);
        index
    }

    #[inline]
    fn append(&mut self, queue: usize, node: u32) {
        let chain = &mut self.queues[queue].chain;
        if chain.first == NONE {
            chain.first = node;
        } else {
            self.next[chain.last as usize] = node;
        }
        chain.last = node;
    }

    #[inline]
    pub(crate) fn front(&self, queue: usize) -> Option<&Dequeued<P>> {
        let first = self.queues[queue].chain.first;
        self.nodes.get(first as usize)?.as_ref()
    }

    /// The packet at the head.
    pub(crate) fn front_mut(&mut self, queue: usize) -> Option<&mut P> {
        let first = self.queues[queue].chain.first;
        let head = self.nodes.get_mut(first as usize)?.as_mut()?;
        Some(&mut head.packet)
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self, queue: usize) -> Option<Dequeued<P>> {
        let chain = &mut self.queues[queue].chain;
        let index = chain.first;
        let entry = self.nodes.get_mut(index as usize)?.take();
        // looked at where it is and handed on whole: a packet is copied no more often than it must be
        let bytes = entry.as_ref()?.packet.bytes();
        chain.first = std::mem::replace(&mut self.next[index as usize], self.free);
        self.free = index;
        self.queues[queue].backlog -= bytes.get();
        self.held.packets -= 1;
        self.held.bytes -= bytes;
        entry
    }

    /// Takes a packet into a queue, then drops from the heads of the longest queues (by bytes) until
    /// the capacity is kept. One packet is given back; what had to be dropped beside it is given back
    /// by the next calls, or by [`FlowQueues::hand_over`].
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        queue: usize,
        now: Instant,
        packet: P,
        capacity: Capacity,
    ) -> Result<(), P> {
        if !capacity.admits(Occupancy::default(), packet.bytes()) {
            return Err(packet);
        }
        self.push(queue, now, packet);
        if capacity.holds(self.held) && self.condemned.is_empty() {
            return Ok(());
        }
        self.shed(capacity)
    }

    #[cold]
    fn shed(&mut self, capacity: Capacity) -> Result<(), P> {
        while !capacity.holds(self.held)
            && let Some(victim) = self.pop(self.longest())
        {
            self.condemned_bytes += victim.packet.bytes();
            self.condemned.push_back(victim.packet);
        }
        self.next_condemned().map_or(Ok(()), Err)
    }

    fn next_condemned(&mut self) -> Option<P> {
        let packet = self.condemned.pop_front()?;
        self.condemned_bytes -= packet.bytes();
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
        let mut index = self.chain_all();
        while let Some(Some(entry)) = self.nodes.get(index as usize) {
            let next = std::mem::replace(&mut self.next[index as usize], NONE);
            let queue = hash(entry.packet.flow(), salt, self.queues.len());
            self.queues[queue].backlog += entry.packet.bytes().get();
            self.append(queue, index);
            index = next;
        }
    }

    /// Empties the queues into one chain; its first node.
    fn chain_all(&mut self) -> u32 {
        let mut all = Chain::EMPTY;
        for queue in &mut self.queues {
            let chain = std::mem::replace(queue, FlowQueue::EMPTY).chain;
            if chain.first == NONE {
                continue;
            }
            if all.first == NONE {
                all.first = chain.first;
            } else {
                self.next[all.last as usize] = chain.first;
            }
            all.last = chain.last;
        }
        all.first
    }
}

/// Which queue has its turn after which: links for rings of which each queue is in one at most.
#[derive(Debug)]
pub(crate) struct Links(Vec<u32>);

impl Links {
    pub(crate) fn new(queues: u32) -> Self {
        Self(vec![NONE; queues as usize])
    }
}

/// Queues that wait for their turn, first come, first served.
#[derive(Debug)]
pub(crate) struct Ring(Chain);

impl Ring {
    pub(crate) const EMPTY: Self = Self(Chain::EMPTY);

    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        (self.0.first != NONE).then_some(self.0.first as usize)
    }
    #[inline]
    pub(crate) fn push(&mut self, links: &mut Links, queue: usize) {
        let index = queue as u32;
        links.0[queue] = NONE;
        if self.0.first == NONE {
            self.0.first = index;
        } else {
            links.0[self.0.last as usize] = index;
        }
        self.0.last = index;
    }
    #[inline]
    pub(crate) fn pop(&mut self, links: &Links) {
        if let Some(first) = self.first() {
            self.0.first = links.0[first];
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

    #[test]
    fn nodes_are_used_again() {
        let mut flows = FlowQueues::new(16, 1);
        for number in 0..1000 {
            let packet = packet(number % 5, number);
            flows.push(flows.queue_of(&packet), Instant::ZERO, packet);
            if number >= 10 {
                let longest = flows.longest();
                assert!(flows.pop(longest).is_some());
            }
        }
        assert_eq!(flows.nodes.len(), 11);
    }

    #[test]
    fn an_overflow_takes_the_head_of_the_longest_queue() {
        let mut flows = FlowQueues::new(1024, 1);
        let capacity = Capacity::Packets(Packets::new(10));
        let mut put = |flow, number| {
            let packet = packet(flow, number);
            flows.enqueue(flows.queue_of(&packet), Instant::ZERO, packet, capacity)
        };
        for number in 0..9 {
            assert!(put(1, number).is_ok());
        }
        assert!(put(2, 0).is_ok());
        assert_eq!(put(2, 1).unwrap_err(), packet(1, 0));
        assert_eq!(put(1, 9).unwrap_err(), packet(1, 1));
    }

    #[test]
    fn small_packets_make_way_for_a_large_one_as_many_as_it_takes() {
        let mut flows = FlowQueues::new(1024, 1);
        let capacity = Capacity::Bytes(Bytes::new(3000));
        for number in 0..20 {
            let small = TestPacket {
                number,
                ..TestPacket::new(150).of_flow(1)
            };
            flows
                .enqueue(flows.queue_of(&small), Instant::ZERO, small, capacity)
                .unwrap();
        }
        let large = TestPacket::new(1400).of_flow(2);
        let first = flows.enqueue(flows.queue_of(&large), Instant::ZERO, large, capacity);
        assert_eq!(first.unwrap_err().number, 0);
        assert_eq!(flows.held().bytes, Bytes::new(1400 + 10 * 150));
        assert_eq!(flows.occupancy().packets, 20);
        // the next arrival fits, and brings back another
        let small = TestPacket::new(100).of_flow(3);
        let second = flows.enqueue(flows.queue_of(&small), Instant::ZERO, small, capacity);
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
            let mut flows = FlowQueues::new(8, 0);
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
                while let Some(out) = flows.pop(queue) {
                    prop_assert_eq!(out.packet.number, came[out.packet.flow as usize]);
                    prop_assert_eq!(flows.queue_of(&out.packet), queue);
                    came[out.packet.flow as usize] += 1;
                }
                prop_assert!(flows.backlog(queue).is_zero());
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
