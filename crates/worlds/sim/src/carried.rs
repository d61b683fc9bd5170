//! Packets inside a tunnel: one packet, however many copies of it are on their way.
//!
//! ```text
//!   taken in -> waiting (scheduler buffer) -> underway (on paths) -> held (reordering) -> given out
//!                  \_________________________________\____________________\____ lost: the last copy went
//! ```
//!
//! A packet is lost when the last copy of it is dropped, wherever that is; its [`Ledger`] counts it
//! then. So no packet appears or vanishes inside a tunnel either.

use crate::packet::{Body, Packet};
use core::cell::{Cell, RefCell};
use multipath::Payload;
use multipath::class::FlowLabel;
use queue::Ecn;
use std::rc::Rc;
use units::{Bytes, Duration, Instant};

/// The packets inside one direction of a tunnel.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Packets inside now.
    inside: Cell<u64>,
    /// Bytes in the scheduler's buffer.
    waiting: Cell<u64>,
    /// Bytes that the reordering holds.
    held: Cell<u64>,
    /// Packets lost inside, by flow.
    lost: RefCell<Vec<u64>>,
    /// Those of them that were lost before they had a path, and not counted yet.
    lost_waiting: Cell<u64>,
}

impl Ledger {
    /// Nothing inside yet, of so many flows.
    pub(crate) fn new(flows: usize) -> Rc<Self> {
        Rc::new(Self {
            lost: RefCell::new(vec![0; flows]),
            ..Self::default()
        })
    }
    /// Packets inside now.
    pub(crate) fn inside(&self) -> u64 {
        self.inside.get()
    }
    /// What waits for a path.
    pub(crate) fn waiting(&self) -> Bytes {
        Bytes::new(self.waiting.get())
    }
    /// What waits for packets before it.
    pub(crate) fn held(&self) -> Bytes {
        Bytes::new(self.held.get())
    }
    /// Packets of a flow that were lost inside.
    pub(crate) fn lost(&self, flow: u32) -> u64 {
        self.lost.borrow()[flow as usize]
    }
    /// Packets that were lost in the scheduler's buffer since this was last called.
    pub(crate) fn take_lost_waiting(&self) -> u64 {
        self.lost_waiting.take()
    }
    /// Packets that were lost inside.
    pub(crate) fn dropped(&self) -> u64 {
        self.lost.borrow().iter().sum()
    }
}

/// Where a packet is inside a tunnel, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting(Instant),
    Underway,
    Held(Instant),
    Out,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// None once it has been given out.
    packet: RefCell<Option<Packet>>,
    flow: u32,
    /// Bytes with its headers.
    len: u32,
    ecn: Cell<Ecn>,
    label: FlowLabel,
    stage: Cell<Stage>,
    ledger: Rc<Ledger>,
}

impl Inner {
    fn enter(&self, stage: Stage) {
        let len = u64::from(self.len);
        let of = |stage| match stage {
            Stage::Waiting(_) => Some(&self.ledger.waiting),
            Stage::Held(_) => Some(&self.ledger.held),
            Stage::Underway | Stage::Out => None,
        };
        if let Some(left) = of(self.stage.replace(stage)) {
            left.set(left.get() - len);
        }
        if let Some(entered) = of(stage) {
            entered.set(entered.get() + len);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.stage.get() != Stage::Out {
            if matches!(self.stage.get(), Stage::Waiting(_)) {
                let lost = &self.ledger.lost_waiting;
                lost.set(lost.get() + 1);
            }
            self.enter(Stage::Out);
            self.ledger.inside.set(self.ledger.inside.get() - 1);
            self.ledger.lost.borrow_mut()[self.flow as usize] += 1;
        }
    }
}

/// A copy of a packet inside a tunnel, or a parity of several.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    Packet(Rc<Inner>),
    Parity(Rc<Parity>),
}

/// The parity of packets: a packet of which nothing but that is left is not lost yet.
#[derive(Debug)]
pub(crate) struct Parity {
    members: Vec<Rc<Inner>>,
    len: usize,
}

impl Carried {
    /// A packet goes in, and waits for a path.
    pub(crate) fn new(now: Instant, packet: Packet, ledger: &Rc<Ledger>) -> Self {
        let label = packet.label();
        ledger.inside.set(ledger.inside.get() + 1);
        let inner = Inner {
            flow: packet.flow,
            len: u32::try_from(label.wire.get()).unwrap_or(u32::MAX),
            ecn: Cell::new(label.ecn),
            label: FlowLabel {
                // no application sets a codepoint
                dscp: 0,
                flow: Some(u64::from(label.flow)),
                is_udp: !matches!(packet.body, Body::Segment { .. }),
            },
            packet: RefCell::new(Some(packet)),
            stage: Cell::new(Stage::Underway),
            ledger: Rc::clone(ledger),
        };
        inner.enter(Stage::Waiting(now));
        Self::Packet(Rc::new(inner))
    }

    fn packet(&self) -> Option<&Rc<Inner>> {
        match self {
            Self::Packet(packet) => Some(packet),
            Self::Parity(_) => None,
        }
    }

