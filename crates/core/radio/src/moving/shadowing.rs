//! Shadowing: log-normal, correlated over distance (TR 38.901 7.4.4, eq. 7.4-5).
//!
//! The autocorrelation over a displacement dx is R = exp(-dx / d_cor); a step of dx is
//! S <- R S + sqrt(1 - R^2) sigma N(0, 1). LOS and NLOS have processes of their own, as their
//! parameters differ (Table 7.4.1-1, Table 7.5-6).
//!
//! *Deviation.* The displacement is the way that the UE went: one that comes back to a place finds
//! other shadowing there.

use super::geometry::Metres;
use super::path_loss::{PathLossModel, Sight};
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use units::{Decibel, Rng};

/// The shadowing of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shadowing {
    /// None: the median loss.
    None,
    /// What the path loss model comes with.
    OfModel,
    /// The same with and without line of sight.
    Fixed {
        /// Standard deviation, above 0 dB.
        deviation: Decibel,
        /// Distance at which the autocorrelation is 1/e, above zero.
        correlation_distance: Metres,
    },
}

impl Shadowing {
    /// The names of those that need no numbers.
    pub const NAMES: &'static [&'static str] = &["none", "model"];
}

impl fmt::Display for Shadowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::OfModel => f.pad("model"),
            Self::Fixed {
                deviation,
                correlation_distance,
            } => {
                write!(f, "{deviation} over {correlation_distance}")
            }
        }
    }
}

impl FromStr for Shadowing {
    type Err = UnknownName;
    /// `none` or `model`.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "none" => Ok(Self::None),
            "model" => Ok(Self::OfModel),
            _ => Err(UnknownName::new("shadowing", text, Self::NAMES)),
        }
    }
}

/// Why shadowing cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowingError {
    /// A standard deviation that is none.
    #[error("the standard deviation of shadowing is {deviation}; choose a number above 0 dB")]
    Deviation {
        /// What was given.
        deviation: Decibel,
    },
    /// A distance that is none.
    #[error(
        "the correlation distance of shadowing is {distance}; choose a length above zero, \
         TR 38.901 has 10 m to 13 m in a street"
    )]
    CorrelationDistance {
        /// What was given.
        distance: Metres,
    },
    /// The path loss model has none.
    #[error(
        "this path loss model comes with no shadowing; give a standard deviation and a \
         correlation distance, or choose none"
    )]
    NotOfModel,
}

/// One shadowing process over distance.
#[derive(Clone, Debug)]
pub struct CorrelatedShadowing {
    rng: Rng,
    /// dB, > 0.
    deviation: f64,
    /// m, > 0.
    correlation_distance: f64,
    /// S, dB.
    value: f64,
    step: Step,
}

/// What a displacement does: most are as long as the one before.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// m.
    displacement: f64,
    /// R.
    correlation: f64,
    /// sqrt(1 - R^2) sigma, dB.
    innovation: f64,
}

impl CorrelatedShadowing {
    /// A process in its stationary distribution.
    ///
    /// # Errors
    /// A standard deviation or correlation distance that is not above zero.
    pub fn new(
        deviation: Decibel,
        correlation_distance: Metres,
        mut rng: Rng,
    ) -> Result<Self, ShadowingError> {
        checked(deviation, correlation_distance)?;
        let value = deviation.get() * rng.normal();
        let (deviation, distance) = (deviation.get(), correlation_distance.get());
        Ok(Self {
            rng,
            deviation,
            correlation_distance: distance,
            value,
            step: Step {
                displacement: 0.0,
                correlation: 1.0,
                innovation: 0.0,
            },
        })
    }

    /// What it adds to the loss here.
    pub fn loss(&self) -> Decibel {
        Decibel::new(self.value)
    }

    /// Moves on by a displacement >= 0 (eq. 7.4-5).
    pub fn advance(&mut self, displacement: Metres) {
        if displacement.get() != self.step.displacement {
            let r = (-displacement.get() / self.correlation_distance).exp();
            self.step = Step {
                displacement: displacement.get(),
                correlation: r,
                innovation: (1.0 - r * r).sqrt() * self.deviation,
            };
        }
        let innovation = self.step.innovation * self.rng.normal();
        self.value = self.step.correlation * self.value + innovation;
    }
}

