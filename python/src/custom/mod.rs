//! Congestion controllers, queue managements and tunnel schedulers that are written in Python.
//!
//! Each event takes the interpreter for a moment, so a run with such a mechanism is many times
//! slower than one without. What it raises, and what it answers that is no window, rate, verdict or path, ends
//! its run as failed; the first such failure is kept with its traceback.

use cc::delivery_rate::DeliveryRate;
use cc::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent,
};
use multipath::scheduler::Scheduler;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use queue::{CustomDiscipline, QueueParameters};
use runner::{Error, Runner, Simulator, Stop, drive};
use scenario::{CUSTOM_PREFIX, Experiment, RunResult};
use sim::{Mechanisms, Simulation};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use units::{BitRate, Bytes};

mod queues;
mod scheduler;

use queues::PyQueue;
use scheduler::PyScheduler;

/// A window or rate that no path has: some petabytes, in bytes or bit/s.
const MAX_VALUE: f64 = 1e15;

/// Callables in Python, by the name behind `python:`.
type Factories = BTreeMap<String, Py<PyAny>>;

/// What a caller has written in Python, for any number of runs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    /// Congestion controllers, by the name behind `python:`.
    controllers: Factories,
    /// Queue managements, likewise.
    queues: Factories,
    /// A tunnel's scheduler, instead of the scenario's.
    scheduler: Option<Py<PyAny>>,
}

impl Given {
    /// Who makes the runs: the simulator as it is, unless something is given.
    pub(crate) fn runner(&self, py: Python<'_>) -> Arc<dyn Runner> {
        if self.controllers.is_empty() && self.queues.is_empty() && self.scheduler.is_none() {
            return Arc::new(Simulator::default());
        }
        let shared = |factories: &Factories| {
            let copies = factories.iter();
            let copies = copies.map(|(name, made_by)| (name.clone(), made_by.clone_ref(py)));
            Arc::new(copies.collect::<Factories>())
        };
        let scheduler = self.scheduler.as_ref();
        Arc::new(CustomSimulator {
            controllers: shared(&self.controllers),
            queues: shared(&self.queues),
            scheduler: scheduler.map(|made_by| Arc::new(made_by.clone_ref(py))),
        })
    }
}

/// Makes runs in the simulator, with mechanisms in Python.
struct CustomSimulator {
    /// Called with `mss` and `initial_window`.
    controllers: Arc<Factories>,
    /// Called without arguments, for each queue.
    queues: Arc<Factories>,
    /// Called without arguments, for each end of a tunnel.
    scheduler: Option<Arc<Py<PyAny>>>,
}

impl Runner for CustomSimulator {
    fn run_one(&self, experiment: &Experiment, seed: u64, stop: &Stop) -> Result<RunResult, Error> {
        // attached and let go again, so that the interpreter keeps its state of this thread for the
        // whole run: made anew for each event, it takes most of the time
        Python::attach(|py| py.detach(|| self.run_detached(experiment, seed, stop)))
    }
}

impl CustomSimulator {
    fn run_detached(
        &self,
        experiment: &Experiment,
        seed: u64,
        stop: &Stop,
    ) -> Result<RunResult, Error> {
        let start = Instant::now();
        let failure = Failure::default();
        let own = Custom {
            controllers: Arc::clone(&self.controllers),
            queues: Arc::clone(&self.queues),
            scheduler: self.scheduler.clone(),
            failure: failure.clone(),
        };
        let simulation = Simulation::with_mechanisms(experiment, seed, Arc::new(own));
        let failed = || match failure.message() {
            Some(message) => Err(Error::Run(format!(
                "{}, seed {seed}: {message}",
                experiment.name
            ))),
            None => Ok(()),
        };
        failed()?;
        let mut simulation = simulation.map_err(|error| {
            Error::Input(format!("{}: {}", experiment.name, runner::message(&error)))
        })?;
        drive(&mut simulation, stop, failed)?;
        let mut result = simulation.finish();
        // an answer may have been wrong as the run was put together or taken apart
        failed()?;
        result.wall = start.elapsed();
        Ok(result)
    }
}

