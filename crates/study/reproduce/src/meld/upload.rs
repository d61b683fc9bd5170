//! An upload beside the download: its acknowledgements wait in the download's queue.

use super::{CONTROLS, TRANSPORTS, VARIANTS, tables, unless_quick};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{completion, goodput};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

pub(super) const SECTION: Section = Section {
    id: "upload",
    title: "5 MB upwards beside a download",
    experiments: |extent| {
        unless_quick(extent, || {
            let mut all = Vec::new();
            for transport in TRANSPORTS {
                for control in CONTROLS {
                    all.push(alone(transport, control));
                    all.extend(VARIANTS.map(|variant| beside(transport, control, variant)));
                }
            }
            all
        })
    },
    report,
};

fn beside(transport: &str, control: &str, variant: &str) -> Experiment {
    Experiment::of("meld/upload")
        .set("transport", transport)
        .set("cc", control)
        .set("meld", variant)
}

fn alone(transport: &str, control: &str) -> Experiment {
    beside(transport, control, "off").set("down", "absent")
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        for control in CONTROLS {
            let alone = alone(transport, control);
            let time = results.mean(&alone, completion("up"));
            rows.push(vec![
                transport.to_owned(),
                control.to_owned(),
                "no download".to_owned(),
                tables::shown(time),
                String::new(),
                String::new(),
            ]);
            for variant in VARIANTS {
                let both = beside(transport, control, variant);
                rows.push(vec![
                    transport.to_owned(),
                    control.to_owned(),
                    variant.to_owned(),
                    tables::shown(results.mean(&both, completion("up"))),
                    tables::shown(results.ratio(&both, &alone, completion("up"))),
                    tables::shown(results.mean(&both, goodput("down"))),
                ]);
            }
        }
    }
    let heads = [
        "transport",
        "cc",
        "MELD of the download",
        "upload s",
        "over that alone",
        "download Mbit/s",
    ];
    Part {
        text: format!(
            "The sender of an upload is the user, who has no reports: MELD decides nothing for it. What it sends is \
             acknowledged through the queue that the download fills.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}
