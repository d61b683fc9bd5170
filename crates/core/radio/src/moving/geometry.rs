//! Places, lengths and speeds. The ground is a plane; x and y are metres on it.

use core::fmt;
use core::str::FromStr;
use units::{ParseUnitError, UnitProblem};

/// Speed of light in vacuum, m/s.
pub(super) const LIGHT: f64 = 299_792_458.0;

/// A length, a height or a coordinate, in metres.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Metres(f64);

impl Metres {
    /// From a number of metres.
    pub const fn new(metres: f64) -> Self {
        Self(metres)
    }
    /// As a number of metres.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Metres {
    /// In km from 1 km on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() >= 1_000.0 {
            write!(f, "{} km", rounded(self.0 / 1_000.0))
        } else {
            write!(f, "{} m", rounded(self.0))
        }
    }
}

impl FromStr for Metres {
    type Err = ParseUnitError;
    /// A number with `cm`, `m` or `km`; a coordinate may be negative.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [("m", 1.0), ("km", 1_000.0), ("cm", 0.01)];
        quantity(text, "the length", "10 m", &units).map(Self)
    }
}

/// A speed in metres per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Speed(f64);

impl Speed {
    /// From a number of metres per second.
    pub const fn new(metres_per_second: f64) -> Self {
        Self(metres_per_second)
    }
    /// As a number of metres per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m/s", self.0)
    }
}

impl FromStr for Speed {
    type Err = ParseUnitError;
    /// A number >= 0 with `m/s` or `km/h`.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let (what, example) = ("the speed", "1 m/s");
        let speed = quantity(text, what, example, &[("m/s", 1.0), ("km/h", 1.0 / 3.6)])?;
        if speed < 0.0 {
            let problem = UnitProblem::Negative;
            return Err(ParseUnitError {
                text: text.to_owned(),
                what,
                example,
                problem,
            });
        }
        Ok(Self(speed))
    }
}

/// A place on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Position {
    /// From its coordinates.
    pub const fn new(x: Metres, y: Metres) -> Self {
        Self { x: x.0, y: y.0 }
    }
    pub(super) const fn at(x: f64, y: f64) -> Self {
        Self { x, y }
    }
    /// First coordinate.
    pub const fn x(self) -> Metres {
        Metres(self.x)
    }
    /// Second coordinate.
    pub const fn y(self) -> Metres {
        Metres(self.y)
    }
    /// Distance on the ground.
    pub fn distance(self, other: Self) -> Metres {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        Metres((dx * dx + dy * dy).sqrt())
    }
    pub(super) fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
    /// The place so far (0 to 1) on the way to another.
    pub(super) fn towards(self, other: Self, share: f64) -> Self {
        Self::at(
            self.x + (other.x - self.x) * share,
            self.y + (other.y - self.y) * share,
        )
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} m, {} m)", rounded(self.x), rounded(self.y))
    }
}

/// The least and the greatest distance from a place to a straight way.
pub(super) fn distances_to_segment(place: Position, a: Position, b: Position) -> (f64, f64) {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let length2 = dx * dx + dy * dy;
    let share = if length2 > 0.0 {
        (((place.x - a.x) * dx + (place.y - a.y) * dy) / length2).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let nearest = place.distance(a.towards(b, share)).0;
    (nearest, place.distance(a).0.max(place.distance(b).0))
}

/// For messages: millimetres are enough.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// Reads a number and its unit.
pub(super) fn quantity(
    text: &str,
    what: &'static str,
    example: &'static str,
    units: &[(&str, f64)],
) -> Result<f64, ParseUnitError> {
    let error = |problem| ParseUnitError {
        text: text.to_owned(),
        what,
        example,
        problem,
    };
    let trimmed = text.trim();
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_');
    let end = trimmed.find(|c| !of_number(c)).unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..end].replace('_', ""), trimmed[end..].trim());
    let value: f64 = number.parse().map_err(|_| error(UnitProblem::NoNumber))?;
    if unit.is_empty() {
        return Err(error(UnitProblem::NoUnit));
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        return Err(error(UnitProblem::UnknownUnit {
            unit: unit.to_owned(),
            known,
        }));
    };
    let scaled = value * factor;
    if scaled.is_finite() {
        Ok(scaled)
    } else {
        Err(error(UnitProblem::TooLarge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!("10 m".parse(), Ok(Metres::new(10.0)));
        assert_eq!("-1.5km".parse(), Ok(Metres::new(-1500.0)));
        assert_eq!("30 cm".parse(), Ok(Metres::new(0.3)));
        assert_eq!("1 m/s".parse(), Ok(Speed::new(1.0)));
        assert_eq!("36 km/h".parse(), Ok(Speed::new(10.0)));
        assert_eq!(Metres::new(1500.0).to_string(), "1.5 km");
        assert_eq!(Position::at(1.0, -2.5).to_string(), "(1 m, -2.5 m)");
    }

    #[test]
    fn each_fault_is_distinguished() {
        let problem = |text: &str| text.parse::<Speed>().unwrap_err().problem;
        assert_eq!(problem("1"), UnitProblem::NoUnit);
        assert_eq!(problem("m/s"), UnitProblem::NoNumber);
        assert_eq!(problem("-1 m/s"), UnitProblem::Negative);
        let message = "3 miles".parse::<Metres>().unwrap_err().to_string();
        assert_eq!(
            message,
            "the length \"3 miles\": has the unknown unit \"miles\" (known: m, km, cm), \
             expected for example \"10 m\""
        );
    }

    #[test]
    fn distances_of_a_way() {
        let way = |x: f64, y: f64| {
            distances_to_segment(
                Position::at(x, y),
                Position::at(0.0, 0.0),
                Position::at(10.0, 0.0),
            )
        };
        assert_eq!(way(5.0, 3.0), (3.0, 5f64.hypot(3.0)));
        assert_eq!(way(-4.0, 0.0), (4.0, 14.0));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            let _ = text.parse::<Metres>();
            let _ = text.parse::<Speed>();
        }
    }
}
