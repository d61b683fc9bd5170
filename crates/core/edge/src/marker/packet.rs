//! The packet side: what becomes of a packet, by the order of its UE.

use super::fixed::{ONE, delay, queue_of, ramp, squared};
use super::flows::{Arrival, Flows};
use super::law::{Pi, Recurrence};
use super::virtual_queue::VirtualQueue;
use super::{Fate, Order, Verdict};

/// Nothing is done while less than two full packets are ahead (RFC 9332 appendix A.1).
const FLOOR: u64 = 2 * 1_500;
/// The first packets of a flow are left alone: endpoints test with them whether ECN works (RFC 9000 appendix A.4).
const YOUNG: u32 = 10;

/// The ECN field of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Codepoint {
    /// Not ECN-capable.
    NotEct = 0,
    /// ECT(1): L4S.
    Ect1 = 1,
    /// ECT(0): classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// Segments that a super-packet has at most.
pub const MAX_SEGMENTS: u32 = (1 << 16) - 1;

/// What is looked at of a packet, or of a super-packet that will be cut into segments (GSO): these have one ECN field, and
/// one verdict.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// A hash of addresses, protocol and ports.
    pub flow: u32,
    /// Its size with the IP header, bytes; of all segments, each with its headers ([`Packet::wire_bytes`]).
    pub bytes: u32,
    /// Packets that it is on the wire, 1 to [`MAX_SEGMENTS`]; others count as the nearest.
    pub segments: u32,
    /// Its ECN field.
    pub codepoint: Codepoint,
}

impl Packet {
    /// Bytes on the wire of a super-packet of so many bytes with its IP header, of which every segment has `headers`.
    pub fn wire_bytes(length: u32, headers: u32, segments: u32) -> u32 {
        let more = segments.clamp(1, MAX_SEGMENTS) - 1;
        length.saturating_add(headers.saturating_mul(more))
    }
}

/// The state of a UE: of fixed size, 3,752 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct UeMarker {
    /// When the last packet came, ns.
    last: u64,
    queue: VirtualQueue,
    flows: Flows,
    pi: Pi,
    l4s: Recurrence,
    classic: Recurrence,
    overload: Recurrence,
}

impl UeMarker {
    /// Its size in 64-bit words.
    pub const WORDS: usize = 1 + VirtualQueue::WORDS + Flows::WORDS + 3 + 3;

    /// All of it as 64-bit words, in the order in which it is kept: what a program in the kernel has.
    pub fn words(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(Self::WORDS);
        words.push(self.last);
        self.queue.write(&mut words);
        self.flows.write(&mut words);
        words.extend(self.pi.words());
        words.extend([&self.l4s, &self.classic, &self.overload].map(Recurrence::word));
        words
    }

    /// A packet comes at `now`, ns; times that go back count as the last one.
    pub fn decide(&mut self, order: &Order, now: u64, packet: Packet) -> Verdict {
        let now = now.max(self.last);
        let segments = packet.segments.clamp(1, MAX_SEGMENTS);
        self.last = now;
        self.queue.advance(now);
        let place = self.flows.on_packet(Arrival {
            now,
            flow: packet.flow,
            bytes: u64::from(packet.bytes),
            segments,
            is_ect0: packet.codepoint == Codepoint::Ect0,
            is_l4s: matches!(packet.codepoint, Codepoint::Ect1 | Codepoint::Ce),
        });
        let verdict = if order.number == 0 {
            Verdict::NoReport
        } else if now > order.valid_until {
            Verdict::Stale
        } else if order.drain == 0 {
            Verdict::NoRate
        } else {
            self.queue.follow(now, order);
            self.judge(order, now, place, packet.codepoint, segments)
        };
        if verdict.fate() != Fate::Drop {
            self.queue.add(u64::from(packet.bytes));
        }
        verdict
    }

    /// Bytes that are ahead of the next packet, as far as is known.
    pub fn queue_bytes(&self) -> u64 {
        self.queue.length() >> super::fixed::BYTE_SHIFT
    }

    pub(super) fn queue(&self) -> &VirtualQueue {
        &self.queue
    }

    #[cfg(test)]
    pub(super) fn is_overloaded(&self) -> bool {
        self.coupled() >= ONE
    }

    fn judge(
        &mut self,
        order: &Order,
        now: u64,
        place: usize,
        codepoint: Codepoint,
        segments: u32,
    ) -> Verdict {
        let ahead = delay(self.queue.length(), order.drain);
        self.pi.follow(now, ahead, order.target);
        if self.queue.length() < queue_of(FLOOR) {
            return Verdict::Short;
        }
        if self.flows.bucket(place).packets - segments < YOUNG {
            return Verdict::Young;
        }
        if !self.flows.has_fair_share(place, now, order) {
            return Verdict::Sparse;
        }
        match codepoint {
            Codepoint::Ect1 | Codepoint::Ce => self.judge_l4s(order, ahead, codepoint, segments),
            Codepoint::Ect0 | Codepoint::NotEct => self.judge_classic(place, codepoint, segments),
        }
    }

    /// k p', k = 2; overload from [`ONE`] on.
    fn coupled(&self) -> u64 {
        2 * self.pi.base
    }

    /// By its own ramp while no classic flow fills the same queue, and by the coupled law beside one (RFC 9332 2.5.1.1:
    /// ECT(1) in the queue of the other kind): one queue cannot be short for the one and long for the other. Without a
    /// classic flow there is nothing to couple to: p', which grows with each burst, then decides on overload alone.
    fn judge_l4s(
        &mut self,
        order: &Order,
        ahead: u64,
        codepoint: Codepoint,
        segments: u32,
    ) -> Verdict {
        let coupled = self.coupled();
        if coupled >= ONE && self.overload.is_due(squared(self.pi.base), segments) {
            return Verdict::DropOverload;
        }
        if codepoint == Codepoint::Ce {
            return Verdict::Marked;
        }
        let probability = match self.flows.has_classic() || coupled >= ONE {
            true => coupled,
            false => ramp(ahead, order.ramp_from, order.ramp_to),
        };
        match self.l4s.is_due(probability, segments) {
            true => Verdict::MarkL4s,
            false => Verdict::Undue,
        }
    }

    fn judge_classic(&mut self, place: usize, codepoint: Codepoint, segments: u32) -> Verdict {
        if !self.classic.is_due(squared(self.pi.base), segments) {
            return Verdict::Undue;
        }
        if codepoint == Codepoint::NotEct {
            return Verdict::DropNotEct;
        }
        if self.coupled() >= ONE {
            return Verdict::DropOverload;
        }
        let bucket = self.flows.bucket(place);
        if !bucket.admits_marks(segments) {
            return Verdict::Capped;
        }
        bucket.mark(segments);
        Verdict::MarkClassic
    }
}
