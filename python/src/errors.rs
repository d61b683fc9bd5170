//! Errors as exceptions, with the messages of the command line.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};
use runner::Error;

create_exception!(
    brimful,
    ScenarioError,
    PyValueError,
    "A scenario or an argument is wrong. Nothing has run, and nothing was written."
);
create_exception!(
    brimful,
    RunError,
    PyRuntimeError,
    "A run, or the writing of its results, failed."
);

/// As Python names it.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Input(message) => ScenarioError::new_err(message),
        Error::Run(message) => RunError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}
