//! Sweeps: plans that travel to workers, and datasets that take what comes back.

use crate::commands::Source;
use crate::custom::Given;
use crate::errors::{RunError, ScenarioError, raised};
use ::sweep::{Dataset, Description, End, Local, Options, Outcome, Status, Unfinished, Watch};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runner::{Error, RUN_THREAD, Runner, Simulator, Stop, VERSION};
use scenario::{Bundle, Experiment, Plan, RunResult};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

fn failure(error: &::sweep::Error) -> PyErr {
    match error.is_input() {
        true => ScenarioError::new_err(runner::message(error)),
        false => RunError::new_err(runner::message(error)),
    }
}

/// One run in the simulator.
fn simulate(
    runner: &dyn Runner,
    experiment: &Experiment,
    seed: u64,
    stop: &Stop,
) -> Result<RunResult, Unfinished> {
    let run = runner.run_one(experiment, seed, stop);
    run.map_err(|error| match error {
        Error::Interrupted => Unfinished::Interrupted,
        other => Unfinished::Failed(other.to_string()),
    })
}

/// A scenario with its sweep, and who makes its runs.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct SweepPlan {
    plan: Plan,
    runner: Arc<dyn Runner>,
}

#[pymethods]
impl SweepPlan {
    /// Of a scenario, with what is written in Python.
    #[new]
    fn new(py: Python<'_>, source: Source, own: Given) -> PyResult<Self> {
        let plan = py.detach(|| source.plan()).map_err(raised)?;
        let runner = own.runner(py);
        Ok(Self { plan, runner })
    }

    /// The plan that a bundle was made of, on whatever machine.
    #[staticmethod]
    fn of_bundle(py: Python<'_>, bundle: &str, own: Given) -> PyResult<Self> {
        let bundle: Bundle = serde_json::from_str(bundle)
            .map_err(|error| RunError::new_err(format!("no bundle of a sweep: {error}")))?;
        let plan = py.detach(|| Plan::of_bundle(bundle));
        let plan = plan.map_err(|error| raised(Error::input(&error)))?;
        let runner = own.runner(py);
        Ok(Self { plan, runner })
    }

    /// The plan with all files that it needs, as JSON.
    fn bundle(&self) -> PyResult<String> {
        let bundle = self
            .plan
            .bundle()
            .map_err(|error| raised(Error::input(&error)))?;
        serde_json::to_string(&bundle).map_err(|error| RunError::new_err(error.to_string()))
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> PyResult<String> {
        let point = self
            .plan
            .point(0)
            .map_err(|error| raised(Error::input(&error)))?;
        Ok(point.experiment.name)
    }

    /// How many points there are.
    #[getter]
    fn points(&self) -> u64 {
        self.plan.points()
    }

    /// Where the first point is run otherwise than requested.
    fn notes(&self) -> PyResult<Vec<String>> {
        let point = self
            .plan
            .point(0)
            .map_err(|error| raised(Error::input(&error)))?;
        Ok(point.notes)
    }

    /// Runs points, and gives what became of them for [`SweepDataset::add`].
    fn run(&self, py: Python<'_>, points: Vec<u64>) -> PyResult<Py<PyBytes>> {
        if let Some(point) = points.iter().find(|point| **point >= self.plan.points()) {
            return Err(ScenarioError::new_err(format!("there is no point {point}")));
        }
        let stop = Stop::default();
        let run = |experiment: &Experiment, seed| simulate(&*self.runner, experiment, seed, &stop);
        let bytes = py.detach(|| {
            let outcome = ::sweep::run_points(&self.plan, &points, VERSION, &run)?;
            Some(outcome.encode())
        });
        let bytes = bytes.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
        Ok(PyBytes::new(py, &bytes).unbind())
    }
}

/// The dataset of a sweep, open for writing.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct SweepDataset {
    /// None after it is closed.
    dataset: Mutex<Option<Dataset>>,
    description: Description,
}

impl SweepDataset {
    fn lock(&self) -> MutexGuard<'_, Option<Dataset>> {
        self.dataset.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Dataset) -> Result<T, ::sweep::Error>) -> PyResult<T> {
        match &mut *self.lock() {
            Some(dataset) => work(dataset).map_err(|error| failure(&error)),
            None => Err(RunError::new_err("the dataset is closed")),
        }
    }
}

