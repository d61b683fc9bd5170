//! The validation over the radio (section III-B, figure 3).

use super::measures::{correlation, pairs, series};
use super::{MODES, both, judge};
use crate::claim::{Claim, number};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult, estimate};

/// Figure 3.
pub(super) const SECTION: Section = Section {
    id: "fig3",
    title: "The clients' estimates beside what the cell schedules (figure 3)",
    experiments: |_| MODES.map(validation).to_vec(),
    report,
};

/// The users, by where they begin.
const USERS: [&str; 5] = ["at-50m", "at-100m", "at-120m", "at-150m", "at-180m"];
/// Estimates are compared from a second after the download's beginning on, s.
const BEGIN: f64 = 6.0;
/// Weight of the old estimate (equation 5).
const BETA: f64 = 0.4;
/// Repeats: channels are drawn anew.
const REPEATS: u32 = 10;

fn validation(mode: &str) -> Experiment {
    Experiment::of("cdbe/validate-lte")
        .set("cdbe.mode", mode)
        .at_most(REPEATS)
}

/// Correlation of a user's report with what was scheduled for it, in steps of 100 ms; the report is
/// taken `later` steps after.
fn tracking(run: &RunResult, user: &str, later: usize) -> Option<f64> {
    let report = series(run, user, Metric::Report);
    let scheduled = series(run, user, Metric::Goodput);
    let shifted: Vec<(f64, f64)> = scheduled
        .iter()
        .zip(
            report
                .iter()
                .filter(|(at, _)| *at >= scheduled.first().map_or(0.0, |s| s.0))
                .skip(later),
        )
        .map(|((at, _), (_, report))| (*at, *report))
        .collect();
    correlation(&pairs(&shifted, &scheduled, BEGIN))
}

/// The same of the scheduled rate itself, smoothed by equation 4 without any delay: what an estimator
/// without error could reach.
fn bound(run: &RunResult, user: &str) -> Option<f64> {
    let mut smooth = None;
    let rates = series(run, user, Metric::Goodput).into_iter();
    let both = rates.map(|(at, rate)| {
        let value = smooth.map_or(rate, |old| BETA * old + (1.0 - BETA) * rate);
        smooth = Some(value);
        (at, (value, rate))
    });
    let pairs: Vec<(f64, f64)> = both
        .filter(|(at, _)| *at >= BEGIN)
        .map(|(_, p)| p)
        .collect();
    correlation(&pairs)
}

/// The least correlation of the five users.
fn worst(run: &RunResult, later: usize) -> Option<f64> {
    let each = USERS.map(|user| tracking(run, user, later));
    each.into_iter()
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::min)
}

/// The report over what was scheduled, mean over all time and users.
fn ratio(run: &RunResult) -> Option<f64> {
    let each = USERS.map(|user| {
        let all = pairs(
            &series(run, user, Metric::Report),
            &series(run, user, Metric::Goodput),
            BEGIN,
        );
        let (report, scheduled) = all.iter().fold((0.0, 0.0), |(a, b), p| (a + p.0, b + p.1));
        report / scheduled
    });
    Some(each.iter().sum::<f64>() / USERS.len() as f64)
}

fn report(_: &Extent, results: &Results) -> Part {
    let least = both(|mode| results.mean(&validation(mode), |run| worst(run, 0)));
    let next = both(|mode| results.mean(&validation(mode), |run| worst(run, 1)));
    let ratios = both(|mode| results.mean(&validation(mode), ratio));
    let claims = vec![
        Claim::new(
            "figure 3",
            "report and scheduled rate in steps of 100 ms: correlation, the least of five users",
            "(>= 0.95)",
        )
        .judged(&least, judge(&least, |cell| cell.at_least(0.95)))
        .decimals(3)
        .if_not("see below: the estimate is the mean of past windows"),
        Claim::new(
            "figure 3",
            "the same with the report of 100 ms later, about a long window",
            "",
        )
        .judged(&next, judge(&next, |cell| cell.at_least(0.95)))
        .decimals(3),
        Claim::new("figure 3", "report over scheduled rate, mean", "")
            .judged(&ratios, judge(&ratios, |cell| cell.within(0.95..=1.05)))
            .note("taken as within 5 %"),
    ];
    Part {
        claims,
        text: table(results),
        figures: figure(results).into_iter().collect(),
    }
}

fn table(results: &Results) -> String {
    let each = MODES
        .iter()
        .flat_map(|mode| USERS.map(|user| (*mode, user)));
    let rows = each.map(|(mode, user)| {
        let runs = results.runs(&validation(mode));
        let mean = |of: &dyn Fn(&RunResult) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(of).collect();
            estimate(&values).mean
        };
        let scheduled = |run: &RunResult| {
            let points = series(run, user, Metric::Goodput);
            let rates: Vec<f64> = points
                .iter()
                .filter(|p| p.0 >= BEGIN)
                .map(|p| p.1)
                .collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
            Some((mean / 1e6, (squares / rates.len() as f64).sqrt() / 1e6))
        };
        vec![
            mode.to_owned(),
            user.to_owned(),
            number(mean(&|run| scheduled(run).map(|s| s.0))),
            number(mean(&|run| scheduled(run).map(|s| s.1))),
            format!("{:.3}", mean(&|run| tracking(run, user, 0))),
            format!("{:.3}", mean(&|run| tracking(run, user, 1))),
            format!("{:.3}", mean(&|run| bound(run, user))),
        ]
    });
    let heads = [
        "mode",
        "user",
        "scheduled Mbit/s",
        "its deviation",
        "correlation",
        "100 ms later",
        "bound",
    ];
    format!(
        "The bound is the scheduled rate itself, smoothed as equation 4 smooths, without delay.\n\n{}",
        markdown::table(&heads, rows)
    )
}

fn figure(results: &Results) -> Option<Figure> {
    let run = results.runs(&validation("paper")).first()?;
    let panels = USERS.map(|user| {
        let trace = |name: &str, metric| Trace {
            name: name.to_owned(),
            points: series(run, user, metric)
                .into_iter()
                .filter(|(at, _)| *at >= 4.0)
                .map(|(at, bps)| (at, bps / 1e6))
                .collect(),
        };
        Panel {
            title: format!(
                "from {} m",
                user.trim_matches(|c: char| !c.is_ascii_digit())
            ),
            x: Axis::linear("time (s)"),
            y: Axis::linear("rate (Mbit/s)"),
            shape: Shape::Lines(vec![
                trace("scheduled", Metric::Goodput),
                trace("estimate", Metric::Report),
            ]),
        }
    });
    Some(Figure {
        name: "fig3",
        title: "Estimates of five moving users beside what they were sent".to_owned(),
        columns: 2,
        panels: panels.to_vec(),
    })
}