    /// A copy leaves on a path. How long the packet waited, if it is the first.
    pub(crate) fn leaves(&self, now: Instant) -> Option<Duration> {
        let packet = self.packet()?;
        let Stage::Waiting(since) = packet.stage.get() else {
            return None;
        };
        packet.enter(Stage::Underway);
        Some(now.saturating_since(since))
    }

    /// A copy arrives at the other end.
    pub(crate) fn arrives(&self, now: Instant) {
        let underway = |packet: &&Rc<Inner>| packet.stage.get() == Stage::Underway;
        if let Some(packet) = self.packet().filter(underway) {
            packet.enter(Stage::Held(now));
        }
    }

    /// It is given out: the packet, and how long it was held. None of a copy of one that was.
    pub(crate) fn give_out(&self, now: Instant) -> Option<(Packet, Duration)> {
        let inner = self.packet()?;
        let mut packet = inner.packet.take()?;
        let held = match inner.stage.get() {
            Stage::Held(since) => now.saturating_since(since),
            _ => Duration::ZERO,
        };
        inner.enter(Stage::Out);
        let ledger = &inner.ledger;
        ledger.inside.set(ledger.inside.get() - 1);
        if inner.ecn.get() == Ecn::Ce {
            packet.mark();
        }
        Some((packet, held))
    }
}

impl Payload for Carried {
    fn len(&self) -> usize {
        match self {
            Self::Packet(packet) => packet.len as usize,
            Self::Parity(parity) => parity.len,
        }
    }
    fn ecn(&self) -> Ecn {
        self.packet().map_or(Ecn::NotEct, |packet| packet.ecn.get())
    }
    fn label(&self) -> FlowLabel {
        self.packet()
            .map_or_else(FlowLabel::default, |packet| packet.label)
    }
    fn parity(of: &[Self]) -> Option<Self> {
        let members: Option<Vec<_>> = of.iter().map(|of| of.packet().cloned()).collect();
        let members = members?;
        let longest = members.iter().map(|packet| packet.len as usize).max()?;
        // as that of bytes has one
        let len = multipath::parity::LENGTH + longest;
        Some(Self::Parity(Rc::new(Parity { members, len })))
    }
    fn rebuilt(&self, others: &[Self]) -> Option<Self> {
        let Self::Parity(parity) = self else {
            return None;
        };
        let is_there = |packet: &Rc<Inner>| {
            let mut others = others.iter().filter_map(Self::packet);
            others.any(|other| Rc::ptr_eq(other, packet))
        };
        let mut missing = parity.members.iter().filter(|packet| !is_there(packet));
        let packet = missing.next()?;
        missing
            .next()
            .is_none()
            .then(|| Self::Packet(Rc::clone(packet)))
    }
    fn mark(&mut self) {
        if let Self::Packet(packet) = self {
            packet.ecn.set(Ecn::Ce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Datagram;

    fn packet(payload: u64) -> Packet {
        let datagram = Datagram {
            number: 0,
            sent_at: Instant::ZERO,
            payload: Bytes::new(payload),
            ecn: Ecn::Ect0,
        };
        Packet::new(1, Body::Datagram(datagram))
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_packet_is_where_it_is_and_its_copies_count_once() {
        let ledger = Ledger::new(2);
        let first = Carried::new(at_ms(1), packet(72), &ledger);
        let mut second = first.clone();
        assert_eq!((first.len(), ledger.waiting()), (100, Bytes::new(100)));
        assert_eq!(first.leaves(at_ms(4)), Some(Duration::from_millis(3)));
        assert_eq!(second.leaves(at_ms(5)), None);
        assert!(ledger.waiting().is_zero());
        second.mark();
        first.arrives(at_ms(6));
        second.arrives(at_ms(7));
        assert_eq!((ledger.held(), ledger.inside()), (Bytes::new(100), 1));
        let (given, held) = second.give_out(at_ms(9)).unwrap();
        assert_eq!(held, Duration::from_millis(3));
        assert_eq!(given.label().ecn, Ecn::Ce);
        assert!(first.give_out(at_ms(9)).is_none());
        drop((first, second));
        assert_eq!((ledger.inside(), ledger.dropped()), (0, 0));
        assert!(ledger.held().is_zero());
    }

    #[test]
    fn a_packet_is_lost_with_its_last_copy() {
        let ledger = Ledger::new(2);
        let first = Carried::new(at_ms(1), packet(72), &ledger);
        let second = first.clone();
        drop(first);
        assert_eq!((ledger.inside(), ledger.dropped()), (1, 0));
        drop(second);
        assert_eq!((ledger.inside(), ledger.dropped()), (0, 1));
        assert_eq!((ledger.lost(0), ledger.lost(1)), (0, 1));
        assert_eq!(ledger.take_lost_waiting(), 1);
        Carried::new(at_ms(1), packet(72), &ledger).leaves(at_ms(2));
        assert_eq!((ledger.dropped(), ledger.take_lost_waiting()), (2, 0));
        assert!(ledger.waiting().is_zero());
    }
}
