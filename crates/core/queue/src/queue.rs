//! A queue as it is configured: a discipline with a limiter.

use crate::backpressure::{Backpressure as _, Limiter};
use crate::{
    Capacity, Classes, CoDel, ConfigError, Custom, Dequeued, DisciplineConfig, DropTail, DualPi2,
    FqCoDel, LateBinding, Occupancy, Paced, Packet, QueueConfig, QueueManagement, Red, Room, Sfq,
    Slot,
};
use units::{Bytes, Instant, Rng, Streams};

/// Any discipline.
#[derive(Debug)]
pub(crate) enum Discipline<P> {
    DropTail(DropTail<P>),
    CoDel(CoDel<P>),
    FqCoDel(FqCoDel<P>),
    Sfq(Sfq<P>),
    Red(Red<P>),
    DualPi2(DualPi2<P>),
    Classes(Classes<P>),
    LateBinding(LateBinding<P>),
    Paced(Paced<P>),
    Custom(Custom<P>),
}

impl<P: Packet + Send> Discipline<P> {
    pub(crate) fn new(
        config: &DisciplineConfig,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Self, ConfigError> {
        Ok(match config {
            DisciplineConfig::CoDel(config) => Self::CoDel(CoDel::new(config.clone(), capacity)?),
            DisciplineConfig::LateBinding(config) => {
                Self::LateBinding(LateBinding::new(config.clone(), capacity)?)
            }
            DisciplineConfig::Paced(config) => Self::Paced(Paced::new(config.clone(), capacity)?),
            DisciplineConfig::Custom(config) => {
                Self::Custom(config.build(capacity, rng.next_u64())?)
            }
            DisciplineConfig::DropTail => Self::DropTail(DropTail::new(capacity)?),
            DisciplineConfig::FqCoDel(config) => {
                Self::FqCoDel(FqCoDel::new(config.clone(), capacity, rng)?)
            }
            DisciplineConfig::Sfq(config) => {
                Self::Sfq(Sfq::new(config.clone(), capacity, fork(rng))?)
            }
            DisciplineConfig::Red(config) => {
                Self::Red(Red::new(config.clone(), capacity, fork(rng))?)
            }
            DisciplineConfig::DualPi2(config) => {
                Self::DualPi2(DualPi2::new(config.clone(), capacity)?)
            }
            DisciplineConfig::Classes(config) => {
                Self::Classes(Classes::new(config, capacity, rng)?)
            }
        })
    }
}

/// A stream of its own for a discipline that keeps drawing.
fn fork(rng: &mut Rng) -> Rng {
    Streams::new(rng.next_u64()).stream("discipline")
}

/// Hands a call on to the discipline that there is.
macro_rules! to_discipline {
    ($self:ident, $discipline:ident => $call:expr) => {
        match $self {
            Discipline::DropTail($discipline) => $call,
            Discipline::CoDel($discipline) => $call,
            Discipline::FqCoDel($discipline) => $call,
            Discipline::Sfq($discipline) => $call,
            Discipline::Red($discipline) => $call,
            Discipline::DualPi2($discipline) => $call,
            Discipline::Classes($discipline) => $call,
            Discipline::LateBinding($discipline) => $call,
            Discipline::Paced($discipline) => $call,
            Discipline::Custom($discipline) => $call,
        }
    };
}

impl<P: Packet + Send> QueueManagement<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        to_discipline!(self, discipline => discipline.enqueue(now, packet))
    }
    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        to_discipline!(self, discipline => discipline.dequeue(now, budget, dropped))
    }
    #[inline]
    fn occupancy(&self) -> Occupancy {
        to_discipline!(self, discipline => discipline.occupancy())
    }
    fn ready(&self, now: Instant) -> Occupancy {
        to_discipline!(self, discipline => discipline.ready(now))
    }
    fn room(&mut self, now: Instant) -> Room {
        to_discipline!(self, discipline => discipline.room(now))
    }
    fn is_urgent(&mut self) -> bool {
        to_discipline!(self, discipline => discipline.is_urgent())
    }
    fn on_blocked(&mut self, now: Instant) {
        to_discipline!(self, discipline => discipline.on_blocked(now));
    }
    fn on_slot(&mut self, now: Instant, slot: Slot) {
        to_discipline!(self, discipline => discipline.on_slot(now, slot));
    }
    fn next_deadline(&self) -> Option<Instant> {
        to_discipline!(self, discipline => discipline.next_deadline())
    }
}

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
        let bytes = packet.bytes();
        self.discipline.enqueue(now, packet)?;
        if !matches!(self.limiter, Limiter::None) {
            let held = self.discipline.occupancy();
            self.limiter.on_enqueue(now, bytes, held);
        }
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        let next = self.discipline.dequeue(now, budget, dropped);
        if let Some(next) = &next
            && !matches!(self.limiter, Limiter::None)
        {
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
    fn is_urgent(&mut self) -> bool {
        self.discipline.is_urgent()
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
