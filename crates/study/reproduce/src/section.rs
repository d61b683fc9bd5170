//! What a reproduction consists of.

use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::ran::Results;
use scenario::{Embedded, World};

/// A published system whose experiments can be run again.
#[derive(Debug)]
pub struct System {
    /// Its name on the command line.
    pub name: &'static str,
    /// Title of its page.
    pub title: &'static str,
    /// What its claims compare: names of the columns beside the paper's number.
    pub columns: &'static [&'static str],
    /// Its scenario files.
    pub files: Embedded,
    /// Repeats of the whole reproduction, and of the quick one.
    pub repeats: Repeats,
    /// Names of the sections that are also for the lab; empty if none is.
    pub lab: &'static [&'static str],
    /// Names of the sections that have a page each; the system's page has their claims, and links to them.
    pub apart: &'static [&'static str],
    /// What the page of the two worlds reports of their differences.
    pub worlds: &'static str,
    /// Opens the page: what the columns are, how things were measured.
    pub preface: &'static str,
    /// What the quick reproduction leaves out, beside repeats.
    pub quick: &'static str,
    /// Its sections, in the page's order.
    pub sections: &'static [Section],
    /// Markdown between the claims and the sections; may be empty.
    pub discussion: &'static str,
}

/// How often each experiment is run, with seeds that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// In the whole reproduction.
    pub full: u32,
    /// In the quick one.
    pub quick: u32,
    /// In the lab, where an experiment takes as long as it lasts.
    pub lab: u32,
}

/// A part of the page with the experiments that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// What `--only` calls it, e.g. `fig4-los`. `fig4` is all whose names begin with `fig4-`.
    pub id: &'static str,
    /// Its title in the page.
    pub title: &'static str,
    /// What has to be run for it.
    pub experiments: fn(&Extent) -> Vec<Experiment>,
    /// What the results show.
    pub report: fn(&Extent, &Results) -> Part,
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Less than the paper has, to see within half a minute whether all is well.
    pub quick: bool,
    /// Repeats of each experiment, at least 1.
    pub repeats: u32,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Where.
    pub world: World,
    /// On recorded traces, where experiments name some; else on the scenarios' own.
    pub is_recorded: bool,
}

/// What a section states.
#[derive(Debug, Default)]
pub struct Part {
    /// Claims, for the table that opens the page.
    pub claims: Vec<Claim>,
    /// Text and tables, in Markdown; a section without any has no heading either.
    pub text: String,
    /// Figures, shown above the text.
    pub figures: Vec<Figure>,
}

impl Section {
    /// True if `--only name` means this section.
    pub fn is(&self, name: &str) -> bool {
        let rest = self.id.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}
