//! A judge and what it says.

use crate::need::Need;
use crate::stage::Stage;
use serde::Serialize;

/// A measurement by programs that others wrote.
#[derive(Debug)]
pub struct Judge {
    /// As `--only` takes it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What it needs to run.
    pub needs: &'static [Need],
    /// Runs it in a lab that stands, and reads what it printed.
    pub run: fn(&mut Stage<'_, '_>) -> Result<Vec<Measure>, Problem>,
}

/// A number that a judge gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// What it is, unique within the judge.
    pub name: &'static str,
    /// In what, e.g. `ms`, `Mbit/s`; empty for a count.
    pub unit: &'static str,
    /// How much.
    pub value: f64,
    /// Which way is better.
    pub better: Better,
}

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is.
    Lower,
    /// More is.
    Higher,
}

/// Shorthands for measures.
pub mod better {
    use super::{Better, Measure};

    /// A measure of which less is better.
    pub fn lower(name: &'static str, unit: &'static str, value: f64) -> Measure {
        Measure {
            name,
            unit,
            value,
            better: Better::Lower,
        }
    }

    /// A measure of which more is better.
    pub fn higher(name: &'static str, unit: &'static str, value: f64) -> Measure {
        Measure {
            name,
            unit,
            value,
            better: Better::Higher,
        }
    }
}

/// Why a judge gave nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A program could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A program ended with an error, or before its time.
    #[error("{program} ended with {status}: {output}")]
    Ended {
        /// The program.
        program: String,
        /// How.
        status: std::process::ExitStatus,
        /// The last that it printed.
        output: String,
    },
    /// A program did not end, or was not ready, in time.
    #[error("{program} {what} within {seconds:.0} s: {output}")]
    Late {
        /// The program.
        program: String,
        /// What it did not do, e.g. `did not end`.
        what: &'static str,
        /// The time that it had.
        seconds: f64,
        /// The last that it printed.
        output: String,
    },
    /// What a program printed could not be read.
    #[error("the output of {program} has no {missing}")]
    Output {
        /// The program.
        program: &'static str,
        /// What was looked for in it.
        missing: String,
    },
    /// A file of the judge's own.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// The lab, not the judge.
    #[error(transparent)]
    Lab(#[from] lab::Error),
}

impl Problem {
    /// For `ok_or_else`: what the output of a program lacks.
    pub fn missing(program: &'static str, what: impl Into<String>) -> Self {
        Self::Output {
            program,
            missing: what.into(),
        }
    }
}
