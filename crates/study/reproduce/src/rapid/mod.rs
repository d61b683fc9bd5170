//! RAPID: Diarra et al., "RAPID: a RAN-aware Performance Enhancing Proxy for High Throughput Low
//! Delay Flows in MEC Networks", Computer Networks 218 (2022), sections 4 and 5.

mod ablation;
mod beside;
mod beyond;
mod bursty;
mod cdf;
mod control_channel;
mod demand;
mod downloads;
mod flow_counts;
mod in_flight;
mod lte;
mod lte_figures;
mod many_flows;
mod mixed;
mod mixed_windows;
mod narrow_link;
mod order;
mod readings;
mod sensitivity;
mod start_jitter;
mod tables;
mod three_ccas;

use crate::claim::{Cell, Verdict, Verdicts};
use crate::experiment::Experiment;
use crate::figure::{Axis, Panel, Shape};
use crate::measure::increase;
use crate::ran::Results;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use scenario::{Estimate, RunResult};

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "rapid",
    title: "RAPID: ours beside the paper",
    columns: &["none", "paper", "default"],
    files: shipped::RAPID,
    repeats: Repeats {
        full: 10,
        quick: 2,
        lab: 10,
    },
    // those of the testbed: the simulations are of cells beyond real time
    lab: &["fig9", "fig10", "fig12", "fig13", "fig14"],
    apart: &[],
    worlds: include_str!("worlds.md"),
    preface: "`none` is without a proxy, `paper` the paper's equations, `default` ours ([what \
        differs](../algorithms/rapid.md)). RTT is end to end: from a byte's leaving the server to \
        the arrival there of its acknowledgement, the wait in the proxy included. \
        The published is `paper`, and `none` where a claim is about how it is without a proxy; ours is `default`.",
    quick: "RTT 1 and 8 ms instead of 1, 2, 4, 8 and 10 ms (figure 6: 2 ms only), \
        60 flows instead of 1 to 200, QUIC by Cubic and second only, one bursty radio, no ablation and no late reports",
    sections: &[
        downloads::LOS,
        downloads::NLOS,
        mixed::LOS,
        mixed::NLOS,
        mixed_windows::SECTION,
        many_flows::SECTION,
        start_jitter::SECTION,
        flow_counts::SECTION,
        bursty::SECTION,
        narrow_link::SECTION,
        three_ccas::SECTION,
        beyond::LOSS,
        beyond::USERS,
        control_channel::SECTION,
        demand::SECTION,
        lte::DOWNLOADS,
        order::SECTION,
        lte::SHORT,
        lte::BESIDE_8M,
        lte::BESIDE_150K,
        lte::BESIDE_QUIC,
        beside::SECTION,
        ablation::SECTION,
        readings::SECTION,
        sensitivity::SECTION,
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

/// The columns of a claim that is only about mode `default`.
fn default_only(cell: Cell) -> [Cell; 3] {
    [Cell::Empty, Cell::Empty, cell]
}

/// What a claim has of each mode.
struct Modes {
    none: Cell,
    paper: Cell,
    default: Cell,
}

impl Modes {
    fn of(cell: impl Fn(Mode) -> Cell) -> Self {
        let [none, paper, default] = Mode::ALL.map(cell);
        Self {
            none,
            paper,
            default,
        }
    }

    /// One measurement in each mode.
    fn measured(
        results: &Results,
        at: impl Fn(Mode) -> Experiment,
        measure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Self {
        Self::of(|mode| Cell::One(results.mean(&at(mode), &measure)))
    }

    /// Both verdicts of what the proxy does, by one rule: of the paper's equations, where they were run, and of ours.
    fn judge(&self, rule: impl Fn(&Cell) -> Verdict) -> Verdicts {
        Verdicts {
            published: (self.paper != Cell::Empty).then(|| rule(&self.paper)),
            ours: Some(rule(&self.default)),
        }
    }

    /// The columns of the claim.
    fn row(&self) -> [Cell; 3] {
        [&self.none, &self.paper, &self.default].map(Cell::clone)
    }

    /// Those of a claim that is only about what happens without the proxy.
    fn without(&self) -> [Cell; 3] {
        [self.none.clone(), Cell::Empty, Cell::Empty]
    }

    /// Those of a claim that is only about what the proxy does.
    fn with(&self) -> [Cell; 3] {
        [Cell::Empty, self.paper.clone(), self.default.clone()]
    }
}

/// What the time in the radio and the network is above its base is at least this, ms, where one is
/// divided by another: less is within the slots' own rounding.
const MIN_INCREASE: f64 = 0.01;

/// By how much the mean round-trip time of a flow is above `base`, to divide by.
fn divisible_increase(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| increase(name, base)(run).map(|ms| ms.max(MIN_INCREASE))
}

/// By how many per cent the round-trip time of a flow is above its base.
fn percent(name: &str, base: f64) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| increase(name, base)(run).map(|ms| 100.0 * ms / base)
}

/// Where the reason stands why the paper's equations keep a queue.
const PAPER_BELOW: &str = "`paper`: see below";
/// Why they leave a tenth of the link at 1 ms.
const PAPER_AT_1_MS: &str = "`paper`: with an empty queue the mean RTT is 1.02 ms and the least 0.94, so windows are 92 % of \
    what the link holds; at a base RTT of 1.25 ms figure 4b has 3.91 s, figure 7b 6.09 (one run each)";

/// The name of what a panel shows.
const fn with_or_without(mode: Mode) -> &'static str {
    match mode {
        Mode::None => "without RAPID",
        Mode::Paper => "with RAPID (paper)",
        Mode::Default => "with RAPID (default)",
    }
}

