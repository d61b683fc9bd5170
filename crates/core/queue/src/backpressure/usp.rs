//! USP: the UPF-SDAP pacer.
//!
//! Source: the dynamic-buffer paper, section 4.2 and algorithm 3. The UPF requests the occupancy that the
//! SDAP queue should have, and fills it up to that. When the RLC has accepted no more and then accepts
//! again, the occupancy is set to what it took between two queries; half a TTI later it is doubled, so
//! that a queue that ran ahead of the RLC meets its limit again. Amounts count bytes or packets.
//!
//! *Deviations*
//! - The paper does not state how `optimal_occ` is calculated (line 8), only from what: here it is what the
//!   layer below has accepted since the interval began over the number of queries since then, rounded
//!   down, at least the smallest occupancy.
//! - Clamped from one packet to MAX_OCC. The paper names only the upper value.
//! - T is the TTI of the slots served below, unless it is set; before the first slot there is no T and
//!   nothing is doubled. "Once per T" is once an interval: from one time that the counters are reset to
//!   the next.
//! - The bytes of the packet that ends an interval count in the next one, as line 16 has it.
//!
//! *The emulator.* The authors' code (`mib_pacing.c` and `mib_SDAP_sched.c`) differs from algorithm 3; it is
//! `usp-emulator`, to reproduce their numbers:
//!
//! | algorithm 3 | the authors' code |
//! | --- | --- |
//! | line 8: from the bytes accepted in the last interval and the number of queries | [`UspAmount::Emulator`]: what has *entered* the SDAP queue since the last calculation over ten, whatever the number of queries, rounded *up* |
//! | lines 12 to 15: an interval ends after T, and what it counted with it | [`UspPeriod::Emulator`]: after ten forwarding opportunities in which the queue gave something; what has entered goes on being counted until the next calculation |
//! | lines 19 to 21: doubled once more than T/2 of the interval is over | doubled at the fifth of those opportunities; while nothing is given, there is none |
//! | `saturation_detected`: the RLC stopped accepting | there was no room as the opportunity began; one whose room is used up does not count (with the period) |
//!
//! Each of the two can be switched off, to see what it is worth.

use super::{Backpressure, BackpressureConfig, Bounds, Limit};
use crate::config::scaled;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity, Values};
use crate::{ConfigError, MTU, Occupancy, Room, Slot, Unit, error};
use units::{Bytes, Duration, Instant};

/// MAX_OCC of section 5, packets.
const MAX_PACKETS: u64 = 1024;

/// Forwarding opportunities in T, of the emulator: it forwards each millisecond and pulls every ten.
const OPPORTUNITIES: u64 = 10;

/// How the occupancy is calculated (line 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UspAmount {
    /// What the layer below has accepted over the queries since then, rounded down.
    #[default]
    AcceptedPerQuery,
    /// As the authors' code: what has entered since the last calculation over ten, rounded up.
    Emulator,
}

/// What an interval is (lines 12 and 19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UspPeriod {
    /// T.
    #[default]
    Time,
    /// As the authors' code: ten forwarding opportunities that gave something.
    Emulator,
}

/// How USP works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UspConfig {
    /// How the occupancy is calculated.
    pub amount: UspAmount,
    /// What an interval is.
    pub period: UspPeriod,
    /// What amounts count.
    pub unit: Unit,
    /// T, above zero; none is the TTI of the slots.
    pub interval: Option<Duration>,
    /// The smallest occupancy, at least one packet.
    pub min: Bytes,
    /// The largest occupancy, the one to begin with.
    pub max: Bytes,
}

impl Default for UspConfig {
    /// The paper's constants, in packets.
    fn default() -> Self {
        Self {
            amount: UspAmount::AcceptedPerQuery,
            period: UspPeriod::Time,
            unit: Unit::Packets { mtu: MTU },
            interval: None,
            min: MTU,
            max: MTU * MAX_PACKETS,
        }
    }
}

