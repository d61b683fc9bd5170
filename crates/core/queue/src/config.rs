//! Which queue: discipline, capacity and backpressure.

use crate::queue::Queue;
use crate::{
    BackpressureConfig, Capacity, Classes, ClassesConfig, CoDel, CoDelConfig, ConfigError, Custom,
    CustomConfig, Dequeued, DropTail, DualPi2, DualPi2Config, EmulatorCoDel, EmulatorCoDelConfig,
    FqCoDel, FqCoDelConfig, L4Span, L4SpanConfig, LateBinding, LateBindingConfig, MTU, Occupancy,
    Paced, PacedConfig, Packet, QueueManagement, Red, RedConfig, Room, Sfq, SfqConfig, Slot,
    Urgent,
};
use std::fmt::Debug;
use units::{Bytes, Instant, Rng, Streams};

/// What every discipline's configuration has.
pub(crate) trait Configure: Clone + Debug + Eq {
    /// The queue that it configures.
    type Queue<P: Packet + Send>: QueueManagement<P>;
    /// # Errors
    /// A value that the algorithm cannot work with.
    fn check(&self) -> Result<(), ConfigError>;
    /// For slots and rates that are `ratio` times what they were: sizes shrink, times stay.
    fn scale(&mut self, ratio: f64);
    /// An empty queue. What it draws from `rng` is its own.
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Self::Queue<P>, ConfigError>;
}

/// A stream of its own for a discipline that keeps drawing.
pub(crate) fn fork(rng: &mut Rng) -> Rng {
    Streams::new(rng.next_u64()).stream("discipline")
}

/// A threshold where slots are `ratio` times what they were: at least a packet, where it was one.
pub(crate) fn scaled(threshold: Bytes, ratio: f64) -> Bytes {
    threshold.mul_f64(ratio).max(MTU.min(threshold))
}

/// The disciplines: each a configuration, from which its queue follows.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident($config:ty, $($queue:ident)::+),)*) => {
        /// Which packet goes next, which one is dropped or marked.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub enum DisciplineConfig {
            /// First in, first out, dropped on arrival.
            #[default]
            DropTail,
            $($(#[$doc])* $name($config),)*
            /// A queue a class of QoS flows.
            Classes(ClassesConfig),
            /// One that the caller supplies.
            Custom(CustomConfig),
        }

        impl DisciplineConfig {
            /// # Errors
            /// A value that the algorithm cannot work with.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self {
                    // whether the name is known is checked as it is built
                    Self::DropTail | Self::Custom(_) => Ok(()),
                    $(Self::$name(config) => Configure::check(config),)*
                    Self::Classes(config) => config.check(),
                }
            }

            /// For slots and rates that are `ratio` times what they were: what is a size shrinks, what is a time
            /// stays. No threshold becomes less than a packet.
            pub fn scale(&mut self, ratio: f64) {
                match self {
                    Self::DropTail | Self::Custom(_) => {}
                    $(Self::$name(config) => config.scale(ratio),)*
                    Self::Classes(config) => config.scale(ratio),
                }
            }

            /// An empty queue with this discipline and no backpressure. `rng` salts hashes and decides random
            /// drops.
            ///
            /// # Errors
            /// As [`Self::check`], or a capacity of zero.
            pub fn build<P: Packet + Send + 'static>(
                &self,
                capacity: Capacity,
                mut rng: Rng,
            ) -> Result<Box<dyn QueueManagement<P>>, ConfigError> {
                Ok(match Discipline::new(self, capacity, &mut rng)? {
                    Discipline::DropTail(queue) => Box::new(queue),
                    $(Discipline::$name(queue) => Box::new(queue),)*
                    Discipline::Classes(queue) => Box::new(queue),
                    Discipline::Custom(queue) => Box::new(queue),
                })
            }
        }

        /// Any discipline.
        #[derive(Debug)]
        pub(crate) enum Discipline<P> {
            DropTail(DropTail<P>),
            $($name($($queue)::+<P>),)*
            Classes(Classes<P>),
            Custom(Custom<P>),
        }

        impl<P: Packet + Send> Discipline<P> {
            pub(crate) fn new(
                config: &DisciplineConfig,
                capacity: Capacity,
                rng: &mut Rng,
            ) -> Result<Self, ConfigError> {
                Ok(match config {
                    DisciplineConfig::DropTail => Self::DropTail(DropTail::new(capacity)?),
                    $(DisciplineConfig::$name(config) => {
                        Self::$name(Configure::build(config, capacity, rng)?)
                    })*
                    DisciplineConfig::Classes(config) => {
                        Self::Classes(Classes::new(config, capacity, rng)?)
                    }
                    DisciplineConfig::Custom(config) => {
                        Self::Custom(config.build(capacity, rng.next_u64())?)
                    }
                })
            }
        }

        /// Hands a call on to the discipline that there is.
        macro_rules! to_discipline {
            ($self:ident, $discipline:ident => $call:expr) => {
                match $self {
                    Discipline::DropTail($discipline) => $call,
                    $(Discipline::$name($discipline) => $call,)*
                    Discipline::Classes($discipline) => $call,
                    Discipline::Custom($discipline) => $call,
                }
            };
        }
    };
}

