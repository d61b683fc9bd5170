//! Congestion controllers that the caller brings along, beside those of crate `cc`.

use cc::{BuildConfig, CongestionControl, UnknownController};
use std::sync::Arc;

/// Makes controllers by name: those that [`cc::build`] does not know. It is handed to
/// [`crate::Simulation::with_controllers`], and asked once for each end of a connection.
///
/// A run is as deterministic as what it makes.
pub trait Controllers: Send + Sync {
    /// A new controller of that name, as scenario files say it (`python:mine`); none if it has none.
    fn build(&self, name: &str, config: BuildConfig) -> Option<Box<dyn CongestionControl>>;
}

/// None.
impl Controllers for () {
    fn build(&self, _: &str, _: BuildConfig) -> Option<Box<dyn CongestionControl>> {
        None
    }
}

/// All controllers of a run: the caller's, and those of crate `cc`.
#[derive(Clone)]
pub(crate) struct Registry {
    own: Arc<dyn Controllers>,
}

impl Registry {
    /// With these of the caller.
    pub(crate) fn new(own: Arc<dyn Controllers>) -> Self {
        Self { own }
    }

    /// A controller of that name; the caller's go first.
    pub(crate) fn build(
        &self,
        name: &str,
        config: BuildConfig,
    ) -> Result<Box<dyn CongestionControl>, UnknownController> {
        match self.own.build(name, config) {
            Some(own) => Ok(own),
            None => cc::build(name, config),
        }
    }
}
