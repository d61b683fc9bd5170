//! CDBE: Zhong et al., "CDBE: A cooperative way to improve end-to-end congestion control in mobile
//! network", WiMob 2018, sections III-B and V.

mod beyond;
mod cell;
mod constants;
mod curves;
mod downloads;
mod lte;
mod many;
mod measures;
mod rivals;
mod sensitivity;
mod sharing;
mod wired;

use crate::claim::{Cell, Verdict, Verdicts};
use crate::experiment::Experiment;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use scenario::Estimate;

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "cdbe",
    title: "CDBE: ours beside the paper",
    columns: &["`paper`", "`default`"],
    files: shipped::CDBE,
    repeats: Repeats {
        full: 250,
        quick: 12,
        lab: 3,
    },
    lab: &[],
    apart: &[],
    worlds: "",
    preface: "Five users walk about in an LTE cell, and each downloads a file. A repeat is a drop: places, speeds \
        and channels are drawn anew, the same for all algorithms, so ratios are drop by drop. `paper` is CDBE as \
        published, `default` ours ([what differs](../algorithms/cdbe.md)). The published is `paper`, \
        ours is `default`. What the paper leaves open of the radio is stated in \
        `scenarios/cdbe/`; nothing was tuned to its numbers. DSDL is the one-way delay of segments through the \
        network, of which 50 ms are the wire. Goodput is a user's payload over the time of its download, or until the \
        run ends. The paper does not define \"DS throughput\": here it is what the cell delivers to all users \
        while any of them downloads.",
    quick: "few drops; no sensitivity",
    sections: &[
        wired::SECTION,
        lte::SECTION,
        downloads::SECTION,
        cell::SECTION,
        curves::ONE_RUN,
        curves::DISTRIBUTIONS,
        sharing::SECTION,
        many::SECTION,
        rivals::SECTION,
        beyond::COEXISTENCE,
        beyond::WIRED,
        sensitivity::SECTION,
        constants::SECTION,
    ],
    discussion: include_str!("discussion.md"),
};

/// Mode of the paper, and ours.
const MODES: [&str; 2] = ["paper", "default"];
/// The paper's algorithms, in table II's order.
const CONTROLS: [&str; 4] = ["bbr", "cqic", "cqic-s", "cdbe"];
/// The paper's sizes.
const SIZES: [&str; 2] = ["1 MB", "10 MB"];

/// As text has it.
fn named(control: &str) -> &'static str {
    match control {
        "bbr" => "BBR",
        "cqic" => "CQIC",
        "cqic-s" => "CQIC-S",
        "cubic" => "Cubic",
        _ => "CDBE",
    }
}

/// True if an algorithm is not the same in both modes.
fn has_modes(control: &str) -> bool {
    matches!(control, "cdbe" | "cqic-s")
}

/// The five downloads. Samples are seldom: thousands of runs are kept until the end.
fn downloads(control: &str, size: &str, mode: &str) -> Experiment {
    let mode = if has_modes(control) { mode } else { "paper" };
    Experiment::of("cdbe/downloads")
        .set("cc", control)
        .set("size", size)
        .set("mode", mode)
        .set("sample-interval", "1 s")
}

/// One measurement of both modes.
fn both(of: impl Fn(&'static str) -> Estimate) -> [Cell; 2] {
    MODES.map(|mode| Cell::One(of(mode)))
}

/// Both modes by one rule.
fn judge(cells: &[Cell; 2], rule: impl Fn(&Cell) -> Verdict) -> Verdicts {
    let [paper, default] = cells.each_ref().map(rule);
    Verdicts::both(paper, default)
}

/// Nothing of it in a quick reproduction.
fn unless_quick(extent: &Extent, experiments: impl FnOnce() -> Vec<Experiment>) -> Vec<Experiment> {
    match extent.quick {
        true => Vec::new(),
        false => experiments(),
    }
}
