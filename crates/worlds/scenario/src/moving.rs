//! A user's moving radio, and where each copy and each repeat of it is.
//!
//! A scenario specifies one way for all copies of a user. Each copy goes it by itself: shifted by a random
//! offset, or from a random place of its area. The draws come from the copy's own stream, so that they
//! differ between copies and repeats, and follow from the seed.

use radio::moving::{
    LinkBudgetConfig, Metres, Mobility, MovingRadioConfig, MovingRadioError, Position,
    RangeWarning, Speed, Waypoint,
};
use radio::{LinkAdaptationConfig, PowerControl};
use units::{Duration, Hertz, Rng};

/// Places that are drawn before a user is without one.
const MAX_DRAWS: u32 = 1_000;

/// The channel of a user that moves.
#[derive(Clone, Debug, PartialEq)]
pub struct MovingSpec {
    /// The radio. Its mobility is the way before it is placed.
    pub radio: MovingRadioConfig,
    /// The way back, where it has a link budget.
    pub uplink: Option<UplinkRadio>,
    /// What is random about the way.
    pub placement: Placement,
    /// The speed is drawn, uniformly between that of the way and this.
    pub fastest: Option<Speed>,
    /// How MCS follow from SINR.
    pub adaptation: LinkAdaptationConfig,
}

/// What the uplink of a moving user has of its own: the antennas, their places and what is between them are those of
/// the downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkRadio {
    /// Its carrier.
    pub carrier: Hertz,
    /// From the user to the base station.
    pub budget: LinkBudgetConfig,
    /// Power control of data; none: full power.
    pub power_control: Option<PowerControl>,
}

impl UplinkRadio {
    /// The radio back from where that of the downlink is. An interferer is near the user, and not heard by the base
    /// station.
    pub fn beside(&self, downlink: &MovingRadioConfig) -> MovingRadioConfig {
        MovingRadioConfig {
            carrier: self.carrier,
            budget: self.budget,
            interferer: None,
            ..downlink.clone()
        }
    }
}

/// What is random about where a user is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Placement {
    /// Nothing: all copies begin at the same place.
    Fixed,
    /// The whole way is shifted by an offset that is uniform in a circle of this radius.
    Scattered {
        /// The radius, above zero.
        radius: Metres,
    },
    /// A random walk begins anywhere in its area, uniformly.
    InArea,
}

