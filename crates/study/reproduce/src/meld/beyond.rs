//! What we ask of mode `default`, and the paper's future work.

use super::{BASE, VARIANTS, both, download, gain, link, saturated, tables, unless_quick};
use crate::claim::{Claim, Verdict};
use crate::experiment::Experiment;
use crate::measure::{goodput, rtt};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// The goals.
pub(super) const SECTION: Section = Section {
    id: "goals",
    title: "Mode `default` against the goals",
    experiments: |_| {
        let mut all = vec![saturated()];
        for transport in super::TRANSPORTS {
            all.extend(["off", "me", "default"].map(|v| download(transport, "newreno", v)));
        }
        all
    },
    report,
};

/// 5G at mmWave.
pub(super) const NR: Section = Section {
    id: "nr",
    title: "5G at 28 GHz behind buildings (the paper's future work)",
    experiments: |extent| unless_quick(extent, || VARIANTS.map(|v| behind("newreno", v)).to_vec()),
    report: blocked,
};

fn behind(control: &str, variant: &str) -> Experiment {
    Experiment::of("meld/nr")
        .set("cc", control)
        .set("meld", variant)
        .at_most(2)
}

fn report(_: &Extent, results: &Results) -> Part {
    let link = link(results).mean;
    let share = |variant: &'static str| {
        both(|transport| {
            let Estimate { mean, ci95 } = results.mean(
                &download(transport, "newreno", variant),
                goodput("download"),
            );
            Estimate {
                mean: 100.0 * mean / link,
                ci95: 100.0 * ci95 / link,
            }
        })
    };
    let delay = |variant: &'static str| {
        both(|transport| results.mean(&download(transport, "newreno", variant), rtt("download")))
    };
    let (used, waits, theirs) = (share("default"), delay("default"), delay("me"));
    let is_short = waits[0].first() <= 1.5 * BASE;
    let claims = vec![
        Claim::new(
            "our goal",
            "NewReno, `default`: share of the link, %",
            "(>= 95)",
        )
        .measured(&used, Verdict::of(used[0].first() >= 95.0)),
        Claim::new("our goal", "the same: mean RTT, ms", "(<= 82.5)")
            .measured(&waits, Verdict::of(is_short)),
        Claim::new("our goal", "the same: mean RTT over MELD-ME's", "(<= 1)").measured(
            &both(|transport| {
                let [over, under] = ["default", "me"].map(|v| download(transport, "newreno", v));
                results.ratio(&over, &under, rtt("download"))
            }),
            Verdict::of(waits[0].first() <= theirs[0].first()),
        ),
    ];
    Part {
        claims,
        ..Part::default()
    }
}

fn blocked(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let mut rows = Vec::new();
    for variant in VARIANTS {
        rows.push((vec![variant.to_owned()], behind("newreno", variant)));
    }
    let [de, default] = ["de", "default"].map(|variant| {
        let [with, off] = [variant, "off"].map(|v| behind("newreno", v));
        gain(results, [&with, &off], goodput("download"))
    });
    Part {
        text: format!(
            "A download for 26 s by NewReno over TCP (2 runs: the fast cell takes long to simulate), while the \
             user walks behind buildings and out again; blocks that HARQ gives up are lost. Goodput changes by \
             {} % with MELD-DE and by {} % with `default`.\n\n{}",
            tables::shown(de),
            tables::shown(default),
            tables::flows(results, &["MELD"], &rows, "download")
        ),
        ..Part::default()
    }
}
