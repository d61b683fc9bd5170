//! DynRLC: a limit on the RLC buffer that follows the mean sojourn time.
//!
//! Source: Kumar, Francini, Panwar and Sharma, "Dynamic control of RLC buffer size for latency
//! minimization in mobile RAN", WCNC 2018, as the dynamic-buffer paper uses it (its section 5): every
//! 100 ms, the mean sojourn time of what has left is compared with a target of 11 ms; the limit goes a
//! tenth of the way to the lower bound if it was longer, to the upper bound otherwise. Limits count
//! bytes or packets.
//!
//! *Deviations*
//! - The limit never leaves its bounds. (The emulator's steps of at least one packet take it above the
//!   upper bound, one packet an interval.)
//! - A step is a tenth of the distance rounded to the nearest, and at least one of the unit. (The
//!   emulator rounds by truncation, after the subtraction or addition.)
//! - An interval in which nothing has left changes nothing; the next one begins with the packet that
//!   ends it, as in the emulator.

use super::{Backpressure, BackpressureConfig, Bounds, Limit};
use crate::config::scaled;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity};
use crate::{ConfigError, MTU, Occupancy, Ratio, Room, Unit, error};
use units::{Bytes, Duration, Instant};

/// Section 5 of the paper.
const INTERVAL: Duration = Duration::from_millis(100);
/// Section 5: above the 10 ms at which the emulator's MAC pulls.
const TARGET: Duration = Duration::from_millis(11);
/// Section 5, there alpha.
const STEP: Ratio = Ratio::from_ppm(100_000);
/// The emulator's bounds, packets.
const MIN_PACKETS: u64 = 2;
const MAX_PACKETS: u64 = 20;
/// The emulator's limit to begin with, packets.
const INITIAL_PACKETS: u64 = 10;

/// How DynRLC works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynRlcConfig {
    /// What limits count.
    pub unit: Unit,
    /// How often the limit moves, above zero.
    pub interval: Duration,
    /// The mean sojourn time aimed at, above zero.
    pub target: Duration,
    /// Part of the distance to the bound that a step takes, above 0 and at most 1.
    pub step: Ratio,
    /// The smallest limit, at least one packet.
    pub min: Bytes,
    /// The largest limit.
    pub max: Bytes,
    /// The limit to begin with, brought between the bounds.
    pub initial: Bytes,
}

impl Default for DynRlcConfig {
    /// The paper's constants and the emulator's bounds, in packets.
    fn default() -> Self {
        Self {
            unit: Unit::Packets { mtu: MTU },
            interval: INTERVAL,
            target: TARGET,
            step: STEP,
            min: MTU * MIN_PACKETS,
            max: MTU * MAX_PACKETS,
            initial: MTU * INITIAL_PACKETS,
        }
    }
}

impl DynRlcConfig {
    /// # Errors
    /// Times or a step of zero, bounds out of order or below one packet.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("dynrlc interval", self.interval)?;
        error::expect_time("dynrlc target", self.target)?;
        error::expect_share("dynrlc step", self.step)?;
        self.bounds().map(drop)
    }
    fn bounds(&self) -> Result<Bounds, ConfigError> {
        Bounds::new("dynrlc bounds", self.unit, self.min, self.max)
    }
}

const TARGET_KEY: &Parameter = &Parameter::new(
    "dynrlc-target",
    Quantity::Duration,
    "11 ms",
    (1e-6, 10.0),
    "DynRLC: mean sojourn time aimed at.",
);
const INTERVAL_KEY: &Parameter = &Parameter::new(
    "dynrlc-interval",
    Quantity::Duration,
    "100 ms",
    (1e-6, 100.0),
    "DynRLC: how often its limit moves.",
);
const STEP_KEY: &Parameter = &Parameter::new(
    "dynrlc-step",
    Quantity::Number,
    "0.1",
    (1e-6, 1.0),
    "DynRLC: part of the way to the bound that a step takes (alpha).",
);
const MINIMUM: &Parameter = &Parameter::new(
    "dynrlc-minimum",
    Quantity::Bytes,
    "3 kB",
    (1.0, 1e9),
    "DynRLC: the smallest limit (the authors' emulator: 2 packets).",
);
const MAXIMUM: &Parameter = &Parameter::new(
    "dynrlc-maximum",
    Quantity::Bytes,
    "30 kB",
    (1.0, 1e9),
    "DynRLC: the largest limit (the authors' emulator: 20 packets).",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "dynrlc",
    title: "DynRLC",
    places: &[Place::Rlc],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[TARGET_KEY, INTERVAL_KEY, STEP_KEY, MINIMUM, MAXIMUM],
    make: |values| {
        Made::Backpressure(BackpressureConfig::DynRlc(DynRlcConfig {
            unit: values.shared.unit,
            interval: values.duration(INTERVAL_KEY),
            target: values.duration(TARGET_KEY),
            step: values.ratio(STEP_KEY),
            min: values.bytes(MINIMUM),
            max: values.bytes(MAXIMUM),
            ..DynRlcConfig::default()
        }))
    },
};

impl Limit for DynRlcConfig {
    type Limiter = DynRlc;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, ratio: f64) {
        self.unit = Unit::Bytes;
        for limit in [&mut self.min, &mut self.max, &mut self.initial] {
            *limit = scaled(*limit, ratio);
        }
    }
    fn build(&self) -> Result<DynRlc, ConfigError> {
        DynRlc::new(self.clone())
    }
}

