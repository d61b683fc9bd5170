//! One run in the simulator.

use crate::{Error, Recorder, Runner, Stop, message};
use scenario::{Experiment, Observers, RunResult};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Makes runs in the simulator.
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    record: Option<PathBuf>,
    observers: Observers,
}

impl Simulator {
    /// Records the inputs and decisions of the proxy's allocator in the one run. Several runs would
    /// write over one another.
    pub fn recording(file: &Path) -> Self {
        Self {
            record: Some(file.to_owned()),
            ..Self::default()
        }
    }

    /// Passes the runs' samples to these observers as they are made.
    #[must_use]
    pub fn observed(self, observers: Observers) -> Self {
        Self { observers, ..self }
    }
}

/// Events between two polls of the stop flag: some 10 ms of a core.
const EVENTS_PER_POLL: u64 = 20_000;

impl Runner for Simulator {
    /// What the simulator rejects, it rejects before anything runs.
    fn run_one(&self, experiment: &Experiment, seed: u64, stop: &Stop) -> Result<RunResult, Error> {
        let start = Instant::now();
        let mut simulation = sim::Simulation::new(experiment, seed)
            .map_err(|error| Error::Input(format!("{}: {}", experiment.name, message(&error))))?;
        let recorder = self.record.as_deref().map(Recorder::create).transpose()?;
        if let Some(recorder) = &recorder {
            simulation.record(Box::new(recorder.clone()));
        }
        if let Some(observer) = self.observers.of(experiment, seed) {
            simulation.observe(observer);
        }
        drive(&mut simulation, stop, || Ok(()))?;
        let mut result = simulation.finish();
        if let (Some(recorder), Some(path)) = (recorder, &self.record) {
            recorder.finish(path)?;
        }
        result.wall = start.elapsed();
        Ok(result)
    }
}

/// Runs a simulation to its end, for those that put it together themselves. `check` is called every
/// few milliseconds; an error of it ends the run.
///
/// # Errors
/// Those of `check`, or [`Error::Interrupted`].
pub fn drive(
    simulation: &mut sim::Simulation,
    stop: &Stop,
    check: impl Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    while !simulation.advance(EVENTS_PER_POLL) {
        check()?;
        if stop.is_stopped() {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Overrides, load_str};

    fn experiment() -> Experiment {
        let text = "duration = \"10 s\"\n[link]\nrate = \"50 Mbit/s\"\n[path]\nrtt = \"20 ms\"\n\
                    [flow.bulk]\napp = { kind = \"continuous\" }\n";
        let points = load_str(text, &Overrides::default()).expect("valid");
        points.into_iter().next().expect("one").experiment
    }

    #[test]
    fn a_run_in_pieces_is_the_run_as_a_whole() {
        let experiment = experiment();
        let mut whole = sim::run(&experiment, 3).expect("runs");
        let pieces = Simulator::default().run_one(&experiment, 3, &Stop::default());
        let pieces = pieces.expect("runs");
        assert!(pieces.events > 2 * EVENTS_PER_POLL, "{}", pieces.events);
        whole.wall = pieces.wall;
        assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    }

    #[test]
    fn a_stopped_run_has_no_result() {
        let stop = Stop::default();
        stop.stop();
        let ended = Simulator::default().run_one(&experiment(), 3, &stop);
        assert_eq!(ended.map(|_| ()), Err(Error::Interrupted));
    }
}