impl UspConfig {
    /// # Errors
    /// An interval of zero, bounds out of order or below one packet.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(interval) = self.interval {
            error::expect_time("usp interval", interval)?;
        }
        self.bounds().map(drop)
    }
    fn bounds(&self) -> Result<Bounds, ConfigError> {
        Bounds::new("usp bounds", self.unit, self.min, self.max)
    }
}

const MAXIMUM: &Parameter = &Parameter::new(
    "usp-maximum",
    Quantity::Bytes,
    "1.536 MB",
    (1.0, 1e12),
    "USP: the largest occupancy, the one to begin with (the paper: 1024 packets).",
);

const AMOUNT: &Parameter = &Parameter::new(
    "usp-emulator-amount",
    Quantity::Flag,
    "true",
    (0.0, 1.0),
    "`usp-emulator`: the occupancy is what entered the queue over ten, rounded up; false: as `usp` calculates it.",
);
const PERIOD: &Parameter = &Parameter::new(
    "usp-emulator-period",
    Quantity::Flag,
    "true",
    (0.0, 1.0),
    "`usp-emulator`: an interval is ten forwarding opportunities that gave something; false: a time, as of `usp`.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "usp",
    title: "USP",
    places: &[Place::Sdap],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[MAXIMUM],
    make: |values| made(values, UspAmount::default(), UspPeriod::default()),
};

/// What there is to state of the authors' code.
pub(crate) const EMULATOR: Algorithm = Algorithm {
    name: "usp-emulator",
    title: "USP of the emulator",
    places: &[Place::Sdap],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[MAXIMUM, AMOUNT, PERIOD],
    make: |values| {
        let amount = match values.flag(AMOUNT) {
            true => UspAmount::Emulator,
            false => UspAmount::AcceptedPerQuery,
        };
        let period = match values.flag(PERIOD) {
            true => UspPeriod::Emulator,
            false => UspPeriod::Time,
        };
        made(values, amount, period)
    },
};

fn made(values: &Values<'_>, amount: UspAmount, period: UspPeriod) -> Made {
    Made::Backpressure(BackpressureConfig::Usp(UspConfig {
        amount,
        period,
        unit: values.shared.unit,
        interval: None,
        min: values.shared.mtu,
        max: values.bytes(MAXIMUM),
    }))
}

impl Limit for UspConfig {
    type Limiter = Usp;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, ratio: f64) {
        self.unit = Unit::Bytes;
        for limit in [&mut self.min, &mut self.max] {
            *limit = scaled(*limit, ratio);
        }
    }
    fn build(&self) -> Result<Usp, ConfigError> {
        Usp::new(self.clone())
    }
}

/// The limiter.
#[derive(Debug)]
pub struct Usp {
    config: UspConfig,
    bounds: Bounds,
    /// In the unit, always within `bounds`.
    optimal: u64,
    /// What has left since the interval began, in the unit.
    dequeued: u64,
    /// What has entered since the last calculation, in the unit.
    enqueued: u64,
    /// Queries since the interval began.
    queries: u64,
    /// The layer below has accepted no more since the last packet that left.
    is_saturated: bool,
    /// `optimal` has been doubled since the interval began.
    is_doubled: bool,
    /// When the interval began.
    last_time: Instant,
    /// T; none before the first slot where it is not set.
    interval: Option<Duration>,
    /// Opportunities of the interval that gave something, at most [`OPPORTUNITIES`]; the emulator's period.
    opportunities: u64,
    /// When the last packet left.
    last_dequeue: Option<Instant>,
}

impl Usp {
    /// A limiter at the largest occupancy.
    ///
    /// # Errors
    /// As [`UspConfig::check`].
    pub fn new(config: UspConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let bounds = config.bounds()?;
        Ok(Self {
            interval: config.interval,
            config,
            bounds,
            optimal: bounds.max,
            dequeued: 0,
            enqueued: 0,
            queries: 0,
            is_saturated: false,
            is_doubled: false,
            last_time: Instant::ZERO,
            opportunities: 0,
            last_dequeue: None,
        })
    }
    /// The occupancy aimed at, in the unit.
    pub fn optimal_occupancy(&self) -> u64 {
        self.optimal
    }