impl MovingSpec {
    /// The radio of one copy in one run of this length, placed by its own stream. A place that is in a
    /// building, leads into one, or is at the base station's antenna is drawn again.
    ///
    /// # Errors
    /// What is wrong with the radio; no place was found.
    pub fn placed(
        &self,
        run: Duration,
        mut rng: Rng,
    ) -> Result<MovingRadioConfig, MovingRadioError> {
        let mut radio = self.radio.clone();
        if let Some(fastest) = self.fastest {
            draw_speed(&mut radio.mobility, fastest, &mut rng);
        }
        let way = radio.mobility.clone();
        let mut draws = 1;
        loop {
            radio.mobility = match self.placement {
                Placement::Fixed => return Ok(radio),
                Placement::Scattered { radius } => shifted(&way, in_circle(radius, &mut rng)),
                Placement::InArea => from_anywhere(&way, &mut rng),
            };
            match radio.check(run) {
                Ok(_) => return Ok(radio),
                Err(MovingRadioError::UeInBuilding { .. } | MovingRadioError::AtBase { .. })
                    if draws < MAX_DRAWS =>
                {
                    draws += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// In what the path loss model is extrapolated, wherever the user is placed.
    pub(crate) fn warnings(&self, run: Duration) -> Vec<RangeWarning> {
        /// Directions in which a shifted way is looked at.
        const DIRECTIONS: u32 = 8;
        let mut open = self.radio.clone();
        open.buildings.clear();
        let mut offsets = vec![(0.0, 0.0)];
        if let Placement::Scattered { radius } = self.placement {
            let angles = (0..DIRECTIONS).map(|i| f64::from(i) / f64::from(DIRECTIONS));
            offsets.extend(angles.map(|turn| on_circle(radius.get(), turn)));
        }
        let mut found = Vec::new();
        for offset in offsets {
            open.mobility = shifted(&self.radio.mobility, offset);
            for warning in open.check(run).unwrap_or_default() {
                merge(&mut found, warning);
            }
        }
        found
    }
}

/// Joins a warning to those about the same quantity of the same model: of distances the least and the
/// greatest count, of other quantities the first.
pub(crate) fn merge(found: &mut Vec<RangeWarning>, warning: RangeWarning) {
    let Some(known) = found.iter_mut().find(|known| is_same(known, &warning)) else {
        found.push(warning);
        return;
    };
    if let (
        RangeWarning::Distance {
            distance: (a, b), ..
        },
        RangeWarning::Distance {
            distance: (c, d), ..
        },
    ) = (known, &warning)
    {
        *a = if c < a { *c } else { *a };
        *b = if d > b { *d } else { *b };
    }
}

/// Whether two warnings are about the same quantity of the same model.
pub(crate) fn is_same(a: &RangeWarning, b: &RangeWarning) -> bool {
    use RangeWarning::{Carrier, Distance, Height};
    match (a, b) {
        (Carrier { model: a, .. }, Carrier { model: b, .. })
        | (Distance { model: a, .. }, Distance { model: b, .. }) => a == b,
        (
            Height {
                model: a, of: x, ..
            },
            Height {
                model: b, of: y, ..
            },
        ) => a == b && x == y,
        _ => a == b,
    }
}

/// Uniform in a circle round (0, 0), m.
fn in_circle(radius: Metres, rng: &mut Rng) -> (f64, f64) {
    let distance = radius.get() * rng.uniform().sqrt();
    on_circle(distance, rng.uniform())
}

/// At a distance from (0, 0), after so many turns.
fn on_circle(distance: f64, turns: f64) -> (f64, f64) {
    let (sin, cos) = (core::f64::consts::TAU * turns).sin_cos();
    (distance * cos, distance * sin)
}

/// The same way elsewhere; that of a random walk stays in its area.
fn shifted(mobility: &Mobility, (dx, dy): (f64, f64)) -> Mobility {
    let moved = |place: Position| {
        Position::new(
            Metres::new(place.x().get() + dx),
            Metres::new(place.y().get() + dy),
        )
    };
    match mobility.clone() {
        Mobility::Static { place } => Mobility::Static {
            place: moved(place),
        },
        Mobility::Line {
            from,
            towards,
            speed,
        } => Mobility::Line {
            from: moved(from),
            towards: moved(towards),
            speed,
        },
        Mobility::Waypoints {
            points,
            speed,
            at_end,
        } => Mobility::Waypoints {
            points: points
                .into_iter()
                .map(|point| Waypoint {
                    place: moved(point.place),
                    ..point
                })
                .collect(),
            speed,
            at_end,
        },
        walk @ Mobility::RandomWalk { .. } => walk,
    }
}

/// The same random walk from a random place of its area.
fn from_anywhere(mobility: &Mobility, rng: &mut Rng) -> Mobility {
    let mut mobility = mobility.clone();
    if let Mobility::RandomWalk { from, area, .. } = &mut mobility {
        *from = area.draw(rng);
    }
    mobility
}

/// Gives a way a speed between its own and the fastest, uniformly.
fn draw_speed(mobility: &mut Mobility, fastest: Speed, rng: &mut Rng) {
    if let Mobility::Line { speed, .. }
    | Mobility::RandomWalk { speed, .. }
    | Mobility::Waypoints { speed, .. } = mobility
    {
        let slowest = speed.get();
        *speed = Speed::new(slowest + (fastest.get() - slowest) * rng.uniform());
    }
}
