//! How long packets take: round trips, and the one-way delays of datagrams, which have none.

use super::chart::{Axis, Figure, Panel};
use super::figures::{self, Beside, MAX_LINES, Spec, colours, names};
use super::line::{Line, Stroke};
use super::scale::{Scale, Unit};
use scenario::{Metric, RunResult};

/// The figure over time, which stands below what was found.
pub(super) const OVER_TIME: &str = "rtt";

/// One-way delays beside round trips.
const ONE_WAY: Beside = Beside {
    metric: Metric::Owd,
    figure: metric::Figure {
        title: "Round-trip time and one-way delay",
        axis: "RTT; one-way delay of datagrams",
        stroke: metric::Stroke::Line,
        may_be_log: true,
        caption: "Mean of each step: round trips end to end; of flows of datagrams, as calls are, the delay one way, from the \
                  sending host to the receiving application.",
    },
    suffix: " (one-way)",
};

/// Round trips over time, one-way delays of flows of datagrams, or both on one axis: what the sentences of
/// [`crate::findings`] have of each flow.
pub(super) fn over_time(runs: &[(&str, &RunResult)], end: f64, buckets: usize) -> Option<Figure> {
    let has = |metric| !names(runs, metric).is_empty();
    let metric = match has(Metric::Rtt) {
        true => Metric::Rtt,
        false => Metric::Owd,
    };
    let is_both = metric == Metric::Rtt && has(Metric::Owd);
    let spec = Spec {
        beside: is_both.then_some(ONE_WAY),
        ..Spec::new(OVER_TIME, metric)
    };
    figures::over_time(&spec, runs, end, buckets)
}

/// Distribution functions of the round-trip time: a panel for each flow, a line for each variant;
/// of one variant, a single panel with all flows.
pub(super) fn distribution(runs: &[(&str, &RunResult)]) -> Option<Figure> {
    let mut flows: Vec<&str> = Vec::new();
    for flow in runs
        .iter()
        .flat_map(|(_, r)| &r.flows)
        .filter(|f| f.rtt.cdf.len() > 1)
    {
        if !flows.contains(&flow.name.as_str()) {
            flows.push(&flow.name);
        }
    }
    flows.truncate(MAX_LINES);
    let line = |run: &RunResult, flow: &str, name: &str, colour| {
        let found = run
            .flows
            .iter()
            .find(|f| f.name == flow && f.rtt.cdf.len() > 1)?;
        let points = found
            .rtt
            .cdf
            .iter()
            .filter(|p| p.0 > 0.0)
            .copied()
            .collect();
        // a distribution has few points, all of which are drawn
        let name = (name.to_owned(), colour);
        Some(Line::new(name, Stroke::Line, points, usize::MAX).unbroken())
    };
    let panels: Vec<Panel> = match runs {
        [] => Vec::new(),
        [(label, run)] => vec![Panel {
            title: (*label).to_owned(),
            marks: Vec::new(),
            lines: {
                let names: Vec<String> = flows.iter().map(|&flow| flow.to_owned()).collect();
                let coloured = flows.iter().zip(colours(runs, &names));
                coloured
                    .filter_map(|(flow, colour)| line(run, flow, flow, colour))
                    .collect()
            },
        }],
        _ => flows
            .iter()
            .map(|flow| Panel {
                title: (*flow).to_owned(),
                marks: Vec::new(),
                lines: runs
                    .iter()
                    .enumerate()
                    .filter_map(|(i, (label, run))| line(run, flow, label, i))
                    .collect(),
            })
            .collect(),
    };
    let all = || {
        panels
            .iter()
            .flat_map(|p| &p.lines)
            .flat_map(|l| &l.points)
            .map(|p| p.0)
    };
    let (min, max) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    Some(Figure {
        id: "rtt-cdf",
        title: "Distribution of the round-trip time",
        caption: "Share of the round trips that took at most so long.".to_owned(),
        columns: panels.len(),
        x: Axis {
            title: "RTT",
            unit: Unit::Milliseconds,
            scale: Scale::logarithmic(min, max),
            lanes: Vec::new(),
        },
        y: Axis {
            title: "Share",
            unit: Unit::Share,
            scale: Scale::Linear(0.0, 1.0),
            lanes: Vec::new(),
        },
        panels,
    })
}
