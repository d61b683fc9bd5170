//! Where a random walk may go: a rectangle or a disc.

use super::geometry::{Metres, Position};
use core::f64::consts::TAU;
use units::Rng;

/// Where a random walk may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Area {
    /// A rectangle, its sides parallel to the axes, by two opposite corners.
    Rectangle(Position, Position),
    /// A disc.
    Disc {
        /// Its centre.
        centre: Position,
        /// Its radius.
        radius: Metres,
    },
}

impl Area {
    /// The place in the middle.
    pub fn centre(&self) -> Position {
        match *self {
            Self::Rectangle(a, b) => Position::at(f64::midpoint(a.x, b.x), f64::midpoint(a.y, b.y)),
            Self::Disc { centre, .. } => centre,
        }
    }

    /// A place in it, uniformly.
    pub fn draw(&self, rng: &mut Rng) -> Position {
        match *self {
            Self::Rectangle(..) => {
                let (low, high) = self.bounds();
                let mut between =
                    |low: f64, high: f64| (low + (high - low) * rng.uniform()).min(high);
                let x = between(low.x, high.x);
                Position::at(x, between(low.y, high.y))
            }
            Self::Disc { centre, radius } => {
                let distance = radius.get() * rng.uniform().sqrt();
                let (sin, cos) = (TAU * rng.uniform()).sin_cos();
                Position::at(centre.x + distance * cos, centre.y + distance * sin)
            }
        }
    }

    /// Least and greatest coordinates.
    pub(super) fn bounds(&self) -> (Position, Position) {
        match *self {
            Self::Rectangle(a, b) => (
                Position::at(a.x.min(b.x), a.y.min(b.y)),
                Position::at(a.x.max(b.x), a.y.max(b.y)),
            ),
            Self::Disc { centre, radius } => {
                let r = radius.get();
                (
                    Position::at(centre.x - r, centre.y - r),
                    Position::at(centre.x + r, centre.y + r),
                )
            }
        }
    }

    /// Whether a place is in it, the edge included.
    pub(super) fn contains(&self, place: Position) -> bool {
        match *self {
            Self::Rectangle(..) => {
                let (low, high) = self.bounds();
                (low.x..=high.x).contains(&place.x) && (low.y..=high.y).contains(&place.y)
            }
            Self::Disc { centre, radius } => centre.distance(place) <= radius,
        }
    }

    /// Least and greatest distance of its places from another, m.
    pub(super) fn distances(&self, from: Position) -> (f64, f64) {
        match *self {
            Self::Rectangle(..) => {
                let (low, high) = self.bounds();
                let near = Position::at(from.x.clamp(low.x, high.x), from.y.clamp(low.y, high.y));
                let farther = |at: f64, low: f64, high: f64| {
                    if at - low > high - at { low } else { high }
                };
                let far = Position::at(
                    farther(from.x, low.x, high.x),
                    farther(from.y, low.y, high.y),
                );
                (from.distance(near).get(), from.distance(far).get())
            }
            Self::Disc { centre, radius } => {
                let (distance, radius) = (centre.distance(from).get(), radius.get());
                ((distance - radius).max(0.0), distance + radius)
            }
        }
    }

    /// How far it is from a place in it to the edge, in a direction of length 1, m; negative where
    /// rounding has left the place outside.
    pub(super) fn edge(&self, place: Position, direction: (f64, f64)) -> f64 {
        match *self {
            Self::Rectangle(..) => {
                let (low, high) = self.bounds();
                let axis = |at: f64, d: f64, low: f64, high: f64| match d {
                    d if d > 0.0 => (high - at) / d,
                    d if d < 0.0 => (low - at) / d,
                    _ => f64::INFINITY,
                };
                let x = axis(place.x, direction.0, low.x, high.x);
                x.min(axis(place.y, direction.1, low.y, high.y))
            }
            Self::Disc { centre, radius } => {
                // |p + t d|^2 = r^2 with p from the centre: the later of the two crossings
                let (x, y) = (place.x - centre.x, place.y - centre.y);
                let along = x * direction.0 + y * direction.1;
                let inside = radius.get() * radius.get() - (x * x + y * y);
                (along * along + inside).max(0.0).sqrt() - along
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn disc(x: f64, y: f64, radius: f64) -> Area {
        Area::Disc {
            centre: Position::at(x, y),
            radius: Metres::new(radius),
        }
    }

    #[test]
    fn the_edge_of_a_disc() {
        let area = disc(1.0, 0.0, 5.0);
        assert_eq!(area.edge(Position::at(1.0, 0.0), (0.6, 0.8)), 5.0);
        // 3 m beside the centre: 4 m across, 2 m further out, 8 m back over the centre
        let beside = Position::at(4.0, 0.0);
        for (direction, expected) in [((0.0, 1.0), 4.0), ((1.0, 0.0), 2.0), ((-1.0, 0.0), 8.0)] {
            assert_eq!(area.edge(beside, direction), expected);
        }
        assert!(area.contains(Position::at(6.0, 0.0)) && !area.contains(Position::at(5.0, 4.0)));
        assert_eq!(area.distances(Position::at(1.0, 8.0)), (3.0, 13.0));
        assert_eq!(area.distances(Position::at(1.0, 1.0)), (0.0, 6.0));
    }

    /// Of a uniform disc, half of the places lie within 1/sqrt(2) of the radius, and a quarter in
    /// each quadrant.
    #[test]
    fn places_in_a_disc_are_uniform() {
        let area = disc(10.0, -5.0, 400.0);
        let mut rng = Streams::new(1).stream("places");
        let draws = 20_000;
        let (mut inner, mut quadrant) = (0, 0);
        for _ in 0..draws {
            let place = area.draw(&mut rng);
            assert!(area.contains(place));
            let near = area.centre().distance(place).get() < 400.0 * 0.5f64.sqrt();
            inner += i32::from(near);
            quadrant += i32::from(place.x > 10.0 && place.y > -5.0);
        }
        // 4 standard deviations of the binomial
        assert!((inner - draws / 2).abs() < 283, "{inner}");
        assert!((quadrant - draws / 4).abs() < 245, "{quadrant}");
    }
}