disciplines! {
    /// RFC 8289.
    CoDel(CoDelConfig, CoDel),
    /// The dynamic-buffer paper's authors' code for it.
    EmulatorCoDel(EmulatorCoDelConfig, EmulatorCoDel),
    /// RFC 8290.
    FqCoDel(FqCoDelConfig, FqCoDel),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig, Sfq),
    /// Random early detection.
    Red(RedConfig, Red),
    /// RFC 9332, with PI2.
    DualPi2(DualPi2Config, DualPi2),
    /// Marks by the predicted sojourn time.
    L4Span(L4SpanConfig, L4Span),
    /// Late binding: the queue that the MAC pulls from.
    LateBinding(LateBindingConfig, LateBinding),
    /// The UPF's queue above late binding.
    Paced(PacedConfig, Paced),
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
    fn is_urgent(&mut self, admits: &mut dyn FnMut(Urgent) -> bool) -> bool {
        to_discipline!(self, discipline => discipline.is_urgent(admits))
    }
    fn admits_urgent(&self, packet: Urgent) -> bool {
        to_discipline!(self, discipline => discipline.admits_urgent(packet))
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

/// A whole queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Which packet goes next, which one is dropped or marked.
    pub discipline: DisciplineConfig,
    /// What the queue may hold; with classes, what all of them together may.
    pub capacity: Capacity,
    /// How much the layer above may hand down.
    pub backpressure: BackpressureConfig,
}

impl QueueConfig {
    /// A drop-tail queue without backpressure.
    pub fn drop_tail(capacity: Capacity) -> Self {
        Self {
            discipline: DisciplineConfig::DropTail,
            capacity,
            backpressure: BackpressureConfig::None,
        }
    }
    /// # Errors
    /// A value that an algorithm cannot work with, or a capacity of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.capacity.check()?;
        self.discipline.check()?;
        self.backpressure.check()
    }
    /// An empty queue. `rng` salts hashes and decides random drops.
    ///
    /// # Errors
    /// As [`QueueConfig::check`].
    pub fn build<P: Packet + Send>(&self, rng: Rng) -> Result<Queue<P>, ConfigError> {
        self.check()?;
        Queue::new(self, rng)
    }
    /// Whether the layer above is ever held back.
    pub fn is_backpressure(&self) -> bool {
        self.backpressure != BackpressureConfig::None
            || matches!(self.discipline, DisciplineConfig::LateBinding(_))
    }
    /// For slots and rates that are `ratio` times what they were: sizes and thresholds shrink, and count bytes
    /// from then on, since a smaller slot is no whole number of packets; times stay. No limit becomes less than
    /// a packet.
    pub fn scale(&mut self, ratio: f64) {
        self.capacity = self.capacity.scaled(ratio);
        self.discipline.scale(ratio);
        self.backpressure.scale(ratio);
    }
}
