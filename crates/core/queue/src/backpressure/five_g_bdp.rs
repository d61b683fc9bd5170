//! 5G-BDP: what the next slot can carry, paced over the slot.
//!
//! Source: the dynamic-buffer paper, section 4.1 and algorithm 2. Each TTI the MAC reports what the slot
//! could have carried and what remains; the difference may come down until the next, at an even pace:
//! `bytes_to_send x (elapsed / TTI + offset) - bytes_tx`. Amounts count bytes or packets.
//!
//! *Deviations*
//! - The elapsed time counts up to one TTI, so that the credit of a TTI is never above
//!   `capacity x (1 + offset)`; in the paper and the emulator it grows as long as no slot is served.
//! - Where the capacity is no more than what remains, the paper sends nothing and the emulator one
//!   packet a TTI: the emulator's way is the default, the paper's is a setting. In bytes, "one
//!   packet" is a credit of one byte, which admits one packet of any size.
//! - Before the first slot, what may be sent is as where nothing can be carried (nothing in the paper;
//!   the emulator begins with 5 packets).
//! - The credit is rounded down, as the emulator's integers do.

use super::{Backpressure, BackpressureConfig, Limit};
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity};
use crate::{ConfigError, MTU, Occupancy, Ratio, Room, Slot, Unit, error};
use units::{Bytes, Duration, Instant};

/// NORMALIZED_OFFSET of section 5.
const OFFSET: Ratio = Ratio::from_ppm(330_000);

/// How 5G-BDP works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiveGBdpConfig {
    /// What amounts count.
    pub unit: Unit,
    /// What is added to the elapsed part of the TTI, below 1.
    pub offset: Ratio,
    /// One packet a TTI comes down even where the slot can carry no more than what remains.
    pub at_least_one: bool,
}

impl Default for FiveGBdpConfig {
    /// As the emulator, in packets.
    fn default() -> Self {
        Self {
            unit: Unit::Packets { mtu: MTU },
            offset: OFFSET,
            at_least_one: true,
        }
    }
}

impl FiveGBdpConfig {
    /// # Errors
    /// An offset of one or more, packets of no bytes.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Unit::Packets { mtu } = self.unit {
            error::expect_bytes("mtu of the unit", mtu)?;
        }
        let offset = self.offset;
        error::expect(
            offset < Ratio::ONE,
            "5g-bdp offset",
            &offset.as_f64(),
            "at least 0 and below 1",
        )
    }
    /// Lines 4 to 7: `bytes_to_send`.
    fn to_send(&self, remaining: u64, capacity: u64) -> u64 {
        let floor = u64::from(self.at_least_one);
        if capacity > remaining {
            capacity - remaining
        } else {
            floor
        }
    }
}

const OFFSET_KEY: &Parameter = &Parameter::new(
    "bdp-offset",
    Quantity::Number,
    "0.33",
    (0.0, 0.999999),
    "5G-BDP: part of a TTI that pacing is ahead.",
);
const AT_LEAST_ONE: &Parameter = &Parameter::new(
    "bdp-at-least-one",
    Quantity::Flag,
    "true",
    (0.0, 1.0),
    "5G-BDP: a packet comes down in each TTI, even if the slot can carry no more than what remains.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "5g-bdp",
    title: "5G-BDP",
    places: &[Place::Rlc],
    is_aqm: false,
    is_backpressure: true,
    parameters: &[OFFSET_KEY, AT_LEAST_ONE],
    make: |values| {
        Made::Backpressure(BackpressureConfig::FiveGBdp(FiveGBdpConfig {
            unit: values.shared.unit,
            offset: values.ratio(OFFSET_KEY),
            at_least_one: values.flag(AT_LEAST_ONE),
        }))
    },
};

impl Limit for FiveGBdpConfig {
    type Limiter = FiveGBdp;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {
        // its limit follows the slots
        self.unit = Unit::Bytes;
    }
    fn build(&self) -> Result<FiveGBdp, ConfigError> {
        FiveGBdp::new(self.clone())
    }
}

/// The limiter.
#[derive(Debug)]
pub struct FiveGBdp {
    config: FiveGBdpConfig,
    /// What may come down in this TTI without the offset, in the unit.
    to_send: u64,
    /// What has come down in this TTI, in the unit.
    sent: u64,
    /// When the TTI began.
    last_time: Instant,
    /// How long it lasts; zero before the first slot.
    tti: Duration,
}

impl FiveGBdp {
    /// A limiter before the first slot.
    ///
    /// # Errors
    /// As [`FiveGBdpConfig::check`].
    pub fn new(config: FiveGBdpConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            to_send: config.to_send(0, 0),
            config,
            sent: 0,
            last_time: Instant::ZERO,
            tti: Duration::ZERO,
        })
    }

    /// Lines 11 to 14: what may have come down until now since the slot, in the unit.
    fn credit(&self, now: Instant) -> u64 {
        let elapsed = now.saturating_since(self.last_time).min(self.tti);
        credit(self.to_send, elapsed, self.tti, self.config.offset)
    }
}

