//! Progress and interruptions of runs, as Python receives and causes them.

use pyo3::prelude::*;
use runner::{Error, Watch};
use std::cell::RefCell;

/// Checks for signals, and reports progress to Python, on the thread that called.
pub(crate) struct Watching {
    /// Called with 1 for each run that has ended.
    progress: Option<Py<PyAny>>,
    /// What was raised meanwhile.
    raised: RefCell<Option<PyErr>>,
}

impl Watching {
    /// Calls this.
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self {
            progress,
            raised: RefCell::new(None),
        }
    }

    /// The exception that an error is: what Python raised meanwhile, if that ended the runs.
    pub(crate) fn raised(&self, error: Error) -> PyErr {
        match (&error, self.raised.take()) {
            (Error::Interrupted, Some(raised)) => raised,
            _ => crate::errors::raised(error),
        }
    }

    /// That nothing was raised, be it as the last run ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match *self.raised.borrow() {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    fn keep(&self, result: PyResult<()>) {
        if let Err(error) = result {
            self.raised.borrow_mut().get_or_insert(error);
        }
    }
}

impl Watch for Watching {
    fn finished(&self) {
        if let Some(progress) = &self.progress {
            self.keep(Python::attach(|py| progress.call1(py, (1,)).map(drop)));
        }
    }

    fn is_interrupted(&self) -> bool {
        self.keep(Python::attach(|py| py.check_signals()));
        self.raised.borrow().is_some()
    }
}
