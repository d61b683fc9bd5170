//! The constants that the paper does not state.

use super::measures::{delay, goodput, lost, rtt};
use super::{SIZES, unless_quick};
use crate::claim::with_interval;
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

/// One constant after the other.
pub(super) const SECTION: Section = Section {
    id: "sensitivity",
    title: "Constants that the paper does not state",
    experiments: |extent| unless_quick(extent, all),
    report,
};

/// Drops of each.
const DROPS: u32 = 25;
/// Each constant with its values.
const CONSTANTS: [(&str, &[&str]); 5] = [
    ("cdbe.queue-down-windows", &["1", "2", "3", "5"]),
    ("cdbe.queue-up-windows", &["1", "2", "3", "5"]),
    ("cdbe.startup-rounds", &["3", "6", "10", "20"]),
    ("cdbe.inflight-share", &["0", "0.25", "0.5", "0.75"]),
    (
        "cdbe.initial-report",
        &["1 Mbit/s", "8 Mbit/s", "40 Mbit/s"],
    ),
];

/// What a constant is called in the paper.
fn letter(key: &str) -> &'static str {
    match key {
        "cdbe.queue-down-windows" => "m, windows to GROW",
        "cdbe.queue-up-windows" => "n, windows to DRAIN (2)",
        "cdbe.startup-rounds" => "StartupCount",
        "cdbe.inflight-share" => "gamma",
        _ => "initial report (8 Mbit/s)",
    }
}

/// In the cell up to version 0.2 (see `cell.rs`): users that are out of range for a while cover small differences.
fn at(size: &str, key: &'static str, value: &str) -> Experiment {
    super::cell::EARLIER
        .iter()
        .copied()
        .flatten()
        .fold(
            Experiment::of("cdbe/downloads"),
            |experiment, (key, value)| experiment.set(key, *value),
        )
        .set("cc", "cdbe")
        .set("size", size)
        .set("mode", "paper")
        .set("sample-interval", "1 s")
        .set(key, value)
        .at_most(DROPS)
}

fn all() -> Vec<Experiment> {
    let mut all = Vec::new();
    for (key, values) in CONSTANTS {
        for value in values {
            all.extend(SIZES.map(|size| at(size, key, value)));
        }
    }
    all
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let rows = CONSTANTS.iter().flat_map(|(key, values)| {
        values.iter().map(|value| {
            let cells = SIZES.iter().flat_map(|size| {
                let experiment = at(size, key, value);
                let measures = [goodput, delay, rtt, lost];
                measures.map(|measure| with_interval(results.mean(&experiment, measure)))
            });
            let labels = [letter(key).to_owned(), (*value).to_owned()];
            labels.into_iter().chain(cells).collect()
        })
    });
    let heads = [
        "constant",
        "value",
        "1 MB: goodput Mbit/s",
        "1 MB: DSDL ms",
        "1 MB: RTT ms",
        "1 MB: lost",
        "10 MB: goodput Mbit/s",
        "10 MB: DSDL ms",
        "10 MB: RTT ms",
        "10 MB: lost",
    ];
    Part {
        text: format!(
            "Mode `paper`, one constant turned at a time, the others as preset ({DROPS} drops at most), in the cell up to \
             version 0.2: users that are out of range for a while would cover small differences. In brackets \
             what the paper does state.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}
