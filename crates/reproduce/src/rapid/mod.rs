//! RAPID: Diarra et al., "RAPID: a RAN-aware Performance Enhancing Proxy for High Throughput Low
//! Delay Flows in MEC Networks", Computer Networks 218 (2022), sections 4 and 5.

mod downloads;
mod lte;
mod many_flows;
mod mixed;
mod tables;
mod three_ccas;

use crate::claim::Cell;
use crate::experiment::Experiment;
use crate::results::Results;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use scenario::{Estimate, RunResult};

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "rapid",
    title: "RAPID: ours beside the paper",
    columns: &["none", "paper", "default"],
    files: shipped::RAPID,
    repeats: Repeats { full: 10, quick: 2 },
    preface: "`none` is without a proxy, `paper` the paper's equations, `default` ours ([what \
        differs](../algorithms/rapid.md)). RTT is end to end: from a byte's leaving the server to \
        the arrival there of its acknowledgement, the wait in the proxy included.",
    quick: "2 repeats instead of 10, RTT 1 and 8 ms instead of 1, 2, 4, 8 and 10 ms",
    sections: &[
        downloads::LOS,
        mixed::LOS,
        many_flows::SECTION,
        three_ccas::SECTION,
        lte::DOWNLOADS,
        lte::SHORT,
        lte::BESIDE_8M,
        lte::BESIDE_150K,
    ],
    discussion: include_str!("discussion.md"),
};

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// There is none.
    None,
    /// The paper's equations.
    Paper,
    /// Ours.
    Default,
}

impl Mode {
    const ALL: [Self; 3] = [Self::None, Self::Paper, Self::Default];

    /// As the knob `pep` has it.
    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Paper => "paper",
            Self::Default => "default",
        }
    }
}

/// The round-trip times of the simulations, ms (4.2).
const fn rtts(extent: &Extent) -> &'static [u32] {
    match extent.quick {
        true => &[1, 8],
        false => &[1, 2, 4, 8, 10],
    }
}

/// A scenario in a mode.
fn in_mode(scenario: &'static str, mode: Mode) -> Experiment {
    Experiment::of(scenario).set("pep", mode.name())
}

/// A scenario in a mode, at an end-to-end base round-trip time in ms.
fn at_rtt(scenario: &'static str, mode: Mode, rtt: u32) -> Experiment {
    in_mode(scenario, mode).set("rtt", format!("{rtt} ms"))
}

/// A scenario in all modes at all round-trip times.
fn grid(scenario: &'static str, rtts: &[u32]) -> Vec<Experiment> {
    let rtts = rtts.iter();
    rtts.flat_map(|rtt| Mode::ALL.map(|mode| at_rtt(scenario, mode, *rtt)))
        .collect()
}

/// A cell for each mode.
fn each_mode(cell: impl Fn(Mode) -> Cell) -> Vec<Cell> {
    Mode::ALL.map(cell).to_vec()
}

/// A cell for `default` only.
fn default_only(cell: Cell) -> Vec<Cell> {
    vec![Cell::Empty, Cell::Empty, cell]
}

/// A cell for `none` only.
fn none_only(cell: Cell) -> Vec<Cell> {
    vec![cell, Cell::Empty, Cell::Empty]
}

/// A scenario at several round-trip times.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    results: &'a Results,
    scenario: &'static str,
    rtts: &'a [u32],
}

impl Sweep<'_> {
    /// What is measured in a mode at each round-trip time, which `measure` is told in ms.
    fn each<M: Fn(&RunResult) -> Option<f64>>(
        &self,
        mode: Mode,
        measure: impl Fn(f64) -> M,
    ) -> Vec<Estimate> {
        let at = |rtt: &u32| {
            let experiment = at_rtt(self.scenario, mode, *rtt);
            self.results.mean(&experiment, measure(f64::from(*rtt)))
        };
        self.rtts.iter().map(at).collect()
    }

    /// The same, as a range.
    fn span<M: Fn(&RunResult) -> Option<f64>>(
        &self,
        mode: Mode,
        measure: impl Fn(f64) -> M,
    ) -> Cell {
        Cell::span(self.each(mode, measure))
    }

    /// How many times as much is measured in `over` as in `mode`, at each round-trip time.
    fn times<M: Fn(&RunResult) -> Option<f64>>(
        &self,
        over: Mode,
        mode: Mode,
        measure: impl Fn(f64) -> M,
    ) -> Cell {
        let at = |rtt: &u32| {
            let [over, mode] = [over, mode].map(|mode| at_rtt(self.scenario, mode, *rtt));
            self.results.ratio(&over, &mode, measure(f64::from(*rtt)))
        };
        Cell::span(self.rtts.iter().map(at))
    }
}
