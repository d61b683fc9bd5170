//! What stands in the way.
//!
//! ```text
//!   screen     knife-edge diffraction round a rectangle, TR 38.901 7.6.4.2; people and vehicles
//!   building   boxes: does the path cross one, what goes round it and over it
//! ```

mod building;
mod screen;

pub use building::{Building, BuildingEffect, BuildingError};
pub use screen::{Blocker, Screen};

use super::geometry::Position;

/// From here on two terms of the arctangent's series in 1/x are exact to 1e-6.
const SERIES_FROM: f64 = 10.0;

/// One end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct End {
    pub place: Position,
    /// m.
    pub height: f64,
}

/// A path through the air, from above (top view) and from the side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    from: End,
    to: End,
    /// Length on the ground, m.
    ground: f64,
    /// Unit vector on the ground, from the one end to the other.
    along: (f64, f64),
    wavelength: f64,
}

impl Path {
    pub fn new(from: End, to: End, wavelength: f64) -> Self {
        let (dx, dy) = (to.place.x - from.place.x, to.place.y - from.place.y);
        let ground = dx.hypot(dy);
        // straight up or down there is no direction: any will do
        let along = if ground > 0.0 {
            (dx / ground, dy / ground)
        } else {
            (1.0, 0.0)
        };
        Self {
            from,
            to,
            ground,
            along,
            wavelength,
        }
    }

    /// A place by its distance along the path and its offset to the left of it, m.
    fn relative(&self, place: Position) -> (f64, f64) {
        let (dx, dy) = (place.x - self.from.place.x, place.y - self.from.place.y);
        (
            dx * self.along.0 + dy * self.along.1,
            dy * self.along.0 - dx * self.along.1,
        )
    }

    /// Height of the path at a distance along it, m.
    fn height_at(&self, s: f64) -> f64 {
        let share = if self.ground > 0.0 {
            s / self.ground
        } else {
            0.0
        };
        self.from.height + (self.to.height - self.from.height) * share
    }

    /// How much longer the way by an edge is, from above: `D1 + D2 - r`, m.
    fn detour_top(&self, (s, q): (f64, f64)) -> f64 {
        length(s, q) + length(self.ground - s, q) - self.ground
    }

    /// The same from the side, for an edge of this height.
    fn detour_side(&self, s: f64, height: f64) -> f64 {
        let direct = length(self.ground, self.to.height - self.from.height);
        length(s, height - self.from.height) + length(self.ground - s, height - self.to.height)
            - direct
    }

    /// The term F of an edge (TR 38.901 eq. 7.6-30): positive where the edge is beyond the path, so
    /// that the path hits, negative where it leaves the path free.
    fn edge_term(&self, detour: f64, hits: bool) -> f64 {
        use core::f64::consts::{FRAC_PI_2, PI};
        let x = FRAC_PI_2 * (PI / self.wavelength * detour.max(0.0)).sqrt();
        let f = if x > SERIES_FROM {
            0.5 - (1.0 - 1.0 / (3.0 * x * x)) / (PI * x)
        } else {
            x.atan() / PI
        };
        if hits { f } else { -f }
    }
}

/// As `hypot`, which is slower as it minds overflow.
fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// What a rectangle leaves of the field behind it, 1e-10 to 1 (TR 38.901 eq. 7.6-29), from the sums of
/// the terms of its horizontal and its vertical edges.
fn field_left(horizontal: f64, vertical: f64) -> f64 {
    // an infinite screen would leave nothing: far below any loss that matters
    1.0 - (horizontal * vertical).clamp(0.0, 1.0 - 1e-10)
}

/// Loss of several obstacles in dB, from what each leaves of the field. Losses add up, so that one
/// logarithm does for all.
pub(super) fn loss(left: impl Iterator<Item = f64>) -> f64 {
    let decibels = |field: f64| -20.0 * field.log10();
    let (mut field, mut loss) = (1.0, 0.0);
    for left in left {
        field *= left;
        if field < 1e-200 {
            loss += decibels(field);
            field = 1.0;
        }
    }
    // most often nothing is in the way
    if field == 1.0 {
        return loss;
    }
    loss + decibels(field)
}

/// The knife edge of an endless wall with one free edge, here and by ITU-R P.526.
#[cfg(test)]
mod tests {
    use super::*;

    /// ITU-R P.526 4.1 eq. 31: J(v) = 6.9 + 20 log10(sqrt((v - 0.1)^2 + 1) + v - 0.1), v > -0.78;
    /// v = 2 sqrt(detour / (wavelength / 2) / 2) = 2 sqrt(detour / wavelength). The arctangent of
    /// TR 38.901 approximates the same integral: within 0.2 dB of it from v = 0 to 10.
    #[test]
    fn one_edge_agrees_with_p526() {
        let end = |x, height| End {
            place: Position::at(x, 0.0),
            height,
        };
        let path = Path::new(end(0.0, 10.0), end(100.0, 10.0), 0.0107);
        for v in [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0f64] {
            let detour = v * v / 4.0 * path.wavelength;
            let here = loss([field_left(0.5 + path.edge_term(detour, true), 1.0)].into_iter());
            let p526 = 6.9 + 20.0 * (((v - 0.1).powi(2) + 1.0).sqrt() + v - 0.1).log10();
            assert!(
                (here - p526).abs() < 0.2,
                "v = {v}: {here} dB, P.526 {p526} dB"
            );
        }
        // grazing: exactly half of the field
        let grazing = loss([field_left(0.5, 1.0)].into_iter());
        assert!((grazing - 20.0 * 2f64.log10()).abs() < 1e-12);
    }

    #[test]
    fn losses_add_up() {
        let of = |left: f64, count| loss(core::iter::repeat_n(left, count));
        assert_eq!(of(0.5, 0), 0.0);
        for (left, db) in [(1.0, 0.0), (0.1, 20.0), (1e-10, 200.0)] {
            for count in [1, 2, 8, 100] {
                let sum = db * count as f64;
                assert!(
                    (of(left, count) - sum).abs() < 1e-9 * sum.max(1.0),
                    "{count} x {db} dB"
                );
            }
        }
    }

    #[test]
    fn a_path_from_above_and_from_the_side() {
        let from = End {
            place: Position::at(1.0, 1.0),
            height: 10.0,
        };
        let to = End {
            place: Position::at(1.0, 11.0),
            height: 2.0,
        };
        let path = Path::new(from, to, 0.01);
        let (s, q) = path.relative(Position::at(-2.0, 4.0));
        assert_eq!((s, q), (3.0, 3.0));
        assert_eq!(path.height_at(5.0), 6.0);
        assert!((path.detour_top((5.0, 0.0))).abs() < 1e-12);
        assert!((path.detour_side(5.0, 6.0)).abs() < 1e-12);
    }
}
