//! Packets by class and flow: classes in strict priority, flows of a class by deficit round robin,
//! and before all others the *sparse* flows: those that have tokens, that is, have sent
//! little lately ([`tokens`]). Of several, the one of which the least waits goes first.
//!
//! Tokens alone do not separate a flow that sends its share of a small slot from a greedy one that is
//! left the rest: both send as much. What separates them is that the greedy one waits, so the least goes
//! first. Nor does it count whether a flow has been empty ([`SparseRule::Idle`], as RFC 8290 section 4.1 has
//! it): one that sends exactly its share, and is left over once, would not be empty again for long.
//!
//! So that others do not starve, sparse flows together leave a quarter of what slots carry to busy ones that wait, and
//! a flow of which more is left after a slot than it can have tokens is busy.
//!
//! A flow is identified by [`Packet::flow`] exactly, without hashing, and removed when its tokens are full.

mod class;
mod flow;
mod index;
mod sparse;
#[cfg(test)]
mod tests;
mod tokens;

use super::SparseRule;
use crate::slab::Slab;
use crate::{Dequeued, Occupancy, Packet, Urgent};
use class::Class;
use tokens::Mint;
use units::{Bytes, Instant};

/// QoS flow identifiers are 6 bits wide (TS 37.324 6.3.4).
const QFIS: usize = 64;

/// All packets.
#[derive(Debug)]
pub(super) struct Flows<P> {
    classes: Vec<Class>,
    /// The packets of all classes, and those that the owner holds apart.
    slab: Slab<P>,
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

/// A packet that joins its flow.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Where it is in the slab.
    node: u32,
    flow: u64,
    bytes: Bytes,
    /// Its bytes where there was no room for it, else zero.
    beyond: Bytes,
}

/// A packet that has left its flow.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// Where it is in the slab.
    node: u32,
    /// Where its flow is in the class.
    index: usize,
    bytes: Bytes,
    /// What waits of the flow behind it.
    behind: Bytes,
    /// How much of it came beyond the room.
    beyond: Bytes,
}

/// Where a flow is kept, until the next slot at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    class: usize,
    index: usize,
}

/// A packet that has left, and is still held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    node: u32,
    pub(super) bytes: Bytes,
    /// The flow that it belongs to.
    pub(super) flow: Place,
    /// What waits of that flow behind it.
    pub(super) behind: Bytes,
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
            slab: Slab::new(),
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
            class.next_slot(now, capacity);
        }
    }

    pub(super) fn occupancy(&self) -> Occupancy {
        self.held
    }

    /// Bytes of that which came although there was no room.
    pub(super) fn beyond(&self) -> Bytes {
        self.beyond
    }

    /// A packet comes, and joins its flow.
    #[inline(always)]
    pub(super) fn push(&mut self, now: Instant, packet: P) {
        let node = self.hold(now, packet);
        self.join(node, false);
    }

    /// A packet comes that does not join its flow yet; where it is held.
    #[inline(always)]
    pub(super) fn hold(&mut self, now: Instant, packet: P) -> u32 {
        self.slab.place(Dequeued {
            packet,
            enqueued_at: now,
        })
    }

    /// A packet that is held and has not joined its flow.
    #[inline(always)]
    pub(super) fn entry(&self, node: u32) -> Option<&Dequeued<P>> {
        self.slab.get(node)
    }

    /// A packet that is held joins its flow, `is_beyond` where there was no room for it; its bytes.
    #[inline(always)]
    pub(super) fn join(&mut self, node: u32, is_beyond: bool) -> Bytes {
        let Some(Dequeued { packet, .. }) = self.slab.get(node) else {
            return Bytes::ZERO;
        };
        let bytes = packet.bytes();
        let beyond = if is_beyond { bytes } else { Bytes::ZERO };
        let arrival = Arrival {
            node,
            flow: packet.flow(),
            bytes,
            beyond,
        };
        let (class, now) = (self.class(packet.qfi()), self.now());
        self.held.packets += 1;
        self.held.bytes += bytes;
        self.beyond += beyond;
        self.classes[class].push(&mut self.slab, arrival, now);
        bytes
    }

    /// The next packet leaves, if it fits into `budget`; [`Self::release`] takes it.
    #[inline(always)]
    pub(super) fn pop(&mut self, budget: Bytes) -> Option<Taken> {
        let now = self.now();
        let class = self.classes.iter().position(|class| !class.is_empty())?;
        let departure = self.classes[class].pop(&mut self.slab, now, budget)?;
        self.held.packets -= 1;
        self.held.bytes -= departure.bytes;
        self.beyond -= departure.beyond;
        Some(Taken {
            node: departure.node,
            bytes: departure.bytes,
            flow: Place {
                class,
                index: departure.index,
            },
            behind: departure.behind,
        })
    }

    /// A packet that has left.
    #[inline(always)]
    pub(super) fn release(&mut self, taken: Taken) -> Option<Dequeued<P>> {
        self.slab.release(taken.node)
    }

    /// Busy flows that have tokens by now, and that `admits`, are sparse; once after each slot.
    pub(super) fn promote(&mut self, mut admits: impl FnMut(Urgent) -> bool) {
        let now = self.now();
        for class in &mut self.classes {
            class.promote(&self.slab, now, &mut admits);
        }
    }

    /// Whether the next packet is of a named class, or of a sparse flow that `admits`; those that it
    /// does not admit are busy until the next slot.
    pub(super) fn is_urgent(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        self.promote(&mut *admits);
        let now = self.now();
        let Some((last, named)) = self.classes.split_last_mut() else {
            return false;
        };
        named.iter().any(|class| !class.is_empty()) || last.first_sparse(&self.slab, now, admits)
    }

    /// What waits of a flow.
    pub(super) fn waiting(&self, qfi: u8, flow: u64) -> Bytes {
        self.classes[self.class(qfi)].waiting(flow)
    }

    /// What is still to pass of a flow before it is sent a congestion signal again.
    pub(super) fn quiet(&mut self, flow: Place) -> &mut Bytes {
        &mut self.classes[flow.class].quiet[flow.index]
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
