//! The points of the contours: 400 at random, none too near to another, the same for all (section 5).

use units::{Rng, Streams};

/// Points of a contour.
pub(super) const COUNT: usize = 400;
/// Points of a quick one.
pub(super) const QUICK: usize = 16;
/// Nearest that two may lie, in hundredths of the axes. Assumed: the paper gives none.
const NEAREST: f64 = 3.2;
/// Least round-trip time, ms: below it packets' own time of transmission is more than the wires'.
const MIN_RTT: f64 = 2.0;

/// Where the proxy stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// End to end, ms.
    pub(super) rtt: f64,
    /// The tunnel's share of it, %.
    pub(super) share: f64,
}

impl Point {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            rtt: MIN_RTT + (100.0 - MIN_RTT) * rng.uniform(),
            share: 100.0 * rng.uniform(),
        }
    }

    /// The tunnel's round-trip time, ms.
    pub(super) fn tunnel_rtt(&self) -> f64 {
        self.rtt * self.share / 100.0
    }

    fn is_near(&self, other: &Self) -> bool {
        (self.rtt - other.rtt).hypot(self.share - other.share) < NEAREST
    }
}

/// So many of them; fewer are the first of more.
pub(super) fn points(count: usize) -> Vec<Point> {
    let mut rng = Streams::new(1).stream("contour");
    let mut points: Vec<Point> = Vec::with_capacity(count);
    while points.len() < count {
        let point = Point::draw(&mut rng);
        if !points.iter().any(|other| other.is_near(&point)) {
            points.push(point);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_hundred_cover_the_square_and_none_is_near_another() {
        let points = points(COUNT);
        for (i, point) in points.iter().enumerate() {
            assert!((MIN_RTT..=100.0).contains(&point.rtt));
            assert!((0.0..=100.0).contains(&point.share));
            assert!(points[..i].iter().all(|other| !other.is_near(point)));
        }
        // every tenth of both axes has a point
        for column in 0..10 {
            for row in 0..10 {
                let is_here = |p: &&Point| {
                    (p.rtt / 10.0) as usize == column && (p.share / 10.0) as usize == row
                };
                assert!(points.iter().find(is_here).is_some(), "{column} {row}");
            }
        }
    }

    #[test]
    fn fewer_are_the_first_of_more() {
        assert_eq!(points(QUICK), points(COUNT)[..QUICK]);
    }
}
