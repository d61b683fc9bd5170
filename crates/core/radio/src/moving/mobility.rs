//! How a UE moves: in straight legs at constant speed, with rests between.
//!
//! A random walk draws a direction, uniform over all, for each leg; a leg ends after its length, or
//! before the edge of the area or a building's wall, and the next begins (as the random walk of
//! ns-3, which reflects). The walk follows from the seed alone.

use super::area::Area;
use super::blockage::Building;
use super::geometry::{Metres, Position, Speed};
use core::f64::consts::TAU;
use units::{Duration, Instant, Rng};

/// Greatest speed that is is_plausible: 500 m/s (TR 38.901 goes to 500 km/h, 139 m/s).
pub const MAX_SPEED: Speed = Speed::new(500.0);
/// A walker keeps this distance from walls and edges, m.
const CLEARANCE: f64 = 0.05;
/// Directions that are tried before a walker waits.
const TRIES: u32 = 64;
/// Legs of a random walk shorter than this are refused, m.
const MIN_LEG: f64 = 0.1;

/// A point of a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// The place.
    pub place: Position,
    /// How long the UE rests there before it goes on.
    pub rest: Duration,
    /// Its speed on the way to here, if other than on the ways that set none.
    pub speed: Option<Speed>,
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
    /// A random walk in an area.
    RandomWalk {
        /// Where it begins, inside the area.
        from: Position,
        /// Where it may go.
        area: Area,
        /// Its speed.
        speed: Speed,
        /// Length of a leg, at least 10 cm.
        leg: Metres,
    },
    /// From one point to the next.
    Waypoints {
        /// The points, at least one; it begins at the first.
        points: Vec<Waypoint>,
        /// Its speed on ways whose end states no other.
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
        let is_plausible = |speed: Speed| {
            if (0.0..=MAX_SPEED.get()).contains(&speed.get()) {
                Ok(())
            } else {
                Err(MobilityError::Speed { speed })
            }
        };
        is_plausible(self.speed())?;
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
                let (low, high) = area.bounds();
                finite(low)?;
                finite(high)?;
                if !area.contains(*from) {
                    return Err(MobilityError::OutsideArea {
                        from: *from,
                        low,
                        high,
                    });
                }
                if !(leg.get() >= MIN_LEG && leg.get().is_finite()) {
                    return Err(MobilityError::Leg { leg: *leg });
                }
                Ok(())
            }
            Self::Waypoints { points, .. } => points.iter().try_for_each(|point| {
                finite(point.place)?;
                point.speed.map_or(Ok(()), is_plausible)
            }),
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

    /// The area of a random walk.
    pub(super) fn area(&self) -> Option<Area> {
        match self {
            Self::RandomWalk { area, .. } => Some(*area),
            _ => None,
        }
    }
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
        let leg = match &self.mobility {
            Mobility::Waypoints { .. } => self.waypoint_leg(start, speed),
            Mobility::Static { .. } => stays,
            _ if speed == 0.0 => stays,
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
                let (area, length) = (*area, leg.get());
                self.random_leg(start, area, length, speed)
            }
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
                return match to.speed.map_or(speed, Speed::get) {
                    // it never arrives
                    0.0 => Leg::rest(start, Instant::MAX, here.place),
                    speed => straight(start, here.place, to.place, speed),
                };
            }
            if !to.rest.is_zero() {
                self.rests = false;
                return Leg::rest(start, start + to.rest, to.place);
            }
        }
        Leg::rest(start, Instant::MAX, here.place)
    }

    fn random_leg(&mut self, start: Instant, area: Area, length: f64, speed: f64) -> Leg {
        for _ in 0..TRIES {
            let angle = TAU * self.rng.uniform();
            let direction = (angle.cos(), angle.sin());
            let free = self.free(&area, direction, length);
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
    fn free(&self, area: &Area, direction: (f64, f64), length: f64) -> f64 {
        let Position { x, y } = self.place;
        let mut free = length.min(area.edge(self.place, direction));
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
mod tests;
