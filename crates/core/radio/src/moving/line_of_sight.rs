//! Whether a place sees the base station.
//!
//! By chance: the probability is that of Table 7.4.2-1 of TR 38.901; a place sees the base station
//! if a variable of that place, uniform in 0 to 1, is below it. The variables of neighbouring places
//! are correlated (7.6.3.3) over 50 m (Table 7.6.3.1-2, UMi, LOS/NLOS state): a UE that comes back
//! finds the state again.
//!
//! As 7.6.3.1 suggests, random variables stand on a grid with the correlation distance as its
//! spacing, and places between are interpolated: four independent standard normal ones with the
//! bilinear weights, divided by the root of the sum of their squares, which keeps the variance at 1;
//! the normal distribution function makes the result uniform.

use super::geometry::Position;
use super::path_loss::Sight;
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use statrs::function::erf::erfc;
use units::Streams;

/// Correlation distance of the LOS/NLOS state, m (Table 7.6.3.1-2, UMi).
const CORRELATION_DISTANCE: f64 = 50.0;

/// How it is decided whether the UE sees the base station. Buildings can take the sight away too,
/// see [`BuildingEffect`](super::BuildingEffect).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SightRule {
    /// It does (LOS).
    Line,
    /// It does not (NLOS).
    NoLine,
    /// With the probability that the path loss model gives.
    Probability,
}

impl SightRule {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["los", "nlos", "probability"];
    const ALL: [Self; 3] = [Self::Line, Self::NoLine, Self::Probability];
}

impl fmt::Display for SightRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[*self as usize])
    }
}

impl FromStr for SightRule {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::NAMES.iter().position(|name| *name == text);
        found
            .map(|i| Self::ALL[i])
            .ok_or_else(|| UnknownName::new("line-of-sight rule", text, Self::NAMES))
    }
}

/// The variables of all places, from a seed.
#[derive(Clone, Debug)]
pub(super) struct SightField {
    streams: Streams,
    /// Grid square of the corners below.
    square: Option<(i64, i64)>,
    /// Standard normal variables of the corners (0,0), (1,0), (0,1), (1,1).
    corners: [f64; 4],
}

impl SightField {
    pub fn new(streams: Streams) -> Self {
        Self {
            streams,
            square: None,
            corners: [0.0; 4],
        }
    }

    /// Uniform in 0 to 1.
    fn uniform(&mut self, place: Position) -> f64 {
        let (x, y) = (
            place.x / CORRELATION_DISTANCE,
            place.y / CORRELATION_DISTANCE,
        );
        let square = (x.floor() as i64, y.floor() as i64);
        if self.square != Some(square) {
            let corner = |dx, dy| {
                let name = format!("{},{}", square.0 + dx, square.1 + dy);
                self.streams.stream(&name).normal()
            };
            self.corners = [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)];
            self.square = Some(square);
        }
        let (u, v) = (x - x.floor(), y - y.floor());
        let weights = [(1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v];
        let sum: f64 = weights.iter().zip(&self.corners).map(|(w, z)| w * z).sum();
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        0.5 * erfc(-sum / norm / core::f64::consts::SQRT_2)
    }

    /// The state of a place where line of sight has this probability.
    pub fn sight(&mut self, place: Position, probability: f64) -> Sight {
        if self.uniform(place) < probability {
            Sight::Line
        } else {
            Sight::NoLine
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_its_state() {
        let mut field = SightField::new(Streams::new(1));
        let place = Position::at(33.0, -71.0);
        let first = field.uniform(place);
        field.uniform(Position::at(500.0, 500.0));
        assert_eq!(field.uniform(place), first);
    }

    /// The share of places with line of sight is the probability, at any point of a square. 4
    /// standard deviations of the binomial.
    #[test]
    fn share_of_places_in_sight() {
        let n = 4_000;
        for (u, v) in [(0.0, 0.0), (25.0, 25.0), (10.0, 45.0)] {
            for probability in [0.0935, 0.5196, 0.9] {
                let seen = (0..n)
                    .filter(|&seed| {
                        let mut field = SightField::new(Streams::new(seed));
                        field.sight(Position::at(u, v), probability) == Sight::Line
                    })
                    .count() as f64
                    / n as f64;
                let error = 4.0 * f64::sqrt(probability * (1.0 - probability) / n as f64);
                assert!((seen - probability).abs() < error, "({u}, {v}): {seen}");
            }
        }
    }

    /// Neighbours (1 m) nearly always agree, strangers (three squares) do as independent ones:
    /// p^2 + (1 - p)^2 = 0.5 at p = 0.5.
    #[test]
    fn neighbours_agree() {
        let n = 2_000;
        let agreement = |dx: f64| {
            let agree = (0..n).filter(|&seed| {
                let mut field = SightField::new(Streams::new(seed));
                let here = field.sight(Position::at(20.0, 20.0), 0.5);
                here == field.sight(Position::at(20.0 + dx, 20.0), 0.5)
            });
            agree.count() as f64 / n as f64
        };
        assert!(agreement(1.0) > 0.97);
        assert!((agreement(150.0) - 0.5).abs() < 0.05);
    }

    #[test]
    fn names() {
        for (rule, name) in SightRule::ALL.into_iter().zip(SightRule::NAMES) {
            assert_eq!(rule.to_string(), *name);
            assert_eq!(name.parse(), Ok(rule));
        }
        assert!("maybe".parse::<SightRule>().is_err());
    }
}
