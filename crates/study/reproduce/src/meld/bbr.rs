//! A controller that takes no loss for congestion by itself.

use super::{TRANSPORTS, VARIANTS, download, gain, tables, unless_quick};
use crate::measure::{goodput, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

pub(super) const SECTION: Section = Section {
    id: "bbr",
    title: "BBR",
    experiments: |extent| {
        unless_quick(extent, || {
            let of = |transport| VARIANTS.map(|variant| download(transport, "bbr", variant));
            TRANSPORTS.into_iter().flat_map(of).collect()
        })
    },
    report,
};

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let mut rows = Vec::new();
    for transport in TRANSPORTS {
        for variant in VARIANTS {
            let labels = [transport, variant].map(str::to_owned).to_vec();
            rows.push((labels, download(transport, "bbr", variant)));
        }
    }
    let changes = TRANSPORTS.map(|transport| {
        let of = |variant| {
            let [with, off] = [variant, "off"].map(|v| download(transport, "bbr", v));
            format!(
                "`{variant}` {} and {} %",
                tables::shown(gain(results, [&with, &off], goodput("download"))),
                tables::shown(gain(results, [&with, &off], rtt("download")))
            )
        };
        format!(
            "{}: {}",
            transport.to_uppercase(),
            ["de", "me", "default"].map(of).join(", ")
        )
    });
    Part {
        text: format!(
            "BBR (version 1) does not slow down for single losses. By how much goodput and mean RTT change with MELD: {}.\n\n{}",
            changes.join("; "),
            tables::flows(results, &["transport", "MELD"], &rows, "download")
        ),
        ..Part::default()
    }
}
