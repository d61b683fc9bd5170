//! Which figures a report has, made from the time series and distributions of its variants.

use super::chart::{Axis, Figure, Panel};
use super::delays;
use super::line::{Line, Stroke};
use super::mark::marks;
use super::scale::{Scale, Unit};
use crate::Variant;
use crate::text::tick;
use scenario::{Metric, RunResult, Series};

/// Most lines of one panel; the rest is in the result files.
pub(super) const MAX_LINES: usize = 10;
/// Most variants that are drawn; the tables have all.
pub(crate) const MAX_VARIANTS: usize = 9;
/// Intervals of time that all lines together may distinguish: up to 30 bytes each.
const MAX_POINTS: usize = 40_000;
/// The most and the fewest of one line.
const MAX_BUCKETS: usize = 400;
const MIN_BUCKETS: usize = 20;
/// Above this ratio of greatest to least value an axis is logarithmic.
const LOG_ABOVE: f64 = 40.0;

/// A figure of one metric over time: a panel for each variant, a line for each flow, queue or UE.
pub(super) struct Spec {
    pub(super) id: &'static str,
    pub(super) metric: Metric,
    /// On the same axis.
    pub(super) beside: Option<Beside>,
    /// Drawn behind.
    pub(super) bound: Option<Metric>,
}

/// A second metric of a figure, of what does not have the first.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub(super) metric: Metric,
    /// What the figure of both is.
    pub(super) figure: metric::Figure,
    /// Behind the names of its lines.
    pub(super) suffix: &'static str,
}

impl Spec {
    pub(super) const fn new(id: &'static str, metric: Metric) -> Self {
        Self {
            id,
            metric,
            beside: None,
            bound: None,
        }
    }
}

/// A line that is to be drawn: whose, of what, its name in the legend, its colour.
struct Drawn {
    entity: String,
    metric: Metric,
    name: String,
    colour: usize,
}

/// What came to the receivers in any order; of runs that were measured without that, what was delivered in order.
const ARRIVALS: [Spec; 2] = [
    Spec {
        bound: Some(Metric::Capacity),
        ..Spec::new("received", Metric::Received)
    },
    Spec {
        bound: Some(Metric::Capacity),
        ..Spec::new("goodput", Metric::Goodput)
    },
];

/// How its lines are drawn: here, what the page draws one on top of the other is drawn side by side.
fn stroke(figure: &metric::Figure) -> Stroke {
    match figure.stroke {
        metric::Stroke::Line | metric::Stroke::Lane => Stroke::Line,
        metric::Stroke::Rate | metric::Stroke::Stack => Stroke::Rate,
        metric::Stroke::Step => Stroke::Step,
    }
}

/// The unit of an axis.
fn unit(metric: Metric) -> Unit {
    match metric.descriptor().unit {
        metric::Unit::BitRate => Unit::BitRate,
        metric::Unit::Milliseconds => Unit::Milliseconds,
        metric::Unit::Bytes => Unit::Bytes,
        metric::Unit::Prb | metric::Unit::Share | metric::Unit::Count => Unit::Count(""),
    }
}

