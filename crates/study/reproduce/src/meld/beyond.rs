//! What mode `default` has to reach, and the paper's future work.

use super::{
    BASE, CONTROLS, VARIANTS, both, gain, link, often, runs, saturated, sweeps, tables,
    unless_quick,
};
use crate::claim::{Claim, Verdict};
use crate::experiment::Experiment;
use crate::measure::{goodput, rtt};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// The share of the link over QUIC and over TCP, %.
const SHARES: [f64; 2] = [94.0, 95.0];

/// The goals.
pub(super) const SECTION: Section = Section {
    id: "goals",
    title: "Mode `default` against the goals",
    experiments: |extent| {
        let mut all = vec![saturated()];
        all.extend(sweeps::periods(extent));
        for transport in super::TRANSPORTS {
            for control in CONTROLS {
                all.extend(["me", "default"].map(|v| often(extent, transport, control, v)));
            }
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

fn report(extent: &Extent, results: &Results) -> Part {
    let mut claims = Vec::new();
    for control in CONTROLS {
        claims.extend(against_link(extent, results, control));
    }
    claims.extend(sweeps::longest_wait(extent, results));
    Part {
        claims,
        ..Part::default()
    }
}

fn against_link(extent: &Extent, results: &Results, control: &'static str) -> [Claim; 3] {
    let link = link(results).mean;
    let of = |variant| move |transport| often(extent, transport, control, variant);
    let used = both(|transport| {
        let goodput = results.mean(&of("default")(transport), goodput("download"));
        let Estimate { mean, ci95 } = goodput;
        Estimate {
            mean: 100.0 * mean / link,
            ci95: 100.0 * ci95 / link,
        }
    });
    let waits = both(|transport| results.mean(&of("default")(transport), rtt("download")));
    let ratios = both(|transport| {
        let [over, under] = ["default", "me"].map(|v| of(v)(transport));
        results.ratio(&over, &under, rtt("download"))
    });
    // over both transports
    let both_hold = |[quic, tcp]: [Verdict; 2]| quic.and(tcp);
    let name = super::named(control);
    [
        Claim::new(
            "our goal",
            format!("{name}, `default`: share of the link{}, %", runs(extent)),
            "(>= 94; TCP 95)",
        )
        .measured(
            &used,
            both_hold([0, 1].map(|k| used[k].at_least(SHARES[k]))),
        ),
        Claim::new("our goal", "the same: mean RTT, ms", "(<= 82.5)").measured(
            &waits,
            both_hold([0, 1].map(|k| waits[k].at_most(1.5 * BASE))),
        ),
        Claim::new("our goal", "the same: mean RTT over MELD-ME's", "(<= 1)")
            .measured(&ratios, both_hold([0, 1].map(|k| ratios[k].at_most(1.0)))),
    ]
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