/// A moving or a resting user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Radio {
    /// In line of sight, at rest.
    Los,
    /// Behind buildings, at a walk.
    Nlos,
}

impl Radio {
    const fn name(self) -> &'static str {
        match self {
            Self::Los => "LOS",
            Self::Nlos => "NLOS",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Los => "in line of sight",
            Self::Nlos => "behind buildings",
        }
    }

    /// One of two.
    fn pick<T>(self, los: T, nlos: T) -> T {
        match self {
            Self::Los => los,
            Self::Nlos => nlos,
        }
    }
}

/// A scenario at several round-trip times.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    results: &'a Results,
    scenario: &'static str,
    rtts: &'a [u32],
    /// The experiment in a mode at a round-trip time, ms.
    at: fn(&'static str, Mode, u32) -> Experiment,
}

impl Sweep<'_> {
    /// What is measured in a mode at each round-trip time, which `measure` gets in ms.
    fn each<M: Fn(&RunResult) -> Option<f64>>(
        &self,
        mode: Mode,
        measure: impl Fn(f64) -> M,
    ) -> Vec<Estimate> {
        let at = |rtt: &u32| {
            let experiment = (self.at)(self.scenario, mode, *rtt);
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

    /// The same in all modes.
    fn modes<M: Fn(&RunResult) -> Option<f64>>(&self, measure: impl Fn(f64) -> M) -> Modes {
        Modes::of(|mode| self.span(mode, &measure))
    }

    /// How many times as much is measured in `over` as in `mode`, at each round-trip time.
    fn times<M: Fn(&RunResult) -> Option<f64>>(
        &self,
        over: Mode,
        mode: Mode,
        measure: impl Fn(f64) -> M,
    ) -> Cell {
        let at = |rtt: &u32| {
            let [over, mode] = [over, mode].map(|mode| (self.at)(self.scenario, mode, *rtt));
            self.results.ratio(&over, &mode, measure(f64::from(*rtt)))
        };
        Cell::span(self.rtts.iter().map(at))
    }

    /// How many times as long as with the proxy a flow waits without, in each mode.
    fn relief(&self, flow: &str) -> Modes {
        Modes::of(|mode| match mode {
            Mode::None => Cell::Empty,
            _ => self.times(Mode::None, mode, |rtt| divisible_increase(flow, rtt)),
        })
    }

    /// Every flow of these in every mode at every round-trip time.
    fn table(&self, flows: &[&str]) -> String {
        let row = |rtt: &u32, mode| {
            (
                format!("{rtt} ms"),
                mode,
                (self.at)(self.scenario, mode, *rtt),
            )
        };
        let rtts = self.rtts.iter();
        let rows: Vec<tables::Labelled> = rtts
            .flat_map(|rtt| Mode::ALL.map(|mode| row(rtt, mode)))
            .collect();
        tables::flows(self.results, "RTT", &rows, flows)
    }

    /// Values by round-trip time.
    fn panel(&self, title: String, y: Axis, series: Vec<(String, Vec<Estimate>)>) -> Panel {
        Panel {
            title,
            x: Axis::linear("base RTT (ms)"),
            y,
            shape: Shape::Groups {
                conditions: self.rtts.iter().map(u32::to_string).collect(),
                series,
            },
        }
    }
}
