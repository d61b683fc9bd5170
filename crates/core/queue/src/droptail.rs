//! Drop-tail: first in, first out; what does not fit is dropped on arrival (RFC 7567 section 1).
//!
//! The capacity is in bytes or in packets. A packet is accepted if it fits whole.

use crate::fifo::Fifo;
use crate::registry::{ANYWHERE, Algorithm, Made};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, Occupancy, Packet, QueueManagement,
};
use units::{Bytes, Instant};

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "drop-tail",
    title: "drop-tail",
    places: ANYWHERE,
    is_aqm: false,
    is_backpressure: false,
    parameters: &[],
    make: |_| Made::Discipline(DisciplineConfig::DropTail),
};

/// A first-in first-out queue with a limit.
#[derive(Debug)]
pub struct DropTail<P> {
    capacity: Capacity,
    packets: Fifo<P>,
}

impl<P: Packet> DropTail<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// A capacity of zero.
    pub fn new(capacity: Capacity) -> Result<Self, ConfigError> {
        capacity.check()?;
        Ok(Self {
            capacity,
            packets: Fifo::new(),
        })
    }
}

impl<P: Packet + Send> QueueManagement<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        self.packets.push(now, packet);
        Ok(())
    }

    #[inline]
    fn dequeue(
        &mut self,
        _now: Instant,
        budget: Bytes,
        _dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        if self.packets.front()?.packet.bytes() > budget {
            return None;
        }
        self.packets.pop()
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Packets;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct P(u64);
    impl Packet for P {
        fn bytes(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    #[test]
    fn zero_capacity_is_refused() {
        assert!(DropTail::<P>::new(Capacity::Packets(Packets::ZERO)).is_err());
        assert!(DropTail::<P>::new(Capacity::Bytes(Bytes::ZERO)).is_err());
    }

    proptest! {
        #[test]
        fn bytes_are_conserved_and_order_kept(
            limit in 1u64..20_000,
            sizes in prop::collection::vec(1u64..3_000, 1..200),
            pops in prop::collection::vec(0u64..4_000, 1..200),
        ) {
            let mut queue = DropTail::new(Capacity::Bytes(Bytes::new(limit))).unwrap();
            let (mut accepted, mut dropped, mut left) = (Vec::new(), 0, Vec::new());
            for (i, (&size, &budget)) in sizes.iter().zip(pops.iter().cycle()).enumerate() {
                let now = Instant::from_nanos(i as u64);
                match queue.enqueue(now, P(size)) {
                    Ok(()) => accepted.push(P(size)),
                    Err(p) => dropped += p.0,
                }
                prop_assert!(queue.occupancy().bytes.get() <= limit);
                if let Some(d) = queue.dequeue(now, Bytes::new(budget), &mut |_| {}) {
                    prop_assert!(d.packet.0 <= budget);
                    left.push(d.packet);
                }
            }
            prop_assert_eq!(&accepted[..left.len()], &left[..]);
            let total: u64 = sizes.iter().sum();
            let out: u64 = left.iter().map(|p| p.0).sum();
            prop_assert_eq!(total, out + dropped + queue.occupancy().bytes.get());
        }
    }
}
