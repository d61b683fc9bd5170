//! Mechanisms that the caller brings along, beside those of the crates `cc` and `multipath`.

use cc::{BuildConfig, CongestionControl, UnknownController};
use multipath::scheduler::{self, Scheduler, UnknownScheduler};
use std::sync::Arc;

/// Makes mechanisms for [`crate::Simulation::with_mechanisms`]. A run is as deterministic as what it
/// makes.
pub trait Mechanisms: Send + Sync {
    /// A new congestion controller of that name, as scenario files say it (`python:mine`); none if it
    /// has none. Asked once for each end of a connection, and once more to check the name.
    fn controller(&self, _name: &str, _config: BuildConfig) -> Option<Box<dyn CongestionControl>> {
        None
    }

    /// A new scheduler for an end of a tunnel, instead of the one that the scenario names; none leaves
    /// that.
    fn scheduler(&self) -> Option<Box<dyn Scheduler>> {
        None
    }
}

/// None.
impl Mechanisms for () {}

/// All mechanisms of a run: the caller's, and those of the crates.
#[derive(Clone)]
pub(crate) struct Registry {
    own: Arc<dyn Mechanisms>,
}

impl Registry {
    /// With these of the caller.
    pub(crate) fn new(own: Arc<dyn Mechanisms>) -> Self {
        Self { own }
    }

    /// A controller of that name; the caller's go first.
    pub(crate) fn controller(
        &self,
        name: &str,
        config: BuildConfig,
    ) -> Result<Box<dyn CongestionControl>, UnknownController> {
        match self.own.controller(name, config) {
            Some(own) => Ok(own),
            None => cc::build(name, config),
        }
    }

    /// The caller's scheduler, or that of this name.
    pub(crate) fn scheduler(&self, name: &str) -> Result<Box<dyn Scheduler>, UnknownScheduler> {
        match self.own.scheduler() {
            Some(own) => Ok(own),
            None => scheduler::build(name),
        }
    }
}
