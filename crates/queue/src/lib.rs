//! Queue management.
//!
//! ```text
//!   enqueue(packet) -> [ queue ] -> dequeue(budget)
//!                         ^ on_slot(remaining, capacity), next_deadline
//! ```
//!
//! One trait for every queue of the system, in a base station as on a wired link.
//!
//! What this crate is *not*: it does not schedule between queues and knows no packet format.
#![forbid(unsafe_code)]

mod droptail;

pub use droptail::{Capacity, ConfigError, DropTail};
use units::{Bytes, Instant};

/// What a queue must know of a packet.
pub trait Packet {
    /// Bytes that it occupies in the queue.
    fn bytes(&self) -> Bytes;
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
    /// A slot passed below: what remained unserved there, and what the slot could have carried.
    fn on_slot(&mut self, _now: Instant, _remaining: Bytes, _capacity: Bytes) {}
    /// When the algorithm wants to be called although nothing moves.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
    /// How much is waiting.
    fn occupancy(&self) -> Occupancy;
}
