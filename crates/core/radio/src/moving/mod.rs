//! A radio link whose UE moves: from powers, places and a seed to the SINR at a time.
//!
//! ```text
//!   mobility ---> place --+--> path loss (LOS, NLOS) + shadowing + blockage --> received power
//!                         |          ^ line of sight                               |
//!                         |                                     link budget: noise |
//!                         |                                interferer: on, off --> SINR, mean
//!                         +--> fading: plane waves, taps, frequencies ------------> SINR, effective
//! ```
//!
//! [`MovingRadio`] composes them and is a [`SinrSource`](crate::SinrSource), on which
//! [`LinkAdaptation`](crate::LinkAdaptation) is built. Every model states its source, equations and
//! deviations at the top of its file; `docs/radio.md` shows each with a plot.
//!
//! What this module is *not*: antennas here have gains but no patterns, and there is one link only;
//! other cells are seen as an interferer.

mod area;
mod blockage;
mod config;
mod fading;
mod geometry;
mod interferer;
mod line_of_sight;
mod link_budget;
mod mobility;
mod path_loss;
mod shadowing;
mod source;

pub use area::Area;
pub use blockage::{Blocker, Building, BuildingEffect, BuildingError, Screen};
pub use config::{BaseStation, MovingRadioConfig, MovingRadioError};
pub use fading::{Doppler, Fading, FadingError};
pub use geometry::{Metres, Position, Speed};
pub use interferer::{Interferer, InterfererConfig, InterfererError, InterfererPower};
pub use line_of_sight::SightRule;
pub use link_budget::{Dbm, LinkBudget, LinkBudgetConfig, LinkBudgetError, noise};
pub use mobility::{AtEnd, MAX_SPEED, Mobility, MobilityError, Waypoint};
pub use path_loss::{PathLoss, PathLossError, PathLossModel, RangeWarning, Sight};
pub use shadowing::{CorrelatedShadowing, Shadowing, ShadowingError};
pub use source::MovingRadio;
