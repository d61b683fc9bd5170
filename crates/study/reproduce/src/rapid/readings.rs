//! What the readings of the paper make of mode `paper`, in scenarios where they differ.

use super::Mode;
use super::ablation::{
    Column, FAST_EMBB_LOS, FAST_EMBB_NLOS, MIXED_LOS, OAI_FAST, OAI_UDP_8M, REPEATS, table,
};
use crate::experiment::Experiment;
use crate::measure::{rlc_drops, total_goodput};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use rapid::Reading;

pub(super) const SECTION: Section = Section {
    id: "ablation-paper",
    title: "Ablation: mode `paper` with other readings of the paper",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => variants()
            .iter()
            .flat_map(|readings| COLUMNS.map(|column| experiment(&column, readings)))
            .collect(),
    },
    report,
};

const COLUMNS: [Column; 6] = [
    FAST_EMBB_LOS,
    FAST_EMBB_NLOS,
    Column {
        settings: &[("duration", "6 s")],
        ..MIXED_LOS
    },
    OAI_FAST,
    OAI_UDP_8M,
    Column {
        title: "demand-aware",
        scenario: "rapid/demand-aware",
        ..OAI_FAST
    },
];

/// As it is read, with each other reading, and with the two that the text allows.
fn variants() -> Vec<Vec<Reading>> {
    let mut variants = vec![Vec::new()];
    variants.extend(Reading::ALL.map(|reading| vec![reading]));
    variants.push(vec![Reading::PeriodMinimum, Reading::AllRates]);
    variants
}

fn experiment(column: &Column, readings: &[Reading]) -> Experiment {
    let experiment = column.in_mode(Mode::Paper);
    if readings.is_empty() {
        return experiment;
    }
    let names = readings.iter().map(|of| format!("\"{}\"", of.name()));
    let names = names.collect::<Vec<String>>().join(", ");
    experiment.set("pep.readings", format!("[{names}]"))
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let shown = |measure: &dyn Fn(&Column, &Experiment) -> scenario::Estimate| {
        let rows = variants().into_iter().map(|readings| {
            let names = readings.iter().map(|of| format!("`{}`", of.name()));
            let name = match readings.is_empty() {
                true => "(as read)".to_owned(),
                false => names.collect::<Vec<String>>().join(", "),
            };
            (
                name,
                COLUMNS.map(|c| measure(&c, &experiment(&c, &readings))),
            )
        });
        table("readings", &COLUMNS, rows)
    };
    let goodput = shown(&|_, at| results.mean(at, total_goodput));
    let delay = shown(&|column, at| results.mean(at, column.increase()));
    let drops = shown(&|_, at| results.mean(at, rlc_drops));
    Part {
        text: format!(
            "`pep.readings` names what is read otherwise ([why](../algorithms/rapid.md#mode-paper-paper)). {REPEATS} \
             repeats.\n\nGoodput of all flows together, Mbit/s:\n\n{goodput}\nMean RTT above the flow's least RTT, ms \
             (Cubic's or the download's):\n\n{delay}\nPackets that the RLC buffer dropped:\n\n{drops}"
        ),
        ..Part::default()
    }
}
