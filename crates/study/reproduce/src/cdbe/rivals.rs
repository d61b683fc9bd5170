//! CDBE beside a flow of another controller in one buffer: a goal of ours.

use super::measures::after;
use super::sharing::{FLOWS, wire};
use super::{MODES, named, unless_quick};
use crate::claim::{Cell, Claim, Verdict, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Metric, RunResult};

/// Beside Cubic and beside BBR behind a wire.
pub(super) const SECTION: Section = Section {
    id: "rivals",
    title: "Beside Cubic and BBR in one buffer",
    experiments: |extent| {
        unless_quick(extent, || {
            let of = |case: Case| MODES.map(|mode| case.experiment(mode));
            cases().flat_map(of).collect()
        })
    },
    report,
};

const RIVALS: [&str; 2] = ["cubic", "bbr"];
/// Mbit/s.
const RATES: [u64; 2] = [10, 50];
/// ms.
const RTTS: [u64; 2] = [20, 60];
/// Bandwidth-delay products.
const BUFFERS: [u64; 4] = [1, 2, 4, 8];
/// When CDBE and its rival begin, s.
const STARTS: [[u64; 2]; 2] = [[0, 3], [3, 0]];
/// It is looked at from then on, s.
pub(super) const SETTLED: u64 = 13;
const DURATION: u64 = 43;
/// Repeats of each.
const REPEATS: u32 = 3;
/// Per cent of both that are a fair part.
const FAIR: [f64; 2] = [35.0, 65.0];

#[derive(Clone, Copy)]
struct Case {
    rival: &'static str,
    rate: u64,
    rtt: u64,
    buffer: u64,
    starts: [u64; 2],
}

fn cases() -> impl Iterator<Item = Case> {
    let rivals = RIVALS.iter().flat_map(|&rival| RATES.map(|r| (rival, r)));
    let wires = rivals.flat_map(|(rival, rate)| RTTS.map(|rtt| (rival, rate, rtt)));
    let starts = wires.flat_map(|(rival, rate, rtt)| STARTS.map(|s| (rival, rate, rtt, s)));
    starts.flat_map(|(rival, rate, rtt, starts)| {
        BUFFERS.map(|buffer| Case {
            rival,
            rate,
            rtt,
            buffer,
            starts,
        })
    })
}

impl Case {
    fn experiment(self, mode: &str) -> Experiment {
        let bytes = self.rate * 125 * self.rtt * self.buffer;
        let [own, rival] = self.starts;
        wire(mode, self.rate, self.rtt, bytes)
            .set("flow.second.cc", self.rival)
            .set("flow.first.start", format!("{own} s"))
            .set("flow.second.start", format!("{rival} s"))
            .set("duration", format!("{DURATION} s"))
            .at_most(REPEATS)
    }
}

/// CDBE's part of both once they have settled, per cent.
pub(super) fn share(run: &RunResult) -> Option<f64> {
    let [own, rival] = FLOWS.map(|flow| {
        let goodputs = after(run, flow, Metric::Goodput, SETTLED);
        goodputs.iter().sum::<f64>()
    });
    (own + rival > 0.0).then(|| 100.0 * own / (own + rival))
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let claims = RIVALS.iter().map(|&rival| {
        let reached = MODES.map(|mode| {
            let all = cases().filter(|case| case.rival == rival);
            let shares = all.map(|case| results.mean(&case.experiment(mode), share).mean);
            let is_fair = |share: &f64| (FAIR[0]..=FAIR[1]).contains(share);
            shares.filter(is_fair).count()
        });
        let count = cases().filter(|case| case.rival == rival).count();
        Claim::new(
            "our goal",
            format!(
                "beside {}, buffers of 1 to 8 BDP: cases of {count} in which CDBE has 35 to 65 % of both",
                named(rival)
            ),
            "(all)",
        )
        .measured(
            &reached.map(|cases| Cell::Exact(cases as f64)),
            Verdict::of(reached[1] == count),
        )
        .if_not("see below")
    });
    Part {
        claims: claims.collect(),
        text: tables(results),
        ..Part::default()
    }
}

fn tables(results: &Results) -> String {
    let names = BUFFERS.map(|buffer| format!("{buffer} BDP"));
    let heads: Vec<&str> = ["mode", "rival", "wire Mbit/s", "RTT ms", "begins first"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let rows = MODES.into_iter().flat_map(|mode| {
        let rows = cases().filter(|case| case.buffer == BUFFERS[0]);
        rows.map(move |case| (mode, case))
    });
    let rows = rows.map(|(mode, case)| {
        let mut row = vec![
            format!("`{mode}`"),
            named(case.rival).to_owned(),
            case.rate.to_string(),
            case.rtt.to_string(),
            if case.starts[0] == 0 {
                "CDBE"
            } else {
                "the rival"
            }
            .to_owned(),
        ];
        row.extend(BUFFERS.map(|buffer| {
            let case = Case { buffer, ..case };
            with_interval(results.mean(&case.experiment(mode), share))
        }));
        row
    });
    format!(
        "CDBE's part of both goodputs, per cent, from {SETTLED} s on, for {} s; the one that begins later does so after 3 s.\n\n{}",
        DURATION - SETTLED,
        markdown::table(&heads, rows)
    )
}
