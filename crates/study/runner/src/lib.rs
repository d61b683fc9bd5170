//! Runs experiments with all their repeats, and keeps their results: what the `brimful` command and
//! the Python package have in common.
//!
//! ```text
//!   [Point] --Engine, threads--> Runner::run_one (Simulator here; the lab is the command's)
//!                 |                         |
//!        Watch: progress,             [RunResult] --> Finished: summary
//!        interruption                                    |-> Comparison (variants, seed by seed)
//!                                                        '-> OutputFolder: manifest, tables, report
//! ```
//!
//! It is a shell: it has threads, reads the clock and writes files. A [`Runner`] makes a run.
//!
//! What this crate is *not*: it reads no arguments, no environment and no terminal, prints nothing,
//! and decides nothing of an experiment.
#![forbid(unsafe_code)]

mod comparison;
mod engine;
mod error;
mod finished;
mod folder;
mod record;
mod simulator;
mod traces;

pub use comparison::{Comparison, MAX_VARIANTS, Variant, check_seeds, combinations, single};
pub use engine::{Engine, Quiet, RUN_THREAD, Runner, Stop, Watch};
pub use error::{Error, message};
pub use finished::{Finished, Origin, axes_json, json, label, line, pretty, report, write};
pub use folder::{OutputFolder, default_path};
pub use record::Recorder;
pub use scenario::World;
pub use simulator::{Simulator, drive};
pub use traces::{OverTraces, traces_note};

/// A key with its value, as written.
pub type Setting = (String, String);

/// The version, in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
