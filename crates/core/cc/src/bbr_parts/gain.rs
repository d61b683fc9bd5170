//! The gains of BBR, in units of 1/256 (Linux `BBR_UNIT`). Sections are those of
//! draft-cardwell-iccrg-bbr-congestion-control-00, or with `-06` of draft-ietf-ccwg-bbr-06.

use units::{BitRate, Bytes};

/// A factor in units of 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gain(u64);

impl Gain {
    /// 1.
    pub(crate) const UNIT: Self = Self(256);
    /// 2/ln 2 = 2.885..., the smallest gain that doubles the rate each round (4.3.2.2).
    pub(crate) const HIGH: Self = Self(256 * 2_885 / 1_000 + 1);
    /// Its inverse, which drains in one round what STARTUP queued (4.3.3).
    pub(crate) const DRAIN: Self = Self(256 * 1_000 / 2_885);
    /// Room for delayed and aggregated acknowledgements in PROBE_BW (4.2.3.1).
    pub(crate) const CWND: Self = Self(512);
    /// Pacing gains of the eight phases of PROBE_BW (4.3.4.3): 5/4 probes, 3/4 drains, 1 cruises.
    pub(crate) const CYCLE: [Self; 8] = [
        Self(320),
        Self(192),
        Self::UNIT,
        Self::UNIT,
        Self::UNIT,
        Self::UNIT,
        Self::UNIT,
        Self::UNIT,
    ];

    /// 4 ln 2 = 2.77..., the smallest gain that doubles the delivered rate each round (-06 5.3.1.1).
    pub(crate) const STARTUP_V3: Self = Self(256 * 277 / 100 + 1);
    /// Drains what STARTUP queued in less than a round (-06 5.3.2).
    pub(crate) const HALF: Self = Self(128);
    /// PROBE_UP's pacing (-06 5.3.3.5), and the flight at which version 2 ends it.
    pub(crate) const PROBE_UP: Self = Self(320);
    /// PROBE_UP's window in version 3 (-06 5.3.3.5).
    pub(crate) const CWND_UP: Self = Self(576);
    /// PROBE_DOWN's pacing in version 2: 3/4.
    pub(crate) const PROBE_DOWN_V2: Self = Self(192);
    /// PROBE_DOWN's pacing in version 3: 0.9 (-06 5.3.3.1).
    pub(crate) const PROBE_DOWN_V3: Self = Self(256 * 9 / 10);

    /// `bytes` times this gain, rounded up.
    pub(crate) fn of_bytes(self, bytes: Bytes) -> Bytes {
        let scaled = bytes
            .get()
            .checked_mul(self.0)
            .map(|product| product.div_ceil(256));
        Bytes::new(scaled.unwrap_or(u64::MAX))
    }

    /// `rate` times this gain, less `margin_percent`, rounded down.
    pub(crate) fn of_rate(self, rate: BitRate, margin_percent: u64) -> BitRate {
        let factor = self.0 * (100 - margin_percent);
        let scaled = rate
            .as_bps()
            .checked_mul(factor)
            .map(|product| product / 25_600);
        BitRate::from_bps(scaled.unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_those_of_linux() {
        assert_eq!(
            (Gain::HIGH, Gain::DRAIN, Gain::CWND),
            (Gain(739), Gain(88), Gain(512))
        );
        let of_100_mbps = |gain: Gain| gain.of_rate(BitRate::from_mbps(100), 1).as_bps();
        // 739/256 and 88/256 of 99 Mbit/s
        assert_eq!(of_100_mbps(Gain::HIGH), 285_785_156);
        assert_eq!(of_100_mbps(Gain::DRAIN), 34_031_250);
        assert_eq!(of_100_mbps(Gain::CYCLE[0]), 123_750_000);
        assert_eq!(of_100_mbps(Gain::CYCLE[1]), 74_250_000);
        assert_eq!(
            Gain::CYCLE[0].of_bytes(Bytes::new(1_001)),
            Bytes::new(1_252)
        );
        assert_eq!(Gain::HIGH.of_bytes(Bytes::MAX), Bytes::MAX);
    }
}