fn checked(deviation: Decibel, distance: Metres) -> Result<(), ShadowingError> {
    if !(deviation.get() > 0.0 && deviation.get().is_finite()) {
        return Err(ShadowingError::Deviation { deviation });
    }
    if !(distance.get() > 0.0 && distance.get().is_finite()) {
        return Err(ShadowingError::CorrelationDistance { distance });
    }
    Ok(())
}

/// The processes of a link, one for LOS and one for NLOS.
#[derive(Clone, Debug)]
pub(super) struct LinkShadowing {
    line: CorrelatedShadowing,
    no_line: CorrelatedShadowing,
}

impl LinkShadowing {
    /// None where there is no shadowing.
    pub fn new(
        shadowing: Shadowing,
        model: &PathLossModel,
        rngs: [Rng; 2],
    ) -> Result<Option<Self>, ShadowingError> {
        let of = |sight| match shadowing {
            Shadowing::None => Ok(None),
            Shadowing::OfModel => model
                .shadowing(sight)
                .map(Some)
                .ok_or(ShadowingError::NotOfModel),
            Shadowing::Fixed {
                deviation,
                correlation_distance,
            } => Ok(Some((deviation, correlation_distance))),
        };
        let (Some(line), Some(no_line)) = (of(Sight::Line)?, of(Sight::NoLine)?) else {
            return Ok(None);
        };
        let [of_line, of_no_line] = rngs;
        let line = CorrelatedShadowing::new(line.0, line.1, of_line)?;
        let no_line = CorrelatedShadowing::new(no_line.0, no_line.1, of_no_line)?;
        Ok(Some(Self { line, no_line }))
    }

    /// dB.
    pub fn loss(&self, sight: Sight) -> f64 {
        match sight {
            Sight::Line => self.line.value,
            Sight::NoLine => self.no_line.value,
        }
    }

    /// Moves on by m.
    pub fn advance(&mut self, displacement: f64) {
        self.line.advance(Metres::new(displacement));
        self.no_line.advance(Metres::new(displacement));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn process(sigma: f64, distance: f64) -> Result<CorrelatedShadowing, ShadowingError> {
        let rng = Streams::new(5).stream("shadowing");
        CorrelatedShadowing::new(Decibel::new(sigma), Metres::new(distance), rng)
    }

    /// Eq. 7.4-5 with Table 7.4.1-1 and Table 7.5-6, LOS and NLOS: variance sigma^2,
    /// autocorrelation exp(-dx / d_cor) at several displacements. With n samples dx apart, the
    /// standard error of both is about sqrt(2 d_cor / (n dx)) of sigma^2.
    #[test]
    fn equation_7_4_5_moments_and_autocorrelation() {
        for (sigma, distance) in [(4.0, 10.0), (7.82, 13.0)] {
            let step = 1.0;
            let mut process = process(sigma, distance).unwrap();
            let n = 400_000;
            let samples: Vec<f64> = (0..n)
                .map(|_| {
                    process.advance(Metres::new(step));
                    process.loss().get()
                })
                .collect();
            let error = 4.0 * (2.0 * distance / f64::from(n)).sqrt();
            let mean = samples.iter().sum::<f64>() / f64::from(n);
            assert!(mean.abs() < error * sigma, "mean {mean}");
            for lag in [0usize, 1, 5, 10, 20] {
                let pairs = samples.iter().zip(&samples[lag..]);
                let seen = pairs.map(|(a, b)| a * b).sum::<f64>() / (f64::from(n) - lag as f64);
                let expected = (-(lag as f64) * step / distance).exp();
                let seen = seen / sigma.powi(2);
                assert!(
                    (seen - expected).abs() < error,
                    "lag {lag}: {seen} not {expected}"
                );
            }
        }
    }

    #[test]
    fn without_displacement_nothing_changes() {
        let mut process = process(4.0, 10.0).unwrap();
        let before = process.loss();
        process.advance(Metres::new(0.0));
        assert_eq!(process.loss(), before);
    }

    #[test]
    fn impossible_values_are_refused() {
        for sigma in [0.0, -1.0, f64::NAN] {
            assert!(matches!(
                process(sigma, 10.0),
                Err(ShadowingError::Deviation { .. })
            ));
        }
        for distance in [0.0, -1.0, f64::INFINITY] {
            assert!(matches!(
                process(4.0, distance),
                Err(ShadowingError::CorrelationDistance { .. })
            ));
        }
        assert_eq!("model".parse(), Ok(Shadowing::OfModel));
        assert!("rain".parse::<Shadowing>().is_err());
    }
}
