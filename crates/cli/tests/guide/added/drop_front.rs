//! Drop from front: a queue that has become too long loses its oldest packets.
//!
//! Source: Lakshman, Neidhardt and Ott, "The drop from front strategy in TCP and in TCP over ATM", IEEE
//! INFOCOM 1996: what is lost at the head is noticed earlier, by the time that the queue takes. Bytes.
//!
//! *Deviation*: packets are dropped as the queue is served, above a length of its own; one that is full drops
//! what arrives, as drop-tail does.

use crate::config::{Configure, scaled};
use crate::fifo::Fifo;
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Occupancy, Packet, QueueManagement, error,
};
use units::{Bytes, Instant, Rng};

const LENGTH: &Parameter = &Parameter::new(
    "drop-front-length",
    Quantity::Bytes,
    "30000 B",
    (1.0, 1e9),
    "Drop from front: the queue above which it drops.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "drop-front",
    title: "drop from front",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[LENGTH],
    make: |values| {
        Made::Discipline(DisciplineConfig::DropFront(DropFrontConfig {
            length: values.bytes(LENGTH),
        }))
    },
};

/// How it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropFrontConfig {
    /// The queue above which it drops, at least one byte.
    pub length: Bytes,
}

impl Configure for DropFrontConfig {
    type Queue<P: Packet + Send> = DropFront<P>;
    fn check(&self) -> Result<(), ConfigError> {
        error::expect_bytes("drop-front length", self.length)
    }
    fn scale(&mut self, ratio: f64) {
        self.length = scaled(self.length, ratio);
    }
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<DropFront<P>, ConfigError> {
        self.check()?;
        capacity.check()?;
        Ok(DropFront {
            length: self.length,
            capacity,
            packets: Fifo::new(),
        })
    }
}

/// A first-in first-out queue that drops at its head.
#[derive(Debug)]
pub struct DropFront<P> {
    length: Bytes,
    capacity: Capacity,
    packets: Fifo<P>,
}

impl<P: Packet + Send> QueueManagement<P> for DropFront<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        self.packets.push(now, packet);
        Ok(())
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        while self.occupancy().bytes > self.length && self.occupancy().packets > 1 {
            dropped(self.packets.pop()?.packet);
        }
        if self.packets.front()?.packet.bytes() > budget {
            return None;
        }
        self.packets.pop()
    }

    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}
