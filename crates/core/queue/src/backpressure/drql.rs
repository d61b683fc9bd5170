//! DRQL: dynamic RLC queue limit, after Linux's dynamic queue limits.
//!
//! Source: the dynamic-buffer paper, section 4.1 and algorithm 1. After each pull of the MAC: if the
//! limit had been reached and nothing remains, the buffer has starved and the limit grows at once; if
//! something remains, its minimum is kept, and after an interval T in which something always remained
//! the limit shrinks by that minimum; if nothing remains of less than the limit, the interval begins
//! anew. Limits count bytes or packets.
//!
//! *Deviations*
//! - Lines 13 and 17 of the printed algorithm have their conditions inverted (`last_time + T > now` for
//!   `now > last_time + T`), and line 17 repeats line 13 where the text describes the case of nothing
//!   remaining. The text is followed.
//! - The paper states "increase" without how: times 1.2 rounded up, as in the emulator.
//! - T is the TTI in the paper and 100 ms in the emulator, which is the default here.
//! - The paper begins with the largest limit, the default here. (Versions of the emulator that can be
//!   read began with 25 packets.)
//! - "Limit reached" is at or above the limit, not exactly at it: after the limit has shrunk, and in
//!   bytes, more than the limit can be waiting.
//! - A pull that finds the buffer empty begins the interval anew; one that starves begins it anew too,
//!   as in the emulator and in Linux. A slot that takes nothing although something waits is a pull after
//!   which that remains. (The emulator begins the interval anew, so that a user that is not served in
//!   every slot would never see its limit shrink.)

use super::{Backpressure, BackpressureConfig, Bounds, Limit};
use crate::config::scaled;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity};
use crate::{ConfigError, MTU, Occupancy, Ratio, Room, Slot, Unit, error};
use units::{Bytes, Duration, Instant};

/// T of the emulator.
const INTERVAL: Duration = Duration::from_millis(100);
/// Of the emulator.
const GROWTH: Ratio = Ratio::from_ppm(1_200_000);
/// MAX_VAL_LIMIT of section 5, packets.
const MAX_PACKETS: u64 = 1024;

/// How DRQL works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrqlConfig {
    /// What limits count.
    pub unit: Unit,
    /// T: how long something must have remained before the limit shrinks. The TTI in the paper,
    /// 100 ms in the emulator; above zero.
    pub interval: Duration,
    /// What a starved limit is multiplied by, above 1 (rounded up).
    pub growth: Ratio,
    /// The smallest limit, at least one packet.
    pub min: Bytes,
    /// The largest limit.
    pub max: Bytes,
    /// The limit to begin with, brought between the bounds.
    pub initial: Bytes,
}

impl Default for DrqlConfig {
    /// As the emulator, in packets, from the paper's largest limit.
    fn default() -> Self {
        Self {
            unit: Unit::Packets { mtu: MTU },
            interval: INTERVAL,
            growth: GROWTH,
            min: MTU,
            max: MTU * MAX_PACKETS,
            initial: MTU * MAX_PACKETS,
        }
    }
}

impl DrqlConfig {
    /// # Errors
    /// An interval of zero, a growth of no more than one, bounds out of order or below one packet.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("drql interval", self.interval)?;
        let growth = self.growth;
        error::expect(
            growth > Ratio::ONE,
            "drql growth",
            &growth.as_f64(),
            "above 1",
        )?;
        self.bounds().map(drop)
    }
    fn bounds(&self) -> Result<Bounds, ConfigError> {
        Bounds::new("drql bounds", self.unit, self.min, self.max)
    }
}

const INTERVAL_KEY: &Parameter = &Parameter::new(
    "drql-interval",
    Quantity::Duration,
    "100 ms",
    (1e-6, 100.0),
    "DRQL: how long something must remain before the limit shrinks (T; the paper: the TTI, the authors' emulator: 100 ms).",
);
const GROWTH_KEY: &Parameter = &Parameter::new(
    "drql-growth",
    Quantity::Number,
    "1.2",
    (1.000001, 100.0),
    "DRQL: what the limit of a starved queue is multiplied by.",
);
const MAXIMUM: &Parameter = &Parameter::new(
    "drql-maximum",
    Quantity::Bytes,
    "1.536 MB",
    (1.0, 1e12),
    "DRQL: the largest limit, the one to begin with (the paper: 1024 packets).",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "drql",
    title: "DRQL",
    places: &[Place::Rlc],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[INTERVAL_KEY, GROWTH_KEY, MAXIMUM],
    make: |values| {
        let max = values.bytes(MAXIMUM);
        Made::Backpressure(BackpressureConfig::Drql(DrqlConfig {
            unit: values.shared.unit,
            interval: values.duration(INTERVAL_KEY),
            growth: values.ratio(GROWTH_KEY),
            min: values.shared.mtu,
            max,
            initial: max,
        }))
    },
};

impl Limit for DrqlConfig {
    type Limiter = Drql;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, ratio: f64) {
        self.unit = Unit::Bytes;
        for limit in [&mut self.min, &mut self.max, &mut self.initial] {
            *limit = scaled(*limit, ratio);
        }
    }
    fn build(&self) -> Result<Drql, ConfigError> {
        Drql::new(self.clone())
    }
}

/// The limiter.
#[derive(Debug)]
pub struct Drql {
    config: DrqlConfig,
    bounds: Bounds,
    /// In the unit, always within `bounds`.
    limit: u64,
    /// When the interval began.
    last_time: Instant,
    /// The minimum that has remained after a pull of this interval; none before the first.
    min_remaining: Option<u64>,
    /// What waited before the first packet of this pull left; none before it.
    before_pull: Option<u64>,
}

