//! Backpressure: how much the layer above may hand down.
//!
//! A limiter never drops and never reorders: packets that it does not admit stay above. It is notified of
//! everything that enters and leaves its queue, and of the slots that are served below.

pub(crate) mod drql;
pub(crate) mod dynrlc;
pub(crate) mod five_g_bdp;
pub(crate) mod usp;

pub use drql::{Drql, DrqlConfig};
pub use dynrlc::{DynRlc, DynRlcConfig};
pub use five_g_bdp::{FiveGBdp, FiveGBdpConfig};
pub use usp::{Usp, UspAmount, UspConfig, UspPeriod};

use crate::{ConfigError, Occupancy, Room, Slot, Unit, error};
use units::{Bytes, Duration, Instant};

/// A limiter of what the layer above may hand down.
pub trait Backpressure: Send {
    /// How much may come down now, with so much waiting; called once a forwarding opportunity.
    fn room(&mut self, now: Instant, held: Occupancy) -> Room;
    /// A packet has entered; `held` is with it.
    fn on_enqueue(&mut self, _now: Instant, _bytes: Bytes, _held: Occupancy) {}
    /// A packet has left after `sojourn` in the queue; `held` is without it.
    fn on_dequeue(&mut self, _now: Instant, _bytes: Bytes, _sojourn: Duration, _held: Occupancy) {}
    /// A slot has been served below.
    fn on_slot(&mut self, _now: Instant, _slot: Slot) {}
    /// The layer below accepts no more, although packets are waiting.
    fn on_blocked(&mut self, _now: Instant) {}
    /// When it is to be called again although nothing moves.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

/// What every limiter's configuration has.
pub(crate) trait Limit {
    /// The limiter that it configures.
    type Limiter: Backpressure;
    /// # Errors
    /// A value that the algorithm cannot work with.
    fn check(&self) -> Result<(), ConfigError>;
    /// For slots that are `ratio` times what they were: limits shrink and count bytes, times stay.
    fn scale(&mut self, ratio: f64);
    /// # Errors
    /// As [`Self::check`].
    fn build(&self) -> Result<Self::Limiter, ConfigError>;
}

/// The limiters: each a configuration, from which it follows.
macro_rules! limiters {
    ($($(#[$doc:meta])* $name:ident($config:ty),)*) => {
        /// Which limiter a queue has.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub enum BackpressureConfig {
            /// None: the layer above hands down all it has.
            #[default]
            None,
            $($(#[$doc])* $name($config),)*
        }

        impl BackpressureConfig {
            /// # Errors
            /// A value that the algorithm cannot work with.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self {
                    Self::None => Ok(()),
                    $(Self::$name(config) => Limit::check(config),)*
                }
            }

            /// For slots that are `ratio` times what they were: limits shrink to no less than a packet and count
            /// bytes from then on, times stay.
            pub fn scale(&mut self, ratio: f64) {
                match self {
                    Self::None => {}
                    $(Self::$name(config) => Limit::scale(config, ratio),)*
                }
            }

            pub(crate) fn build(&self) -> Result<Limiter, ConfigError> {
                Ok(match self {
                    Self::None => Limiter::None,
                    $(Self::$name(config) => Limiter::$name(Limit::build(config)?),)*
                })
            }
        }

        /// A limiter, or none.
        #[derive(Debug)]
        pub(crate) enum Limiter {
            None,
            $($name($name),)*
        }

        /// Hands a call on to the limiter that there is.
        macro_rules! to_limiter {
            ($self:ident, $limiter:ident => $call:expr, $none:expr) => {
                match $self {
                    Limiter::None => $none,
                    $(Limiter::$name($limiter) => $call,)*
                }
            };
        }
    };
}

limiters! {
    /// A limit moved by the mean sojourn time.
    DynRlc(DynRlcConfig),
    /// A limit moved by starvation and by what is left over.
    Drql(DrqlConfig),
    /// What the next slot can carry, paced.
    FiveGBdp(FiveGBdpConfig),
    /// What the layer below accepts between two queries.
    Usp(UspConfig),
}

impl Backpressure for Limiter {
    fn room(&mut self, now: Instant, held: Occupancy) -> Room {
        to_limiter!(self, limiter => limiter.room(now, held), Room::Unlimited)
    }
    fn on_enqueue(&mut self, now: Instant, bytes: Bytes, held: Occupancy) {
        to_limiter!(self, limiter => limiter.on_enqueue(now, bytes, held), ());
    }
    fn on_dequeue(&mut self, now: Instant, bytes: Bytes, sojourn: Duration, held: Occupancy) {
        to_limiter!(self, limiter => limiter.on_dequeue(now, bytes, sojourn, held), ());
    }
    fn on_slot(&mut self, now: Instant, slot: Slot) {
        to_limiter!(self, limiter => limiter.on_slot(now, slot), ());
    }
    fn on_blocked(&mut self, now: Instant) {
        to_limiter!(self, limiter => limiter.on_blocked(now), ());
    }
    fn next_deadline(&self) -> Option<Instant> {
        to_limiter!(self, limiter => limiter.next_deadline(), None)
    }
}

/// Bounds of a limit, counted in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    /// `min` and `max` in bytes; both are at least one of the unit.
    pub(crate) fn new(
        what: &'static str,
        unit: Unit,
        min: Bytes,
        max: Bytes,
    ) -> Result<Self, ConfigError> {
        if let Unit::Packets { mtu } = unit {
            error::expect_bytes("mtu of the unit", mtu)?;
        }
        let bounds = Self {
            min: unit.limit(min),
            max: unit.limit(max),
        };
        error::expect(
            bounds.min >= 1 && bounds.min <= bounds.max,
            what,
            &format_args!("{min} to {max}"),
            "from at least one packet to no less than that",
        )?;
        Ok(bounds)
    }
    pub(crate) fn clamp(self, counted: u64) -> u64 {
        counted.clamp(self.min, self.max)
    }
}