/// The limiter.
#[derive(Debug)]
pub struct DynRlc {
    config: DynRlcConfig,
    bounds: Bounds,
    /// In the unit, always within `bounds`.
    limit: u64,
    /// When the limit moved last.
    moved_at: Instant,
    /// Sum of the sojourn times since then.
    sojourn: Duration,
    /// Packets in that sum.
    packets: u64,
}

impl DynRlc {
    /// A limiter at the initial limit.
    ///
    /// # Errors
    /// As [`DynRlcConfig::check`].
    pub fn new(config: DynRlcConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let bounds = config.bounds()?;
        Ok(Self {
            limit: bounds.clamp(config.unit.limit(config.initial)),
            config,
            bounds,
            moved_at: Instant::ZERO,
            sojourn: Duration::ZERO,
            packets: 0,
        })
    }
    /// The limit now, in the unit.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

/// A step of part `step` of the distance to a bound, at least one.
fn step(distance: u64, step: Ratio) -> u64 {
    ((distance as f64 * step.as_f64()).round() as u64).max(1)
}

/// The limit after an interval of that mean sojourn time.
fn next_limit(limit: u64, mean_sojourn: Duration, config: &DynRlcConfig, bounds: Bounds) -> u64 {
    let moved = if mean_sojourn > config.target {
        limit.saturating_sub(step(limit - bounds.min, config.step))
    } else {
        limit.saturating_add(step(bounds.max - limit, config.step))
    };
    bounds.clamp(moved)
}

impl Backpressure for DynRlc {
    fn room(&mut self, _now: Instant, held: Occupancy) -> Room {
        let unit = self.config.unit;
        unit.room(self.limit.saturating_sub(unit.held(held)))
    }

    fn on_dequeue(&mut self, now: Instant, _bytes: Bytes, sojourn: Duration, _held: Occupancy) {
        self.sojourn += sojourn;
        self.packets += 1;
        if now.saturating_since(self.moved_at) < self.config.interval {
            return;
        }
        let mean = self.sojourn / self.packets;
        self.limit = next_limit(self.limit, mean, &self.config, self.bounds);
        self.moved_at = now;
        self.sojourn = Duration::ZERO;
        self.packets = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Occupancy = Occupancy {
        packets: 0,
        bytes: Bytes::ZERO,
    };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_step_is_a_tenth_of_the_distance_and_at_least_one() {
        assert_eq!(step(100, STEP), 10);
        assert_eq!(step(4, STEP), 1);
        assert_eq!(step(0, STEP), 1);
    }

    #[test]
    fn the_limit_moves_once_an_interval_by_the_mean() {
        let mut dynrlc = DynRlc::new(DynRlcConfig::default()).unwrap();
        let leave = |dynrlc: &mut DynRlc, now, sojourn| {
            dynrlc.on_dequeue(now, MTU, Duration::from_millis(sojourn), NOTHING);
        };
        leave(&mut dynrlc, at(50), 30);
        assert_eq!(dynrlc.limit(), 10);
        // mean of 30 ms and 10 ms is above 11 ms: a tenth of 10 - 2, at least one
        leave(&mut dynrlc, at(100), 10);
        assert_eq!(dynrlc.limit(), 9);
        leave(&mut dynrlc, at(199), 10);
        assert_eq!(dynrlc.limit(), 9);
        leave(&mut dynrlc, at(200), 10);
        assert_eq!(dynrlc.limit(), 10);
    }

    #[test]
    fn the_limit_comes_to_its_bounds_and_stays() {
        for (sojourn, bound) in [(100, MIN_PACKETS), (1, MAX_PACKETS)] {
            let mut dynrlc = DynRlc::new(DynRlcConfig::default()).unwrap();
            for interval in 1..40 {
                let sojourn = Duration::from_millis(sojourn);
                dynrlc.on_dequeue(at(interval * 100), MTU, sojourn, NOTHING);
            }
            assert_eq!(dynrlc.limit(), bound);
        }
    }

    #[test]
    fn room_is_what_the_limit_leaves_in_its_unit() {
        let held = Occupancy {
            packets: 3,
            bytes: Bytes::new(180),
        };
        let mut packets = DynRlc::new(DynRlcConfig::default()).unwrap();
        assert_eq!(packets.room(at(0), held), Room::Packets(7));
        let config = DynRlcConfig {
            unit: Unit::Bytes,
            ..DynRlcConfig::default()
        };
        let mut bytes = DynRlc::new(config).unwrap();
        assert_eq!(
            bytes.room(at(0), held),
            Room::Bytes(Bytes::new(15_000 - 180))
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let rejected = |change: fn(&mut DynRlcConfig)| {
            let mut config = DynRlcConfig::default();
            change(&mut config);
            DynRlc::new(config).unwrap_err().to_string()
        };
        assert_eq!(
            rejected(|c| c.step = Ratio::ZERO),
            "dynrlc step is 0, expected above 0 and at most 1"
        );
        assert!(rejected(|c| c.min = Bytes::new(100)).contains("at least one packet"));
        assert!(rejected(|c| c.max = MTU).contains("3 kB to 1.5 kB"));
    }
}