/// The first failure of a run's mechanisms.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<String>>>);

impl Failure {
    fn keep(&self, what: String) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(what);
    }
    /// What a call gave, unless it raised.
    fn taken<T>(&self, py: Python<'_>, what: &str, given: PyResult<T>) -> Option<T> {
        match given {
            Ok(given) => Some(given),
            Err(error) => {
                let traceback = error.traceback(py).map(|traceback| traceback.format());
                let traceback = traceback.and_then(Result::ok).unwrap_or_default();
                self.keep(format!("{what}: {error}\n{traceback}{error}"));
                None
            }
        }
    }

    fn message(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The mechanisms of a run.
struct Custom {
    controllers: Arc<Factories>,
    queues: Arc<Factories>,
    scheduler: Option<Arc<Py<PyAny>>>,
    failure: Failure,
}

impl Mechanisms for Custom {
    fn controller(&self, name: &str, config: BuildConfig) -> Option<Box<dyn CongestionControl>> {
        let name = name.strip_prefix(CUSTOM_PREFIX)?;
        let factory = self.controllers.get(name)?;
        let mut controller = PyController {
            name: name.to_owned(),
            object: None,
            failure: self.failure.clone(),
            rate: DeliveryRate::default(),
            mss: config.mss,
            cwnd: config.initial_window,
            pacing_rate: None,
        };
        Python::attach(|py| {
            let made = factory.call1(py, (config.mss.get(), config.initial_window.get()));
            controller.object = controller.taken(py, "its constructor", made);
            controller.update(py, "its constructor");
        });
        Some(Box::new(controller))
    }

    fn scheduler(&self) -> Option<Box<dyn Scheduler>> {
        let factory = self.scheduler.as_ref()?;
        Some(Box::new(PyScheduler::new(factory, self.failure.clone())))
    }

    fn queue(&self, name: &str, parameters: QueueParameters) -> Option<Box<dyn CustomDiscipline>> {
        let name = name.strip_prefix(CUSTOM_PREFIX)?;
        let factory = self.queues.get(name)?;
        let queue = PyQueue::new(name, factory, parameters, self.failure.clone());
        Some(Box::new(queue))
    }
}

/// A controller in Python, and its last window and rate.
struct PyController {
    name: String,
    /// None once it has failed: then it is not called again, and its run ends soon.
    object: Option<Py<PyAny>>,
    failure: Failure,
    /// Measures for it.
    rate: DeliveryRate,
    mss: Bytes,
    cwnd: Bytes,
    pacing_rate: Option<BitRate>,
}

impl PyController {
    /// What a call gave, unless it raised.
    fn taken<T>(&self, py: Python<'_>, what: &str, given: PyResult<T>) -> Option<T> {
        let what = format!("the controller python:{} failed in {what}", self.name);
        self.failure.taken(py, &what, given)
    }

    /// Calls it with an event, and reads window and rate.
    fn call(&mut self, event: &str, fields: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) {
        if self.object.is_none() {
            return;
        }
        Python::attach(|py| {
            let call = || {
                let arguments = PyDict::new(py);
                fields(&arguments)?;
                match &self.object {
                    Some(object) => object
                        .call_method1(py, &*format!("_{event}"), (arguments,))
                        .map(drop),
                    None => Ok(()),
                }
            };
            let called = call();
            if self.taken(py, event, called).is_none() {
                self.object = None;
            }
            self.update(py, event);
        });
    }

    /// Reads window and rate, as they are after an event.
    fn update(&mut self, py: Python<'_>, event: &str) {
        let Some(object) = &self.object else { return };
        let read = || -> PyResult<(f64, Option<f64>)> {
            let cwnd = object.getattr(py, "cwnd")?.extract(py)?;
            let rate = object.getattr(py, "pacing_rate")?.extract(py)?;
            Ok((cwnd, rate))
        };
        let what = format!("cwnd or pacing_rate after {event}");
        let read = read();
        match self.taken(py, &what, read) {
            Some((cwnd, _)) if !is_quantity(cwnd) => self.refuse("cwnd", cwnd, event),
            Some((_, Some(rate))) if !is_quantity(rate) => self.refuse("pacing_rate", rate, event),
            Some((cwnd, rate)) => {
                self.cwnd = Bytes::new(cwnd as u64).max(self.mss);
                self.pacing_rate = rate.map(|rate| BitRate::from_bps(rate as u64));
            }
            None => self.object = None,
        }
    }

    fn refuse(&mut self, what: &str, value: f64, event: &str) {
        self.failure.keep(format!(
            "the controller python:{} failed: {what} is {value} after {event}; expected a number \
             above 0 and at most 1e15",
            self.name
        ));
        self.object = None;
    }
}

/// At least one byte or bit/s, and finite.
fn is_quantity(value: f64) -> bool {
    (1.0..=MAX_VALUE).contains(&value)
}

impl Clone for PyController {
    /// With a deep copy of the Python object.
    fn clone(&self) -> Self {
        let object = self.object.as_ref().and_then(|object| {
            Python::attach(|py| {
                let copy = PyModule::import(py, "copy");
                let copied = copy.and_then(|copy| copy.call_method1("deepcopy", (object,)));
                self.taken(py, "a deep copy", copied.map(Bound::unbind))
            })
        });
        Self {
            name: self.name.clone(),
            object,
            failure: self.failure.clone(),
            rate: self.rate.clone(),
            mss: self.mss,
            cwnd: self.cwnd,
            pacing_rate: self.pacing_rate,
        }
    }
}

impl CongestionControl for PyController {
    fn name(&self) -> &'static str {
        "python"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, packet: &Sent) -> PacketStamp {
        self.rate.on_sent(cx.now, packet)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let rate = self.rate.on_ack(cx.now, ack);
        let now = cx.now.as_secs_f64();
        self.call("on_ack", |d| {
            d.set_item("now", now)?;
            d.set_item("newly_acked", ack.newly_acked.get())?;
            d.set_item("newly_lost", ack.newly_lost.get())?;
            d.set_item("bytes_in_flight", ack.bytes_in_flight.get())?;
            d.set_item("rtt", ack.rtt.map(|rtt| rtt.as_secs_f64()))?;
            d.set_item("srtt", ack.srtt.as_secs_f64())?;
            d.set_item("min_rtt", ack.min_rtt.as_secs_f64())?;
            d.set_item("delivery_rate", rate.map(|r| r.delivery_rate.as_bps()))?;
            d.set_item("is_app_limited", rate.is_some_and(|r| r.is_app_limited))?;
            d.set_item("is_recovering", ack.is_recovering)?;
            d.set_item("is_cwnd_limited", ack.is_cwnd_limited)?;
            d.set_item("is_round_start", ack.is_round_start)?;
            d.set_item("ecn_echo", ack.ecn_echo)
        });
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let now = cx.now.as_secs_f64();
        let kind = match loss.kind {
            LossKind::Fast => "fast",
            LossKind::Timeout => {
                self.rate.on_lost(loss.lost);
                "timeout"
            }
            LossKind::Ecn => "ecn",
        };
        self.call("on_loss", |d| {
            d.set_item("now", now)?;
            d.set_item("kind", kind)?;
            d.set_item("lost", loss.lost.get())?;
            d.set_item("bytes_in_flight", loss.bytes_in_flight.get())
        });
    }

    fn on_recovery_end(&mut self, cx: &mut Ctx<'_>, end: RecoveryEnd) {
        let now = cx.now.as_secs_f64();
        self.call("on_recovery_end", |d| {
            d.set_item("now", now)?;
            d.set_item("is_spurious", end.is_spurious)
        });
    }

    fn on_app_limited(&mut self, _: &mut Ctx<'_>, bytes_in_flight: Bytes) {
        self.rate.on_app_limited(bytes_in_flight);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }

    fn governs_recovery(&self) -> bool {
        // losses are reported to it and it sets the window; nothing else reduces that
        true
    }
}
