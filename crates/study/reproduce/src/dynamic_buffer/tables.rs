//! The table that every experiment has in common.

use super::variants::Variant;
use super::{Setup, measures};
use crate::claim::{number, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::goodput;
use crate::ran::Results;
use scenario::{Estimate, RunResult};

const MEASURED: [&str; 7] = [
    "delay mean ms",
    "p99",
    "utilisation",
    "lost %",
    "bulk's own delay ms",
    "bulk's goodput Mbit/s",
    "found in RLC, packets",
];

/// What is measured, in the order of [`MEASURED`].
fn measured(results: &Results, experiment: &Experiment) -> Vec<String> {
    let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| results.mean(experiment, measure);
    vec![
        with_interval(mean(&measures::delay)),
        number(mean(&measures::p99).mean),
        share(mean(&measures::used)),
        number(mean(&measures::lost).mean),
        with_interval(mean(&measures::bulk)),
        number(mean(&goodput("bulk")).mean),
        number(mean(&measures::found).mean),
    ]
}

/// A share of one, with the digits that distinguish the variants.
pub(super) fn share(estimate: Estimate) -> String {
    match estimate.mean.is_finite() {
        true => format!("{:.4} ± {:.4}", estimate.mean, estimate.ci95),
        false => "-".to_owned(),
    }
}

/// Experiments, each with what distinguishes it from the others: as many cells as there are heads.
pub(super) fn of(
    results: &Results,
    heads: &[&str],
    rows: impl IntoIterator<Item = (Vec<String>, Experiment)>,
) -> String {
    let heads: Vec<&str> = heads.iter().copied().chain(MEASURED).collect();
    let rows = rows.into_iter().map(|(mut cells, experiment)| {
        cells.extend(measured(results, &experiment));
        cells
    });
    markdown::table(&heads, rows)
}

/// Every variant at every interval; beside the paper where it gives numbers for this trace.
pub(super) fn grid(results: &Results, setup: Setup, intervals: &[u32], is_beside: bool) -> String {
    let mut heads = vec!["variant", "interval"];
    if is_beside {
        heads.extend(["paper: delay", "paper: utilisation", "authors' code: delay"]);
    }
    let rows = setup.sharing.variants().iter().flat_map(|variant| {
        intervals.iter().map(move |ms| {
            let mut cells = vec![variant.name.to_owned(), format!("{ms} ms")];
            if is_beside {
                cells.extend(beside(variant));
            }
            (cells, setup.at(variant, *ms))
        })
    });
    of(results, &heads, rows)
}

fn beside(variant: &Variant) -> [String; 3] {
    let paper = variant.paper;
    let texts = [
        paper.map(|p| p.delay_text),
        paper.map(|p| p.utilisation_text),
        variant.authors.map(|a| a.delay),
    ];
    texts.map(|text| text.unwrap_or("-").to_owned())
}
