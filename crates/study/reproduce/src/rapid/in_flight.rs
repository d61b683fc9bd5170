//! What TCP and QUIC have in flight beside each other (figure 11).

use super::{Mode, Modes, with_or_without};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::ran::Results;
use scenario::{Metric, RunResult, estimate};
use units::Instant;

/// Means over so long, s, so that single packets do not blur the figure.
const STEP: f64 = 0.5;
/// What comes before is both flows' slow start, s.
const FROM: f64 = 5.0;

const FLOWS: [&str; 2] = ["tcp", "quic"];

/// A series in means of a step, by the step's number.
fn steps(run: &RunResult, flow: &str) -> Vec<(u32, f64)> {
    let mut series = run.series.iter();
    let found = series.find(|s| s.entity == flow && s.metric == Metric::BytesInFlight);
    let mut steps: Vec<(u32, f64, f64)> = Vec::new();
    let number = |at: Instant| (at.since_start().as_secs_f64() / STEP) as u32;
    for (at, bytes) in found.map_or(&[][..], |s| &s.points) {
        match steps.last_mut() {
            Some((last, sum, count)) if *last == number(*at) => {
                *sum += bytes;
                *count += 1.0;
            }
            _ => steps.push((number(*at), *bytes, 1.0)),
        }
    }
    let mean = |(step, sum, count)| (step, sum / count);
    steps.into_iter().map(mean).collect()
}

/// Pearson's correlation of what both have in flight, from [`FROM`] on; none if one of them does not change.
fn correlation(run: &RunResult) -> Option<f64> {
    let [tcp, quic] = FLOWS.map(|flow| steps(run, flow));
    let pairs: Vec<(f64, f64)> = tcp
        .iter()
        .filter(|(step, _)| f64::from(*step) * STEP >= FROM)
        .filter_map(|(step, bytes)| {
            let other = quic.iter().find(|(of, _)| of == step)?;
            Some((*bytes, other.1))
        })
        .collect();
    let count = pairs.len() as f64;
    let mean_of = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (mean_tcp, mean_quic) = (mean_of(|p| p.0), mean_of(|p| p.1));
    let (mut both, mut of_tcp, mut of_quic) = (0.0, 0.0, 0.0);
    for (tcp, quic) in &pairs {
        let (tcp, quic) = (tcp - mean_tcp, quic - mean_quic);
        both += tcp * quic;
        of_tcp += tcp * tcp;
        of_quic += quic * quic;
    }
    let spread = (of_tcp * of_quic).sqrt();
    (spread > 0.0).then(|| both / spread)
}

/// What the paper states of it.
pub(super) fn claim(results: &Results, at: &dyn Fn(Mode) -> Experiment) -> Claim {
    // a window that does not change has no correlation
    let of = |mode| {
        let runs = results.runs(&at(mode)).iter();
        estimate(&runs.filter_map(correlation).collect::<Vec<f64>>())
    };
    let found = Modes::of(|mode| Cell::One(of(mode)));
    Claim::new(
        "figure 11",
        "4G, TCP beside QUIC with Cubic: correlation of their bytes in flight",
        "-> negative",
    )
    .judged(&found.row(), found.judge(|cell| cell.below(0.0)))
    .note(
        "the servers', in means of half a second, from 5 s on. `default` yields until it has found that it must compete \
         (the figure's first 4 s); from then on its server has the same in flight, whatever QUIC has",
    )
}

/// Both over time, in the first repeat.
pub(super) fn figure(results: &Results, at: &dyn Fn(Mode) -> Experiment) -> Figure {
    let panel = |mode: Mode| {
        let run = results.runs(&at(mode)).first();
        let trace = |flow: &str| {
            let points = run.map_or(Vec::new(), |run| steps(run, flow));
            let middle = |(step, bytes)| ((f64::from(step) + 0.5) * STEP, bytes / 1e3);
            Trace {
                name: flow.to_owned(),
                points: points.into_iter().map(middle).collect(),
            }
        };
        Panel {
            title: format!("bytes in flight, {}", with_or_without(mode)),
            x: Axis::linear("time (s)"),
            y: Axis::logarithmic("bytes in flight (kB)"),
            shape: Shape::Lines(FLOWS.map(trace).to_vec()),
        }
    };
    Figure {
        name: "fig11",
        title: "What the servers of TCP and QUIC, both by Cubic, have in flight (the first repeat)"
            .to_owned(),
        columns: 3,
        panels: Mode::ALL.map(panel).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Series;

    fn run(tcp: [f64; 4], quic: [f64; 4]) -> RunResult {
        let series = |entity: &str, values: [f64; 4]| Series {
            entity: entity.into(),
            metric: Metric::BytesInFlight,
            points: (5..)
                .zip(values)
                .map(|(s, v)| (Instant::from_nanos(s * 1_000_000_000), v))
                .collect(),
        };
        RunResult {
            series: vec![series("tcp", tcp), series("quic", quic)],
            ..RunResult::default()
        }
    }

    #[test]
    fn what_falls_as_the_other_rises_is_correlated_by_minus_one() {
        let found = correlation(&run([4.0, 3.0, 2.0, 1.0], [10.0, 20.0, 30.0, 40.0]));
        assert!((found.expect("a number") + 1.0).abs() < 1e-12, "{found:?}");
        let found = correlation(&run([1.0, 2.0, 1.0, 2.0], [1.0, 1.0, 2.0, 2.0]));
        assert!(found.expect("a number").abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_window_that_does_not_change_has_no_correlation() {
        assert_eq!(correlation(&run([1.0; 4], [1.0, 2.0, 3.0, 4.0])), None);
        assert_eq!(correlation(&RunResult::default()), None);
    }
}
