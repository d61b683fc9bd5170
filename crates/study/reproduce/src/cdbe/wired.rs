//! The validation on a wire (section III-B, figure 2b).

use super::measures::{pairs, series};
use super::{MODES, both, judge};
use crate::claim::{Claim, number};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

/// Figure 2b.
pub(super) const SECTION: Section = Section {
    id: "fig2",
    title: "The client's estimate on a wire that changes its rate (figure 2b)",
    experiments: |_| {
        let both = |mode| [validation(mode), small(mode)];
        MODES.into_iter().flat_map(both).collect()
    },
    report,
};

/// Repeats of each mode.
const REPEATS: u32 = 10;
/// Two long windows of 80 ms each.
const TWO_WINDOWS: f64 = 0.160;
/// When the wire changes, s, and the end.
const CHANGES: [f64; 13] = [
    0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 110.0,
];

/// What is random in it is the flow's beginning and the wire's jitter.
fn validation(mode: &str) -> Experiment {
    Experiment::of("cdbe/validate-wired")
        .set("cdbe.mode", mode)
        .at_most(REPEATS)
}

/// The same with small datagrams: three times as many in a sample window, of which one interval less is counted.
fn small(mode: &str) -> Experiment {
    validation(mode).set("flow.download.app.packet", "540 B")
}

/// Report over capacity at each sample of a time.
fn errors(run: &RunResult, from: f64, to: f64) -> Vec<(f64, f64)> {
    let report = series(run, "download", Metric::Report);
    let capacity = series(run, "link", Metric::Capacity);
    // a sample at the instant of a step shows the rate after it and the report before it
    let within = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let inside = points.into_iter().filter(|(at, _)| *at > from && *at < to);
        inside.collect()
    };
    let (report, capacity) = (within(report), within(capacity));
    let times = report.iter().map(|(at, _)| *at);
    let ratios = pairs(&report, &capacity, from);
    times
        .zip(ratios)
        .map(|(at, (report, capacity))| (at, (report / capacity - 1.0).abs()))
        .collect()
}

/// The longest that it takes after a step until the report stays within 10 % of the wire, ms.
fn settling(run: &RunResult) -> Option<f64> {
    let steps = CHANGES.windows(2).skip(1);
    let each = steps.map(|step| {
        let errors = errors(run, step[0], step[1]);
        let last = errors.iter().rev().find(|(_, error)| *error > 0.1);
        last.map_or(0.0, |(at, _)| 1e3 * (at - step[0]))
    });
    each.reduce(f64::max)
}

/// The greatest mean error of a plateau after two long windows, %.
fn error(run: &RunResult) -> Option<f64> {
    let steps = CHANGES.windows(2);
    let each = steps.filter_map(|step| {
        let errors = errors(run, step[0] + TWO_WINDOWS, step[1]);
        let sum: f64 = errors.iter().map(|(_, error)| error).sum();
        (!errors.is_empty()).then(|| 100.0 * sum / errors.len() as f64)
    });
    each.reduce(f64::max)
}

fn report(_: &Extent, results: &Results) -> Part {
    let settles = both(|mode| results.mean(&validation(mode), settling));
    let errs = both(|mode| results.mean(&validation(mode), error));
    let rows = [
        (
            "a step of the wire: time until the report stays within 10 %, ms, the longest of 11",
            &settles,
            (1e3 * TWO_WINDOWS, "(<= 160)"),
            "two long windows; samples every 20 ms",
        ),
        (
            "on a plateau: mean error of the report, %, the worst of 12",
            &errs,
            (5.0, "(<= 5)"),
            "1.9 of it are headers: the report is of payload",
        ),
    ];
    // the paper states that it tracks well, the bounds are ours
    let claims = rows.map(|(name, cells, (bound, words), note)| {
        Claim::new("figure 2b", name, words)
            .judged(cells, judge(cells, |cell| cell.at_most(bound)))
            .note(note)
    });
    Part {
        claims: claims.to_vec(),
        text: format!(
            "{}\n{REPEATS} repeats, which differ by when the flow begins (up to 10 ms later) and by the wire's jitter \
             (up to 200 us). Neither is in the paper: without them all repeats are the same.\n",
            sizes(results)
        ),
        figures: figure(results).into_iter().collect(),
    }
}

/// Both measures by mode and size of datagrams.
fn sizes(results: &Results) -> String {
    let of = |mode: &str, size: &str, experiment: Experiment| {
        vec![
            format!("`{mode}`"),
            size.to_owned(),
            number(results.mean(&experiment, settling).mean),
            number(results.mean(&experiment, error).mean),
        ]
    };
    let rows = MODES.into_iter().flat_map(|mode| {
        [
            of(mode, "1470", validation(mode)),
            of(mode, "540", small(mode)),
        ]
    });
    let heads = [
        "mode",
        "datagrams, bytes",
        "within 10 % after, ms",
        "mean error, %",
    ];
    format!(
        "Headers are 1.9 % of the large datagrams' bytes on the wire and 4.9 % of the small ones'.\n\n{}",
        markdown::table(&heads, rows)
    )
}

fn figure(results: &Results) -> Option<Figure> {
    let run = results.runs(&validation("paper")).first()?;
    let trace = |name: &str, entity, metric| Trace {
        name: name.to_owned(),
        points: series(run, entity, metric)
            .into_iter()
            .map(|(at, bps)| (at, bps / 1e6))
            .collect(),
    };
    Some(Figure {
        name: "fig2b",
        title: "The client's estimate beside the wire's rate".to_owned(),
        columns: 1,
        panels: vec![Panel {
            title: "UDP over a wire, base round trip 80 ms".to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("rate (Mbit/s)"),
            shape: Shape::Lines(vec![
                trace("wire", "link", Metric::Capacity),
                trace("estimate", "download", Metric::Report),
            ]),
        }],
    })
}