/// All figures that the variants have data for, in the order of the page. Each shows the first
/// repeat of its variant.
pub(crate) fn figures(variants: &[Variant<'_>]) -> Vec<Figure> {
    let runs: Vec<(&str, &RunResult)> = variants
        .iter()
        .filter_map(|v| Some((v.label.as_str(), v.runs.first()?)))
        .collect();
    let end = runs.iter().map(|(_, r)| series_end(r)).fold(0.0, f64::max);
    let buckets = buckets(&runs);
    let over_time = |spec: &Spec| over_time(spec, &runs, end, buckets);
    let of = |id, metric| over_time(&Spec::new(id, metric));
    [
        ARRIVALS.iter().find_map(over_time),
        of("paths", Metric::PathRate),
        delays::distribution(&runs),
        delays::over_time(&runs, end, buckets),
        of("in-flight", Metric::BytesInFlight),
        windows(&runs, end, buckets),
        of("path-windows", Metric::PathCwnd),
        of("queues", Metric::QueueBytes),
        classification(&runs, end, buckets),
        of("prb", Metric::Prb),
        of("cqi", Metric::Cqi),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Intervals of time that each line distinguishes, so that the page stays small.
fn buckets(runs: &[(&str, &RunResult)]) -> usize {
    /// Metrics of which there are figures.
    const METRICS: usize = 14;
    // of goodput and what was received one is drawn
    let is_drawn = |series: &&Series| series.metric != Metric::Received;
    let of_run = |run: &RunResult| {
        let drawn = run.series.iter().filter(is_drawn).count();
        drawn.min(METRICS * MAX_LINES)
    };
    let lines: usize = runs.iter().map(|(_, run)| of_run(run)).sum();
    (MAX_POINTS / lines.max(1)).clamp(MIN_BUCKETS, MAX_BUCKETS)
}

fn series_end(run: &RunResult) -> f64 {
    let ends = run.series.iter().filter_map(|s| s.points.last());
    ends.map(|p| p.0.as_secs_f64())
        .fold(run.elapsed.as_secs_f64(), f64::max)
}

fn points(series: &Series) -> Vec<(f64, f64)> {
    series
        .points
        .iter()
        .map(|(t, v)| (t.as_secs_f64(), *v))
        .collect()
}

fn time_axis(end: f64) -> Axis {
    let end = if end > 0.0 { end } else { 1.0 };
    Axis {
        title: "Time",
        unit: Unit::Seconds,
        scale: Scale::Linear(0.0, end),
        lanes: Vec::new(),
    }
}

fn value_axis(title: &'static str, unit: Unit, may_be_log: bool, panels: &[Panel]) -> Axis {
    let values = || {
        let lines = panels.iter().flat_map(|p| &p.lines);
        lines.flat_map(Line::extent)
    };
    let max = values().fold(0.0, f64::max);
    // single very small values must not stretch the axis: one in fifty may fall off its end
    let mut positive: Vec<f64> = values().filter(|v| *v > 0.0).collect();
    let low = positive.len() / 50;
    let min = match positive.len() {
        0 => 0.0,
        _ => *positive.select_nth_unstable_by(low, f64::total_cmp).1,
    };
    let scale = if may_be_log && max > LOG_ABOVE * min && min > 0.0 {
        // what is four decades below the top is next to nothing
        Scale::logarithmic(min.max(max / 1e4), max)
    } else {
        Scale::from_zero(max)
    };
    Axis {
        title,
        unit,
        scale,
        lanes: Vec::new(),
    }
}

/// The colour of each of these names: a flow's is its place among the flows, so that all figures give it the same.
pub(super) fn colours(runs: &[(&str, &RunResult)], names: &[String]) -> Vec<usize> {
    let flows = self::names(runs, Metric::Goodput);
    let place = |(own, name): (usize, &String)| {
        let among_flows = flows.iter().position(|flow| flow == name);
        among_flows.unwrap_or(own)
    };
    names.iter().enumerate().map(place).collect()
}

/// The names that occur for a metric, in the order of first appearance.
pub(super) fn names(runs: &[(&str, &RunResult)], metric: Metric) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for series in runs
        .iter()
        .flat_map(|(_, r)| &r.series)
        .filter(|s| s.metric == metric)
    {
        if !names.contains(&series.entity) {
            names.push(series.entity.clone());
        }
    }
    names
}

/// The names of a metric that are drawn: queues that stayed empty are not.
fn shown(runs: &[(&str, &RunResult)], metric: Metric) -> Vec<String> {
    let mut names = names(runs, metric);
    let is_empty = |name: &String| {
        metric == Metric::QueueBytes
            && runs
                .iter()
                .flat_map(|(_, r)| &r.series)
                .filter(|s| s.metric == metric && s.entity == *name)
                .all(|s| s.points.iter().all(|p| p.1 <= 0.0))
    };
    names.retain(|name| !is_empty(name));
    names
}

/// The lines of a figure, and how many there would be without a limit. Of two metrics, the second has room for half of them.
fn drawn(spec: &Spec, runs: &[(&str, &RunResult)]) -> (Vec<Drawn>, usize) {
    let of = |metric, suffix: &str, names: Vec<String>| {
        let colours = colours(runs, &names);
        let coloured = names.into_iter().zip(colours);
        let drawn = coloured.map(|(entity, colour)| Drawn {
            name: format!("{entity}{suffix}"),
            entity,
            metric,
            colour,
        });
        drawn.collect::<Vec<_>>()
    };
    let mut names = shown(runs, spec.metric);
    let mut others = spec
        .beside
        .map_or_else(Vec::new, |beside| shown(runs, beside.metric));
    let found = names.len() + others.len();
    others.truncate((MAX_LINES / 2).max(MAX_LINES.saturating_sub(names.len())));
    names.truncate(MAX_LINES - others.len());
    let mut all = of(spec.metric, "", names);
    if let Some(beside) = spec.beside {
        all.extend(of(beside.metric, beside.suffix, others));
    }
    // flows in the order that they have in all figures
    all.sort_by_key(|drawn| drawn.colour);
    (all, found)
}

pub(super) fn over_time(
    spec: &Spec,
    runs: &[(&str, &RunResult)],
    end: f64,
    buckets: usize,
) -> Option<Figure> {
    let of = match &spec.beside {
        Some(beside) => &beside.figure,
        None => spec.metric.figure()?,
    };
    let (drawn, found) = drawn(spec, runs);
    if drawn.is_empty() {
        return None;
    }
    let panels: Vec<Panel> = runs
        .iter()
        .map(|(label, run)| Panel {
            title: (*label).to_owned(),
            lines: panel_lines(spec, stroke(of), run, &drawn, buckets),
            marks: marks(run),
        })
        .filter(|panel| !panel.lines.is_empty())
        .collect();
    let mut caption = of.caption.to_owned();
    if spec.bound.is_some()
        && let Some(window) = window(&panels)
    {
        caption += &format!(" Means over {window} each.");
    }
    if found > drawn.len() {
        let drawn = drawn.len();
        caption += &format!(" The first {drawn} of {found} are drawn; all are in samples.parquet.");
    }
    let y = value_axis(of.axis, unit(spec.metric), of.may_be_log, &panels);
    let columns = runs.len();
    Some(Figure {
        id: spec.id,
        title: of.title,
        caption,
        columns,
        x: time_axis(end),
        y,
        panels,
    })
}

/// Over what the rates of these panels are means, where all have it alike.
fn window(panels: &[Panel]) -> Option<String> {
    let lines = panels.iter().flat_map(|panel| &panel.lines);
    let mut windows = lines.map(|line| line.window).filter(|width| *width > 0.0);
    let first = windows.next()?;
    let is_alike = windows.all(|width| (width - first).abs() < 1e-3 * first);
    let milliseconds = tick((first * 1e6).round() / 1e3);
    is_alike.then(|| format!("{milliseconds} ms"))
}

fn panel_lines(
    spec: &Spec,
    stroke: Stroke,
    run: &RunResult,
    drawn: &[Drawn],
    buckets: usize,
) -> Vec<Line> {
    let of_bound = run.series.iter().filter(|s| Some(s.metric) == spec.bound);
    let mut bounds: Vec<&Series> = of_bound.collect();
    // the whole bottleneck rather than each user's share of it
    if bounds.iter().any(|s| s.entity == "link") {
        bounds.retain(|s| s.entity == "link");
    }
    let one = bounds.len() == 1;
    let bounds = bounds.into_iter().take(MAX_LINES).map(|s| {
        let name = match one {
            true => "capacity".to_owned(),
            false => format!("capacity {}", s.entity),
        };
        Line::new((name, 0), Stroke::Area, points(s), buckets)
    });
    let lines = drawn.iter().filter_map(|of| {
        let is_it = |s: &&Series| s.metric == of.metric && s.entity == of.entity;
        let found = run.series.iter().find(is_it)?;
        let name = (of.name.clone(), of.colour);
        Some(Line::new(name, stroke, points(found), buckets))
    });
    bounds.chain(lines).collect()
}

/// The windows that bound each flow: a panel for each flow and variant.
fn windows(runs: &[(&str, &RunResult)], end: f64, buckets: usize) -> Option<Figure> {
    const WINDOWS: [(Metric, &str); 3] = [
        (Metric::Cwnd, "congestion window"),
        (Metric::ReceiveWindow, "receive window"),
        (Metric::RanWindow, "RAN window"),
    ];
    let mut panels = Vec::new();
    for name in names(runs, Metric::Cwnd).iter().take(MAX_LINES) {
        for (label, run) in runs {
            let of_flow = run.series.iter().filter(|s| s.entity == *name);
            let lines: Vec<Line> = of_flow
                .filter_map(|s| {
                    let colour = WINDOWS.iter().position(|(metric, _)| *metric == s.metric)?;
                    let name = WINDOWS[colour].1.to_owned();
                    Some(Line::new((name, colour), Stroke::Line, points(s), buckets))
                })
                .collect();
            if !lines.is_empty() {
                let separator = if label.is_empty() { "" } else { ", " };
                panels.push(Panel {
                    title: format!("{name}{separator}{label}"),
                    lines,
                    marks: marks(run),
                });
            }
        }
    }
    if panels.is_empty() {
        return None;
    }
    let y = value_axis("Window", Unit::Bytes, true, &panels);
    Some(Figure {
        id: "windows",
        title: "Windows",
        caption: "Congestion window of the data's sender, the receive window that it sees, and \
                  towards the UE the window that the allocator set."
            .to_owned(),
        columns: match runs.len() {
            1 => panels.len(),
            variants => variants,
        },
        x: time_axis(end),
        y,
        panels,
    })
}

/// When the allocator held each flow for slow.
fn classification(runs: &[(&str, &RunResult)], end: f64, buckets: usize) -> Option<Figure> {
    let mut lanes = names(runs, Metric::IsSlow);
    lanes.truncate(MAX_LINES);
    let panels: Vec<Panel> = runs
        .iter()
        .map(|(label, run)| Panel {
            title: (*label).to_owned(),
            lines: run
                .series
                .iter()
                .filter(|s| s.metric == Metric::IsSlow)
                .filter_map(|s| {
                    let lane = lanes.iter().position(|n| *n == s.entity)?;
                    let name = (s.entity.clone(), lane);
                    Some(Line::new(name, Stroke::Lane(lane), points(s), buckets))
                })
                .collect(),
            marks: marks(run),
        })
        .filter(|panel| !panel.lines.is_empty())
        .collect();
    if panels.is_empty() {
        return None;
    }
    Some(Figure {
        id: "slow",
        title: "Flows held for slow",
        caption: "A bar stands where the allocator held the flow for slow.".to_owned(),
        columns: runs.len(),
        x: time_axis(end),
        y: Axis {
            title: "Flow",
            unit: Unit::Share,
            scale: Scale::Linear(0.0, 1.0),
            lanes,
        },
        panels,
    })
}
