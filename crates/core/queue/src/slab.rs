//! Packets of many queues in one place, chained by indices.
//!
//! Nothing is allocated for a packet once the slab is as large as it has ever been, nor for a queue that
//! begins.

use crate::{Dequeued, Packet};
use units::Instant;

/// No index.
pub(crate) const NONE: u32 = u32::MAX;

/// One queue's packets, or queues that wait for their turn: a chain of indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NONE
    }
}

/// The packets of all queues.
#[derive(Debug)]
pub(crate) struct Slab<P> {
    /// None where it is free.
    nodes: Vec<Option<Dequeued<P>>>,
    /// For each node the one behind it, in its queue or in the chain of free ones. Apart from the
    /// nodes, so that a queue is extended without touching its last packet.
    next: Vec<u32>,
    /// First of the chain of free nodes.
    free: u32,
    /// When the packet came that was read ahead last: see [`Self::read_ahead`].
    ahead: Instant,
}

impl<P: Packet> Slab<P> {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            next: Vec::new(),
            free: NONE,
            ahead: Instant::ZERO,
        }
    }

    /// A packet joins the end of a queue.
    #[inline(always)]
    pub(crate) fn push(&mut self, queue: &mut Chain, now: Instant, packet: P) {
        let node = self.place(Dequeued {
            packet,
            enqueued_at: now,
        });
        self.append(queue, node);
    }

    /// Puts an entry into a free node.
    #[inline(always)]
    pub(crate) fn place(&mut self, entry: Dequeued<P>) -> u32 {
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

    #[inline(always)]
    pub(crate) fn append(&mut self, queue: &mut Chain, node: u32) {
        if queue.is_empty() {
            queue.first = node;
        } else {
            self.next[queue.last as usize] = node;
        }
        queue.last = node;
    }

    /// The entry of a node.
    #[inline(always)]
    pub(crate) fn get(&self, node: u32) -> Option<&Dequeued<P>> {
        self.nodes.get(node as usize)?.as_ref()
    }

    /// The entry at the head.
    #[inline(always)]
    pub(crate) fn front(&self, queue: Chain) -> Option<&Dequeued<P>> {
        self.get(queue.first)
    }

    /// Reads the head of the queue that probably has its turn next. It has waited, and is in no near cache any more: so
    /// it comes while other work is done. Nothing is decided by what is read.
    #[inline(always)]
    pub(crate) fn read_ahead(&mut self, queue: Chain) {
        if let Some(head) = self.front(queue) {
            self.ahead = head.enqueued_at;
        }
    }

    #[inline]
    pub(crate) fn front_mut(&mut self, queue: Chain) -> Option<&mut P> {
        let head = self.nodes.get_mut(queue.first as usize)?.as_mut()?;
        Some(&mut head.packet)
    }

    /// Takes the head.
    #[inline(always)]
    pub(crate) fn pop(&mut self, queue: &mut Chain) -> Option<Dequeued<P>> {
        let node = self.detach(queue);
        self.release(node)
    }

    /// The head leaves its queue, and its entry stays until [`Self::release`].
    #[inline(always)]
    pub(crate) fn detach(&mut self, queue: &mut Chain) -> u32 {
        let index = queue.first;
        if let Some(next) = self.next.get(index as usize) {
            queue.first = *next;
        }
        index
    }

    /// Takes the entry of a node that is in no queue any more.
    #[inline(always)]
    pub(crate) fn release(&mut self, node: u32) -> Option<Dequeued<P>> {
        let entry = self.nodes.get_mut(node as usize)?;
        self.next[node as usize] = std::mem::replace(&mut self.free, node);
        // last, and handed on as it is: a packet is copied no more often than it must be
        entry.take()
    }

    /// The entry of a node, and the node behind it, from which it is cut off.
    pub(crate) fn unchain(&mut self, node: u32) -> Option<(&P, u32)> {
        let entry = self.nodes.get(node as usize)?.as_ref()?;
        let next = std::mem::replace(&mut self.next[node as usize], NONE);
        Some((&entry.packet, next))
    }

    /// A chain joins the end of another.
    pub(crate) fn concatenate(&mut self, all: &mut Chain, more: Chain) {
        if more.is_empty() {
            return;
        }
        self.append(all, more.first);
        all.last = more.last;
    }

    /// How many packets it can hold without growing.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}
