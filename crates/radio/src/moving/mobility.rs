//! How a UE moves: in straight legs at constant speed, with rests between.
//!
//! A random walk draws a direction, uniform over all, for each leg; a leg ends after its length, or
//! before the edge of the area or a building's wall, and the next begins (as the random walk of
//! ns-3, which reflects). The walk follows from the seed alone.

use super::blockage::Building;
use super::geometry::{Metres, Position, Speed};
use core::f64::consts::TAU;
use units::{Duration, Instant, Rng};

/// Greatest speed that is believed: 500 m/s (TR 38.901 goes to 500 km/h, 139 m/s).
pub const MAX_SPEED: Speed = Speed::new(500.0);
/// A walker keeps this distance from walls and edges, m.
const CLEARANCE: f64 = 0.05;
/// Directions that are tried before a walker waits.
const TRIES: u32 = 64;
/// Legs of a random walk shorter than this are refused, m.
const SHORTEST_LEG: f64 = 0.1;

/// A point of a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// The place.
    pub place: Position,
    /// How long the UE rests there before it goes on.
    pub rest: Duration,
}

/// What happens at the last waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The UE stays.
    Stop,
    /// It goes straight to the first and begins again.
    Loop,
}

/// How a UE moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// It does not.
    Static {
        /// Where it is.
        place: Position,
    },
    /// Straight on, without end.
    Line {
        /// Where it begins.
        from: Position,
        /// A place that it passes.
        towards: Position,
        /// Its speed.
        speed: Speed,
    },
    /// A random walk in a rectangle.
    RandomWalk {
        /// Where it begins, inside the rectangle.
        from: Position,
        /// Two opposite corners of the rectangle.
        area: (Position, Position),
        /// Its speed.
        speed: Speed,
        /// Length of a leg, at least 10 cm.
        leg: Metres,
    },
    /// From one point to the next.
    Waypoints {
        /// The points, at least one; it begins at the first.
        points: Vec<Waypoint>,
        /// Its speed on the way.
        speed: Speed,
        /// What happens at the last.
        at_end: AtEnd,
    },
}

/// Why a UE cannot move so.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MobilityError {
    /// A speed that is none, or too great to be true.
    #[error("the speed is {speed}; choose 0 m/s to {MAX_SPEED}")]
    Speed {
        /// What was given.
        speed: Speed,
    },
    /// A place that is none.
    #[error("the place {place} is not finite")]
    Place {
        /// What was given.
        place: Position,
    },
    /// No direction.
    #[error("the way from {from} leads towards the same place; give another for the direction")]
    NoDirection {
        /// Where it begins.
        from: Position,
    },
    /// No points.
    #[error("there are no waypoints; give at least one")]
    NoWaypoints,
    /// An area that is none, or without the beginning in it.
    #[error("the walk begins at {from}, outside its area from {low} to {high}")]
    OutsideArea {
        /// Where it begins.
        from: Position,
        /// Least coordinates.
        low: Position,
        /// Greatest coordinates.
        high: Position,
    },
    /// Legs too short.
    #[error("a leg of the walk is {leg}; choose 10 cm or more")]
    Leg {
        /// What was given.
        leg: Metres,
    },
}

impl Mobility {
    /// Where the UE is at the beginning.
    ///
    /// # Errors
    /// There are no waypoints.
    pub fn start(&self) -> Result<Position, MobilityError> {
        match self {
            Self::Static { place } => Ok(*place),
            Self::Line { from, .. } | Self::RandomWalk { from, .. } => Ok(*from),
            Self::Waypoints { points, .. } => points
                .first()
                .map(|point| point.place)
                .ok_or(MobilityError::NoWaypoints),
        }
    }

    const fn speed(&self) -> Speed {
        match self {
            Self::Static { .. } => Speed::new(0.0),
            Self::Line { speed, .. }
            | Self::RandomWalk { speed, .. }
            | Self::Waypoints { speed, .. } => *speed,
        }
    }

    pub(super) fn check(&self) -> Result<(), MobilityError> {
        let speed = self.speed();
        if !(0.0..=MAX_SPEED.get()).contains(&speed.get()) {
            return Err(MobilityError::Speed { speed });
        }
        let finite = |place: Position| {
            if place.is_finite() {
                Ok(())
            } else {
                Err(MobilityError::Place { place })
            }
        };
        finite(self.start()?)?;
        match self {
            Self::Static { .. } => Ok(()),
            Self::Line { from, towards, .. } => {
                finite(*towards)?;
                if from.distance(*towards).get() > 0.0 {
                    Ok(())
                } else {
                    Err(MobilityError::NoDirection { from: *from })
                }
            }
            Self::RandomWalk {
                from, area, leg, ..
            } => {
                let (low, high) = corners(*area);
                finite(low)?;
                finite(high)?;
                let inside =
                    (low.x..=high.x).contains(&from.x) && (low.y..=high.y).contains(&from.y);
                if !inside {
                    return Err(MobilityError::OutsideArea {
                        from: *from,
                        low,
                        high,
                    });
                }
                if !(leg.get() >= SHORTEST_LEG && leg.get().is_finite()) {
                    return Err(MobilityError::Leg { leg: *leg });
                }
                Ok(())
            }
            Self::Waypoints { points, .. } => {
                points.iter().try_for_each(|point| finite(point.place))
            }
        }
    }

