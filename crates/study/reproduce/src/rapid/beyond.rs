//! What the paper states, or leaves out, about loss on the radio (4.3) and several users (4.2).

use super::{Mode, Modes, PAPER_BELOW, in_mode, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{goodput, load_time, rlc_drops, total_goodput, utilisation, worst_p95};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{FlowResult, RunResult};

const LOSSY: &str = "rapid/ran-loss";
const MANY: &str = "rapid/many-ues";
/// Base round-trip time of many-ues, ms.
const BASE: f64 = 4.0;

/// Random loss on the radio.
pub(super) const LOSS: Section = Section {
    id: "ran-loss",
    title: "Random loss on the radio (section 4.3): 200 MB each, one packet in a thousand lost",
    experiments: |_| {
        let both = Mode::ALL.map(|mode| [lossy(mode), lossless(mode)]);
        both.into_iter().flatten().collect()
    },
    report: loss,
};

/// Twenty users of one cell.
pub(super) const USERS: Section = Section {
    id: "many-ues",
    title: "Twenty users, each with a download and pages (equation 1 for many)",
    experiments: |_| Mode::ALL.map(many).to_vec(),
    report: users,
};

fn lossy(mode: Mode) -> Experiment {
    in_mode(LOSSY, mode)
}

fn lossless(mode: Mode) -> Experiment {
    in_mode(LOSSY, mode).set("loss", "0")
}

/// Without time series to speak of: those of 40 flows take memory, and nothing here needs them.
fn many(mode: Mode) -> Experiment {
    in_mode(MANY, mode).set("sample-interval", "1 s")
}

fn loss(_: &Extent, results: &Results) -> Part {
    let flows = ["cubic", "bbr"];
    let kept = Modes::of(|mode| {
        let of = |name: &&'static str| results.ratio(&lossy(mode), &lossless(mode), goodput(name));
        Cell::Each(flows.iter().map(of).collect())
    });
    let claims = vec![
        Claim::new(
            "section 4.3",
            "0.1 % loss on the radio: goodput of Cubic, BBR over the lossless",
            "-> 1 (ours: >= 0.97)",
        )
        .judged(&kept.row(), kept.judge(|cell| cell.at_least(0.97))),
    ];
    let rows: Vec<tables::Labelled> = Mode::ALL
        .into_iter()
        .flat_map(|mode| {
            [
                ("0.1 %".to_owned(), mode, lossy(mode)),
                ("none".to_owned(), mode, lossless(mode)),
            ]
        })
        .collect();
    Part {
        claims,
        text: tables::flows(results, "loss", &rows, &flows),
        figures: Vec::new(),
    }
}

fn users(_: &Extent, results: &Results) -> Part {
    let worst = Modes::measured(results, many, worst_p95);
    let used = Modes::of(|mode| match mode {
        Mode::None => Cell::Empty,
        _ => Cell::One(results.ratio(&many(mode), &many(Mode::None), utilisation)),
    });
    let claims = vec![
        Claim::new(
            "section 4.2",
            "20 users: p95 of the RTT of the flow that waits longest, ms",
            "(<= 4 + 5)",
        )
        .judged(&worst.row(), worst.judge(|cell| cell.at_most(BASE + 5.0)))
        .note("the paper has one user, since others would add nothing; the bound is ours")
        .if_published_not(PAPER_BELOW),
        Claim::new(
            "our bound",
            "20 users: utilisation of the cell, over none's",
            "(>= 0.97)",
        )
        .measured(&used.with(), used.default.at_least(0.97))
        .decimals(3),
    ];
    Part {
        claims,
        text: users_table(results),
        figures: Vec::new(),
    }
}

/// The flows of a kind, e.g. `bulk-near`, `bulk-near-2` and so on.
fn of_kind<'a>(run: &'a RunResult, kind: &'a str) -> impl Iterator<Item = &'a FlowResult> {
    run.flows.iter().filter(move |f| f.name.starts_with(kind))
}

/// The mean over the flows of a kind.
fn mean_of(
    kind: &'static str,
    value: impl Fn(&RunResult, &FlowResult) -> Option<f64>,
) -> impl Fn(&RunResult) -> Option<f64> {
    move |run| {
        let values: Option<Vec<f64>> = of_kind(run, kind).map(|flow| value(run, flow)).collect();
        let values = values.filter(|v| !v.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn users_table(results: &Results) -> String {
    let head = [
        "pep",
        "all flows Mbit/s",
        "download, near Mbit/s",
        "download, far Mbit/s",
        "page load, near s",
        "page load, far s",
        "greatest RTT p95 ms",
        "utilisation %",
        "RLC drops",
    ];
    let rate = |kind| {
        mean_of(kind, |run: &RunResult, flow: &FlowResult| {
            goodput(&flow.name)(run)
        })
    };
    let load = |kind| {
        mean_of(kind, |run: &RunResult, flow: &FlowResult| {
            load_time(&flow.name)(run)
        })
    };
    let rows = Mode::ALL.map(|mode| {
        let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
            tables::shown(results.mean(&many(mode), measure))
        };
        vec![
            mode.name().to_owned(),
            mean(&total_goodput),
            mean(&rate("bulk-near")),
            mean(&rate("bulk-far")),
            mean(&load("web-near")),
            mean(&load("web-far")),
            mean(&worst_p95),
            mean(&utilisation),
            mean(&rlc_drops),
        ]
    });
    markdown::table(&head, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Distribution;
    use units::BitRate;

    fn flow(name: &str, mbps: u64, p95: f64) -> FlowResult {
        FlowResult {
            name: name.into(),
            goodput: BitRate::from_mbps(mbps),
            rtt: Distribution {
                count: 1,
                p95,
                ..Distribution::default()
            },
            ..FlowResult::default()
        }
    }

    #[test]
    fn flows_of_a_kind_are_averaged_and_the_worst_is_found() {
        let run = RunResult {
            flows: vec![
                flow("bulk-near", 10, 5.0),
                flow("bulk-near-2", 20, 7.0),
                flow("bulk-far", 99, 6.0),
            ],
            ..RunResult::default()
        };
        let rate = mean_of("bulk-near", |run, flow| goodput(&flow.name)(run));
        assert_eq!(rate(&run), Some(15.0));
        assert_eq!(worst_p95(&run), Some(7.0));
        let none = mean_of("web", |run, flow| goodput(&flow.name)(run));
        assert_eq!(none(&run), None);
    }
}
