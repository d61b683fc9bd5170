//! NewReno, Vegas and Westwood together (4.3, figure 7), 200 MB each at 1 ms; and the same with
//! YeAH in Vegas's place, which the paper names beside them.

use super::{Mode, each_mode, in_mode, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::measure::{completion, goodput, increase, rtt};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

const SCENARIO: &str = "rapid/three-ccas";
const FLOWS: [&str; 3] = ["newreno", "vegas", "westwood"];
/// Base round-trip time of the scenario, ms.
const BASE: f64 = 1.0;

pub(super) const SECTION: Section = Section {
    id: "fig7",
    title: "NewReno, Vegas and Westwood, 200 MB each, 1 ms (figure 7)",
    experiments,
    report,
};

fn with_yeah(mode: Mode) -> Experiment {
    in_mode(SCENARIO, mode).set("flow.vegas.cc", "yeah")
}

fn experiments(_: &Extent) -> Vec<Experiment> {
    let both = Mode::ALL.map(|mode| [in_mode(SCENARIO, mode), with_yeah(mode)]);
    both.into_iter().flatten().collect()
}

fn report(_: &Extent, results: &Results) -> Part {
    let mut rows: Vec<tables::Labelled> = Mode::ALL
        .map(|mode| ("three-ccas".to_owned(), mode, in_mode(SCENARIO, mode)))
        .to_vec();
    rows.extend(Mode::ALL.map(|mode| ("YeAH in vegas' place".to_owned(), mode, with_yeah(mode))));
    Part {
        claims: claims(results),
        text: tables::flows(results, "", &rows, &FLOWS),
        figures: vec![figure(results)],
    }
}

/// A measurement of each flow in a mode.
fn each<M: Fn(&RunResult) -> Option<f64>>(
    results: &Results,
    experiment: &Experiment,
    measure: impl Fn(&'static str) -> M,
) -> Cell {
    let flows = FLOWS.iter();
    Cell::Each(
        flows
            .map(|name| results.mean(experiment, measure(name)))
            .collect(),
    )
}

fn claims(results: &Results) -> Vec<Claim> {
    let all = |at: fn(Mode) -> Experiment| each_mode(|mode| each(results, &at(mode), completion));
    let ends = all(|mode| in_mode(SCENARIO, mode));
    let yeah = all(with_yeah);
    let together = |cell: &Cell| cell.most() <= 1.07 * cell.least();
    let rates = each_mode(|mode| each(results, &in_mode(SCENARIO, mode), goodput));
    let delay = each_mode(|mode| Cell::One(results.mean(&in_mode(SCENARIO, mode), rtt("newreno"))));
    let times = |mode| {
        let factor = |flow: &&'static str| {
            let [none, with] = [Mode::None, mode].map(|mode| in_mode(SCENARIO, mode));
            results.ratio(&none, &with, increase(flow, BASE))
        };
        Cell::Each(FLOWS.iter().map(factor).collect())
    };
    let newreno = |cell: &Cell| match cell {
        Cell::Each(all) => all.first().map_or(f64::NAN, |e| e.mean),
        _ => f64::NAN,
    };
    let factor = times(Mode::Default);
    vec![
        Claim {
            place: "figure 7a, b",
            what: "completion of NewReno, Vegas, Westwood, s".to_owned(),
            paper: "2, later, later -> all 6",
            verdict: Verdict::of(newreno(&ends[0]) <= 2.5 && together(&ends[2])),
            ours: ends,
            reason: "together is taken as within 7 %".to_owned(),
        },
        Claim {
            place: "section 4.3",
            what: "the same with YeAH in Vegas's place, s".to_owned(),
            paper: "-> together",
            verdict: Verdict::of(together(&yeah[2])),
            ours: yeah,
            reason: String::new(),
        },
        Claim {
            place: "figure 7d",
            what: "goodput of NewReno, Vegas, Westwood, Mbit/s".to_owned(),
            paper: "-> thirds of 850",
            verdict: Verdict::of(rates[2].least() >= 0.93 * 850.0 / 3.0),
            ours: rates,
            reason: "a third of what TCP payload can have of it is 272".to_owned(),
        },
        Claim {
            place: "figure 7e",
            what: "RTT of NewReno, ms".to_owned(),
            paper: "80 (over 7000 %)",
            verdict: Verdict::of(delay[0].most() >= 71.0),
            ours: delay,
            reason: "ours is the mean; its p95 is in the table below".to_owned(),
        },
        Claim {
            place: "figure 7f",
            what: "RTT increase of NewReno, Vegas, Westwood, none's over ours".to_owned(),
            paper: "10 to 90",
            verdict: Verdict::of(newreno(&factor) >= 10.0).or_better(newreno(&factor) > 90.0),
            ours: vec![Cell::Empty, times(Mode::Paper), factor],
            reason: "judged by NewReno, the longest queue's maker".to_owned(),
        },
    ]
}

fn figure(results: &Results) -> Figure {
    let rows = [
        (
            "bytes in flight",
            Axis::linear("bytes in flight (kB)"),
            Metric::BytesInFlight,
            1e3,
        ),
        (
            "goodput",
            Axis::linear("goodput (Mbit/s)"),
            Metric::Goodput,
            1e6,
        ),
        ("RTT", Axis::logarithmic("RTT (ms)"), Metric::Rtt, 1.0),
    ];
    let letters = ["a", "b", "c", "d", "e", "f"];
    let modes = [
        (Mode::None, "without RAPID"),
        (Mode::Default, "with RAPID (default)"),
    ];
    let panels = rows
        .into_iter()
        .flat_map(|row| modes.map(|mode| (row, mode)));
    let panels = panels
        .zip(letters)
        .map(|(((what, y, metric, unit), (mode, with)), letter)| {
            let runs = results.runs(&in_mode(SCENARIO, mode));
            let trace = |name: &&str| Trace {
                name: (*name).to_owned(),
                points: runs
                    .first()
                    .map_or(Vec::new(), |run| series(run, name, metric, unit)),
            };
            Panel {
                title: format!("({letter}) {what}, {with}"),
                x: Axis::linear("time (s)"),
                y,
                shape: Shape::Lines(FLOWS.iter().map(trace).collect()),
            }
        });
    Figure {
        name: "fig7",
        title: "NewReno, Vegas and Westwood, 200 MB each, base RTT 1 ms (the first repeat)"
            .to_owned(),
        columns: 2,
        panels: panels.collect(),
    }
}

/// A series until the flow's end, in steps of 50 ms so that single packets do not blur it.
fn series(run: &RunResult, name: &str, metric: Metric, unit: f64) -> Vec<(f64, f64)> {
    const STEP: f64 = 0.05;
    let end = completion(name)(run).unwrap_or(f64::INFINITY);
    let found = run
        .series
        .iter()
        .find(|s| s.entity == name && s.metric == metric);
    let points = found.map_or(&[][..], |s| &s.points).iter();
    let mut steps: Vec<(f64, f64, u32)> = Vec::new();
    for (at, value) in points {
        let time = at.since_start().as_secs_f64();
        if time > end {
            break;
        }
        let step = (time / STEP).floor() * STEP;
        match steps.last_mut() {
            Some((last, sum, count)) if *last == step => {
                *sum += value;
                *count += 1;
            }
            _ => steps.push((step, *value, 1)),
        }
    }
    let mean =
        |(step, sum, count): (f64, f64, u32)| (step + STEP / 2.0, sum / f64::from(count) / unit);
    steps.into_iter().map(mean).collect()
}
