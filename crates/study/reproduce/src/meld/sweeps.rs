//! How much loss, and how old the reports.

use super::{BASE, TRANSPORTS, VARIANTS, both, download, tables, unless_quick};
use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{goodput, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

/// Over loss.
pub(super) const LOSS: Section = Section {
    id: "loss",
    title: "More and less loss",
    experiments: |extent| unless_quick(extent, || grid(&LOSSES, &VARIANTS)),
    report: |extent, results| table(extent, results, "loss", &LOSSES, &VARIANTS),
};

/// Over the reports' period and delay.
pub(super) const REPORTS: Section = Section {
    id: "reports",
    title: "Reports that come seldom or late",
    experiments: |extent| {
        unless_quick(extent, || {
            let mut all = grid(&PERIODS, &READING);
            all.extend(grid(&DELAYS, &READING));
            all
        })
    },
    report: |extent, results| {
        let periods = table(extent, results, "period", &PERIODS, &READING).text;
        let delays = table(extent, results, "age on arrival", &DELAYS, &READING).text;
        let text = match extent.quick {
            true => String::new(),
            false => format!(
                "A report older than 40 ms explains no loss. `default` is steered by it for twice its period at \
                 least; beyond that MELD is the controller alone.\n\n{periods}\n{delays}"
            ),
        };
        Part {
            text,
            ..Part::default()
        }
    },
};

/// Those that read reports.
const READING: [&str; 3] = ["de", "me", "default"];

/// A knob and its position.
type Turn = (&'static str, &'static str);

const LOSSES: [Turn; 6] = [
    ("loss", "0%"),
    ("loss", "0.2%"),
    ("loss", "0.4%"),
    ("loss", "0.8%"),
    ("loss", "1.2%"),
    ("loss", "2%"),
];
const PERIODS: [Turn; 5] = [
    ("report-period", "1 ms"),
    ("report-period", "8 ms"),
    ("report-period", "20 ms"),
    ("report-period", "40 ms"),
    ("report-period", "100 ms"),
];
const DELAYS: [Turn; 5] = [
    ("report-delay", "1 ms"),
    ("report-delay", "10 ms"),
    ("report-delay", "20 ms"),
    ("report-delay", "40 ms"),
    ("report-delay", "100 ms"),
];

fn at((knob, position): Turn, variant: &str) -> Experiment {
    download("quic", "newreno", variant).set(knob, position)
}

/// Of `default`, over the periods for which there is a goal.
pub(super) fn periods(extent: &Extent) -> Vec<Experiment> {
    unless_quick(extent, || {
        let of = |transport| PERIODS[..4].iter().map(move |turn| over(transport, *turn));
        TRANSPORTS.into_iter().flat_map(of).collect()
    })
}

fn over(transport: &str, (knob, position): Turn) -> Experiment {
    download(transport, "newreno", "default").set(knob, position)
}

/// Over those periods.
pub(super) fn longest_wait(extent: &Extent, results: &Results) -> Option<Claim> {
    if extent.quick {
        return None;
    }
    let cells = both(|transport| {
        let waits = PERIODS[..4]
            .iter()
            .map(|turn| results.mean(&over(transport, *turn), rtt("download")));
        let longest = waits.max_by(|a, b| a.mean.total_cmp(&b.mean));
        longest.expect("there are periods")
    });
    let [quic, tcp] = cells.each_ref().map(|cell| cell.at_most(BASE + 40.0));
    let claim = Claim::new(
        "our goal",
        "NewReno, `default`: longest mean RTT with reports every 1, 8, 20, 40 ms, ms",
        "(<= 95)",
    );
    Some(claim.measured(&cells, quic.and(tcp)))
}

fn grid(turns: &[Turn], variants: &[&str]) -> Vec<Experiment> {
    let turns = turns.iter();
    turns
        .flat_map(|turn| variants.iter().map(|variant| at(*turn, variant)))
        .collect()
}

fn table(
    extent: &Extent,
    results: &Results,
    head: &str,
    turns: &[Turn],
    variants: &[&str],
) -> Part {
    if extent.quick {
        return Part::default();
    }
    let rows = turns.iter().map(|turn| {
        let cells = variants.iter().map(|variant| {
            let experiment = at(*turn, variant);
            format!(
                "{}; {}",
                tables::shown(results.mean(&experiment, goodput("download"))),
                tables::shown(results.mean(&experiment, rtt("download"))),
            )
        });
        core::iter::once(turn.1.to_owned()).chain(cells).collect()
    });
    let heads: Vec<&str> = core::iter::once(head)
        .chain(variants.iter().copied())
        .collect();
    Part {
        text: format!(
            "NewReno over QUIC: goodput, Mbit/s; mean RTT, ms.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}
