//! What people read of a result: tables for the terminal, and the report as one HTML file.
//!
//! ```text
//!   [RunResult]  -> Report -> tables -> text(style)     terminal or pipe
//!    a variant's      |          \----> html            report.html: tables and figures, offline
//!    repeats          \-> figures ----/
//! ```
//!
//! The same result gives the same bytes: no clock, no environment, no random numbers.
//!
//! What this crate is *not*: it writes no file, and it computes nothing of a run that the run
//! itself, or the statistics of crate `scenario`, do not have.
#![forbid(unsafe_code)]

mod applications;
mod comparison;
mod conditions;
mod findings;
mod handovers;
mod headline;
mod html;
#[cfg(test)]
mod sample;
mod table;
mod tables;
mod terminal;
mod text;

pub use comparison::comparison_table;
pub use findings::{findings, sentences};
pub use headline::headline_tables;
pub use html::{figures_json, html};
pub use table::{Column, Table};
pub use tables::report_tables;
pub use terminal::{TextStyle, text};

use scenario::{RunResult, Summary};

/// One variant of an experiment, run with one or more seeds.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// What distinguishes it from the others, e.g. `pep=default`; empty if there is only one.
    pub label: String,
    /// The means of its repeats.
    pub summary: &'a Summary,
    /// Its repeats, in the order of their seeds.
    pub runs: &'a [RunResult],
}

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Name of the scenario.
    pub title: &'a str,
    /// One line about it.
    pub description: &'a str,
    /// `sim` or `lab`.
    pub world: &'a str,
    /// Version of Brimful.
    pub version: &'a str,
    /// The command that made it, with its arguments; empty if there was none.
    pub command: &'a [String],
    /// Seed of the first repeat.
    pub seed: u64,
    /// Repeats of each variant.
    pub repeats: u32,
    /// Settings that differ from the scenario file, for the reader.
    pub settings: Vec<(String, String)>,
    /// Its variants, at least one; ratios are to the first.
    pub variants: Vec<Variant<'a>>,
}