/// `to_send x (elapsed / tti + offset)`, rounded down; a TTI of zero has always elapsed.
fn credit(to_send: u64, elapsed: Duration, tti: Duration, offset: Ratio) -> u64 {
    let one = u128::from(Ratio::ONE.as_ppm());
    let (elapsed, tti) = match tti.as_nanos() {
        0 => (1, 1),
        tti => (u128::from(elapsed.as_nanos()), u128::from(tti)),
    };
    let share = elapsed * one + tti * u128::from(offset.as_ppm());
    let credit = u128::from(to_send).saturating_mul(share) / (tti * one);
    u64::try_from(credit).unwrap_or(u64::MAX)
}

impl Backpressure for FiveGBdp {
    fn room(&mut self, now: Instant, _held: Occupancy) -> Room {
        let credit = self.credit(now);
        self.config.unit.room(credit.saturating_sub(self.sent))
    }

    fn on_enqueue(&mut self, _now: Instant, bytes: Bytes, _held: Occupancy) {
        self.sent += self.config.unit.packet(bytes);
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        let unit = self.config.unit;
        let (remaining, capacity) = (unit.held(slot.remaining), unit.limit(slot.capacity));
        self.to_send = self.config.to_send(remaining, capacity);
        self.sent = 0;
        self.last_time = now;
        self.tti = slot.tti;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TTI: Duration = Duration::from_millis(1);
    const NOTHING: Occupancy = Occupancy {
        packets: 0,
        bytes: Bytes::ZERO,
    };

    fn bytes_of(capacity: u64, remaining: u64, config: FiveGBdpConfig) -> FiveGBdp {
        let mut bdp = FiveGBdp::new(config).unwrap();
        let slot = Slot {
            remaining: Occupancy {
                packets: (remaining / 1500) as usize,
                bytes: Bytes::new(remaining),
            },
            capacity: Bytes::new(capacity),
            tti: TTI,
        };
        bdp.on_slot(Instant::ZERO, slot);
        bdp
    }
    fn in_bytes() -> FiveGBdpConfig {
        FiveGBdpConfig {
            unit: Unit::Bytes,
            ..FiveGBdpConfig::default()
        }
    }
    fn after_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn section_4_1_half_a_tti_of_2200_bytes_is_1100() {
        let config = FiveGBdpConfig {
            offset: Ratio::ZERO,
            ..in_bytes()
        };
        let mut bdp = bytes_of(2200, 0, config);
        assert_eq!(
            bdp.room(after_us(500), NOTHING),
            Room::Bytes(Bytes::new(1100))
        );
    }

    #[test]
    fn line_13_the_offset_comes_on_top() {
        let mut bdp = bytes_of(10_000, 4_000, in_bytes());
        // 6000 x 0.33, then 6000 x 1.33, less what has been sent; never more
        assert_eq!(
            bdp.room(after_us(0), NOTHING),
            Room::Bytes(Bytes::new(1980))
        );
        bdp.on_enqueue(after_us(0), Bytes::new(1500), NOTHING);
        let end = Room::Bytes(Bytes::new(7980 - 1500));
        assert_eq!(bdp.room(after_us(1000), NOTHING), end);
        assert_eq!(bdp.room(after_us(9000), NOTHING), end);
    }

    #[test]
    fn line_18_what_was_sent_ahead_is_waited_for() {
        let mut bdp = bytes_of(10_000, 0, in_bytes());
        bdp.on_enqueue(after_us(0), Bytes::new(4500), NOTHING);
        assert!(!bdp.room(after_us(100), NOTHING).admits());
        assert!(bdp.room(after_us(200), NOTHING).admits());
    }

    #[test]
    fn line_7_without_capacity_one_packet_or_none() {
        let mut one = bytes_of(1500, 30_000, FiveGBdpConfig::default());
        assert_eq!(one.room(after_us(0), NOTHING), Room::Packets(0));
        assert_eq!(one.room(after_us(700), NOTHING), Room::Packets(1));
        one.on_enqueue(after_us(700), MTU, NOTHING);
        assert!(!one.room(after_us(5000), NOTHING).admits());
        let config = FiveGBdpConfig {
            at_least_one: false,
            ..FiveGBdpConfig::default()
        };
        let mut none = bytes_of(1500, 30_000, config);
        assert!(!none.room(after_us(5000), NOTHING).admits());
    }

    proptest! {
        #[test]
        fn the_credit_of_a_tti_is_never_above_capacity_and_offset(
            capacity in 0u64..1 << 40,
            remaining in 0u64..1 << 40,
            offset in 0u64..1_000_000,
            times_us in prop::collection::vec(0u64..20_000, 1..30),
        ) {
            let config = FiveGBdpConfig {
                offset: Ratio::from_ppm(offset),
                at_least_one: false,
                ..in_bytes()
            };
            let mut bdp = bytes_of(capacity, remaining, config);
            let mut sent = 0;
            for us in times_us {
                let Room::Bytes(room) = bdp.room(after_us(us), NOTHING) else {
                    panic!("another unit");
                };
                bdp.on_enqueue(after_us(us), room, NOTHING);
                sent += room.get();
                prop_assert!(
                    u128::from(sent) * 1_000_000
                        <= u128::from(capacity) * u128::from(1_000_000 + offset)
                );
            }
        }
    }
}
