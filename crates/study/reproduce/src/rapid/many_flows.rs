//! 25 Cubic flows of one user (4.3, figure 6) at 2 and 8 ms.

use super::{Mode, Modes, at_rtt, cdf, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::markdown;
use crate::measure::{jain, rlc_drops, total_goodput};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Distribution, RunResult};

pub(super) const SCENARIO: &str = "rapid/scalability";

/// Round-trip times, ms.
const fn rtts(extent: &Extent) -> &'static [u32] {
    match extent.quick {
        true => &[2],
        false => &[2, 8],
    }
}

pub(super) const SECTION: Section = Section {
    id: "fig6",
    title: "25 Cubic flows (figure 6)",
    experiments,
    report,
};

/// Without time series to speak of: those of 25 flows take memory, and nothing here needs them.
fn at(mode: Mode, rtt: u32) -> Experiment {
    at_rtt(SCENARIO, mode, rtt).set("sample-interval", "1 s")
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let rtts = rtts(extent).iter();
    rtts.flat_map(|rtt| Mode::ALL.map(|mode| at(mode, *rtt)))
        .collect()
}

fn report(extent: &Extent, results: &Results) -> Part {
    let rtts = rtts(extent);
    Part {
        claims: claims(results, rtts),
        text: table(results, rtts),
        figures: vec![figure(results, rtts)],
    }
}

fn claims(results: &Results, rtts: &[u32]) -> Vec<Claim> {
    let span = |measure: fn(&RunResult) -> Option<f64>| {
        Modes::of(|mode| {
            let span = |rtt: &u32| results.mean(&at(mode, *rtt), measure);
            Cell::span(rtts.iter().map(span))
        })
    };
    let index = span(jain);
    let drops = span(rlc_drops);
    vec![
        Claim::new(
            "figure 6",
            "without: Jain's index of 25 Cubic flows",
            "unequal",
        )
        .measured(&index.without(), index.none.lowest().below(0.9))
        .note("unequal is taken as below 0.9, over the whole run")
        .decimals(4),
        Claim::new("figure 6", "with: the same", "equal")
            .judged(&index.with(), index.judge(|cell| cell.at_least(0.99)))
            .note("equal is taken as from 0.99 on")
            .decimals(4),
        Claim::new(
            "figure 6",
            "packets that the RLC buffer dropped",
            "some -> none",
        )
        .judged(
            &drops.row(),
            drops.judge(|cell| cell.at_most(0.0).and(drops.none.above(0.0))),
        ),
    ]
}

fn table(results: &Results, rtts: &[u32]) -> String {
    let head = [
        "RTT",
        "pep",
        "all flows Mbit/s",
        "least flow Mbit/s",
        "greatest flow Mbit/s",
        "Jain's index",
        "RTT mean ms",
        "RTT p95 ms",
        "utilisation %",
        "RLC drops",
    ];
    let rows = rtts.iter().flat_map(|rtt| {
        Mode::ALL.map(|mode| {
            let at = at(mode, *rtt);
            let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
                tables::shown(results.mean(&at, measure))
            };
            vec![
                format!("{rtt} ms"),
                mode.name().to_owned(),
                mean(&total_goodput),
                mean(&|run| rates(run).into_iter().reduce(f64::min)),
                mean(&|run| rates(run).into_iter().reduce(f64::max)),
                format!("{:.4}", results.mean(&at, jain).mean),
                mean(&|run| over_flows(run, |rtt| rtt.mean)),
                mean(&|run| over_flows(run, |rtt| rtt.p95)),
                mean(&crate::measure::utilisation),
                mean(&rlc_drops),
            ]
        })
    });
    markdown::table(&head, rows)
}

/// Goodputs of all flows, Mbit/s.
pub(super) fn rates(run: &RunResult) -> Vec<f64> {
    let flows = run.flows.iter();
    flows.map(|f| f.goodput.as_bps() as f64 / 1e6).collect()
}

/// The mean over all flows of something of their round-trip times.
fn over_flows(run: &RunResult, value: fn(&Distribution) -> f64) -> Option<f64> {
    let flows = run.flows.len();
    (flows > 0).then(|| run.flows.iter().map(|f| value(&f.rtt)).sum::<f64>() / flows as f64)
}

/// What a row of the figure shows.
struct Shown {
    what: &'static str,
    letters: [&'static str; 2],
    axis: Axis,
    points: fn(&[RunResult]) -> Vec<(f64, f64)>,
}

static SHOWN: [Shown; 2] = [
    Shown {
        what: "goodput of the flows",
        letters: ["a", "b"],
        axis: Axis::linear("goodput of a flow (Mbit/s)"),
        points: goodputs,
    },
    Shown {
        what: "RTT of the flows",
        letters: ["c", "d"],
        axis: Axis::logarithmic("RTT (ms)"),
        points: delays,
    },
];

fn figure(results: &Results, rtts: &[u32]) -> Figure {
    let panel = |shown: &Shown, rtt: u32, letter: &str| {
        let trace = |mode: Mode| Trace {
            name: mode.name().to_owned(),
            points: (shown.points)(results.runs(&at(mode, rtt))),
        };
        Panel {
            title: format!("({letter}) {}, base RTT {rtt} ms", shown.what),
            x: shown.axis,
            y: Axis::share("share at most that"),
            shape: Shape::Lines(Mode::ALL.map(trace).to_vec()),
        }
    };
    let row = |shown: &'static Shown| {
        let columns = rtts.iter().zip(shown.letters);
        columns.map(move |(rtt, letter)| (shown, *rtt, letter))
    };
    let panels = SHOWN.iter().flat_map(row);
    Figure {
        name: "fig6",
        title: "25 Cubic flows of one user: distribution over the flows and repeats".to_owned(),
        columns: rtts.len(),
        panels: panels
            .map(|(shown, rtt, letter)| panel(shown, rtt, letter))
            .collect(),
    }
}

/// The distribution function of the goodputs of all flows in all repeats.
fn goodputs(runs: &[RunResult]) -> Vec<(f64, f64)> {
    cdf::of_values(runs.iter().flat_map(rates).collect())
}

/// The distribution function of the round-trip times of all flows in all repeats, each flow counted
/// alike.
fn delays(runs: &[RunResult]) -> Vec<(f64, f64)> {
    cdf::of_all(runs.iter().flat_map(|run| &run.flows).map(|flow| &flow.rtt))
}
