//! What late and lost radio reports cost mode `default`.

use super::ablation::{Column, FAST_EMBB_LOS, FAST_EMBB_NLOS, MANY_UES, MIXED_LOS, OAI_FAST};
use super::tables;
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::total_goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

pub(super) const SECTION: Section = Section {
    id: "reports",
    title: "Radio reports that come late or not at all (mode `default`)",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => experiments(),
    },
    report,
};

const COLUMNS: [Column; 5] = [FAST_EMBB_LOS, FAST_EMBB_NLOS, MIXED_LOS, OAI_FAST, MANY_UES];

/// A trouble with the reports, and whether the bounds below must hold in it.
struct Trouble {
    title: &'static str,
    settings: &'static [(&'static str, &'static str)],
    is_bounded: bool,
}

const TROUBLES: [Trouble; 7] = [
    Trouble {
        title: "1 ms late (the default)",
        settings: &[],
        is_bounded: true,
    },
    Trouble {
        title: "5 ms late",
        settings: &[("pep.report-delay", "5 ms")],
        is_bounded: true,
    },
    Trouble {
        title: "10 ms late",
        settings: &[("pep.report-delay", "10 ms")],
        is_bounded: true,
    },
    Trouble {
        title: "20 ms late",
        settings: &[("pep.report-delay", "20 ms")],
        is_bounded: false,
    },
    Trouble {
        title: "every second one lost",
        settings: &[("pep.report-loss", "0.5")],
        is_bounded: false,
    },
    Trouble {
        title: "none for 100 ms, each second",
        settings: &[("pep.report-gap", "100 ms")],
        is_bounded: true,
    },
    Trouble {
        title: "none for 3 s, every 4 s",
        settings: &[
            ("pep.report-gap", "3 s"),
            ("pep.report-gap-interval", "4 s"),
        ],
        is_bounded: false,
    },
];

fn experiment(column: &Column, trouble: &Trouble) -> Experiment {
    let settings = trouble.settings.iter();
    settings.fold(column.whole(), |e, (key, value)| e.set(key, *value))
}

fn experiments() -> Vec<Experiment> {
    let of = |trouble| COLUMNS.map(|column| experiment(&column, trouble));
    TROUBLES.iter().flat_map(of).collect()
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let rows = TROUBLES.iter().map(|trouble| {
        let cells = COLUMNS.map(|column| {
            let at = experiment(&column, trouble);
            format!(
                "{}; {}",
                tables::shown(results.mean(&at, total_goodput)),
                tables::shown(results.mean(&at, column.increase())),
            )
        });
        core::iter::once(trouble.title.to_owned())
            .chain(cells)
            .collect()
    });
    let titles: Vec<&str> = core::iter::once("reports")
        .chain(COLUMNS.iter().map(|c| c.title))
        .collect();
    Part {
        claims: claims(results),
        text: format!(
            "Goodput of all flows, Mbit/s; mean RTT above the flow's least RTT, ms (as in the ablation).\n\n{}",
            markdown::table(&titles, rows)
        ),
        ..Part::default()
    }
}

/// Not the paper's: what we ask of ourselves.
fn claims(results: &Results) -> Vec<Claim> {
    let bounded = || {
        let troubles = TROUBLES
            .iter()
            .filter(|t| t.is_bounded && !t.settings.is_empty());
        troubles.flat_map(|trouble| COLUMNS.map(|column| (column, experiment(&column, trouble))))
    };
    let goodput = Cell::span(
        bounded().map(|(column, at)| results.ratio(&at, &column.whole(), total_goodput)),
    );
    let delay = Cell::span(
        bounded().map(|(column, at)| results.ratio(&at, &column.whole(), column.increase())),
    );
    let ours = |cell: &Cell| super::default_only(cell.clone());
    vec![
        Claim::new(
            "our bound",
            "goodput with reports up to 10 ms late or lost for 100 ms, over that with all",
            "(>= 0.9)",
        )
        .measured(&ours(&goodput), goodput.at_least(0.9)),
        Claim::new(
            "our bound",
            "mean RTT increase then, over that with all",
            "(<= 2)",
        )
        .measured(&ours(&delay), delay.at_most(2.0)),
    ]
}
