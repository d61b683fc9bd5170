//! NewReno, Vegas and Westwood together (4.3, figure 7), 200 MB each at 1 ms; and the same with
//! YeAH in Vegas's place, which the paper names beside them.

use super::{Mode, Modes, PAPER_AT_1_MS, divisible_increase, in_mode, tables, with_or_without};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::measure::{completion, flow, goodput};
use crate::ran::Results;
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

fn alone(mode: Mode) -> Experiment {
    in_mode(SCENARIO, mode)
}

fn with_yeah(mode: Mode) -> Experiment {
    in_mode(SCENARIO, mode).set("flow.vegas.cc", "yeah")
}

fn experiments(_: &Extent) -> Vec<Experiment> {
    let both = [Mode::ALL.map(alone), Mode::ALL.map(with_yeah)];
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

/// A measurement of each flow in each mode.
fn each<M: Fn(&RunResult) -> Option<f64>>(
    results: &Results,
    at: fn(Mode) -> Experiment,
    measure: impl Fn(&'static str) -> M,
) -> Modes {
    Modes::of(|mode| {
        let flows = FLOWS.iter();
        Cell::Each(
            flows
                .map(|name| results.mean(&at(mode), measure(name)))
                .collect(),
        )
    })
}

/// How many times as long as with the proxy each flow waits without.
fn relief(results: &Results) -> Modes {
    let [none, paper, default] = Mode::ALL.map(alone);
    let times = |with: &Experiment| {
        let factor =
            |flow: &&'static str| results.ratio(&none, with, divisible_increase(flow, BASE));
        Cell::Each(FLOWS.iter().map(factor).collect())
    };
    Modes {
        none: Cell::Empty,
        paper: times(&paper),
        default: times(&default),
    }
}

fn claims(results: &Results) -> Vec<Claim> {
    let ends = each(results, alone, completion);
    let yeah = each(results, with_yeah, completion);
    let rates = each(results, alone, goodput);
    let delay = Modes::measured(results, alone, |run| Some(flow(run, "newreno")?.rtt.p95));
    let relief = relief(results);
    let together = |cell: &Cell| {
        let bound = cell.lowest().scaled(1.07);
        cell.highest().minus(&bound).at_most(0.0)
    };
    let [newreno, others @ ..] = [0, 1, 2].map(|flow| ends.none.at(flow));
    let first = others
        .iter()
        .map(|other| newreno.minus(other).below(0.0))
        .fold(newreno.at_most(2.5), Verdict::and);
    vec![
        Claim::new(
            "figure 7a",
            "without: completion of NewReno, Vegas, Westwood, s",
            "2, later, later",
        )
        .measured(
            &ends.without(),
            first,
        ),
        Claim::new("figure 7b", "with: the same, s", "all about 6")
            .judged(
                &ends.with(),
                ends.judge(|cell| together(cell).and(cell.at_most(6.5))),
            )
            .note("together is taken as within 7 %, about 6 as at most 6.5")
            .if_published_not(PAPER_AT_1_MS),
        Claim::new(
            "section 4.3",
            "the same with YeAH in Vegas's place, s",
            "-> together",
        )
        .judged(&yeah.row(), yeah.judge(together)),
        Claim::new(
            "figure 7d",
            "goodput of NewReno, Vegas, Westwood, Mbit/s",
            "-> thirds of 850 (283)",
        )
        .judged(
            &rates.row(),
            rates.judge(|cell| cell.at_least(0.95 * 850.0 / 3.0)),
        )
        .note("4 % of 850 are headers")
        .if_published_not(PAPER_AT_1_MS),
        Claim::new(
            "figure 7e",
            "without: p95 of NewReno's RTT, ms",
            "80 (over 7000 %)",
        )
        .measured(&delay.without(), delay.none.at_least(71.0)),
        Claim::new(
            "figure 7f",
            "RTT increase of NewReno, Vegas, Westwood, none's over ours",
            "10 to 90",
        )
        .judged(
            &relief.with(),
            relief.judge(|cell| cell.at(0).at_least(10.0)),
        )
        .note(
            "judged by NewReno's, as at least 10: without, the other two spend most of their time after its end, and what is \
             divided by is not the paper's for certain (figure 7e)",
        ),
    ]
}

fn figure(results: &Results) -> Figure {
    let rows = [
        (
            "bytes in flight",
            Axis::logarithmic("bytes in flight (kB)"),
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
    let modes = [Mode::None, Mode::Default].map(|mode| (mode, with_or_without(mode)));
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

/// A series until the flow's end, in means over 50 ms so that single packets do not blur it. Where
/// a flow has nothing to show for longer, the line is interrupted.
fn series(run: &RunResult, name: &str, metric: Metric, unit: f64) -> Vec<(f64, f64)> {
    const STEP: f64 = 0.05;
    let end = completion(name)(run).unwrap_or(f64::INFINITY);
    let mut series = run.series.iter();
    let found = series.find(|s| s.entity == name && s.metric == metric);
    let mut steps: Vec<(u32, f64, u32)> = Vec::new();
    for (at, value) in found.map_or(&[][..], |s| &s.points) {
        let time = at.since_start().as_secs_f64();
        if time > end {
            break;
        }
        let step = (time / STEP) as u32;
        match steps.last_mut() {
            Some((last, sum, count)) if *last == step => {
                *sum += value;
                *count += 1;
            }
            _ => steps.push((step, *value, 1)),
        }
    }
    let mut points = Vec::with_capacity(steps.len());
    let mut next = 0;
    for (step, sum, count) in steps {
        if step > next {
            points.push((f64::NAN, f64::NAN));
        }
        let middle = (f64::from(step) + 0.5) * STEP;
        points.push((middle, sum / f64::from(count) / unit));
        next = step + 1;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{FlowResult, Series};
    use units::{Duration, Instant};

    #[test]
    fn series_are_means_until_the_end_with_gaps() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let points = [(10, 1.0), (20, 3.0), (60, 5.0), (210, 7.0), (310, 99.0)];
        let run = RunResult {
            flows: vec![FlowResult {
                name: "vegas".into(),
                completion: Some(Duration::from_millis(300)),
                ..FlowResult::default()
            }],
            series: vec![Series {
                entity: "vegas".into(),
                metric: Metric::Rtt,
                points: points.map(|(ms, value)| (at(ms), value)).to_vec(),
            }],
            ..RunResult::default()
        };
        let found = series(&run, "vegas", Metric::Rtt, 1.0);
        let close = |(x, y): (f64, f64), expected: (f64, f64)| {
            (x - expected.0).abs() < 1e-9 && (y - expected.1).abs() < 1e-9
        };
        assert_eq!(found.len(), 4);
        // 10 and 20 ms are one step; 100 to 200 ms are missing; the flow ends at 300 ms
        assert!(close(found[0], (0.025, 2.0)) && close(found[1], (0.075, 5.0)));
        assert!(found[2].0.is_nan() && close(found[3], (0.225, 7.0)));
    }
}
