//! Downloads where a link before the base station carries less than the radio. No experiment of the paper.

use super::{Mode, default_only, in_mode, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{jain, total_goodput, worst_p95};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

const SCENARIO: &str = "rapid/narrow-link";
const REPEATS: u32 = 3;
/// The base round-trip time, ms.
const BASE: f64 = 10.0;
/// Payload of a segment and what it is on the wire, bytes.
const PAYLOAD: f64 = 1440.0;
const PACKET: f64 = 1492.0;

pub(super) const SECTION: Section = Section {
    id: "narrow-link",
    title: "A link narrower than the radio",
    experiments: |extent| {
        let rows = rows(extent).into_iter();
        rows.flat_map(|row| VARIANTS.map(|variant| row.at(variant)))
            .collect()
    },
    report,
};

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    In(Mode),
    /// Mode `default` without its part `narrow-link`.
    Without,
}

const VARIANTS: [Variant; 4] = [
    Variant::In(Mode::None),
    Variant::In(Mode::Paper),
    Variant::Without,
    DEFAULT,
];
const DEFAULT: Variant = Variant::In(Mode::Default);

impl Variant {
    const fn name(self) -> &'static str {
        match self {
            Self::In(Mode::None) => "no proxy",
            Self::In(Mode::Paper) => "`paper`",
            Self::Without => "`default` without `narrow-link`",
            Self::In(Mode::Default) => "`default`",
        }
    }
}

/// A link: Mbit/s, its buffer, and users.
#[derive(Clone, Copy, Debug)]
struct Row {
    link: u32,
    room: &'static str,
    users: u32,
}

fn rows(extent: &Extent) -> Vec<Row> {
    let links: &[u32] = if extent.quick {
        &[400]
    } else {
        &[700, 400, 100]
    };
    let rooms: &[&str] = match extent.quick {
        true => &["150 kB"],
        false => &["50 kB", "150 kB", "1 MB"],
    };
    let users: &[u32] = if extent.quick { &[1] } else { &[1, 5] };
    let mut rows = Vec::new();
    for &users in users {
        for &link in links {
            rows.extend(rooms.iter().map(|&room| Row { link, room, users }));
        }
    }
    rows
}

impl Row {
    fn at(self, variant: Variant) -> Experiment {
        let mode = match variant {
            Variant::In(mode) => mode,
            Variant::Without => Mode::Default,
        };
        let experiment = in_mode(SCENARIO, mode)
            .at_most(REPEATS)
            .set("link", format!("{} Mbit/s", self.link))
            .set("room", self.room)
            .set("users", self.users.to_string());
        match variant {
            Variant::In(_) => experiment,
            Variant::Without => experiment.set("pep.without", "[\"narrow-link\"]"),
        }
    }

    /// Share of the link's payload that was delivered, %.
    fn used(self, results: &Results, variant: Variant) -> Estimate {
        let all = f64::from(self.link) * PAYLOAD / PACKET;
        results.mean(&self.at(variant), |run| {
            Some(100.0 * total_goodput(run)? / all)
        })
    }

    /// The 95th percentile of the round-trip time over its base, of the flow where it is greatest, ms.
    fn wait(self, results: &Results, variant: Variant) -> Estimate {
        results.mean(&self.at(variant), |run| Some(worst_p95(run)? - BASE))
    }

    fn resent(self, results: &Results, variant: Variant) -> Estimate {
        results.mean(&self.at(variant), resent)
    }
}

/// Of what was sent, the part that was sent again, %.
fn resent(run: &RunResult) -> Option<f64> {
    let delivered: u64 = run.flows.iter().map(|flow| flow.delivered.get()).sum();
    let again: u64 = run.flows.iter().map(|flow| flow.retransmits).sum();
    let again = again as f64 * PAYLOAD;
    (delivered > 0).then(|| 100.0 * again / (delivered as f64 + again))
}

fn report(extent: &Extent, results: &Results) -> Part {
    Part {
        claims: claims(extent, results),
        text: text(extent, results),
        figures: Vec::new(),
    }
}

fn claims(extent: &Extent, results: &Results) -> Vec<Claim> {
    let rows = rows(extent);
    let span = |measure: fn(Row, &Results, Variant) -> Estimate| {
        Cell::span(rows.iter().map(|row| measure(*row, results, DEFAULT)))
    };
    let (used, wait, resent) = (span(Row::used), span(Row::wait), span(Row::resent));
    let fair = Cell::span(rows.iter().map(|row| results.mean(&row.at(DEFAULT), jain)));
    let goal = |statement, bound, cell: &Cell, verdict| {
        Claim::new("our goal", statement, bound)
            .measured(&default_only(cell.clone()), verdict)
            .if_not("see the table, and below")
    };
    vec![
        goal(
            "narrow link: its payload that is delivered, %",
            "(>= 95)",
            &used,
            used.at_least(95.0),
        ),
        goal(
            "narrow link: p95 of the RTT over the base RTT, ms, the worst flow",
            "(<= 10)",
            &wait,
            wait.at_most(10.0),
        ),
        goal(
            "narrow link: sent again, %",
            "(<= 3)",
            &resent,
            resent.at_most(3.0),
        ),
        goal(
            "narrow link: Jain's index of all flows",
            "(>= 0.95)",
            &fair,
            fair.at_least(0.95),
        )
        .decimals(3),
    ]
}

fn text(extent: &Extent, results: &Results) -> String {
    let head = [
        "users",
        "link Mbit/s",
        "buffer",
        "",
        "delivered %",
        "worst RTT p95 ms",
        "sent again %",
        "Jain",
    ];
    let rows = rows(extent).into_iter();
    let lines = rows.flat_map(|row| {
        VARIANTS.map(|variant| {
            vec![
                row.users.to_string(),
                row.link.to_string(),
                row.room.to_owned(),
                variant.name().to_owned(),
                tables::shown(row.used(results, variant)),
                tables::shown(results.mean(&row.at(variant), worst_p95)),
                tables::shown(row.resent(results, variant)),
                format!("{:.3}", results.mean(&row.at(variant), jain).mean),
            ]
        })
    });
    format!("{PREFACE}\n\n{}", markdown::table(&head, lines))
}

const PREFACE: &str = "The radio carries 852.6 Mbit/s, the interface into the base station less. Each user has a download from a Cubic \
    and one from a BBR server, for 20 s at a base RTT of 10 ms, 3 repeats; the first seconds, in which the link is found, are included. Delivered is \
    of the payload that the link could carry.";
