//! Curves: one run over time (figure 5), and distributions over all drops (figure 7).

use super::measures::series;
use super::{CONTROLS, SIZES, downloads, named};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Distribution, Metric, RunResult};

/// Figure 5.
pub(super) const ONE_RUN: Section = Section {
    id: "fig5",
    title: "One run over time (figure 5)",
    experiments: |_| vec![one_run()],
    report: over_time,
};
/// Figure 7.
pub(super) const DISTRIBUTIONS: Section = Section {
    id: "fig7",
    title: "Distributions of goodput and round-trip times (figure 7)",
    experiments: |_| {
        let all = SIZES.map(|size| CONTROLS.map(|control| downloads(control, size, "paper")));
        let ours = SIZES.map(|size| downloads("cdbe", size, "default"));
        all.into_iter().flatten().chain(ours).collect()
    },
    report: distributions,
};

/// Points of a curve.
type Curve = Vec<(f64, f64)>;

/// Points of a distribution function.
const POINTS: usize = 200;

fn one_run() -> Experiment {
    Experiment::of("cdbe/downloads")
        .set("cc", "cdbe")
        .set("size", "10 MB")
        .set("mode", "paper")
        .set("sample-interval", "20 ms")
        .at_most(1)
}

fn over_time(_: &Extent, results: &Results) -> Part {
    let run = results.runs(&one_run()).first();
    Part {
        figures: run.map(figure5).into_iter().collect(),
        ..Part::default()
    }
}

fn figure5(run: &RunResult) -> Figure {
    let scaled = |entity: &str, metric, by: f64| -> Vec<(f64, f64)> {
        let points = series(run, entity, metric).into_iter();
        points.map(|(at, value)| (at, value * by)).collect()
    };
    let trace = |name: &str, points| Trace {
        name: name.to_owned(),
        points,
    };
    let panel = |title: &str, y, traces| Panel {
        title: title.to_owned(),
        x: Axis::linear("time (s)"),
        y: Axis::linear(y),
        shape: Shape::Lines(traces),
    };
    let estimates = run
        .flows
        .iter()
        .map(|flow| trace(&flow.name, scaled(&flow.name, Metric::Report, 1e-6)));
    let first = run
        .flows
        .first()
        .map_or("download", |flow| flow.name.as_str());
    // clocks of hosts differ by a constant, which is of no interest
    Figure {
        name: "fig5",
        title: "Estimates of all users; gain and downstream delay of the first".to_owned(),
        columns: 1,
        panels: vec![
            panel("Estimates", "estimate (Mbit/s)", estimates.collect()),
            panel(
                "Pacing gain",
                "gain",
                vec![trace("gain", scaled(first, Metric::Gain, 1.0))],
            ),
            panel(
                "Downstream delay",
                "delay (ms)",
                vec![
                    trace("DSDL", scaled(first, Metric::SeenDelay, 1.0)),
                    trace("DSDL_min", scaled(first, Metric::MinDelay, 1.0)),
                ],
            ),
        ],
    }
}

fn distributions(_: &Extent, results: &Results) -> Part {
    let mut panels = Vec::new();
    for size in SIZES {
        let traces = |points: fn(&[RunResult]) -> Curve| -> Vec<Trace> {
            let of = |name: String, experiment: &Experiment| Trace {
                name,
                points: points(results.runs(experiment)),
            };
            let mut traces: Vec<Trace> = CONTROLS
                .iter()
                .map(|cc| of(named(cc).to_owned(), &downloads(cc, size, "paper")))
                .collect();
            traces.push(of(
                "CDBE default".to_owned(),
                &downloads("cdbe", size, "default"),
            ));
            traces
        };
        let panel = |x, traces| Panel {
            title: size.to_owned(),
            x: Axis::linear(x),
            y: Axis::share("share"),
            shape: Shape::Lines(traces),
        };
        panels.push(panel("goodput of a user (Mbit/s)", traces(goodputs)));
        panels.push(panel("round-trip time (ms)", traces(round_trips)));
    }
    Part {
        figures: vec![Figure {
            name: "fig7",
            title: "Distributions over all drops".to_owned(),
            columns: 2,
            panels,
        }],
        ..Part::default()
    }
}

/// Share of users with at most a goodput.
fn goodputs(runs: &[RunResult]) -> Vec<(f64, f64)> {
    let flows = runs.iter().flat_map(|run| &run.flows);
    function(
        flows
            .map(|flow| (flow.goodput.as_bps() as f64 / 1e6, 1.0))
            .collect(),
    )
}

/// Share of all samples with at most a round-trip time.
fn round_trips(runs: &[RunResult]) -> Vec<(f64, f64)> {
    let flows = runs.iter().flat_map(|run| &run.flows);
    function(flows.flat_map(|flow| weighted(&flow.rtt)).collect())
}

/// Values of a distribution, each with how many samples it stands for.
fn weighted(distribution: &Distribution) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    let each = distribution.cdf.iter().map(|&(value, share)| {
        let samples = (share - below) * distribution.count as f64;
        below = share;
        (value, samples)
    });
    each.collect()
}

/// The distribution function of weighted values, at some points.
fn function(mut values: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let (mut sum, mut points) = (0.0, Vec::new());
    for (value, weight) in values {
        sum += weight;
        let share = sum / total;
        // a point each time that the share has grown by a step, and the last
        if share * POINTS as f64 >= points.len() as f64 || share >= 1.0 {
            points.push((value, share));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_function_by_hand() {
        let points = function(vec![(3.0, 1.0), (1.0, 1.0), (2.0, 2.0)]);
        assert_eq!(points, [(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]);
        let many = function((0..10_000).map(|i| (f64::from(i), 1.0)).collect());
        assert!(
            (POINTS..=POINTS + 2).contains(&many.len()),
            "{}",
            many.len()
        );
        let middle = many.iter().find(|p| p.1 >= 0.5).expect("reached");
        assert!((middle.0 - 5_000.0).abs() <= 50.0);
        assert!(function(Vec::new()).is_empty());
    }

    #[test]
    fn samples_of_a_distribution_are_counted() {
        let distribution = Distribution {
            count: 8,
            cdf: vec![(10.0, 0.25), (20.0, 1.0)],
            ..Distribution::default()
        };
        assert_eq!(weighted(&distribution), [(10.0, 2.0), (20.0, 6.0)]);
    }
}
