//! What a moving radio is made of, and whether it can be.

use super::blockage::{Blocker, Building, BuildingEffect};
use super::fading::{Doppler, Fading, FadingError};
use super::geometry::{Metres, Position, distances_to_segment};
use super::interferer::{InterfererConfig, InterfererError, InterfererPower};
use super::line_of_sight::SightRule;
use super::link_budget::{LinkBudget, LinkBudgetConfig, LinkBudgetError};
use super::mobility::{Mobility, MobilityError};
use super::path_loss::{PathLoss, PathLossError, PathLossModel, RangeWarning};
use super::shadowing::{LinkShadowing, Shadowing, ShadowingError};
use units::{Duration, Hertz, Streams};

/// The UE keeps at least so far from the base station's antenna, m.
const CLOSEST: f64 = 1.0;

/// A base station's antenna.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaseStation {
    /// Its place.
    pub place: Position,
    /// Its height.
    pub height: Metres,
}

/// A moving radio.
#[derive(Clone, Debug, PartialEq)]
pub struct MovingRadioConfig {
    /// Carrier frequency.
    pub carrier: Hertz,
    /// Powers, gains, noise, bandwidth.
    pub budget: LinkBudgetConfig,
    /// Path loss.
    pub path_loss: PathLoss,
    /// Whether there is line of sight, where no building decides.
    pub sight: SightRule,
    /// Shadowing.
    pub shadowing: Shadowing,
    /// Fast fading.
    pub fading: Fading,
    /// Where the Doppler of fast fading comes from.
    pub doppler: Doppler,
    /// The base station.
    pub base: BaseStation,
    /// Height of the UE's antenna.
    pub ue_height: Metres,
    /// How the UE moves.
    pub mobility: Mobility,
    /// Buildings.
    pub buildings: Vec<Building>,
    /// What a building in the way does.
    pub building_effect: BuildingEffect,
    /// People and vehicles that stand in the street.
    pub blockers: Vec<Blocker>,
    /// An interferer.
    pub interferer: Option<InterfererConfig>,
}

/// Why a moving radio cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MovingRadioError {
    /// The path loss model.
    #[error(transparent)]
    PathLoss(#[from] PathLossError),
    /// The powers and gains.
    #[error(transparent)]
    LinkBudget(#[from] LinkBudgetError),
    /// Shadowing.
    #[error(transparent)]
    Shadowing(#[from] ShadowingError),
    /// Fading.
    #[error(transparent)]
    Fading(#[from] FadingError),
    /// The movement.
    #[error(transparent)]
    Mobility(#[from] MobilityError),
    /// The interferer.
    #[error(transparent)]
    Interferer(#[from] InterfererError),
    /// The model has no line of sight.
    #[error(
        "{model} has no probability of line of sight; choose the rule los or nlos, or the path loss \
         umi-street-canyon"
    )]
    NoProbability {
        /// The model.
        model: PathLoss,
    },
    /// The model has no NLOS for a building to lead to.
    #[error(
        "{model} has one loss for LOS and NLOS, so that the effect {effect} of buildings would be \
         none; choose diffraction, or the path loss umi-street-canyon"
    )]
    NoSightToLose {
        /// The model.
        model: PathLoss,
        /// The effect.
        effect: BuildingEffect,
    },
    /// The street canyon's fading is not for this carrier.
    #[error(
        "the fading street-canyon is for carriers of 0.5 GHz to 100 GHz (TR 38.901), not {} GHz; \
         choose another", .carrier.as_ghz_f64()
    )]
    FadingCarrier {
        /// What was given.
        carrier: Hertz,
    },
    /// The UE is inside a building.
    #[error(
        "the UE would be inside building {} of the list at {place}; move the building or the UE's way",
        .building + 1
    )]
    UeInBuilding {
        /// Where.
        place: Position,
        /// Which, from 0.
        building: usize,
    },
    /// The base station is inside a building.
    #[error(
        "the base station at {place} is inside building {} of the list, {height} high; put it on \
         the roof or elsewhere", .building + 1
    )]
    BaseInBuilding {
        /// Where.
        place: Position,
        /// Which, from 0.
        building: usize,
        /// The building's height.
        height: Metres,
    },
    /// The UE is where the base station is.
    #[error(
        "the UE comes as near as {distance} to the base station's antenna; keep {CLOSEST} m away: \
         path loss is for the far field"
    )]
    AtBase {
        /// How near.
        distance: Metres,
    },
    /// A place that is none.
    #[error("the place {place} of the {of} is not finite")]
    Place {
        /// Of what.
        of: &'static str,
        /// What was given.
        place: Position,
    },
}

