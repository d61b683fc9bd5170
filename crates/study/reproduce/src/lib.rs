//! A paper's experiments run again, its claims beside ours.
//!
//! ```text
//!   System (sections: experiments, claims) --choice--> Plan --points--> an engine runs them
//!                                                        |                    |
//!                     simulator beside lab: Agreement <-- [RunResult] of both
//!   page (Markdown), figures (SVG), JSON, table  <-- Outcome <-- [RunResult] -'
//! ```
//!
//! A [`System`] is data: sections, each with the experiments that it needs and a function from
//! their results to claims, tables and figures. Experiments that several sections need run once.
//! The scenario files are part of the program, so that it works wherever it is installed.
//!
//! What this crate is *not*: it runs nothing, reads no clock and writes no file. It reads none but
//! recorded traces, where their folder is given.
#![forbid(unsafe_code)]

mod agreement;
mod cdbe;
mod claim;
mod dynamic_buffer;
mod experiment;
mod figure;
mod markdown;
mod measure;
mod meld;
mod nested_cc;
mod outcome;
mod plan;
mod ran;
mod rapid;
mod section;
mod shipped;
mod verdict;

pub use agreement::{Agreement, GOODPUT_TOLERANCE, RTT_TOLERANCE, RTT_TOLERANCE_MS};
pub use claim::{Cell, Claim};
pub use experiment::Experiment;
pub use figure::{Axis, Colours, Field, Figure, Panel, Quartiles, Scale, Shape, Trace};
pub use outcome::{File, Outcome, Spent};
pub use plan::{Choice, Plan, PlanError};
pub use ran::Results;
pub use scenario::World;
pub use section::{Extent, Part, Section, System};
pub use verdict::{Cause, Verdict, Verdicts};

/// The systems whose papers can be reproduced.
pub const SYSTEMS: &[&System] = &[
    &rapid::SYSTEM,
    &dynamic_buffer::SYSTEM,
    &cdbe::SYSTEM,
    &meld::SYSTEM,
    &nested_cc::SYSTEM,
];
