//! RED: random early detection, the historic baseline.
//!
//! Source: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993, section 4 and figure 2; *gentle* from Floyd, "Recommendation on
//! using the gentle variant of RED", 2000. Every arrival updates an average of the queue; between two
//! thresholds, arrivals are dropped with a probability that grows with the average and with the
//! arrivals since the last drop. The average counts bytes or packets.
//!
//! *Deviations*
//! - Above the upper threshold packets that can be marked are marked, as in the paper; RFC 3168 section
//!   7 would drop them. What exceeds the capacity is dropped.
//! - Counting in bytes, the probability is scaled by the packet's size over [`crate::MTU`], before it is
//!   spread by the count (section 4: "in byte mode").

use crate::config::{Configure, fork, scaled};
use crate::fifo::{Fifo, try_mark};
use crate::registry::{ANYWHERE, Algorithm, Made, Parameter, Quantity};
use crate::{
    Capacity, ConfigError, Dequeued, DisciplineConfig, MTU, Occupancy, Packet, QueueManagement,
    Ratio, Unit, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// Section 4 of the paper: w_q.
const WEIGHT: Ratio = Ratio::from_ppm(2_000);
/// Section 4: max_p.
const MAX_PROBABILITY: Ratio = Ratio::from_ppm(20_000);
/// Section 4: thresholds, packets.
const MIN_PACKETS: u64 = 5;
const MAX_PACKETS: u64 = 15;
/// 1500 bytes at 10 Mbit/s.
const PACKET_TIME: Duration = Duration::from_micros(1_200);

/// How RED works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedConfig {
    /// What the average counts.
    pub unit: Unit,
    /// Below this average nothing is dropped; at least one packet.
    pub min_threshold: Bytes,
    /// From this average on everything is dropped (from twice this if gentle); above the other.
    pub max_threshold: Bytes,
    /// Weight of a new sample in the average, above 0 and at most 1.
    pub weight: Ratio,
    /// Drop probability as the average comes to the upper threshold, above 0 and at most 1.
    pub max_probability: Ratio,
    /// Above the upper threshold the probability grows to 1 at twice that threshold.
    pub is_gentle: bool,
    /// A typical packet's time on the link, above zero: how fast the average decays when idle.
    pub packet_time: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for RedConfig {
    /// The paper's simulations: 5 to 15 packets, weight 0.002, 1/50.
    fn default() -> Self {
        Self {
            unit: Unit::Packets { mtu: MTU },
            min_threshold: MTU * MIN_PACKETS,
            max_threshold: MTU * MAX_PACKETS,
            weight: WEIGHT,
            max_probability: MAX_PROBABILITY,
            is_gentle: false,
            packet_time: PACKET_TIME,
            ecn: true,
        }
    }
}

impl RedConfig {
    /// # Errors
    /// Thresholds out of order or below one packet, ratios or times of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Unit::Packets { mtu } = self.unit {
            error::expect_bytes("mtu of the unit", mtu)?;
        }
        let (min, max) = (self.min_threshold, self.max_threshold);
        error::expect(
            self.unit.limit(min) >= 1 && self.unit.limit(min) < self.unit.limit(max),
            "red thresholds",
            &format_args!("{min} and {max}"),
            "one packet at least, and more than that",
        )?;
        error::expect_share("red weight", self.weight)?;
        error::expect_share("red probability", self.max_probability)?;
        error::expect_time("red packet time", self.packet_time)
    }
}

const MINIMUM: &Parameter = &Parameter::new(
    "red-minimum",
    Quantity::Bytes,
    "7500 B",
    (1.0, 1e9),
    "RED: the average queue from which on it drops.",
);
const MAXIMUM: &Parameter = &Parameter::new(
    "red-maximum",
    Quantity::Bytes,
    "22500 B",
    (1.0, 1e9),
    "RED: the average queue from which on it drops everything (twice that, if gentle).",
);
const PROBABILITY: &Parameter = &Parameter::new(
    "red-probability",
    Quantity::Number,
    "0.1",
    (1e-6, 1.0),
    "RED: drop probability at `red-maximum`.",
);
const WEIGHT_KEY: &Parameter = &Parameter::new(
    "red-weight",
    Quantity::Number,
    "0.002",
    (1e-6, 1.0),
    "RED: weight of the newest queue length in the average.",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "red",
    title: "RED",
    places: ANYWHERE,
    is_aqm: true,
    is_backpressure: false,
    parameters: &[MINIMUM, MAXIMUM, PROBABILITY, WEIGHT_KEY],
    make: |values| {
        Made::Discipline(DisciplineConfig::Red(RedConfig {
            unit: values.shared.unit,
            min_threshold: values.bytes(MINIMUM),
            max_threshold: values.bytes(MAXIMUM),
            max_probability: values.ratio(PROBABILITY),
            weight: values.ratio(WEIGHT_KEY),
            ecn: values.shared.ecn,
            ..RedConfig::default()
        }))
    },
};

