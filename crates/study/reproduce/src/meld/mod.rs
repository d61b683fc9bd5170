//! MELD: Diarra et al., "Cross-layer Loss Discrimination Algorithms for MEC in 4G networks", HPSR 2021,
//! section 5.

mod bbr;
mod beyond;
mod clustering;
mod control_channel;
mod downloads;
mod flows;
mod ping;
mod short;
mod sweeps;
mod tables;
mod upload;

use crate::claim::Cell;
use crate::experiment::Experiment;
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Repeats, System};
use crate::shipped;
use scenario::{Estimate, RunResult};

/// The system.
pub(crate) static SYSTEM: System = System {
    name: "meld",
    title: "MELD: ours beside the paper",
    columns: &["QUIC", "TCP"],
    files: shipped::MELD,
    repeats: Repeats {
        full: 10,
        quick: 3,
        lab: 3,
    },
    lab: &["fig3", "fig4"],
    apart: &[],
    worlds: "",
    preface: "A download of 20 MB over a 4G cell of 25 PRBs whose radio loses packets; `off` is the controller \
        alone, `de` and `me` the paper's MELD-DE and MELD-ME, `default` ours \
        ([what differs](../algorithms/meld.md)). The paper has QUIC, which the verdicts are about; the \
        TCP of that world is beside it. RTT is end to end, from a packet's leaving the server to the arrival \
        there of its acknowledgement. The radio was set up by what the paper states of it and of its loss \
        (`scenarios/meld/oai.inc` keeps the two apart), not by any of the goodputs below; \"the link\" is \
        what UDP that never pauses delivers over it.",
    quick: "no sweeps, no upload, one or two flows, no BBR, no 5G cell",
    sections: &[
        ping::SECTION,
        downloads::GOODPUT,
        downloads::DELAY,
        short::SECTION,
        upload::SECTION,
        flows::SECTION,
        beyond::SECTION,
        control_channel::SECTION,
        sweeps::LOSS,
        sweeps::REPORTS,
        clustering::SECTION,
        bbr::SECTION,
        beyond::NR,
    ],
    discussion: include_str!("discussion.md"),
};

/// Base round-trip time (table 1), ms.
const BASE: f64 = 55.0;
/// What a download runs over. The paper has the first.
const TRANSPORTS: [&str; 2] = ["quic", "tcp"];
/// The paper's controllers.
const CONTROLS: [&str; 2] = ["newreno", "cubic"];
/// What decides on losses.
const VARIANTS: [&str; 4] = ["off", "de", "me", "default"];

/// A controller's name in text.
fn named(control: &str) -> &'static str {
    match control {
        "newreno" => "NewReno",
        "cubic" => "Cubic",
        _ => "BBR",
    }
}

/// The download.
fn download(transport: &str, control: &str, variant: &str) -> Experiment {
    Experiment::of("meld/download-20m")
        .set("transport", transport)
        .set("cc", control)
        .set("meld", variant)
}

/// Repeats of what goals are about: the overshoot of slow start and the losses of a seed move a mean of ten by more
/// than what is to be distinguished.
const GOAL_REPEATS: u32 = 60;

/// The download, so often in a whole reproduction.
fn often(extent: &Extent, transport: &str, control: &str, variant: &str) -> Experiment {
    let one = download(transport, control, variant);
    match is_whole(extent) {
        true => one.at_least(GOAL_REPEATS),
        false => one,
    }
}

/// What a claim adds of its repeats.
fn runs(extent: &Extent) -> String {
    match is_whole(extent) {
        true => format!(" ({GOAL_REPEATS} runs)"),
        false => String::new(),
    }
}

fn is_whole(extent: &Extent) -> bool {
    extent.repeats >= SYSTEM.repeats.full
}

/// UDP that always has something to send: what the radio delivers at most.
fn saturated() -> Experiment {
    Experiment::of("meld/ping")
        .set("flow.ping.app.rate", "19 Mbit/s")
        .set("duration", "30 s")
}

/// The link, Mbit/s.
fn link(results: &Results) -> Estimate {
    results.mean(&saturated(), goodput("ping"))
}

/// One measurement of both transports.
fn both(of: impl Fn(&'static str) -> Estimate) -> [Cell; 2] {
    TRANSPORTS.map(|transport| Cell::One(of(transport)))
}

/// By how many per cent something is more than in another experiment, seed by seed.
fn gain(
    results: &Results,
    [experiment, base]: [&Experiment; 2],
    measure: impl Fn(&RunResult) -> Option<f64>,
) -> Estimate {
    let Estimate { mean, ci95 } = results.ratio(experiment, base, measure);
    Estimate {
        mean: 100.0 * (mean - 1.0),
        ci95: 100.0 * ci95,
    }
}

/// Nothing of it in a quick reproduction.
fn unless_quick(extent: &Extent, experiments: impl FnOnce() -> Vec<Experiment>) -> Vec<Experiment> {
    match extent.quick {
        true => Vec::new(),
        false => experiments(),
    }
}
