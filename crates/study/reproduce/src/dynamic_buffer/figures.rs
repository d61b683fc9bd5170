//! The figures in the form of the paper's.

use super::variants::INDIVIDUAL;
use super::{Drive, ENDS, Setup, Sharing, measures};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Quartiles, Shape, Trace};
use crate::measure::sojourn;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

/// Figure 6.
pub(super) const OVER_TIME: Section = Section {
    id: "fig6",
    title: "RLC queue and capacity over time (figure 6)",
    experiments: |_| INDIVIDUAL.iter().map(|v| v.of(sampled())).collect(),
    report: over_time,
};

/// Figure 9.
pub(super) const BOXPLOTS: Section = Section {
    id: "fig9",
    title: "The game's delays as boxplots (figure 9)",
    experiments: |_| {
        let drives = Drive::BOTH.map(|drive| Setup::new(Sharing::Individual, drive).grid(ENDS));
        drives.into_iter().flatten().collect()
    },
    report: boxplots,
};

/// With the scenario's own time series, once.
fn sampled() -> Experiment {
    Setup::new(Sharing::Individual, Drive::Pedestrian)
        .base(20)
        .at_most(1)
}

/// Name, and a point at each interval, of every variant.
fn dots(
    results: &Results,
    setup: Setup,
    intervals: &[u32],
    [x, y]: [fn(&RunResult) -> Option<f64>; 2],
) -> Shape {
    let variants = setup.sharing.variants().iter();
    let traces = variants.map(|variant| {
        let each = |measure| setup.each(results, intervals, variant, measure);
        let points = each(x).into_iter().zip(each(y));
        Trace {
            name: variant.name.to_owned(),
            points: points.map(|(x, y)| (x.mean, y.mean)).collect(),
        }
    });
    Shape::Dots(traces.collect())
}

/// Figure 5: the queue that the game's packets find, and their delay.
pub(super) fn found(
    name: &'static str,
    results: &Results,
    setup: Setup,
    intervals: &[u32],
) -> Figure {
    let panel = Panel {
        title: "each dot an interval".to_owned(),
        x: Axis::logarithmic("found in the RLC (packets)"),
        y: Axis::logarithmic("mean delay (ms)"),
        shape: dots(
            results,
            setup,
            intervals,
            [measures::found, measures::delay],
        ),
    };
    Figure {
        name,
        title: format!("RLC queue and delay, {}", setup.drive.name()),
        columns: 1,
        panels: vec![panel],
    }
}

/// Figures 7, 8, 10 and 11: delay and utilisation.
pub(super) fn against(
    name: &'static str,
    results: &Results,
    setup: Setup,
    intervals: &[u32],
) -> Figure {
    let panel = |title: &str, y| Panel {
        title: title.to_owned(),
        x: Axis::close("utilisation"),
        y,
        shape: dots(results, setup, intervals, [measures::used, measures::delay]),
    };
    Figure {
        name,
        title: format!(
            "Delay against utilisation: {}, {}; each dot an interval",
            setup.sharing.words(),
            setup.drive.name()
        ),
        columns: 2,
        panels: vec![
            panel("as the paper draws it", Axis::linear("mean delay (ms)")),
            panel(
                "logarithmic",
                Axis::logarithmic("mean delay (ms), logarithmic"),
            ),
        ],
    }
}

fn over_time(_: &Extent, results: &Results) -> Part {
    let panels = INDIVIDUAL.iter().map(|variant| {
        let runs = results.runs(&variant.of(sampled()));
        let series = |name: &str, metric, unit| Trace {
            name: name.to_owned(),
            points: runs
                .first()
                .map_or(Vec::new(), |run| points(run, metric, unit)),
        };
        Panel {
            title: variant.name.to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("packets"),
            shape: Shape::Lines(vec![
                series("RLC queue", Metric::QueueBytes, 1.0 / measures::PACKET),
                series(
                    "capacity in 10 ms",
                    Metric::Capacity,
                    0.01 / (8.0 * measures::PACKET),
                ),
            ]),
        }
    });
    let figure = Figure {
        name: "fig6",
        title: "RLC queue and capacity over time, pedestrian, interval 20 ms (the first repeat)"
            .to_owned(),
        columns: 2,
        panels: panels.collect(),
    };
    Part {
        figures: vec![figure],
        ..Part::default()
    }
}

/// A series of the RLC or of the link, in a unit that is so many of the result's.
fn points(run: &RunResult, metric: Metric, unit: f64) -> Vec<(f64, f64)> {
    let is_wanted = |entity: &str| metric != Metric::QueueBytes || entity == "rlc/phone/drb1";
    let mut series = run.series.iter();
    let found = series.find(|s| s.metric == metric && is_wanted(&s.entity));
    let points = found.map_or(&[][..], |s| &s.points).iter();
    points
        .map(|(at, value)| (at.since_start().as_secs_f64(), unit * value))
        .collect()
}

fn boxplots(_: &Extent, results: &Results) -> Part {
    let panels = Drive::BOTH.map(|drive| {
        let setup = Setup::new(Sharing::Individual, drive);
        let series = INDIVIDUAL.iter().map(|variant| {
            let each = ENDS.iter().map(|ms| {
                let runs = results.runs(&setup.at(variant, *ms));
                let delays = runs.first().and_then(|run| sojourn(run, "ran/gaming"));
                delays.and_then(Quartiles::of)
            });
            (variant.name.to_owned(), each.collect())
        });
        Panel {
            title: drive.name().to_owned(),
            x: Axis::linear("mean interval (ms)"),
            y: Axis::logarithmic("delay (ms)"),
            shape: Shape::Boxes {
                conditions: ENDS.iter().map(u32::to_string).collect(),
                series: series.collect(),
            },
        }
    });
    let figure = Figure {
        name: "fig9",
        title:
            "Delay of the game's packets: quartiles, and whiskers over the range (the first repeat)"
                .to_owned(),
        columns: 2,
        panels: panels.into(),
    };
    Part {
        figures: vec![figure],
        ..Part::default()
    }
}
