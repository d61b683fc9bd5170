//! Sweeps at scale: many points of one scenario, their results in a partitioned Parquet dataset that an
//! interrupted sweep goes on with.
//!
//! ```text
//!   scenario::Plan --point number--> run (here: threads; elsewhere: Ray) --> Outcome: rows, failures
//!        |                                                                      |  (Arrow, also over a wire)
//!   Description: axes, seeds, hash                                              v
//!        '------------> Dataset: _sweep.json, points/, queues/, failed.jsonl, what is pending
//! ```
//!
//! A point is a function of its number alone, so that it does not matter which worker runs it, when, or
//! how often; the dataset takes it once. The order of rows and their distribution over files depend on
//! the workers, the sorted content does not.
//!
//! What this crate is *not*: it simulates nothing (the caller supplies how one run is made), it has
//! neither Ray nor Python, and it prints nothing.
#![forbid(unsafe_code)]

mod columns;
mod dataset;
mod description;
mod done;
mod error;
mod failed;
mod local;
mod outcome;
mod part;

pub use dataset::{Dataset, Options, Status};
pub use description::{Description, FORMAT};
pub use error::Error;
pub use failed::Failed;
pub use local::{End, Local, Watch, run_local};
pub use outcome::{Outcome, RunOne, Unfinished, run_points};
pub use part::READER_THREAD;
