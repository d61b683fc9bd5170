//! How many PRBs a bandwidth has.
//!
//! LTE: TS 36.104 Table 5.6-1. NR: TS 38.101-1 and TS 38.101-2 Table 5.3.2-1 (Rel-17/18). The cells
//! for 3 MHz and for FR2-2 rest on a single source. Frequency ranges: TS 38.104 Table 5.1-1.

use crate::data::nr;
use core::fmt;
use units::{Hertz, Prb};

/// A frequency range of NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrequencyRange {
    /// 410 MHz to 7.125 GHz.
    Fr1,
    /// 24.25 GHz to 52.6 GHz.
    Fr2_1,
    /// 52.6 GHz to 71 GHz.
    Fr2_2,
}

impl FrequencyRange {
    /// The range of a carrier frequency; none between and beyond the ranges.
    pub fn of(frequency: Hertz) -> Option<Self> {
        match frequency.get() {
            410_000_000..=7_125_000_000 => Some(Self::Fr1),
            24_250_000_000..=52_600_000_000 => Some(Self::Fr2_1),
            52_600_000_001..=71_000_000_000 => Some(Self::Fr2_2),
            _ => None,
        }
    }
}

impl fmt::Display for FrequencyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fr1 => "FR1",
            Self::Fr2_1 => "FR2-1",
            Self::Fr2_2 => "FR2-2",
        })
    }
}

/// What decides, beside the bandwidth, how many PRBs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// LTE.
    Lte,
    /// NR.
    Nr {
        /// Frequency range.
        range: FrequencyRange,
        /// Sub-carrier spacing.
        scs: Hertz,
    },
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lte => f.write_str("LTE"),
            Self::Nr { range, scs } => {
                write!(
                    f,
                    "NR {range} with {} kHz sub-carrier spacing",
                    scs.get() / 1_000
                )
            }
        }
    }
}

/// Why a bandwidth has no number of PRBs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BandwidthError {
    /// The carrier has no such bandwidth.
    #[error("{carrier} has no bandwidth of {} MHz; choose one of {allowed} MHz", mhz(*.bandwidth))]
    NoSuchBandwidth {
        /// The carrier.
        carrier: Carrier,
        /// What was requested.
        bandwidth: Hertz,
        /// The bandwidths in MHz that it has.
        allowed: String,
    },
    /// The frequency range has no such sub-carrier spacing.
    #[error("NR {range} has no sub-carrier spacing of {} Hz; choose one of {allowed} kHz", .scs.get())]
    NoSuchSpacing {
        /// The range.
        range: FrequencyRange,
        /// What was requested.
        scs: Hertz,
        /// The spacings in kHz that it has.
        allowed: String,
    },
}

/// LTE: (bandwidth in kHz, N_RB).
const LTE: [(u64, u16); 6] = [
    (1_400, 6),
    (3_000, 15),
    (5_000, 25),
    (10_000, 50),
    (15_000, 75),
    (20_000, 100),
];

/// The largest number of PRBs (transmission bandwidth configuration N_RB) of a channel bandwidth.
///
/// # Errors
/// The bandwidth or spacing is none of the specification's; the error lists those that are.
pub fn max_prb(carrier: Carrier, bandwidth: Hertz) -> Result<Prb, BandwidthError> {
    let mut allowed: Vec<(u64, u16)> = match carrier {
        Carrier::Lte => LTE.iter().map(|&(khz, n)| (khz * 1_000, n)).collect(),
        Carrier::Nr { range, scs } => nr::MAX_PRB
            .iter()
            .filter(|row| row.0 == range && Hertz::from_khz(u64::from(row.2)) == scs)
            .map(|row| (u64::from(row.1) * 1_000_000, row.3))
            .collect(),
    };
    if let Carrier::Nr { range, scs } = carrier
        && allowed.is_empty()
    {
        return Err(BandwidthError::NoSuchSpacing {
            range,
            scs,
            allowed: spacings(range),
        });
    }
    if let Some(&(_, n)) = allowed.iter().find(|&&(hz, _)| hz == bandwidth.get()) {
        return Ok(Prb::new(n));
    }
    allowed.sort_unstable();
    let list: Vec<String> = allowed
        .iter()
        .map(|&(hz, _)| mhz(Hertz::new(hz)).to_string())
        .collect();
    let allowed = list.join(", ");
    Err(BandwidthError::NoSuchBandwidth {
        carrier,
        bandwidth,
        allowed,
    })
}

fn spacings(range: FrequencyRange) -> String {
    let mut khz: Vec<u16> = nr::MAX_PRB
        .iter()
        .filter(|row| row.0 == range)
        .map(|row| row.2)
        .collect();
    khz.sort_unstable();
    khz.dedup();
    khz.iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn mhz(frequency: Hertz) -> f64 {
    frequency.get() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nr(range: FrequencyRange, khz: u64, mhz: u64) -> Result<Prb, BandwidthError> {
        max_prb(
            Carrier::Nr {
                range,
                scs: Hertz::from_khz(khz),
            },
            Hertz::new(mhz * 1_000_000),
        )
    }

    #[test]
    fn known_carriers() {
        assert_eq!(nr(FrequencyRange::Fr2_1, 120, 200), Ok(Prb::new(132)));
        assert_eq!(nr(FrequencyRange::Fr1, 30, 100), Ok(Prb::new(273)));
        assert_eq!(nr(FrequencyRange::Fr1, 30, 20), Ok(Prb::new(51)));
        let lte = |khz| max_prb(Carrier::Lte, Hertz::from_khz(khz)).map(Prb::get);
        let all: Vec<_> = [1_400, 3_000, 5_000, 10_000, 15_000, 20_000]
            .map(lte)
            .into();
        assert_eq!(all, [Ok(6), Ok(15), Ok(25), Ok(50), Ok(75), Ok(100)]);
    }

    #[test]
    fn errors_list_what_is_allowed() {
        let message = |r: Result<Prb, BandwidthError>| r.unwrap_err().to_string();
        assert_eq!(
            message(max_prb(Carrier::Lte, Hertz::from_khz(7_000))),
            "LTE has no bandwidth of 7 MHz; choose one of 1.4, 3, 5, 10, 15, 20 MHz"
        );
        assert_eq!(
            message(nr(FrequencyRange::Fr2_1, 120, 20)),
            "NR FR2-1 with 120 kHz sub-carrier spacing has no bandwidth of 20 MHz; \
             choose one of 50, 100, 200, 400 MHz"
        );
        assert_eq!(
            message(nr(FrequencyRange::Fr1, 120, 20)),
            "NR FR1 has no sub-carrier spacing of 120000 Hz; choose one of 15, 30, 60 kHz"
        );
    }

    #[test]
    fn ranges_of_frequencies() {
        let of = |mhz: u64| FrequencyRange::of(Hertz::new(mhz * 1_000_000));
        assert_eq!(of(3_500), Some(FrequencyRange::Fr1));
        assert_eq!(of(28_000), Some(FrequencyRange::Fr2_1));
        assert_eq!(of(60_000), Some(FrequencyRange::Fr2_2));
        assert_eq!(of(10_000), None);
    }
}
