//! Link budget: from powers, gains, noise and losses to the SNR.
//!
//! Noise in dBm is -174 + 10 log10(B / Hz) + noise figure: thermal noise kT at 290 K, rounded as is
//! usual. SNR = P_tx + gains - loss - noise, in dB; interference adds to the noise, linearly. The
//! transmitted power is spread evenly over the carrier, so that the SNR of the carrier is that of
//! each resource element.

use super::geometry::quantity;
use core::fmt;
use core::str::FromStr;
use units::{Decibel, Hertz, ParseUnitError};

/// kT, dBm per Hz.
const THERMAL_NOISE: f64 = -174.0;
/// Powers and gains beyond +- these are taken for mistakes, dB(m).
const LIMIT: f64 = 300.0;

/// A power in dBm: decibels over 1 mW.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Dbm(f64);

impl Dbm {
    /// From a number of dBm.
    pub const fn new(dbm: f64) -> Self {
        Self(dbm)
    }
    /// As a number of dBm.
    pub const fn get(self) -> f64 {
        self.0
    }
    pub(super) fn to_milliwatts(self) -> f64 {
        (self.0 * (core::f64::consts::LN_10 / 10.0)).exp()
    }
}

impl core::ops::Add<Decibel> for Dbm {
    type Output = Self;
    fn add(self, gain: Decibel) -> Self {
        Self(self.0 + gain.get())
    }
}
impl core::ops::Sub<Decibel> for Dbm {
    type Output = Self;
    fn sub(self, loss: Decibel) -> Self {
        Self(self.0 - loss.get())
    }
}
impl core::ops::Sub for Dbm {
    type Output = Decibel;
    fn sub(self, other: Self) -> Decibel {
        Decibel::new(self.0 - other.0)
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dBm", self.0)
    }
}

impl FromStr for Dbm {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        quantity(text, "the power", "35 dBm", &[("dBm", 1.0)]).map(Self)
    }
}

/// The two ends of a link and what is between them and the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBudgetConfig {
    /// Power of the transmitter, over the whole carrier.
    pub transmit_power: Dbm,
    /// Gain of its antenna.
    pub transmit_gain: Decibel,
    /// Gain of the receiver's antenna.
    pub receive_gain: Decibel,
    /// Noise figure of the receiver, >= 0 dB.
    pub noise_figure: Decibel,
    /// What the receiver receives: PRBs x 12 x sub-carrier spacing. Above zero.
    pub bandwidth: Hertz,
}

/// Why a link budget cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkBudgetError {
    /// No bandwidth.
    #[error(
        "the bandwidth is zero; choose PRBs x 12 x sub-carrier spacing, 190.08 MHz for 132 PRBs at 120 kHz"
    )]
    Bandwidth,
    /// A power that is none.
    #[error("the {what} is {power}; choose a number between -{LIMIT} dBm and {LIMIT} dBm")]
    Power {
        /// Which.
        what: &'static str,
        /// What was given.
        power: Dbm,
    },
    /// A gain that is none.
    #[error("the {what} is {gain}; choose a number between -{LIMIT} dB and {LIMIT} dB")]
    Gain {
        /// Which.
        what: &'static str,
        /// What was given.
        gain: Decibel,
    },
    /// A receiver better than physics.
    #[error("the noise figure is {figure}; choose 0 dB or more, ns-3 has 9 dB for a UE")]
    NoiseFigure {
        /// What was given.
        figure: Decibel,
    },
}

/// A link budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkBudget {
    /// Power and gains, dBm.
    effective_power: Dbm,
    noise: Dbm,
    bandwidth: Hertz,
}

impl LinkBudget {
    /// A budget.
    ///
    /// # Errors
    /// No bandwidth, a noise figure below 0 dB, powers or gains that are not finite or beyond any
    /// radio.
    pub fn new(config: LinkBudgetConfig) -> Result<Self, LinkBudgetError> {
        let LinkBudgetConfig {
            transmit_power,
            transmit_gain,
            receive_gain,
            ..
        } = config;
        let LinkBudgetConfig {
            noise_figure,
            bandwidth,
            ..
        } = config;
        if bandwidth.get() == 0 {
            return Err(LinkBudgetError::Bandwidth);
        }
        checked_power("transmit power", transmit_power)?;
        for (what, gain) in [
            ("gain of the transmitter's antenna", transmit_gain),
            ("gain of the receiver's antenna", receive_gain),
        ] {
            if !(-LIMIT..=LIMIT).contains(&gain.get()) {
                return Err(LinkBudgetError::Gain { what, gain });
            }
        }
        if !(0.0..=LIMIT).contains(&noise_figure.get()) {
            return Err(LinkBudgetError::NoiseFigure {
                figure: noise_figure,
            });
        }
        Ok(Self {
            effective_power: transmit_power + transmit_gain + receive_gain,
            noise: noise(bandwidth, noise_figure),
            bandwidth,
        })
    }