impl Configure for RedConfig {
    type Queue<P: Packet + Send> = Red<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, ratio: f64) {
        self.unit = Unit::Bytes;
        self.min_threshold = scaled(self.min_threshold, ratio);
        // a packet apart at least
        let least = self.min_threshold + MTU;
        self.max_threshold = scaled(self.max_threshold, ratio).max(least);
    }
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        rng: &mut Rng,
    ) -> Result<Red<P>, ConfigError> {
        Red::new(self.clone(), capacity, fork(rng))
    }
}

/// One queue under RED.
#[derive(Debug)]
pub struct Red<P> {
    config: RedConfig,
    capacity: Capacity,
    packets: Fifo<P>,
    /// The average, in the unit.
    average: f64,
    /// Arrivals since the last drop or mark; none while the average is below the lower threshold.
    count: Option<u32>,
    /// When the queue ran empty; none while something waits.
    idle_since: Option<Instant>,
    rng: Rng,
}

/// Figure 2, queue not empty: the average with a new sample.
fn averaged(average: f64, sample: f64, weight: f64) -> f64 {
    average + weight * (sample - average)
}

/// Figure 2, queue empty: the average as if `idle` had brought samples of zero, one a packet time.
fn decayed(average: f64, idle: Duration, packet_time: Duration, weight: f64) -> f64 {
    average * (1.0 - weight).powf(idle.ratio(packet_time))
}

/// p_b: the probability at that average; 1 where every packet is dropped. `min`, `max` in the unit.
fn base_probability(average: f64, min: f64, max: f64, config: &RedConfig) -> f64 {
    let max_probability = config.max_probability.as_f64();
    if average < min {
        0.0
    } else if average < max {
        max_probability * (average - min) / (max - min)
    } else if config.is_gentle && average < 2.0 * max {
        max_probability + (1.0 - max_probability) * (average - max) / max
    } else {
        1.0
    }
}

/// p_a: the probability that makes the gap between drops uniform.
fn spread(base: f64, count: u32) -> f64 {
    let left = 1.0 - f64::from(count) * base;
    if left > 0.0 {
        (base / left).min(1.0)
    } else {
        1.0
    }
}

impl<P: Packet> Red<P> {
    /// An empty queue; `rng` decides the drops.
    ///
    /// # Errors
    /// As [`RedConfig::check`]; a capacity of zero.
    pub fn new(config: RedConfig, capacity: Capacity, rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            config,
            capacity,
            packets: Fifo::new(),
            average: 0.0,
            count: None,
            idle_since: Some(Instant::ZERO),
            rng,
        })
    }

    fn update_average(&mut self, now: Instant) {
        let weight = self.config.weight.as_f64();
        if let Some(since) = self.idle_since {
            let idle = now.saturating_since(since);
            self.average = decayed(self.average, idle, self.config.packet_time, weight);
        } else {
            let sample = self.config.unit.held(self.packets.occupancy()) as f64;
            self.average = averaged(self.average, sample, weight);
        }
    }

    /// Whether an arrival is to signal congestion.
    fn signals_congestion(&mut self, bytes: Bytes) -> bool {
        let unit = self.config.unit;
        let min = unit.limit(self.config.min_threshold) as f64;
        let max = unit.limit(self.config.max_threshold) as f64;
        let mut base = base_probability(self.average, min, max, &self.config);
        if base <= 0.0 && self.average < min {
            self.count = None;
            return false;
        }
        if base >= 1.0 {
            self.count = Some(0);
            return true;
        }
        if unit == Unit::Bytes {
            base *= bytes.ratio(MTU);
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let is_chosen = self.rng.chance(spread(base, count));
        self.count = Some(if is_chosen { 0 } else { count });
        is_chosen
    }
}

