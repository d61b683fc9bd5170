//! RED: configuration.

use crate::{ConfigError, MTU, Ratio, Unit, error};
use units::{Bytes, Duration};

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
    /// Packets whose transport understands marks are marked instead of dropped.
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
