//! Blockage by people and vehicles, TR 38.901 (v19.4.0) 7.6.4.2, model B.
//!
//! A blocker is a rectangle (Table 7.6.4.2-5: a person 0.3 m x 1.7 m, a vehicle 4.8 m x 1.4 m) that
//! stands on the ground and is turned perpendicular to the path. Its loss is
//! L = -20 log10(1 - (F_h1 + F_h2)(F_w1 + F_w2)), with
//! F = +- atan((pi / 2) sqrt((pi / wavelength)(D1 + D2 - r))) / pi for each edge (eq. 7.6-29, -30):
//! D1 and D2 are the distances of transmitter and receiver to the edge, r that between them, for
//! the upper and lower edge seen from the side, for the others from above. All signs are + where
//! the path hits the rectangle; where it misses in one view, the nearer edge of that view has -.
//! Losses of several blockers add up in dB.
//!
//! *Deviations.* One path, the direct one; it is that of the whole link. r is that of the same view
//! as D1 and D2, so that a path which is not level is treated as one that is.

use super::{Path, field_left};
use crate::moving::geometry::{Metres, Position};
use crate::name::UnknownName;
use core::fmt;
use core::str::FromStr;
use units::{Decibel, Hertz};

/// A kind of rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Screen {
    /// A person: 0.3 m wide, 1.7 m high.
    Human,
    /// A vehicle: 4.8 m wide, 1.4 m high.
    Vehicle,
}

impl Screen {
    /// The names.
    pub const NAMES: &'static [&'static str] = &["human", "vehicle"];

    /// Width and height.
    pub const fn size(self) -> (Metres, Metres) {
        match self {
            Self::Human => (Metres::new(0.3), Metres::new(1.7)),
            Self::Vehicle => (Metres::new(4.8), Metres::new(1.4)),
        }
    }

    /// Loss of a level path through the centre of such a rectangle, at distances from both ends.
    pub fn central_loss(self, carrier: Hertz, distances: (Metres, Metres)) -> Decibel {
        let end = |x, height| super::End {
            place: Position::at(x, 0.0),
            height,
        };
        let (width, height) = self.size();
        let (near, far) = (distances.0.get(), distances.1.get());
        let wavelength = crate::moving::geometry::LIGHT / carrier.get() as f64;
        let path = Path::new(end(0.0, 0.0), end(near + far, 0.0), wavelength);
        let half = height.get() / 2.0;
        let left = left_behind(&path, (near, 0.0), width.get(), (-half, half));
        Decibel::new(super::loss([left].into_iter()))
    }
}

impl fmt::Display for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[*self as usize])
    }
}

impl FromStr for Screen {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "human" => Ok(Self::Human),
            "vehicle" => Ok(Self::Vehicle),
            _ => Err(UnknownName::new("blocker", text, Self::NAMES)),
        }
    }
}

/// A person or a thing in the street.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocker {
    /// What it is.
    pub screen: Screen,
    /// Where it stands.
    pub place: Position,
}

impl Blocker {
    /// What it leaves of the field, 0 to 1.
    pub(in crate::moving) fn field_left(&self, path: &Path) -> f64 {
        let (width, height) = self.screen.size();
        left_behind(
            path,
            path.relative(self.place),
            width.get(),
            (0.0, height.get()),
        )
    }
}

/// What a rectangle leaves of the field behind it. Its middle is at (s, q) along and beside the path;
/// it stands between two heights.
fn left_behind(path: &Path, (s, q): (f64, f64), width: f64, (low, high): (f64, f64)) -> f64 {
    if !(s > 0.0 && s < path.ground) {
        return 1.0;
    }
    let left = path.detour_top((s, q + width / 2.0));
    let right = path.detour_top((s, q - width / 2.0));
    let vertical = pair(path, left, right, q.abs() < width / 2.0);
    let ray = path.height_at(s);
    let (top, bottom) = (path.detour_side(s, high), path.detour_side(s, low));
    let horizontal = pair(path, top, bottom, ray > low && ray < high);
    field_left(horizontal, vertical)
}

/// The sum of the terms of two edges: both positive if the path passes between them, else the
/// nearer one negative.
fn pair(path: &Path, a: f64, b: f64, between: bool) -> f64 {
    path.edge_term(a.max(b), true) + path.edge_term(a.min(b), between)
}

#[cfg(test)]
mod tests {
    use super::super::End;
    use super::*;

    const CARRIER: Hertz = Hertz::new(28_000_000_000);
    const WAVELENGTH: f64 = 0.010_706_9;

    /// The sheet's check: 28 GHz, r = 50 m, screen 2 m from the UE, path through its centre.
    #[test]
    fn equation_7_6_29_and_30() {
        for (screen, expected) in [(Screen::Human, 9.7), (Screen::Vehicle, 21.2)] {
            let distances = (Metres::new(2.0), Metres::new(48.0));
            let loss = screen.central_loss(CARRIER, distances).get();
            assert!((loss - expected).abs() < 0.05, "{screen}: {loss}");
        }
    }

    fn loss_at(offset: f64) -> f64 {
        let end = |x, height| End {
            place: Position::at(x, 0.0),
            height,
        };
        let path = Path::new(end(0.0, 1.5), end(50.0, 1.5), WAVELENGTH);
        let place = Position::at(48.0, offset);
        let blocker = Blocker {
            screen: Screen::Human,
            place,
        };
        super::super::loss([blocker.field_left(&path)].into_iter())
    }

    /// A person who walks through the path: no loss far off, grazing in between (one edge on the
    /// path: about half of the field), most in the middle, the same on both sides.
    #[test]
    fn a_person_walks_through() {
        assert!(loss_at(3.0) < 0.1, "{}", loss_at(3.0));
        let offsets: Vec<f64> = (0..=60).map(|i| f64::from(i) * 0.05).collect();
        for pair in offsets.windows(2) {
            assert!(
                loss_at(pair[0]) >= loss_at(pair[1]) - 1e-9,
                "at {}",
                pair[1]
            );
        }
        assert!((loss_at(0.4) - loss_at(-0.4)).abs() < 1e-9);
        assert!(loss_at(0.0) > loss_at(0.15) && loss_at(0.15) > 2.0);
        // the edge does not jump
        assert!((loss_at(0.15 - 1e-9) - loss_at(0.15 + 1e-9)).abs() < 1e-3);
    }

    #[test]
    fn an_obstacle_behind_the_ends_does_not_block() {
        let end = |x, height| End {
            place: Position::at(x, 0.0),
            height,
        };
        let path = Path::new(end(0.0, 1.5), end(50.0, 1.5), WAVELENGTH);
        for x in [-1.0, 51.0] {
            let place = Position::at(x, 0.0);
            assert_eq!(
                Blocker {
                    screen: Screen::Vehicle,
                    place
                }
                .field_left(&path),
                1.0
            );
        }
    }

    #[test]
    fn names() {
        for name in Screen::NAMES {
            assert_eq!(name.parse::<Screen>().unwrap().to_string(), *name);
        }
        assert!("dog".parse::<Screen>().is_err());
    }
}
