//! The extension module of the Python package `brimful`.
//!
//! ```text
//!   python/brimful/*.py --settings, dicts as text--> run, compare, reproduce   (crate runner)
//!        Result, Comparison <--Arrow, JSON-- Outcome <-- Finished   threads without the interpreter
//!   SweepPlan --numbers of points--> run, here or on Ray's workers --Arrow--> SweepDataset (crate sweep)
//! ```
//!
//! It hands over: what a Python programmer sees is in `python/brimful`. The simulator's threads do
//! not hold the interpreter; it is taken for a moment, some 20 times a second, to look for Ctrl-C.
//!
//! What it is *not*: it decides nothing of an experiment, and reads neither arguments nor terminal.

mod commands;
mod custom;
mod errors;
mod outcome;
mod sweep;
mod tables;
mod watching;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::commands::{compare, reproduce, run};
    #[pymodule_export]
    use crate::errors::{RunError, ScenarioError};
    #[pymodule_export]
    use crate::outcome::{Claims, Compared, Outcome};
    #[pymodule_export]
    use crate::sweep::{SweepDataset, SweepPlan};
    #[pymodule_export]
    use crate::tables::Table;

    /// The version of Brimful.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "as Python names it")]
    const __version__: &str = runner::VERSION;
}