impl MovingRadioConfig {
    /// Whether this can be built and used for a run of this length, and in what its path loss
    /// model is extrapolated: each warning once.
    ///
    /// # Errors
    /// What is wrong with any part; a UE that is or comes into a building or within 1 m of the base
    /// station; a base station inside a building.
    pub fn check(&self, run: Duration) -> Result<Vec<RangeWarning>, MovingRadioError> {
        let model = self.model()?;
        LinkBudget::new(self.budget)?;
        self.check_radio(&model)?;
        self.mobility.check()?;
        self.check_places()?;
        self.check_buildings(run)?;
        let (least, most) = self.distances(run);
        let height = self.base.height.get() - self.ue_height.get();
        let nearest = least.hypot(height);
        if nearest < CLOSEST {
            return Err(MovingRadioError::AtBase {
                distance: Metres::new(nearest),
            });
        }
        Ok(model.warnings(Metres::new(least), Metres::new(most)))
    }

    pub(super) fn model(&self) -> Result<PathLossModel, PathLossError> {
        PathLossModel::new(
            self.path_loss,
            self.carrier,
            self.base.height,
            self.ue_height,
        )
    }

    /// The path loss model of an interferer that is a transmitter.
    pub(super) fn interferer_model(&self) -> Result<Option<PathLossModel>, PathLossError> {
        match self.interferer {
            Some(InterfererConfig {
                power: InterfererPower::Transmitted { height, .. },
                ..
            }) => {
                PathLossModel::new(self.path_loss, self.carrier, height, self.ue_height).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn check_radio(&self, model: &PathLossModel) -> Result<(), MovingRadioError> {
        let some_sight = model.line_of_sight_probability(Metres::new(0.0)).is_some();
        if self.sight == SightRule::Probability && !some_sight {
            return Err(MovingRadioError::NoProbability {
                model: self.path_loss,
            });
        }
        let effect = self.building_effect;
        if !self.buildings.is_empty() && effect != BuildingEffect::Diffraction && !some_sight {
            return Err(MovingRadioError::NoSightToLose {
                model: self.path_loss,
                effect,
            });
        }
        let rng = Streams::new(0).stream("check");
        LinkShadowing::new(self.shadowing, model, [rng.clone(), rng])?;
        self.doppler.check()?;
        let street = 500_000_000..=100_000_000_000u64;
        if self.fading == Fading::StreetCanyon && !street.contains(&self.carrier.get()) {
            return Err(MovingRadioError::FadingCarrier {
                carrier: self.carrier,
            });
        }
        if let Some(interferer) = &self.interferer {
            interferer.check()?;
        }
        self.interferer_model()?;
        Ok(())
    }

    fn check_places(&self) -> Result<(), MovingRadioError> {
        let interferer = match self.interferer {
            Some(InterfererConfig {
                power: InterfererPower::Transmitted { place, .. },
                ..
            }) => Some(("interferer", place)),
            _ => None,
        };
        let blockers = self
            .blockers
            .iter()
            .map(|blocker| ("blocker", blocker.place));
        let mut places = [("base station", self.base.place)]
            .into_iter()
            .chain(interferer)
            .chain(blockers);
        match places.find(|(_, place)| !place.is_finite()) {
            Some((of, place)) => Err(MovingRadioError::Place { of, place }),
            None => Ok(()),
        }
    }

    fn check_buildings(&self, run: Duration) -> Result<(), MovingRadioError> {
        let start = self.mobility.start()?;
        let ways = self.mobility.ways(run);
        for (building, it) in self.buildings.iter().enumerate() {
            let height = it.height();
            if it.covers(self.base.place) && self.base.height < height {
                let place = self.base.place;
                return Err(MovingRadioError::BaseInBuilding {
                    place,
                    building,
                    height,
                });
            }
            if it.covers(start) {
                return Err(MovingRadioError::UeInBuilding {
                    place: start,
                    building,
                });
            }
            for &(from, to) in &ways {
                if let Some((enter, _)) = it.crossing(from, to) {
                    let place = from.towards(to, enter);
                    return Err(MovingRadioError::UeInBuilding { place, building });
                }
            }
        }
        Ok(())
    }

    /// Least and greatest distance on the ground during a run, m. For a random walk, those of its
    /// area.
    fn distances(&self, run: Duration) -> (f64, f64) {
        let base = self.base.place;
        if let Some(area) = self.mobility.area() {
            return area.distances(base);
        }
        let ways = self.mobility.ways(run);
        let distances = ways
            .iter()
            .map(|&(from, to)| distances_to_segment(base, from, to));
        distances.fold((f64::INFINITY, 0.0), |(min, max), (near, far)| {
            (min.min(near), max.max(far))
        })
    }
}
