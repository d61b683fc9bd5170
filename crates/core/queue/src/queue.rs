//! A queue as it is configured: a discipline with a limiter.

use crate::backpressure::{Backpressure as _, Limiter};
use crate::config::Discipline;
use crate::{
    ConfigError, Dequeued, Occupancy, Packet, QueueConfig, QueueManagement, Room, Slot, Urgent,
};
use units::{Bytes, Instant, Rng};

/// A discipline with a limiter, as [`QueueConfig`] selects them.
///
/// The limiter is notified of every packet that is accepted without another being given back for it, and
/// of every packet that leaves by [`QueueManagement::dequeue`]; what the discipline drops it sees in
/// the occupancy.
#[derive(Debug)]
pub struct Queue<P> {
    discipline: Discipline<P>,
    limiter: Limiter,
}

impl<P: Packet + Send> Queue<P> {
    pub(crate) fn new(config: &QueueConfig, mut rng: Rng) -> Result<Self, ConfigError> {
        Ok(Self {
            discipline: Discipline::new(&config.discipline, config.capacity, &mut rng)?,
            limiter: config.backpressure.build()?,
        })
    }
}

impl<P: Packet + Send> QueueManagement<P> for Queue<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if matches!(self.limiter, Limiter::None) {
            return self.discipline.enqueue(now, packet);
        }
        let bytes = packet.bytes();
        self.discipline.enqueue(now, packet)?;
        let held = self.discipline.occupancy();
        self.limiter.on_enqueue(now, bytes, held);
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        if matches!(self.limiter, Limiter::None) {
            return self.discipline.dequeue(now, budget, dropped);
        }
        let next = self.discipline.dequeue(now, budget, dropped);
        if let Some(next) = &next {
            let sojourn = now.saturating_since(next.enqueued_at);
            let held = self.discipline.occupancy();
            self.limiter
                .on_dequeue(now, next.packet.bytes(), sojourn, held);
        }
        next
    }

    fn occupancy(&self) -> Occupancy {
        self.discipline.occupancy()
    }
    fn ready(&self, now: Instant) -> Occupancy {
        self.discipline.ready(now)
    }
    /// The lesser of what discipline and limiter admit. Where one counts packets and the other bytes,
    /// the one that admits none decides, else the limiter.
    fn room(&mut self, now: Instant) -> Room {
        let own = self.discipline.room(now);
        let held = self.discipline.occupancy();
        lesser(own, self.limiter.room(now, held))
    }
    fn is_urgent(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        self.discipline.is_urgent(admits)
    }
    fn admits_urgent(&self, packet: Urgent) -> bool {
        self.discipline.admits_urgent(packet)
    }
    fn on_blocked(&mut self, now: Instant) {
        self.discipline.on_blocked(now);
        self.limiter.on_blocked(now);
    }
    fn on_slot(&mut self, now: Instant, slot: Slot) {
        self.discipline.on_slot(now, slot);
        self.limiter.on_slot(now, slot);
    }
    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.discipline.next_deadline(),
            self.limiter.next_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }
}

/// The room that both leave.
pub(crate) fn lesser(own: Room, limiter: Room) -> Room {
    match (own, limiter) {
        (Room::Unlimited, other) | (other, Room::Unlimited) => other,
        (Room::Packets(a), Room::Packets(b)) => Room::Packets(a.min(b)),
        (Room::Bytes(a), Room::Bytes(b)) => Room::Bytes(a.min(b)),
        (own, limiter) if own.admits() => limiter,
        (own, _) => own,
    }
}