    /// Noise in the receiver's bandwidth, its noise figure included.
    pub const fn noise(&self) -> Dbm {
        self.noise
    }
    /// The receiver's bandwidth.
    pub const fn bandwidth(&self) -> Hertz {
        self.bandwidth
    }
    /// What is received after a path loss.
    pub fn received(&self, path_loss: Decibel) -> Dbm {
        self.effective_power - path_loss
    }
    /// SNR after a path loss.
    pub fn snr(&self, path_loss: Decibel) -> Decibel {
        self.received(path_loss) - self.noise
    }
    /// SINR after a path loss, with this interference at the receiver.
    pub fn sinr(&self, path_loss: Decibel, interference: Dbm) -> Decibel {
        let disturbance = self.noise.to_milliwatts() + interference.to_milliwatts();
        Decibel::from_linear(self.received(path_loss).to_milliwatts() / disturbance)
    }
}

/// That a power is one.
pub(super) fn checked_power(what: &'static str, power: Dbm) -> Result<(), LinkBudgetError> {
    if power.get().abs() <= LIMIT {
        Ok(())
    } else {
        Err(LinkBudgetError::Power { what, power })
    }
}

/// Noise in a bandwidth: -174 + 10 log10(B / Hz) + noise figure.
pub fn noise(bandwidth: Hertz, noise_figure: Decibel) -> Dbm {
    Dbm(THERMAL_NOISE + 10.0 * (bandwidth.get() as f64).log10() + noise_figure.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 35 dBm, noise figure 9 dB, 132 PRBs at 120 kHz.
    const RAPID: LinkBudgetConfig = LinkBudgetConfig {
        transmit_power: Dbm::new(35.0),
        transmit_gain: Decibel::new(0.0),
        receive_gain: Decibel::new(0.0),
        noise_figure: Decibel::new(9.0),
        bandwidth: Hertz::new(190_080_000),
    };

    /// Section 5 of the sheet: kTB.
    #[test]
    fn thermal_noise() {
        for (hertz, dbm) in [
            (15_000, -132.24),
            (180_000, -121.45),
            (4_500_000, -107.47),
            (9_000_000, -104.46),
            (18_000_000, -101.45),
            (120_000, -123.21),
            (190_080_000, -91.21),
        ] {
            let noise = noise(Hertz::new(hertz), Decibel::new(0.0)).get();
            assert!((noise - dbm).abs() < 0.006, "{hertz} Hz: {noise}");
        }
    }

    /// 35 dBm - 84.82 dB (UMi LOS at 10 m) + 91.21 - 9 = 32.39 dB; each gain adds.
    #[test]
    fn snr_adds_up() {
        let snr = |config| {
            LinkBudget::new(config)
                .unwrap()
                .snr(Decibel::new(84.82))
                .get()
        };
        assert!((snr(RAPID) - 32.39).abs() < 0.01);
        let gains = LinkBudgetConfig {
            transmit_gain: Decibel::new(8.0),
            receive_gain: Decibel::new(3.0),
            ..RAPID
        };
        assert!((snr(gains) - 43.39).abs() < 0.01);
    }

    /// Interference as strong as the noise costs 10 log10(2) = 3.01 dB; 20 dB above it 20.04 dB.
    #[test]
    fn interference_adds_to_noise() {
        let budget = LinkBudget::new(RAPID).unwrap();
        let loss = Decibel::new(100.0);
        let drop = |over| (budget.snr(loss) - budget.sinr(loss, budget.noise() + over)).get();
        assert!((drop(Decibel::new(0.0)) - 3.0103).abs() < 1e-4);
        assert!((drop(Decibel::new(20.0)) - 20.0432).abs() < 1e-4);
    }

    #[test]
    fn impossible_values_are_refused() {
        let error = |config| LinkBudget::new(config).unwrap_err();
        assert_eq!(
            error(LinkBudgetConfig {
                bandwidth: Hertz::new(0),
                ..RAPID
            }),
            LinkBudgetError::Bandwidth
        );
        let noise_figure = Decibel::new(-1.0);
        assert_eq!(
            error(LinkBudgetConfig {
                noise_figure,
                ..RAPID
            })
            .to_string(),
            "the noise figure is -1 dB; choose 0 dB or more, ns-3 has 9 dB for a UE"
        );
        let transmit_power = Dbm::new(f64::NAN);
        let refused = error(LinkBudgetConfig {
            transmit_power,
            ..RAPID
        });
        assert!(matches!(refused, LinkBudgetError::Power { .. }));
        let transmit_gain = Decibel::new(f64::INFINITY);
        let refused = error(LinkBudgetConfig {
            transmit_gain,
            ..RAPID
        });
        assert!(matches!(refused, LinkBudgetError::Gain { .. }));
    }

    #[test]
    fn dbm_as_people_write_it() {
        assert_eq!("35 dBm".parse(), Ok(Dbm::new(35.0)));
        assert_eq!("-95.5dBm".parse(), Ok(Dbm::new(-95.5)));
        assert!("35 dB".parse::<Dbm>().is_err());
    }
}
