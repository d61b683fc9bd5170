//! Packets in the order in which they came, with their bytes counted.

use crate::{Dequeued, Ecn, Occupancy, Packet};
use std::collections::VecDeque;
use units::{Bytes, Instant};

/// First in, first out, without limit.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Dequeued<P>>,
    /// Bytes of `packets`; always their sum.
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, packet: P) {
        self.bytes += packet.bytes();
        self.packets.push_back(Dequeued {
            packet,
            enqueued_at: now,
        });
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&Dequeued<P>> {
        self.packets.front()
    }
    /// The packet at the head.
    pub(crate) fn front_mut(&mut self) -> Option<&mut P> {
        self.packets.front_mut().map(|head| &mut head.packet)
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Dequeued<P>> {
        let first = self.packets.pop_front();
        self.bytes -= first.as_ref()?.packet.bytes();
        first
    }
    #[inline]
    pub(crate) fn occupancy(&self) -> Occupancy {
        Occupancy {
            packets: self.packets.len(),
            bytes: self.bytes,
        }
    }
}

/// Signals congestion by a mark. False if the packet is not ECN-capable: then only a drop signals it.
/// A packet that is marked already stays as it is.
pub(crate) fn try_mark<P: Packet>(packet: &mut P) -> bool {
    match packet.ecn() {
        Ecn::NotEct => false,
        Ecn::Ce => true,
        Ecn::Ect0 | Ecn::Ect1 => {
            packet.mark();
            true
        }
    }
}
