//! Fades of an SINR that is otherwise known: an interferer comes and goes, and while it is there the
//! SINR is lower by so many dB.
//!
//! ```text
//!   SINR  ----.    .------------.  .-------     source
//!             |____|            |__|            source - drop, while the interferer is on
//! ```
//!
//! What comes of it follows from link adaptation and HARQ: blocks of an MCS that was chosen for the
//! SINR before the fade are lost in it; a fade at a CQI measurement lowers the MCS of the whole CQI
//! period after it; a retransmission outside the fade repairs the block.

use crate::adaptation::{SinrSample, SinrSource};
use crate::moving::{Interferer, InterfererError};
use units::{Decibel, Duration, Instant, Rng};

/// What fades are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadeConfig {
    /// How much lower the SINR is in a fade, 0 to 200 dB.
    pub drop: Decibel,
    /// Mean duration of a fade, exponential; at least 1 us.
    pub mean_on: Duration,
    /// Mean time between fades, exponential; at least 1 us.
    pub mean_off: Duration,
}

/// Why fades cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FadeError {
    /// A drop that is none.
    #[error("the interferer takes {drop} of the SINR; choose 0 dB to 200 dB")]
    Drop {
        /// What was given.
        drop: Decibel,
    },
    /// Times that cannot be followed.
    #[error(transparent)]
    Times(#[from] InterfererError),
}

/// An SINR with fades.
#[derive(Clone, Debug)]
pub struct Fades<S> {
    source: S,
    interferer: Interferer,
    drop: Decibel,
}

impl FadeConfig {
    /// Whether [`Fades::new`] takes it.
    ///
    /// # Errors
    /// The first value that cannot be.
    pub fn check(&self) -> Result<(), FadeError> {
        if !(0.0..=200.0).contains(&self.drop.get()) {
            return Err(FadeError::Drop { drop: self.drop });
        }
        Ok(Interferer::check_times(self.mean_on, self.mean_off)?)
    }
}

impl<S: SinrSource> Fades<S> {
    /// Fades of a source; at the beginning it is in one with the stationary probability.
    ///
    /// # Errors
    /// As [`FadeConfig::check`].
    pub fn new(source: S, config: FadeConfig, rng: Rng) -> Result<Self, FadeError> {
        config.check()?;
        Ok(Self {
            source,
            interferer: Interferer::timed(config.mean_on, config.mean_off, rng)?,
            drop: config.drop,
        })
    }
}

impl<S: SinrSource> SinrSource for Fades<S> {
    fn sinr(&mut self, at: Instant) -> SinrSample {
        let clear = self.source.sinr(at);
        let (is_on, until) = self.interferer.on(at);
        SinrSample {
            sinr: if is_on {
                clear.sinr - self.drop
            } else {
                clear.sinr
            },
            holds_until: clear.holds_until.min(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BlerFamily, Channel, ConstantSinr, CqiToMcs, Link, LinkAdaptation, LinkAdaptationConfig,
    };
    use rnis::McsTable;
    use units::{Cqi, Streams};

    fn config(drop: f64, on_us: u64, off_us: u64) -> FadeConfig {
        FadeConfig {
            drop: Decibel::new(drop),
            mean_on: Duration::from_micros(on_us),
            mean_off: Duration::from_micros(off_us),
        }
    }

    fn fades(config: FadeConfig) -> Result<Fades<ConstantSinr>, FadeError> {
        let rng = Streams::new(5).stream("interferer");
        Fades::new(ConstantSinr(Decibel::new(25.0)), config, rng)
    }

    /// On for 1 / 5 of the time: of 40 s with some 8000 fades the share has a standard error of
    /// 1.6 % of itself.
    #[test]
    fn the_sinr_drops_for_its_share_of_time() {
        let mut fades = fades(config(20.0, 1_000, 4_000)).unwrap();
        let (mut at, mut faded) = (Instant::ZERO, Duration::ZERO);
        let end = Instant::ZERO + Duration::from_secs(40);
        while at < end {
            let SinrSample { sinr, holds_until } = fades.sinr(at);
            let until = holds_until.min(end);
            if sinr == Decibel::new(5.0) {
                faded += until - at;
            } else {
                assert_eq!(sinr, Decibel::new(25.0));
            }
            at = until;
        }
        let share = faded.as_secs_f64() / 40.0;
        assert!((share - 0.2).abs() < 0.2 * 4.0 * 0.016, "{share}");
    }

    /// Fades that are short against the CQI period: the base station's CQI stays but for the few
    /// measurements that meet one, and blocks of the high MCS fail in the others.
    #[test]
    fn a_fade_between_reports_meets_the_high_mcs() {
        let adaptation = LinkAdaptationConfig {
            policy: CqiToMcs::OaiLte,
            table: McsTable::LteQam64,
            family: BlerFamily::OaiLte,
            cqi_period: Duration::from_millis(8),
            cqi_delay: Duration::from_millis(4),
            target_bler: 0.1,
        };
        let fades = fades(config(20.0, 2_000, 18_000)).unwrap();
        let mut channel = LinkAdaptation::new(fades, adaptation).unwrap();
        let slot = Duration::from_millis(1);
        let (mut high, mut failing, mut low) = (0, 0, 0);
        for k in 0..20_000u64 {
            let state = channel.state(Instant::ZERO + slot * k, slot);
            match state.link {
                Link::Mcs { bler, .. } if state.cqi == Cqi::new(15) => {
                    high += 1;
                    failing += u32::from(bler > 0.99);
                }
                _ => low += 1,
            }
        }
        // a tenth of the time is faded, so is a tenth of the reports, and the slots under a high
        // MCS lose what is faded of them
        assert!((1_600..2_400).contains(&low), "{low}");
        assert!(
            failing * 100 > high * 7 && failing * 100 < high * 12,
            "{failing} of {high}"
        );
    }

    #[test]
    fn impossible_values_are_refused() {
        for drop in [-1.0, 201.0, f64::NAN] {
            let refused = fades(config(drop, 1, 1)).unwrap_err();
            assert!(refused.to_string().contains("0 dB to 200 dB"), "{refused}");
        }
        let never = fades(config(3.0, 0, 1)).unwrap_err();
        assert!(never.to_string().contains("at least 1 us"), "{never}");
    }
}