impl Drql {
    /// A limiter at the initial limit.
    ///
    /// # Errors
    /// As [`DrqlConfig::check`].
    pub fn new(config: DrqlConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let bounds = config.bounds()?;
        Ok(Self {
            limit: bounds.clamp(config.unit.limit(config.initial)),
            config,
            bounds,
            last_time: Instant::ZERO,
            min_remaining: None,
            before_pull: None,
        })
    }
    /// The limit now, in the unit.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Algorithm 1, DEQUEUED, of a whole pull.
    fn on_pulled(&mut self, now: Instant, is_limit_reached: bool, remaining: u64) {
        if remaining == 0 {
            if is_limit_reached {
                self.limit = self.bounds.clamp(grown(self.limit, self.config.growth));
            }
            self.begin_interval(now);
            return;
        }
        let min = self.min_remaining.map_or(remaining, |m| m.min(remaining));
        self.min_remaining = Some(min);
        if now > self.last_time + self.config.interval {
            self.limit = self.bounds.clamp(self.limit.saturating_sub(min));
            self.begin_interval(now);
        }
    }

    fn begin_interval(&mut self, now: Instant) {
        self.last_time = now;
        self.min_remaining = None;
    }
}

/// Line 9: the limit times `growth`, rounded up.
fn grown(limit: u64, growth: Ratio) -> u64 {
    // 1.2 is not exact in binary: without the small step back, 5 x 1.2 would be 7
    (limit as f64 * growth.as_f64() - 1e-9).ceil() as u64
}

impl Backpressure for Drql {
    fn room(&mut self, _now: Instant, held: Occupancy) -> Room {
        let unit = self.config.unit;
        unit.room(self.limit.saturating_sub(unit.held(held)))
    }

    fn on_dequeue(&mut self, _now: Instant, bytes: Bytes, _sojourn: Duration, held: Occupancy) {
        let unit = self.config.unit;
        let before = unit.held(held) + unit.packet(bytes);
        self.before_pull.get_or_insert(before);
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        let remaining = self.config.unit.held(slot.remaining);
        let before = self.before_pull.take();
        let is_limit_reached = before.is_some_and(|before| before >= self.limit);
        self.on_pulled(now, is_limit_reached, remaining);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn packets(n: u64) -> Occupancy {
        Occupancy {
            packets: n as usize,
            bytes: MTU * n,
        }
    }
    fn drql(initial: u64) -> Drql {
        Drql::new(DrqlConfig {
            initial: MTU * initial,
            ..DrqlConfig::default()
        })
        .unwrap()
    }
    /// The MAC pulls `pulled` packets of `held`.
    fn pull(drql: &mut Drql, now: Instant, held: u64, pulled: u64) {
        for left in (held - pulled..held).rev() {
            drql.on_dequeue(now, MTU, Duration::ZERO, packets(left));
        }
        let slot = Slot {
            remaining: packets(held - pulled),
            capacity: MTU * pulled,
            tti: Duration::from_millis(10),
        };
        drql.on_slot(now, slot);
    }

    #[test]
    fn line_9_a_starved_limit_grows_by_a_fifth_rounded_up() {
        assert_eq!(grown(5, GROWTH), 6);
        assert_eq!(grown(6, GROWTH), 8);
        assert_eq!(grown(1, GROWTH), 2);
        let mut drql = drql(10);
        pull(&mut drql, at(10), 10, 10);
        assert_eq!(drql.limit(), 12);
        // emptied, but the limit had not been reached
        pull(&mut drql, at(20), 11, 11);
        assert_eq!(drql.limit(), 12);
    }

    #[test]
    fn line_15_the_limit_shrinks_by_the_minimum_that_remained_in_an_interval() {
        let mut drql = drql(40);
        for (ms, remained) in [(10, 9), (50, 5), (100, 7)] {
            pull(&mut drql, at(ms), remained + 3, 3);
            assert_eq!(drql.limit(), 40);
        }
        pull(&mut drql, at(110), 10, 2);
        assert_eq!(drql.limit(), 35);
        // the minimum of the next interval is its own
        pull(&mut drql, at(211), 30, 2);
        assert_eq!(drql.limit(), 7);
    }

    #[test]
    fn line_18_a_buffer_that_runs_empty_below_the_limit_begins_the_interval_anew() {
        let mut drql = drql(40);
        pull(&mut drql, at(10), 8, 3);
        pull(&mut drql, at(90), 4, 4);
        pull(&mut drql, at(150), 8, 3);
        assert_eq!(drql.limit(), 40);
        pull(&mut drql, at(191), 8, 2);
        assert_eq!(drql.limit(), 35);
    }

    #[test]
    fn an_empty_pull_is_no_starvation() {
        let mut drql = drql(1);
        pull(&mut drql, at(10), 0, 0);
        assert_eq!(drql.limit(), 1);
    }

    proptest! {
        #[test]
        fn the_limit_is_never_below_one_packet_nor_above_the_largest(
            pulls in prop::collection::vec((0u64..3_000, 0u64..3_000, 1u64..200), 1..200),
            is_in_bytes: bool,
        ) {
            let unit = if is_in_bytes { Unit::Bytes } else { Unit::Packets { mtu: MTU } };
            let config = DrqlConfig { unit, ..DrqlConfig::default() };
            let (min, max) = (unit.limit(config.min), unit.limit(config.max));
            let mut drql = Drql::new(config).unwrap();
            let mut now = 0;
            for (held, pulled, passed) in pulls {
                now += passed;
                pull(&mut drql, at(now), held, pulled.min(held));
                prop_assert!((min..=max).contains(&drql.limit()), "{}", drql.limit());
                let room = drql.room(at(now), packets(0));
                prop_assert!(room.admits());
            }
        }
    }
}
