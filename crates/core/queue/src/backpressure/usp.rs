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
//!   down, at least the smallest occupancy. (The emulator takes what has entered the SDAP queue instead,
//!   and a fixed number of queries.)
//! - Clamped from one packet to MAX_OCC. The paper names only the upper value.
//! - T is the TTI of the slots served below, unless it is set; before the first slot there is no T and
//!   nothing is doubled. "Once per T" is once an interval: from one time that the counters are reset to
//!   the next. (In the emulator the interval is counted in queries.)
//! - The bytes of the packet that ends an interval count in the next one, as line 16 has it.

use super::{Backpressure, BackpressureConfig, Bounds, Limit};
use crate::config::scaled;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity};
use crate::{ConfigError, MTU, Occupancy, Room, Slot, Unit, error};
use units::{Bytes, Duration, Instant};

/// MAX_OCC of section 5, packets.
const MAX_PACKETS: u64 = 1024;

/// How USP works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UspConfig {
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

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "usp",
    title: "USP",
    places: &[Place::Sdap],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[MAXIMUM],
    make: |values| {
        Made::Backpressure(BackpressureConfig::Usp(UspConfig {
            unit: values.shared.unit,
            interval: None,
            min: values.shared.mtu,
            max: values.bytes(MAXIMUM),
        }))
    },
};

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
    /// What has left since `last_time`, in the unit.
    dequeued: u64,
    /// Queries since `last_time`.
    queries: u64,
    /// The layer below has accepted no more since the last packet that left.
    is_saturated: bool,
    /// `optimal` has been doubled since `last_time`.
    is_doubled: bool,
    /// When the interval began.
    last_time: Instant,
    /// T; none before the first slot where it is not set.
    interval: Option<Duration>,
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
            queries: 0,
            is_saturated: false,
            is_doubled: false,
            last_time: Instant::ZERO,
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
    }
}

/// Line 8: what was accepted between two queries.
fn optimal_occupancy(dequeued: u64, queries: u64) -> u64 {
    dequeued / queries.max(1)
}

impl Backpressure for Usp {
    /// GET_OPT_OCCUPANCY, less what is there.
    fn room(&mut self, now: Instant, held: Occupancy) -> Room {
        self.queries += 1;
        if let Some(interval) = self.interval
            && !self.is_doubled
            && now > self.last_time + interval / 2
        {
            self.optimal = self.bounds.clamp(self.optimal.saturating_mul(2));
            self.is_doubled = true;
        }
        let unit = self.config.unit;
        unit.room(self.optimal.saturating_sub(unit.held(held)))
    }

    /// DEQUEUED.
    fn on_dequeue(&mut self, now: Instant, bytes: Bytes, _sojourn: Duration, _held: Occupancy) {
        if self.is_saturated {
            self.is_saturated = false;
            let optimal = optimal_occupancy(self.dequeued, self.queries);
            self.optimal = self.bounds.clamp(optimal);
            self.begin_interval(now);
        } else if let Some(interval) = self.interval
            && now > self.last_time + interval
        {
            self.begin_interval(now);
        }
        self.dequeued += self.config.unit.packet(bytes);
    }

    fn on_slot(&mut self, _now: Instant, slot: Slot) {
        if self.config.interval.is_none() && !slot.tti.is_zero() {
            self.interval = Some(slot.tti);
        }
    }

    fn on_blocked(&mut self, _now: Instant) {
        self.is_saturated = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOTHING: Occupancy = Occupancy {
        packets: 0,
        bytes: Bytes::ZERO,
    };
    const TTI: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn usp() -> Usp {
        let mut usp = Usp::new(UspConfig::default()).unwrap();
        let slot = Slot {
            remaining: NOTHING,
            capacity: Bytes::ZERO,
            tti: TTI,
        };
        usp.on_slot(at(0), slot);
        usp
    }
    fn leave(usp: &mut Usp, now: Instant) {
        usp.on_dequeue(now, MTU, Duration::ZERO, NOTHING);
    }

    #[test]
    fn line_8_what_was_accepted_between_two_queries() {
        let mut usp = usp();
        assert_eq!(usp.optimal_occupancy(), MAX_PACKETS);
        for ms in 1..5 {
            usp.room(at(ms), NOTHING);
            (0..6).for_each(|_| leave(&mut usp, at(ms)));
        }
        usp.on_blocked(at(5));
        leave(&mut usp, at(5));
        assert_eq!(usp.optimal_occupancy(), 24 / 4);
        // line 16: that packet belongs to the new interval
        usp.room(at(6), NOTHING);
        usp.on_blocked(at(6));
        leave(&mut usp, at(7));
        assert_eq!(usp.optimal_occupancy(), 1);
    }

    #[test]
    fn line_21_doubled_once_after_half_a_tti() {
        let mut usp = usp();
        usp.room(at(0), NOTHING);
        (0..4).for_each(|_| leave(&mut usp, at(1)));
        usp.on_blocked(at(1));
        leave(&mut usp, at(2));
        assert_eq!(usp.room(at(7), NOTHING), Room::Packets(4));
        assert_eq!(usp.room(at(8), NOTHING), Room::Packets(8));
        assert_eq!(usp.room(at(11), NOTHING), Room::Packets(8));
        // line 12: the interval ends, without saturation the occupancy stays, and doubles again
        leave(&mut usp, at(13));
        assert_eq!(usp.room(at(14), NOTHING), Room::Packets(8));
        assert_eq!(usp.room(at(19), NOTHING), Room::Packets(16));
    }

    #[test]
    fn room_is_what_is_missing() {
        let held = Occupancy {
            packets: 1000,
            bytes: MTU * 1000,
        };
        assert_eq!(usp().room(at(1), held), Room::Packets(24));
    }

    proptest! {
        #[test]
        fn the_occupancy_keeps_within_its_bounds(events in prop::collection::vec(0u8..3, 1..500)) {
            let mut usp = usp();
            for (ms, event) in events.into_iter().enumerate() {
                let now = at(ms as u64);
                match event {
                    0 => { usp.room(now, NOTHING); }
                    1 => leave(&mut usp, now),
                    _ => usp.on_blocked(now),
                }
                prop_assert!((1..=MAX_PACKETS).contains(&usp.optimal_occupancy()));
            }
        }
    }
}