    fn begin_interval(&mut self, now: Instant) {
        self.last_time = now;
        self.dequeued = 0;
        self.queries = 0;
        self.is_doubled = false;
        self.opportunities = 0;
    }

    /// Lines 7, 8 and 9 to 11.
    fn calculate(&mut self, now: Instant) {
        let optimal = match self.config.amount {
            UspAmount::AcceptedPerQuery => optimal_occupancy(self.dequeued, self.queries),
            UspAmount::Emulator => emulator_occupancy(self.enqueued),
        };
        self.optimal = self.bounds.clamp(optimal);
        self.enqueued = 0;
        self.is_saturated = false;
        self.begin_interval(now);
    }

    /// Line 21.
    fn double(&mut self) {
        self.optimal = self.bounds.clamp(self.optimal.saturating_mul(2));
        self.is_doubled = true;
    }

    /// Line 12: T is over.
    fn is_over(&self, now: Instant) -> bool {
        self.interval
            .is_some_and(|interval| now > self.last_time + interval)
    }

    /// Line 19: half of it is.
    fn is_half_over(&self, now: Instant) -> bool {
        self.interval
            .is_some_and(|interval| now > self.last_time + interval / 2)
    }

    /// The emulator's period: a forwarding opportunity gives something.
    fn on_opportunity(&mut self, now: Instant) {
        if self.is_saturated {
            self.calculate(now);
        } else if self.opportunities == OPPORTUNITIES {
            self.begin_interval(now);
        } else {
            self.opportunities += 1;
            if self.opportunities == OPPORTUNITIES / 2 {
                self.double();
            }
        }
    }
}

/// Line 8: what was accepted between two queries.
fn optimal_occupancy(dequeued: u64, queries: u64) -> u64 {
    dequeued / queries.max(1)
}

/// The emulator's line 8: what entered in a tenth of what it takes for a TTI.
fn emulator_occupancy(enqueued: u64) -> u64 {
    enqueued.div_ceil(OPPORTUNITIES)
}

impl Backpressure for Usp {
    /// GET_OPT_OCCUPANCY, less what is there.
    fn room(&mut self, now: Instant, held: Occupancy) -> Room {
        self.queries += 1;
        let is_timed = self.config.period == UspPeriod::Time;
        if is_timed && !self.is_doubled && self.is_half_over(now) {
            self.double();
        }
        let unit = self.config.unit;
        unit.room(self.optimal.saturating_sub(unit.held(held)))
    }

    fn on_enqueue(&mut self, _now: Instant, bytes: Bytes, _held: Occupancy) {
        self.enqueued += self.config.unit.packet(bytes);
    }

    /// DEQUEUED.
    fn on_dequeue(&mut self, now: Instant, bytes: Bytes, _sojourn: Duration, _held: Occupancy) {
        let is_first = self.last_dequeue.replace(now) != Some(now);
        match self.config.period {
            UspPeriod::Time if self.is_saturated => self.calculate(now),
            UspPeriod::Time if self.is_over(now) => self.begin_interval(now),
            // its packets leave at one time
            UspPeriod::Emulator if is_first => self.on_opportunity(now),
            _ => {}
        }
        self.dequeued += self.config.unit.packet(bytes);
    }

    fn on_slot(&mut self, _now: Instant, slot: Slot) {
        if self.config.interval.is_none() && !slot.tti.is_zero() {
            self.interval = Some(slot.tti);
        }
    }

    fn on_blocked(&mut self, now: Instant) {
        let has_given = self.last_dequeue == Some(now);
        self.is_saturated |= self.config.period == UspPeriod::Time || !has_given;
    }
}

#[cfg(test)]
mod tests;
