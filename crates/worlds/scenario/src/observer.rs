//! Observers, which receive a run's samples while it is under way.

use crate::{Experiment, Metric};
use core::fmt;
use std::sync::Arc;
use units::Instant;

/// Receives the samples of a run, on the thread that makes them. What it does changes no result of
/// the simulator; while it waits, so does the run.
pub trait Observer: Send + fmt::Debug {
    /// A point of a time series.
    fn sample(&mut self, entity: &str, metric: Metric, at: Instant, value: f64);
    /// All points of a moment have been reported.
    fn step(&mut self, at: Instant);
}

/// Makes the observer of a run from its experiment and seed, if it is to have one.
type Make = dyn Fn(&Experiment, u64) -> Option<Box<dyn Observer>> + Send + Sync;

/// Observers of runs to come; none by default.
#[derive(Clone, Default)]
pub struct Observers {
    make: Option<Arc<Make>>,
}

impl Observers {
    /// Those that this makes. It is called as a run begins, from several threads.
    pub fn new(
        make: impl Fn(&Experiment, u64) -> Option<Box<dyn Observer>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            make: Some(Arc::new(make)),
        }
    }

    /// The observer of a run that begins.
    pub fn of(&self, experiment: &Experiment, seed: u64) -> Option<Box<dyn Observer>> {
        self.make.as_ref()?(experiment, seed)
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.make.is_some() {
            "Observers(..)"
        } else {
            "Observers"
        })
    }
}
