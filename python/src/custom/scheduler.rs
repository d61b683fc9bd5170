//! A tunnel's scheduler in Python.

use super::Failure;
use multipath::PathId;
use multipath::scheduler::{PathSet, PathView, Scheduler, Waiting};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use units::{Duration, Instant};

/// A scheduler in Python, for one end of a tunnel.
pub(super) struct PyScheduler {
    /// None once it has failed: then nothing is sent, and its run ends soon.
    object: Option<Py<PyAny>>,
    failure: Failure,
}

impl PyScheduler {
    /// Of what a factory makes.
    pub(super) fn new(factory: &Py<PyAny>, failure: Failure) -> Self {
        let object = Python::attach(|py| {
            let made = factory.call0(py);
            failure.taken(py, "the scheduler failed in its constructor", made)
        });
        Self { object, failure }
    }

    fn chosen(&self, now: Instant, waiting: Waiting, paths: &[PathView]) -> Option<PathSet> {
        let object = self.object.as_ref()?;
        Python::attach(|py| {
            let call = || -> PyResult<Vec<i64>> {
                let views: PyResult<Vec<_>> = paths.iter().map(|path| view(py, path)).collect();
                let views = PyList::new(py, views?)?;
                let arguments = (
                    now.as_secs_f64(),
                    waiting.packets.get(),
                    waiting.next.get(),
                    views,
                );
                object.call_method1(py, "_choose", arguments)?.extract(py)
            };
            let chosen = self
                .failure
                .taken(py, "the scheduler failed in choose", call())?;
            let mut set = PathSet::NONE;
            for number in chosen {
                let path = paths.iter().find(|path| i64::from(path.id.0) == number);
                let Some(PathView { id, .. }) = path else {
                    self.failure.keep(format!(
                        "the scheduler failed: choose gave {number}; expected the ids of paths that \
                         it was shown"
                    ));
                    return None;
                };
                set.insert(PathId(id.0));
            }
            Some(set)
        })
    }
}

/// What `brimful.PathView` takes. Sizes in packets, times in s, rates in bit/s.
fn view<'py>(py: Python<'py>, path: &PathView) -> PyResult<Bound<'py, PyDict>> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let view = PyDict::new(py);
    view.set_item("id", path.id.0)?;
    view.set_item("cwnd", path.cwnd.get())?;
    view.set_item("in_flight", path.in_flight.get())?;
    view.set_item("queued", path.queued.get())?;
    view.set_item("srtt", seconds(path.srtt))?;
    view.set_item("min_rtt", seconds(path.min_rtt))?;
    view.set_item(
        "delivery_rate",
        path.delivery_rate.map(|rate| rate.as_bps()),
    )?;
    view.set_item("radio_rate", path.radio_rate.map(|rate| rate.as_bps()))?;
    Ok(view)
}

impl Scheduler for PyScheduler {
    fn name(&self) -> &'static str {
        "python"
    }

    fn choose(&mut self, now: Instant, waiting: Waiting, paths: &[PathView]) -> PathSet {
        match self.chosen(now, waiting, paths) {
            Some(set) => set,
            None => {
                self.object = None;
                PathSet::NONE
            }
        }
    }
}