    /// The straight ways on which the UE is during a run; for a random walk, whose ways are not known
    /// before, none.
    pub(super) fn ways(&self, run: Duration) -> Vec<(Position, Position)> {
        match self {
            Self::Static { place } => vec![(*place, *place)],
            Self::Line {
                from,
                towards,
                speed,
            } => {
                let way = speed.get() * run.as_secs_f64();
                let share = way / from.distance(*towards).get();
                vec![(*from, from.towards(*towards, share))]
            }
            Self::RandomWalk { .. } => Vec::new(),
            Self::Waypoints { points, at_end, .. } => {
                let mut ways: Vec<_> = points
                    .windows(2)
                    .map(|pair| (pair[0].place, pair[1].place))
                    .collect();
                if let (AtEnd::Loop, [first, .., last]) = (at_end, points.as_slice()) {
                    ways.push((last.place, first.place));
                }
                if let (true, [only]) = (ways.is_empty(), points.as_slice()) {
                    ways.push((only.place, only.place));
                }
                ways
            }
        }
    }

    /// The area of a random walk, by least and greatest coordinates.
    pub(super) fn area(&self) -> Option<(Position, Position)> {
        match self {
            Self::RandomWalk { area, .. } => Some(corners(*area)),
            _ => None,
        }
    }
}

fn corners((a, b): (Position, Position)) -> (Position, Position) {
    (
        Position::at(a.x.min(b.x), a.y.min(b.y)),
        Position::at(a.x.max(b.x), a.y.max(b.y)),
    )
}

/// A straight piece of a way, at constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leg {
    pub start: Instant,
    /// The next leg begins here.
    pub end: Instant,
    pub from: Position,
    /// m/s.
    pub velocity: (f64, f64),
}

impl Leg {
    /// m/s.
    pub fn speed(&self) -> f64 {
        self.velocity.0.hypot(self.velocity.1)
    }

    /// Where the UE is at a time of this leg.
    pub fn place(&self, at: Instant) -> Position {
        let t = at.saturating_since(self.start).as_secs_f64();
        Position::at(
            self.from.x + self.velocity.0 * t,
            self.from.y + self.velocity.1 * t,
        )
    }

    fn rest(start: Instant, end: Instant, place: Position) -> Self {
        Self {
            start,
            end,
            from: place,
            velocity: (0.0, 0.0),
        }
    }
}

/// A way, leg by leg.
#[derive(Clone, Debug)]
pub(super) struct Track {
    mobility: Mobility,
    buildings: Vec<Building>,
    rng: Rng,
    /// Where the next leg begins.
    place: Position,
    /// Waypoint that was reached last.
    point: usize,
    /// The UE has still to rest there.
    rests: bool,
}

impl Track {
    /// A way that has been checked; a random walk keeps out of the buildings.
    pub fn new(
        mobility: Mobility,
        buildings: Vec<Building>,
        rng: Rng,
    ) -> Result<Self, MobilityError> {
        mobility.check()?;
        let place = mobility.start()?;
        Ok(Self {
            mobility,
            buildings,
            rng,
            place,
            point: 0,
            rests: true,
        })
    }

    /// The leg that begins at a time, which is the end of the one before.
    pub fn next_leg(&mut self, start: Instant) -> Leg {
        let speed = self.mobility.speed().get();
        let stays = Leg::rest(start, Instant::MAX, self.place);
        if speed == 0.0 {
            return stays;
        }
        let leg = match &self.mobility {
            Mobility::Static { .. } => stays,
            Mobility::Line { from, towards, .. } => {
                let length = from.distance(*towards).get();
                let velocity = (
                    (towards.x - from.x) / length * speed,
                    (towards.y - from.y) / length * speed,
                );
                Leg {
                    start,
                    end: Instant::MAX,
                    from: *from,
                    velocity,
                }
            }
            Mobility::RandomWalk { area, leg, .. } => {
                let (area, length) = (corners(*area), leg.get());
                self.random_leg(start, area, length, speed)
            }
            Mobility::Waypoints { .. } => self.waypoint_leg(start, speed),
        };
        if leg.end < Instant::MAX {
            self.place = leg.place(leg.end);
        }
        leg
    }

