//! Queue management.
//!
//! ```text
//!              room: how much may come down now      +-- on_slot(remaining, capacity), next_deadline
//!                 ^                                  v
//!  enqueue(packet) -> [ discipline: order, drops, marks | backpressure: limit ] -> dequeue(budget)
//! ```
//!
//! One trait, [`QueueManagement`], for every queue of the system, in a base station as on a wired
//! link. A [`Queue`] is a *discipline* (which packet goes next, which is dropped or marked) with a
//! *backpressure* (how much the layer above may hand down); [`QueueConfig`] selects both.
//!
//! What this crate is *not*: it has no packet format, no protocol layer and no clock.
#![forbid(unsafe_code)]

mod backpressure;
mod bounded_codel;
mod capacity;
mod classes;
mod codel;
mod codel_emulator;
mod config;
mod custom;
mod droptail;
mod dualpi2;
mod error;
mod fifo;
mod flows;
mod fq_codel;
mod l4span;
mod late_binding;
mod queue;
mod red;
#[cfg(test)]
mod reference;
pub mod registry;
mod sfq;
mod slab;
#[cfg(test)]
mod test_packet;
mod unit;

pub use backpressure::{
    Backpressure, BackpressureConfig, Drql, DrqlConfig, DynRlc, DynRlcConfig, FiveGBdp,
    FiveGBdpConfig, Usp, UspAmount, UspConfig, UspPeriod,
};
pub use bounded_codel::{BoundedCoDel, BoundedCoDelConfig};
pub use capacity::Capacity;
pub use classes::{ClassConfig, ClassScheduler, Classes, ClassesConfig};
pub use codel::{CoDel, CoDelConfig};
pub use codel_emulator::{EmulatorCoDel, EmulatorCoDelConfig};
pub use config::{DisciplineConfig, QueueConfig};
pub use custom::{
    Band, Custom, CustomConfig, CustomDiscipline, DisciplineFactory, PacketView, QueueParameters,
    Verdict,
};
pub use droptail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Config, DualScheduler};
pub use error::ConfigError;
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use l4span::{L4Span, L4SpanConfig};
pub use late_binding::{LateBinding, LateBindingConfig, Paced, PacedConfig, SparseRule};
pub use queue::Queue;
pub use red::{Red, RedConfig};
pub use sfq::{Sfq, SfqConfig, Turn};
pub use unit::{MTU, Ratio, Unit};
pub use units::Ecn;

use units::{Bytes, Duration, Instant};

/// The attributes of a packet that a queue uses.
pub trait Packet {
    /// Bytes that it occupies in the queue.
    fn bytes(&self) -> Bytes;
    /// The flow that it belongs to: a number that is the same for all packets of a flow (of one
    /// 5-tuple), and different for others where it can be.
    fn flow(&self) -> u64 {
        0
    }
    /// QoS flow identifier, 0 to 63.
    fn qfi(&self) -> u8 {
        0
    }
    /// The ECN codepoint of its IP header.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    /// Sets congestion experienced; called only for packets that are ECT(0) or ECT(1).
    fn mark(&mut self) {}
    /// Which of its bearer's packets it is, ascending, where they have been numbered: PDCP's COUNT.
    fn number(&self) -> Option<u64> {
        None
    }
}

/// How much is waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets waiting.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

/// A packet as it leaves, with the time it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued<P> {
    /// The packet.
    pub packet: P,
    /// When it was enqueued.
    pub enqueued_at: Instant,
}

/// A slot (a transmission time interval, TTI) as it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What waits in the queue after the slot has been served, a packet that has left in part
    /// included, with what is left of it.
    pub remaining: Occupancy,
    /// What the slot could have carried for this queue.
    pub capacity: Bytes,
    /// From the slot before to this one.
    pub tti: Duration,
}

/// How much a layer accepts from the one above, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Anything.
    Unlimited,
    /// So many packets.
    Packets(u64),
    /// Packets as long as this is above zero, each taking its bytes from it: the last one may be
    /// larger than what is left.
    Bytes(Bytes),
}

impl Room {
    /// Whether another packet is accepted.
    pub fn admits(self) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(packets) => packets > 0,
            Self::Bytes(bytes) => !bytes.is_zero(),
        }
    }
    /// What is left after a packet.
    #[must_use]
    pub fn after(self, packet: Bytes) -> Self {
        match self {
            Self::Unlimited => self,
            Self::Packets(packets) => Self::Packets(packets.saturating_sub(1)),
            Self::Bytes(bytes) => Self::Bytes(bytes.saturating_sub(packet)),
        }
    }
}

/// A packet that the layer above would hand down although there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgent {
    /// Its flow, as [`Packet::flow`].
    pub flow: u64,
    /// Its QoS flow identifier.
    pub qfi: u8,
    /// Its size.
    pub bytes: Bytes,
}

/// Queue management: what to accept, what to drop, what to give next.
pub trait QueueManagement<P: Packet>: Send {
    /// Takes a packet, or gives back the one that is dropped instead (the same, or another that was
    /// waiting).
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P>;
    /// The next packet, if it fits into `budget` whole. Packets that the algorithm drops at this
    /// end are handed to `dropped`.
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>>;
    /// How much is waiting.
    fn occupancy(&self) -> Occupancy;
    /// How much of that may be dequeued now.
    fn ready(&self, _now: Instant) -> Occupancy {
        self.occupancy()
    }
    /// How much the layer above may hand down now; read once each time that it looks.
    fn room(&mut self, _now: Instant) -> Room {
        Room::Unlimited
    }
    /// Whether the next packet should go down although the layer below has no room: it is of a flow of
    /// which little waits and costs others nothing. `admits` is the layer below's
    /// [`Self::admits_urgent`].
    fn is_urgent(&mut self, _admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        false
    }
    /// Whether an urgent packet of the layer above may come, where there is no room.
    fn admits_urgent(&self, _packet: Urgent) -> bool {
        true
    }
    /// The layer below accepts no more, although packets are waiting here.
    fn on_blocked(&mut self, _now: Instant) {}
    /// A slot has been served below.
    fn on_slot(&mut self, _now: Instant, _slot: Slot) {}
    /// When the algorithm is to be called again although nothing moves.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}
