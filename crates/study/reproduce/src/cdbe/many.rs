//! More than two flows of CDBE through one buffer: a goal of ours.

use super::measures::{increase_after, jain_after};
use super::sharing::wire;
use super::{MODES, unless_quick};
use crate::claim::{Cell, Claim, Verdict};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};

/// Many flows through one buffer.
pub(super) const SECTION: Section = Section {
    id: "many",
    title: "Many downloads through one buffer",
    experiments: |extent| {
        unless_quick(extent, || {
            let of = |case: Case| MODES.map(|mode| case.experiment(mode));
            cases().flat_map(of).collect()
        })
    },
    report,
};

/// Mbit/s.
const RATES: [u64; 2] = [20, 100];
/// ms.
const RTTS: [u64; 2] = [20, 60];
/// Flows.
const COUNTS: [u64; 5] = [3, 5, 10, 20, 50];
/// Of which the goal is stated: fifty have less than half a megabit a second each on the slower wire.
const MAX_COUNT: u64 = 20;
/// The first begins at once, and each other within so long, ms.
const SPREADS: [u64; 2] = [10, 5_000];
/// The buffer, bandwidth-delay products.
const BUFFER: u64 = 2;
/// They are looked at from so long after the last may have begun, s.
const SETTLED: u64 = 10;
/// And for so long, s.
const WATCHED: u64 = 10;
/// Repeats of each.
const REPEATS: u32 = 3;
/// The goal.
const FAIR: f64 = 0.95;

/// One wire.
#[derive(Clone, Copy)]
struct Case {
    rate: u64,
    rtt: u64,
    spread: u64,
    count: u64,
}

fn cases() -> impl Iterator<Item = Case> {
    let wires = RATES.iter().flat_map(|&rate| RTTS.map(|rtt| (rate, rtt)));
    let starts = wires.flat_map(|(rate, rtt)| SPREADS.map(|spread| (rate, rtt, spread)));
    starts.flat_map(|(rate, rtt, spread)| {
        COUNTS.map(|count| Case {
            rate,
            rtt,
            spread,
            count,
        })
    })
}

impl Case {
    fn experiment(self, mode: &str) -> Experiment {
        wire(
            mode,
            self.rate,
            self.rtt,
            self.rate * 125 * self.rtt * BUFFER,
        )
        .set("flow.second.start", "0 s")
        .set("flow.second.start-jitter", format!("{} ms", self.spread))
        .set("flow.second.count", (self.count - 1).to_string())
        .set("duration", format!("{} s", self.begins() + WATCHED))
        .at_most(REPEATS)
    }

    /// When it is looked at, s.
    fn begins(self) -> u64 {
        self.spread / 1_000 + SETTLED
    }

    fn jain(self, results: &Results, mode: &str) -> f64 {
        let measure = |run: &_| jain_after(run, self.begins());
        results.mean(&self.experiment(mode), measure).mean
    }

    fn increase(self, results: &Results, mode: &str) -> f64 {
        let measure = |run: &_| increase_after(run, self.rtt, self.begins());
        results.mean(&self.experiment(mode), measure).mean
    }
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let all: Vec<Case> = cases().filter(|case| case.count <= MAX_COUNT).collect();
    let jains = |mode| -> Vec<f64> { all.iter().map(|case| case.jain(results, mode)).collect() };
    let jains = MODES.map(jains);
    let least = jains
        .each_ref()
        .map(|all| all.iter().copied().fold(1.0, f64::min));
    let reached = jains
        .each_ref()
        .map(|all| all.iter().filter(|&&jain| jain >= FAIR).count());
    let claim = Claim::new(
        "our goal",
        format!(
            "3 to {MAX_COUNT} flows: Jain's index after 10 s, the least of {} cases",
            all.len()
        ),
        "(>= 0.95)",
    )
    .measured(&least.map(Cell::Exact), Verdict::of(least[1] >= FAIR))
    .note(format!(
        "it is reached in {} of them, by `paper` in {}",
        reached[1], reached[0]
    ));
    Part {
        claims: vec![claim],
        text: tables(results),
        ..Part::default()
    }
}

fn tables(results: &Results) -> String {
    let names = COUNTS.map(|count| format!("{count} flows"));
    let heads: Vec<&str> = ["mode", "wire Mbit/s", "RTT ms", "the others begin"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let rows = ["default", "paper"].into_iter().flat_map(|mode| {
        let rows = cases().filter(|case| case.count == COUNTS[0]);
        rows.map(move |case| (mode, case))
    });
    let rows = rows.map(|(mode, case)| {
        let mut row = vec![
            format!("`{mode}`"),
            case.rate.to_string(),
            case.rtt.to_string(),
            match case.spread {
                0..1_000 => "with the first".to_owned(),
                later => format!("within {} s", later / 1_000),
            },
        ];
        row.extend(COUNTS.map(|count| {
            let case = Case { count, ..case };
            let (jain, increase) = (case.jain(results, mode), case.increase(results, mode));
            format!("{jain:.2}, {increase:.1} ms")
        }));
        row
    });
    format!(
        "Jain's index of the rates, and by how much round trips are longer than the path, from {SETTLED} s after the last \
         flow may have begun on, for {WATCHED} s. The buffer holds {BUFFER} bandwidth-delay products.\n\n{}",
        markdown::table(&heads, rows)
    )
}