    fn waypoint_leg(&mut self, start: Instant, speed: f64) -> Leg {
        let Mobility::Waypoints { points, at_end, .. } = &self.mobility else {
            return Leg::rest(start, Instant::MAX, self.place);
        };
        let here = points[self.point];
        let rest = here.rest;
        if core::mem::take(&mut self.rests) && !rest.is_zero() {
            return Leg::rest(start, start + rest, here.place);
        }
        // points that are the same place are passed by at once
        for _ in 0..points.len() {
            let next = match (self.point + 1 < points.len(), at_end) {
                (true, _) => self.point + 1,
                (false, AtEnd::Loop) => 0,
                (false, AtEnd::Stop) => break,
            };
            self.point = next;
            self.rests = true;
            let to = points[next];
            if to.place.distance(here.place).get() > 1e-6 {
                return straight(start, here.place, to.place, speed);
            }
            if !to.rest.is_zero() {
                self.rests = false;
                return Leg::rest(start, start + to.rest, to.place);
            }
        }
        Leg::rest(start, Instant::MAX, here.place)
    }

    fn random_leg(
        &mut self,
        start: Instant,
        area: (Position, Position),
        length: f64,
        speed: f64,
    ) -> Leg {
        for _ in 0..TRIES {
            let angle = TAU * self.rng.uniform();
            let direction = (angle.cos(), angle.sin());
            let free = self.free(area, direction, length);
            if free >= CLEARANCE {
                let to = Position::at(
                    self.place.x + direction.0 * free,
                    self.place.y + direction.1 * free,
                );
                return straight(start, self.place, to, speed);
            }
        }
        // hemmed in: waits as long as a leg takes, and tries again
        Leg::rest(
            start,
            start + Duration::from_secs_f64(length / speed),
            self.place,
        )
    }

    /// How far the way is free in a direction, at most `length`, m.
    fn free(&self, (low, high): (Position, Position), direction: (f64, f64), length: f64) -> f64 {
        let axis = |at: f64, d: f64, low: f64, high: f64| match d {
            d if d > 0.0 => (high - at) / d,
            d if d < 0.0 => (low - at) / d,
            _ => f64::INFINITY,
        };
        let Position { x, y } = self.place;
        let edge = axis(x, direction.0, low.x, high.x).min(axis(y, direction.1, low.y, high.y));
        let mut free = length.min(edge);
        // look a little further than the leg, to end before a wall and not on it
        let reach = free + 2.0 * CLEARANCE;
        let to = Position::at(x + direction.0 * reach, y + direction.1 * reach);
        for building in &self.buildings {
            if let Some((enter, _)) = building.crossing(self.place, to) {
                free = free.min(enter * reach - CLEARANCE);
            }
        }
        free
    }
}

