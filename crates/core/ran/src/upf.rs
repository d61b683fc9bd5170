//! The way from the UPF into the base station: a serial N3 (S1) interface, then processing
//! (TS 23.501 5.8.2, TS 29.281).
//!
//! Packets leave in the order in which they came, each `processing` after the interface has passed
//! it on. What waits for the interface is a drop-tail queue, without a limit unless one is given: the network
//! before the cell has its own buffers, and a rate here that is lower than theirs moves their queue to this place.

use queue::{Capacity, Occupancy, Packet};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// A packet on its way in.
#[derive(Debug)]
pub(crate) struct Arrival<P> {
    /// Index of its bearer in the cell.
    pub(crate) bearer: u32,
    pub(crate) qfi: u8,
    /// When it came to the UPF.
    pub(crate) arrived_at: Instant,
    /// When it may be scheduled.
    pub(crate) ready_at: Instant,
    pub(crate) packet: P,
}

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Upf<P> {
    rate: Option<BitRate>,
    /// Room for what the interface has not passed on.
    buffer: Capacity,
    processing: Duration,
    /// When the interface has passed on all that came.
    free_at: Instant,
    /// In ascending order of `ready_at`.
    arrivals: VecDeque<Arrival<P>>,
}

impl<P: Packet> Upf<P> {
    pub(crate) fn new(rate: Option<BitRate>, buffer: Capacity, processing: Duration) -> Self {
        Self {
            rate,
            buffer,
            processing,
            free_at: Instant::ZERO,
            arrivals: VecDeque::new(),
        }
    }

    /// Whether a packet of so many bytes fits before the interface.
    pub(crate) fn admits(&self, now: Instant, bytes: Bytes) -> bool {
        self.buffer == Capacity::Unlimited || self.buffer.admits(self.waiting(now), bytes)
    }

    /// What the interface has not passed on, of the packet under way its part.
    fn waiting(&self, now: Instant) -> Occupancy {
        let Some(rate) = self.rate else {
            return Occupancy::default();
        };
        let has_passed = |arrival: &Arrival<P>| arrival.ready_at <= now + self.processing;
        let passed = self.arrivals.partition_point(has_passed);
        Occupancy {
            packets: self.arrivals.len() - passed,
            bytes: rate.bytes_in(self.free_at.saturating_since(now)),
        }
    }

    /// A packet comes; when it may be scheduled.
    pub(crate) fn send(&mut self, now: Instant, bearer: u32, qfi: u8, packet: P) -> Instant {
        let passed_at = match self.rate {
            None => now,
            Some(rate) => {
                self.free_at = self.free_at.max(now) + packet.bytes() / rate;
                self.free_at
            }
        };
        let ready_at = passed_at + self.processing;
        self.arrivals.push_back(Arrival {
            bearer,
            qfi,
            arrived_at: now,
            ready_at,
            packet,
        });
        ready_at
    }
    /// The next packet that is ready.
    pub(crate) fn pop_ready(&mut self, now: Instant) -> Option<Arrival<P>> {
        if self.arrivals.front()?.ready_at > now {
            return None;
        }
        self.arrivals.pop_front()
    }
    /// Takes out what is on its way to a bearer.
    pub(crate) fn take(&mut self, bearer: u32) -> Vec<P> {
        let mut taken = Vec::new();
        for arrival in core::mem::take(&mut self.arrivals) {
            match arrival.bearer == bearer {
                true => taken.push(arrival.packet),
                false => self.arrivals.push_back(arrival),
            }
        }
        taken
    }
    /// When the next packet is ready.
    pub(crate) fn next_ready(&self) -> Option<Instant> {
        self.arrivals.front().map(|arrival| arrival.ready_at)
    }
    /// What is on its way to bearer `bearer`.
    pub(crate) fn held_for(&self, bearer: u32) -> Occupancy {
        let mut held = Occupancy::default();
        for arrival in self.arrivals.iter().filter(|a| a.bearer == bearer) {
            held.packets += 1;
            held.bytes += arrival.packet.bytes();
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    struct P(u64);
    impl Packet for P {
        fn bytes(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    #[test]
    fn the_interface_passes_one_packet_after_the_other() {
        // 1250 B at 10 Mbit/s take 1 ms
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let mut upf = Upf::new(
            Some(BitRate::from_mbps(10)),
            Capacity::Unlimited,
            Duration::from_millis(2),
        );
        assert_eq!(upf.send(ms(0), 0, 0, P(1250)), ms(3));
        assert_eq!(upf.send(ms(0), 0, 0, P(1250)), ms(4));
        assert_eq!(upf.send(ms(10), 0, 0, P(1250)), ms(13));
        assert!(upf.pop_ready(Instant::from_nanos(2_999_999)).is_none());
        assert_eq!(upf.pop_ready(ms(3)).unwrap().arrived_at, ms(0));
        assert_eq!(upf.held_for(0).bytes, Bytes::new(2500));
        assert_eq!(upf.next_ready(), Some(ms(4)));
    }

    #[test]
    fn what_the_interface_has_not_passed_on_takes_room() {
        let us = |n| Instant::ZERO + Duration::from_micros(n);
        let of = |buffer| {
            let rate = Some(BitRate::from_mbps(10));
            let mut upf = Upf::new(rate, buffer, Duration::from_millis(2));
            // 1 ms each
            upf.send(us(0), 0, 0, P(1250));
            upf.send(us(0), 0, 0, P(1250));
            upf
        };
        let bytes = of(Capacity::Bytes(Bytes::new(2500)));
        assert!(!bytes.admits(us(0), Bytes::new(1)));
        assert!(!bytes.admits(us(999), Bytes::new(1250)));
        assert!(bytes.admits(us(1000), Bytes::new(1250)));
        let packets = of(Capacity::Packets(units::Packets::new(2)));
        assert!(!packets.admits(us(999), Bytes::new(1)));
        assert!(packets.admits(us(1000), Bytes::new(9000)));
        assert!(of(Capacity::Unlimited).admits(us(0), Bytes::new(u64::MAX)));
    }
}