impl<P: Packet + Send> QueueManagement<P> for Red<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P) -> Result<(), P> {
        self.update_average(now);
        let bytes = packet.bytes();
        if !self.capacity.admits(self.occupancy(), bytes) {
            return Err(packet);
        }
        if self.signals_congestion(bytes) && !(self.config.ecn && try_mark(&mut packet)) {
            return Err(packet);
        }
        self.idle_since = None;
        self.packets.push(now, packet);
        Ok(())
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        _dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        if self.packets.front()?.packet.bytes() > budget {
            return None;
        }
        let next = self.packets.pop();
        if self.packets.front().is_none() {
            self.idle_since = Some(now);
        }
        next
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::test_packet::TestPacket;
    use units::Streams;

    fn red(config: RedConfig) -> Red<TestPacket> {
        let rng = Streams::new(1).stream("red");
        Red::new(config, Capacity::Unlimited, rng).unwrap()
    }

    #[test]
    fn section_4_average() {
        assert_eq!(averaged(10.0, 20.0, 0.5), 15.0);
        // an idle time of three packets is three samples of zero
        let idle = PACKET_TIME * 3;
        assert!((decayed(8.0, idle, PACKET_TIME, 0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn section_4_probability() {
        let hard = RedConfig::default();
        let p = |average, config| base_probability(average, 5.0, 15.0, config);
        assert_eq!(p(4.9, &hard), 0.0);
        assert!((p(10.0, &hard) - 0.01).abs() < 1e-12);
        assert_eq!(p(15.0, &hard), 1.0);
        let gentle = RedConfig {
            is_gentle: true,
            ..hard
        };
        assert!((p(15.0, &gentle) - 0.02).abs() < 1e-12);
        assert!((p(22.5, &gentle) - 0.51).abs() < 1e-12);
        assert_eq!(p(30.0, &gentle), 1.0);
    }

    #[test]
    fn section_7_the_gap_between_drops_is_uniform() {
        // with p_b = 1/n the gap is uniform over 1..=n
        let survive = |gap: u32| {
            (0..gap)
                .map(|count| 1.0 - spread(0.02, count))
                .product::<f64>()
        };
        for gap in [1, 10, 25, 49] {
            assert!(
                (survive(gap) - (1.0 - f64::from(gap) / 50.0)).abs() < 1e-9,
                "{gap}"
            );
        }
        assert_eq!(spread(0.02, 50), 1.0);
    }

    /// Keeps the queue at a length of 10 full packets: how many of 100,000 arrivals are dropped and
    /// marked.
    fn at_ten(config: RedConfig, ecn: Ecn) -> (u32, u32) {
        let mut red = red(config);
        let (mut drops, mut marks) = (0, 0);
        let mut now = Instant::ZERO;
        for _ in 0..100_000 {
            now += PACKET_TIME;
            drops += u32::from(
                red.enqueue(now, TestPacket::new(1500).with_ecn(ecn))
                    .is_err(),
            );
            while red.occupancy().packets > 10 {
                let next = red
                    .dequeue(now, Bytes::MAX, &mut |_| panic!("dropped"))
                    .unwrap();
                marks += u32::from(next.packet.ecn == Ecn::Ce);
            }
        }
        (drops, marks)
    }

    #[test]
    fn the_rate_of_drops_is_the_one_of_a_uniform_gap() {
        // average 10 of 5 to 15: p_b = 0.01, a drop every 50.5 arrivals
        let expected = 100_000.0 / 50.5;
        for unit in [Unit::Packets { mtu: MTU }, Unit::Bytes] {
            let config = RedConfig {
                unit,
                ..RedConfig::default()
            };
            let (drops, _) = at_ten(config, Ecn::NotEct);
            assert!((f64::from(drops) / expected - 1.0).abs() < 0.06, "{drops}");
        }
    }

    #[test]
    fn what_can_be_marked_is_marked() {
        let (drops, marks) = at_ten(RedConfig::default(), Ecn::Ect0);
        assert_eq!(drops, 0);
        assert!(marks > 1500, "{marks}");
        let without = RedConfig {
            ecn: false,
            ..RedConfig::default()
        };
        let (drops, marks) = at_ten(without, Ecn::Ect0);
        assert_eq!(marks, 0);
        assert!(drops > 1500, "{drops}");
    }
}
