//! Two flows of CDBE through one buffer: a goal of ours.

use super::measures::{increase_after, jain_after};
use super::{MODES, unless_quick};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

/// Two flows through one buffer.
pub(super) const SECTION: Section = Section {
    id: "sharing",
    title: "Two downloads through one buffer",
    experiments: |extent| {
        unless_quick(extent, || {
            let of = |case: Case| MODES.map(|mode| case.experiment(mode));
            cases().flat_map(of).collect()
        })
    },
    report,
};

/// Mbit/s.
const RATES: [u64; 4] = [5, 20, 100, 1_000];
/// ms.
const RTTS: [u64; 3] = [5, 20, 100];
/// Tenths of a bandwidth-delay product.
const BUFFERS: [u64; 4] = [5, 10, 20, 80];
/// When the second flow begins, s.
const STARTS: [u64; 2] = [0, 8];
/// It is looked at from so long after on, s.
const SETTLED: u64 = 10;
/// And for so long, s.
const WATCHED: u64 = 10;
/// Repeats of each.
const REPEATS: u32 = 3;
/// A full packet on the wire, bytes.
const PACKET: u64 = 1_500;
/// A buffer of fewer packets cannot hold what two flows need to be acknowledged.
const FEW_PACKETS: u64 = 10;

/// One wire.
#[derive(Clone, Copy)]
struct Case {
    rate: u64,
    rtt: u64,
    buffer: u64,
    start: u64,
}

/// Two flows behind a wire: Mbit/s, ms, bytes of its buffer.
pub(super) fn wire(mode: &str, rate: u64, rtt: u64, buffer: u64) -> Experiment {
    Experiment::of("cdbe/sharing")
        .set("mode", mode)
        .set("path.rtt", format!("{rtt} ms"))
        .set("link.rate", format!("{rate} Mbit/s"))
        .set("link.buffer", format!("{buffer} B"))
        .set("sample-interval", "1 s")
}

fn cases() -> impl Iterator<Item = Case> {
    let wires = RATES.iter().flat_map(|&rate| RTTS.map(|rtt| (rate, rtt)));
    wires.flat_map(|(rate, rtt)| {
        let buffers = BUFFERS.iter();
        buffers.flat_map(move |&buffer| {
            STARTS.map(|start| Case {
                rate,
                rtt,
                buffer,
                start,
            })
        })
    })
}

impl Case {
    /// The buffer, bytes; two packets at least.
    fn bytes(self) -> u64 {
        (self.rate * 125 * self.rtt * self.buffer / 10).max(2 * PACKET)
    }

    fn experiment(self, mode: &str) -> Experiment {
        wire(mode, self.rate, self.rtt, self.bytes())
            .set("flow.second.start", format!("{} s", self.start))
            .set("duration", format!("{} s", self.start + SETTLED + WATCHED))
            .at_most(REPEATS)
    }

    /// Jain's index of the two rates once they have settled.
    fn jain(self) -> impl Fn(&RunResult) -> Option<f64> {
        move |run| jain_after(run, self.start + SETTLED)
    }

    /// By how much round trips are longer than the path then, ms.
    fn increase(self) -> impl Fn(&RunResult) -> Option<f64> {
        move |run| increase_after(run, self.rtt, self.start + SETTLED)
    }
}

/// Both, as the scenario names them.
pub(super) const FLOWS: [&str; 2] = ["first", "second"];

/// What a mode comes to.
struct Outcome {
    jain: f64,
    increase: f64,
    reached: usize,
}

fn outcome(results: &Results, mode: &str, cases: &[Case]) -> Outcome {
    let mut all = Outcome {
        jain: 1.0,
        increase: 0.0,
        reached: 0,
    };
    for case in cases {
        let experiment = case.experiment(mode);
        let jain = results.mean(&experiment, case.jain()).mean;
        let increase = results.mean(&experiment, case.increase()).mean;
        all.jain = all.jain.min(jain);
        all.increase = all.increase.max(increase);
        all.reached += usize::from(jain >= 0.95 && increase <= 20.0);
    }
    all
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let all: Vec<Case> = cases().collect();
    let large: Vec<Case> = cases()
        .filter(|case| case.bytes() >= FEW_PACKETS * PACKET)
        .collect();
    let mut claims = Vec::new();
    for (which, cases) in [("", &all), (", buffers of ten packets and more", &large)] {
        let outcomes = MODES.map(|mode| outcome(results, mode, cases));
        let cells =
            |of: fn(&Outcome) -> f64| outcomes.each_ref().map(|outcome| Cell::Exact(of(outcome)));
        let ours = &outcomes[1];
        claims.push(
            Claim::new(
                "our goal",
                format!(
                    "two flows{which}: Jain's index after 10 s, the least of {} cases",
                    cases.len()
                ),
                "(>= 0.95)",
            )
            .measured(
                &cells(|outcome| outcome.jain),
                Verdict::of(ours.jain >= 0.95),
            )
            .if_not("nearly all that do not reach it are of 5 Mbit/s, see the cases below"),
        );
        claims.push(
            Claim::new(
                "our goal",
                format!("two flows{which}: RTT above the path's, ms, the longest"),
                "(<= 20)",
            )
            .measured(
                &cells(|outcome| outcome.increase),
                Verdict::of(ours.increase <= 20.0),
            )
            .note(format!(
                "both goals are reached in {} of {} cases, by `paper` in {}",
                ours.reached,
                cases.len(),
                outcomes[0].reached
            )),
        );
    }
    Part {
        claims,
        text: tables(results),
        ..Part::default()
    }
}

fn tables(results: &Results) -> String {
    let heads: Vec<String> = ["wire Mbit/s", "RTT ms", "second flow"]
        .map(str::to_owned)
        .into_iter()
        .chain(BUFFERS.map(|tenths| format!("{} BDP", tenths as f64 / 10.0)))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let table = |mode: &str| {
        let rows = cases()
            .filter(|case| case.buffer == BUFFERS[0])
            .map(|case| {
                let mut row = vec![
                    case.rate.to_string(),
                    case.rtt.to_string(),
                    match case.start {
                        0 => "with the first".to_owned(),
                        later => format!("{later} s later"),
                    },
                ];
                row.extend(BUFFERS.map(|buffer| {
                    let case = Case { buffer, ..case };
                    let experiment = case.experiment(mode);
                    let jain = results.mean(&experiment, case.jain()).mean;
                    let increase = results.mean(&experiment, case.increase()).mean;
                    format!("{jain:.2}, {increase:.1} ms")
                }));
                row
            });
        markdown::table(&heads, rows)
    };
    format!(
        "Jain's index of the rates, and by how much round trips are longer than the path, from 10 s after the second \
         flow has begun on, for 10 s. Buffers are in bandwidth-delay products, but two packets at the least.\n\n\
         `default`:\n\n{}\n\n`paper`:\n\n{}",
        table("default"),
        table("paper")
    )
}