#[pymethods]
impl SweepDataset {
    /// Begins a sweep in a folder, or goes on with it; `code` is the text of what Python adds to it.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &SweepPlan,
        folder: PathBuf,
        retry_failed: bool,
        code: &str,
    ) -> PyResult<Self> {
        let options = Options { retry_failed };
        let open = || -> Result<Self, ::sweep::Error> {
            let description = Description::new(&plan.plan, VERSION, code)?;
            let dataset = Dataset::open(&folder, &description, options)?;
            Ok(Self {
                dataset: Mutex::new(Some(dataset)),
                description,
            })
        };
        py.detach(open).map_err(|error| failure(&error))
    }

    /// A digest of all that the results depend on.
    #[getter]
    fn hash(&self) -> &str {
        self.description.hash()
    }

    /// What was found out of order as it was opened.
    fn notes(&self) -> PyResult<Vec<String>> {
        self.with(|dataset| Ok(dataset.notes().to_vec()))
    }

    /// All points, those done, and those that failed.
    fn status(&self) -> PyResult<(u64, u64, u64)> {
        self.with(|dataset| {
            let Status {
                points,
                done,
                failed,
            } = dataset.status();
            Ok((points, done, failed))
        })
    }

    /// The first points from `start` on that are neither done nor failed, at most so many.
    fn pending(&self, start: u64, limit: usize) -> PyResult<Vec<u64>> {
        self.with(|dataset| Ok(dataset.pending(start, limit)))
    }

    /// Takes what [`SweepPlan::run`] has given.
    fn add(&self, py: Python<'_>, outcome: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let outcome = Outcome::decode(outcome, self.description.axes());
            let outcome = outcome.map_err(|error| failure(&error))?;
            self.with(|dataset| dataset.add(&outcome))
        })
    }

    /// Records a point that took its worker along.
    fn fail(&self, plan: &SweepPlan, point: u64, error: &str) -> PyResult<()> {
        let failed = Outcome::failure(&plan.plan, point, error);
        self.with(|dataset| dataset.add(&failed))
    }

    /// Writes what has waited long enough.
    fn tick(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Dataset::tick))
    }

    /// Writes all that waits.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Dataset::flush))
    }

    /// Writes all, and lets others write.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match self.lock().take() {
            Some(mut dataset) => dataset.flush().map_err(|error| failure(&error)),
            None => Ok(()),
        })
    }

    /// Runs all pending points on threads of this machine. `look` is called some 20 times a second with
    /// the points done and failed; what it raises ends the sweep.
    fn run_local(
        &self,
        py: Python<'_>,
        plan: &SweepPlan,
        workers: Option<NonZeroUsize>,
        look: Py<PyAny>,
    ) -> PyResult<()> {
        let stop = Stop::default();
        let run = |experiment: &Experiment, seed| simulate(&*plan.runner, experiment, seed, &stop);
        let mut watch = Looking {
            look,
            stop: stop.clone(),
            status: Status::default(),
            raised: None,
        };
        let ended = AtomicBool::new(false);
        let end = py.detach(|| {
            let local = Local {
                workers: workers.unwrap_or_else(|| Simulator::default().concurrent_runs()),
                version: VERSION,
                run: &run,
                stop: &ended,
                thread: RUN_THREAD,
            };
            self.with(|dataset| ::sweep::run_local(&plan.plan, dataset, &local, &mut watch))
        });
        match (watch.raised, end?) {
            (Some(raised), _) => Err(raised),
            (None, End::Complete) => Ok(()),
            (None, End::Interrupted) => Err(PyKeyboardInterrupt::new_err(())),
        }
    }
}

/// Reports the progress of a sweep to Python, and checks for Ctrl-C.
struct Looking {
    look: Py<PyAny>,
    stop: Stop,
    status: Status,
    raised: Option<PyErr>,
}

impl Watch for Looking {
    fn progress(&mut self, status: Status) {
        self.status = status;
    }

    fn is_interrupted(&mut self) -> bool {
        if self.raised.is_none() {
            let looked = Python::attach(|py| {
                py.check_signals()?;
                self.look
                    .call1(py, (self.status.done, self.status.failed))
                    .map(drop)
            });
            if let Err(raised) = looked {
                self.raised = Some(raised);
                self.stop.stop();
            }
        }
        self.raised.is_some()
    }
}
