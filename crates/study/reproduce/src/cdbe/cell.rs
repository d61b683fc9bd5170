//! What the readings of the paper's cell are worth.

use super::measures::{delay, goodput, rtt};
use super::{CONTROLS, SIZES, unless_quick};
use crate::claim::with_interval;
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::jain;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

/// One reading after the other.
pub(super) const SECTION: Section = Section {
    id: "cell",
    title: "What the cell is worth",
    experiments: |extent| unless_quick(extent, all),
    report,
};

/// Drops of each.
const DROPS: u32 = 15;

pub(super) type Settings = &'static [(&'static str, &'static str)];
type Measure = fn(&RunResult) -> Option<f64>;

const SEGMENTS: Settings = &[
    ("flow.download.tcp.mss", "1448 B"),
    ("flow.download.tcp.initial-window", "10"),
];
const FREE_UPLINK: Settings = &[("cell.uplink.link", "fixed-mcs")];
const HEADROOM: Settings = &[("cell.uplink.mcs-from", "power-headroom")];
const ALIKE: Settings = &[("cell.sub-bands", "none")];
const MEAN: Settings = &[("cell.sub-bands", "mean")];
const ERRORS: Settings = &[("cdbe.cqic-block-errors", "subtracted")];

/// The cell up to version 0.2.
pub(super) const EARLIER: &[Settings] = &[SEGMENTS, FREE_UPLINK, ALIKE, ERRORS];

/// Each variant with what differs from the scenario.
const VARIANTS: [(&str, &[Settings]); 8] = [
    ("as in table II", &[]),
    ("segments of 1448 B, initial window 10", &[SEGMENTS]),
    ("uplink of MCS 16 without errors", &[FREE_UPLINK]),
    ("uplink by power headroom", &[HEADROOM]),
    ("all PRBs alike", &[ALIKE]),
    ("groups, MCS of the mean CQI", &[MEAN]),
    ("CQIC less block errors", &[ERRORS]),
    ("all four otherwise (up to version 0.2)", EARLIER),
];

/// What is compared: an algorithm over another.
const RATIOS: [(&str, [&str; 2], Measure); 7] = [
    ("goodput CDBE / BBR", ["cdbe", "bbr"], goodput),
    ("goodput CDBE / CQIC", ["cdbe", "cqic"], goodput),
    ("goodput CQIC-S / CQIC", ["cqic-s", "cqic"], goodput),
    ("DSDL CDBE / BBR", ["cdbe", "bbr"], delay),
    ("DSDL CDBE / CQIC", ["cdbe", "cqic"], delay),
    ("RTT CDBE / BBR", ["cdbe", "bbr"], rtt),
    ("RTT CQIC-S / CQIC", ["cqic-s", "cqic"], rtt),
];

/// The same of the paper, with BBR's RTT and Jain's index and those of CQIC.
const PAPER: [(&str, [&str; 11]); 2] = [
    (
        "1 MB",
        [
            "1.49", "0.92", "1.05", "1.36", "0.71", "1.19", "0.98", "624", "1063", "0.79", "0.82",
        ],
    ),
    (
        "10 MB",
        [
            "1.12", "0.97", "1.01", "0.86", "0.65", "1.18", "0.88", "771", "1174", "0.61", "0.64",
        ],
    ),
];

fn of(control: &str, size: &str, variant: &[Settings]) -> Experiment {
    let start = Experiment::of("cdbe/downloads")
        .set("cc", control)
        .set("size", size)
        .set("mode", "paper")
        .set("sample-interval", "1 s")
        .at_most(DROPS);
    let settings = variant.iter().copied().flatten();
    settings.fold(start, |experiment, (key, value)| {
        experiment.set(key, *value)
    })
}

fn all() -> Vec<Experiment> {
    let mut all = Vec::new();
    for (_, variant) in VARIANTS {
        for size in SIZES {
            all.extend(CONTROLS.map(|control| of(control, size, variant)));
        }
    }
    all
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let mut rows = Vec::new();
    for (size, paper) in PAPER {
        let labels = [size, "the paper"].into_iter();
        rows.push(labels.chain(paper).map(str::to_owned).collect::<Vec<_>>());
        for (name, variant) in VARIANTS {
            let mut row = vec![size.to_owned(), name.to_owned()];
            row.extend(RATIOS.map(|(_, [control, base], measure)| {
                let [control, base] = [control, base].map(|cc| of(cc, size, variant));
                with_interval(results.ratio(&control, &base, measure))
            }));
            let measures: [(&str, Measure); 4] =
                [("bbr", rtt), ("cqic", rtt), ("bbr", jain), ("cqic", jain)];
            row.extend(measures.map(|(control, measure)| {
                with_interval(results.mean(&of(control, size, variant), measure))
            }));
            rows.push(row);
        }
    }
    let heads = ["size", "cell"].into_iter();
    let heads = heads.chain(RATIOS.map(|(head, ..)| head));
    let last = ["BBR: RTT ms", "CQIC: RTT ms", "BBR: Jain", "CQIC: Jain"];
    let heads: Vec<&str> = heads.chain(last).collect();
    Part {
        text: format!(
            "Mode `paper`, {DROPS} drops at most, one thing turned at a time. Ratios are drop by drop.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}
