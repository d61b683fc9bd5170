//! Short flows beside a long one: what MELD-ME is for.

use super::{CONTROLS, TRANSPORTS, both, named, tables};
use crate::claim::{Claim, Verdict};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{goodput, load_time};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

const VARIANTS: [&str; 5] = ["off", "de", "me", "default", "yield"];

pub(super) const SECTION: Section = Section {
    id: "short",
    title: "500 kB beside a long download",
    experiments: |_| {
        let mut all = Vec::new();
        for transport in TRANSPORTS {
            for control in CONTROLS {
                all.extend(VARIANTS.map(|variant| beside(transport, control, variant)));
                all.extend(VARIANTS.map(|variant| alone(transport, control, variant)));
            }
        }
        all
    },
    report,
};

/// Its time beside another over that alone, at the most.
const GOAL: f64 = 1.3;
/// Why a short flow takes longer beside another than alone.
const SHARED: &str = "two flows share the link: the short one has half of it, and less while it starts; `yield` gives way";

fn beside(transport: &str, control: &str, variant: &str) -> Experiment {
    Experiment::of("meld/mixed-short-long")
        .set("transport", transport)
        .set("cc", control)
        .set("meld", variant)
}

fn alone(transport: &str, control: &str, variant: &str) -> Experiment {
    beside(transport, control, variant).set("long", "absent")
}

fn report(_: &Extent, results: &Results) -> Part {
    let slower = |control: &'static str, variant: &'static str| {
        both(|transport| {
            let [over, under] = [beside, alone].map(|at| at(transport, control, variant));
            results.ratio(&over, &under, load_time("short"))
        })
    };
    let mut claims = Vec::new();
    for control in CONTROLS {
        for variant in ["me", "default", "yield"] {
            let cells = slower(control, variant);
            let holds = cells.each_ref().map(|cell| cell.at_most(GOAL));
            let reason = match (variant, holds) {
                ("yield", [_, Verdict::Holds]) => "over QUIC; over TCP it holds",
                ("yield", _) => "see the table",
                _ => SHARED,
            };
            let what = format!(
                "{}, `{variant}`: time of 500 kB over that alone",
                named(control)
            );
            claims.push(
                Claim::new("our goal", what, "(<= 1.3)")
                    .measured(&cells, holds[0])
                    .if_not(reason),
            );
        }
    }
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        for control in CONTROLS {
            for variant in VARIANTS {
                let [both, one] = [beside, alone].map(|at| at(transport, control, variant));
                rows.push(vec![
                    transport.to_owned(),
                    control.to_owned(),
                    variant.to_owned(),
                    tables::shown(results.mean(&one, load_time("short"))),
                    tables::shown(results.mean(&both, load_time("short"))),
                    tables::shown(results.ratio(&both, &one, load_time("short"))),
                    tables::shown(results.mean(&both, goodput("long"))),
                ]);
            }
        }
    }
    let heads = [
        "transport",
        "cc",
        "MELD",
        "alone s",
        "beside s",
        "beside over alone",
        "long flow Mbit/s",
    ];
    Part {
        claims,
        text: markdown::table(&heads, rows),
        figures: Vec::new(),
    }
}