fn straight(start: Instant, from: Position, to: Position, speed: f64) -> Leg {
    let length = from.distance(to).get();
    let lasts = Duration::from_secs_f64(length / speed).max(Duration::from_nanos(1));
    // exactly from one to the other in whole nanoseconds
    let seconds = lasts.as_secs_f64();
    let velocity = ((to.x - from.x) / seconds, (to.y - from.y) / seconds);
    Leg {
        start,
        end: start + lasts,
        from,
        velocity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn track(mobility: Mobility, buildings: &[Building]) -> Track {
        Track::new(mobility, buildings.to_vec(), Streams::new(4).stream("walk")).unwrap()
    }

    fn at(x: f64, y: f64) -> Position {
        Position::at(x, y)
    }

    fn error(mobility: &Mobility) -> MobilityError {
        mobility.check().unwrap_err()
    }

    #[test]
    fn straight_on() {
        let (from, towards) = (at(1.0, 1.0), at(4.0, 5.0));
        let mobility = Mobility::Line {
            from,
            towards,
            speed: Speed::new(5.0),
        };
        let leg = track(mobility.clone(), &[]).next_leg(Instant::ZERO);
        assert_eq!(leg.velocity, (3.0, 4.0));
        assert_eq!(leg.place(Instant::from_nanos(2_000_000_000)), at(7.0, 9.0));
        assert_eq!(
            mobility.ways(Duration::from_secs(2)),
            [(from, at(7.0, 9.0))]
        );
    }

    #[test]
    fn waypoints_with_rests() {
        let point = |x, y, s| Waypoint {
            place: at(x, y),
            rest: Duration::from_secs(s),
        };
        let points = vec![point(0.0, 0.0, 1), point(10.0, 0.0, 0), point(10.0, 5.0, 2)];
        let way = |at_end| Mobility::Waypoints {
            points: points.clone(),
            speed: Speed::new(1.0),
            at_end,
        };
        let mut stops = track(way(AtEnd::Stop), &[]);
        let mut now = Instant::ZERO;
        let mut seen = Vec::new();
        loop {
            let leg = stops.next_leg(now);
            seen.push((leg.start.as_secs_f64(), leg.from, leg.speed()));
            if leg.end == Instant::MAX {
                break;
            }
            now = leg.end;
        }
        assert_eq!(
            seen,
            [
                (0.0, at(0.0, 0.0), 0.0),
                (1.0, at(0.0, 0.0), 1.0),
                (11.0, at(10.0, 0.0), 1.0),
                (16.0, at(10.0, 5.0), 0.0),
                (18.0, at(10.0, 5.0), 0.0),
            ]
        );
        let mut loops = track(way(AtEnd::Loop), &[]);
        let mut now = Instant::ZERO;
        for _ in 0..5 {
            now = loops.next_leg(now).end;
        }
        // back at the first after sqrt(10^2 + 5^2) = 11.18 s
        let leg = loops.next_leg(now);
        assert!((leg.start.as_secs_f64() - 29.180_34).abs() < 1e-4);
        assert!(leg.from.distance(at(0.0, 0.0)).get() < 1e-6);
    }

    /// A random walk stays in its area, out of the building, at its speed, and sees all of the area.
    #[test]
    fn random_walk() {
        let house = Building::new(at(10.0, 10.0), at(30.0, 20.0), Metres::new(8.0)).unwrap();
        let mobility = Mobility::RandomWalk {
            from: at(5.0, 5.0),
            area: (at(0.0, 40.0), at(50.0, 0.0)),
            speed: Speed::new(1.4),
            leg: Metres::new(7.0),
        };
        let mut walk = track(mobility, &[house]);
        let mut now = Instant::ZERO;
        let mut visited = [[false; 5]; 4];
        for _ in 0..5_000 {
            let leg = walk.next_leg(now);
            assert!(leg.end > leg.start && leg.end < Instant::MAX);
            assert!((leg.speed() - 1.4).abs() < 1e-6 || leg.speed() == 0.0);
            let to = leg.place(leg.end);
            assert!(leg.from.distance(to).get() <= 7.0 + 1e-6);
            assert!(
                house.crossing(leg.from, to).is_none(),
                "through the wall: {leg:?}"
            );
            assert!((-1e-6..=50.0 + 1e-6).contains(&to.x) && (-1e-6..=40.0 + 1e-6).contains(&to.y));
            visited[(to.y as usize).min(39) / 10][(to.x as usize).min(49) / 10] = true;
            now = leg.end;
        }
        let missed = visited.iter().flatten().filter(|seen| !**seen).count();
        assert_eq!(
            missed, 2,
            "only the two squares of the building: {visited:?}"
        );
    }

    #[test]
    fn impossible_ways_are_refused() {
        let line = |metres_per_second| Mobility::Line {
            from: at(0.0, 0.0),
            towards: at(1.0, 0.0),
            speed: Speed::new(metres_per_second),
        };
        assert_eq!(
            error(&line(299_792_458.0)).to_string(),
            "the speed is 299792458 m/s; choose 0 m/s to 500 m/s"
        );
        for speed in [-1.0, f64::NAN, 500.1] {
            assert!(matches!(error(&line(speed)), MobilityError::Speed { .. }));
        }
        assert!(line(500.0).check().is_ok());
        let nowhere = Mobility::Static {
            place: at(f64::NAN, 0.0),
        };
        assert!(matches!(error(&nowhere), MobilityError::Place { .. }));
        let speed = Speed::new(1.0);
        let same = Mobility::Line {
            from: at(1.0, 1.0),
            towards: at(1.0, 1.0),
            speed,
        };
        assert!(matches!(error(&same), MobilityError::NoDirection { .. }));
        let none = Mobility::Waypoints {
            points: Vec::new(),
            speed,
            at_end: AtEnd::Stop,
        };
        assert_eq!(error(&none), MobilityError::NoWaypoints);
        let walk = |from, leg| Mobility::RandomWalk {
            from,
            area: (at(0.0, 0.0), at(10.0, 10.0)),
            speed,
            leg: Metres::new(leg),
        };
        assert!(matches!(
            error(&walk(at(11.0, 0.0), 1.0)),
            MobilityError::OutsideArea { .. }
        ));
        assert!(matches!(
            error(&walk(at(1.0, 0.0), 0.0)),
            MobilityError::Leg { .. }
        ));
    }
}
