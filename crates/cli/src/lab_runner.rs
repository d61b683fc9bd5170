//! One run in the lab: this machine's kernel and real programs behind an emulated radio.

use lab::Fitted;
use runner::{Error, Runner, Stop, message};
use scenario::{Experiment, Observers, Point, RunResult};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Makes runs in the lab, one after the other unless the user requests more: a large experiment needs
/// the machine for itself. It needs root.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    program: PathBuf,
    record: Option<PathBuf>,
    scale: Option<NonZeroU32>,
    observers: Observers,
}

impl Lab {
    /// `program` is the `brimful` program, whose daemons run in the lab's hosts.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            record: None,
            scale: None,
            observers: Observers::default(),
        }
    }

    /// Divides rates, sizes and buffers by `scale`, or (none) by what this machine needs to keep up.
    #[must_use]
    pub(crate) fn scaled(self, scale: Option<NonZeroU32>) -> Self {
        Self { scale, ..self }
    }

    /// Records the inputs and decisions of the proxy's allocator in the one run. Several runs would
    /// write over one another.
    #[must_use]
    pub(crate) fn recording(self, file: &Path) -> Self {
        Self {
            record: Some(file.to_owned()),
            ..self
        }
    }

    /// Passes the runs' samples to these observers as they are made.
    #[must_use]
    pub(crate) fn observed(self, observers: Observers) -> Self {
        Self { observers, ..self }
    }

    /// The points' experiments as the lab runs them here, with notes on what it does otherwise than the
    /// scenario states.
    ///
    /// # Errors
    /// [`Error::Input`] for the first that the lab cannot run: nothing has run then.
    pub(crate) fn fitted(
        scale: Option<NonZeroU32>,
        points: &[Point],
    ) -> Result<Vec<Fitted>, Error> {
        let experiments = points.iter().map(|point| &point.experiment);
        experiments
            .map(|experiment| lab::check(experiment, scale).map_err(|e| lab_error(&e, experiment)))
            .collect()
    }
}

impl Runner for Lab {
    fn run_one(&self, experiment: &Experiment, seed: u64, stop: &Stop) -> Result<RunResult, Error> {
        let options = lab::Options {
            program: self.program.clone(),
            stop: stop.flag(),
            record: self.record.clone(),
            scale: self.scale,
            observers: self.observers.clone(),
        };
        let start = Instant::now();
        let run = lab::run(experiment, seed, &options);
        let run = run.map_err(|error| lab_error(&error, experiment))?;
        Ok(RunResult {
            wall: start.elapsed(),
            ..run
        })
    }

    fn concurrent_runs(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }
}

/// An error of the lab as bad input or a failed run, with the experiment's name.
pub(crate) fn lab_error(error: &lab::Error, experiment: &Experiment) -> Error {
    let text = format!("{}: {}", experiment.name, message(error));
    match error.is_input() {
        true => Error::Input(text),
        false => Error::Run(text),
    }
}
