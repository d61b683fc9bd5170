//! Figure 6 without a proxy: how unequal 25 equal flows are, by how far apart they begin.

use super::many_flows::SCENARIO;
use super::{Mode, at_rtt, tables};
use crate::claim::{Cell, Claim, Verdicts};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{Window, rlc_drops};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// Repeats of each row.
const REPEATS: u32 = 5;
/// The longest that a flow begins late, evenly distributed.
const JITTERS: [&str; 5] = ["0 s", "1 ms", "10 ms", "100 ms", "1 s"];
/// Round-trip times, ms.
const RTTS: [u32; 2] = [2, 8];
const MODES: [Mode; 2] = [Mode::None, Mode::Default];

pub(super) const SECTION: Section = Section {
    id: "fig6-jitter",
    title: "25 Cubic flows that begin at once or apart (figure 6)",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => all()
            .map(|(rtt, jitter, mode)| at(rtt, jitter, mode))
            .collect(),
    },
    report,
};

fn all() -> impl Iterator<Item = (u32, &'static str, Mode)> {
    RTTS.into_iter().flat_map(|rtt| {
        JITTERS
            .into_iter()
            .flat_map(move |jitter| MODES.map(|mode| (rtt, jitter, mode)))
    })
}

fn at(rtt: u32, jitter: &'static str, mode: Mode) -> Experiment {
    at_rtt(SCENARIO, mode, rtt)
        .set("sample-interval", "1 s")
        .set("flow.cubic.start-jitter", jitter)
        .at_most(REPEATS)
}

/// All have begun: before, the first ones have the link for themselves.
const TOGETHER: Window = Window::from(1.0);
/// From the first one's start on.
const WHOLE: Window = Window::from(0.0);

/// What the flows get, Mbit/s each.
fn rates(run: &RunResult, window: Window) -> Option<Vec<f64>> {
    let flows = run.flows.iter();
    flows.map(|f| window.goodput(&f.name)(run)).collect()
}

/// Jain's index of it.
fn jain(run: &RunResult, window: Window) -> Option<f64> {
    let rates = rates(run, window)?;
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let sum: f64 = rates.iter().sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// How many times as much as the least flow the greatest has.
fn spread(run: &RunResult) -> Option<f64> {
    let rates = rates(run, TOGETHER)?;
    let least = rates.iter().copied().reduce(f64::min)?;
    Some(rates.iter().copied().reduce(f64::max)? / least)
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let row = MODES.map(|mode| {
        let of = all().filter(|(_, _, of)| *of == mode);
        Cell::span(of.map(|(rtt, jitter, mode)| {
            results.mean(&at(rtt, jitter, mode), |run| jain(run, TOGETHER))
        }))
    });
    let [none, default] = row;
    let equal = default.at_least(0.99);
    let verdicts = Verdicts::ours(equal.and(none.lowest().below(0.9)));
    let claim = Claim::new(
        "figure 6",
        "Jain's index of 25 Cubic flows that begin within 0 s to 1 s",
        "unequal -> equal",
    )
    .judged(&[none, Cell::Empty, default], verdicts)
    .note("unequal at some jitter, as below 0.9; equal at each, from 0.99 on")
    .decimals(4);
    Part {
        claims: vec![claim],
        text: table(results),
        figures: Vec::new(),
    }
}

fn table(results: &Results) -> String {
    let head = [
        "RTT",
        "begin within",
        "pep",
        "Jain's index",
        "from the start",
        "greatest over least",
        "RLC drops",
    ];
    let exact = |index: Estimate| format!("{:.4} ± {:.4}", index.mean, index.ci95);
    let rows = all().map(|(rtt, jitter, mode)| {
        let at = at(rtt, jitter, mode);
        vec![
            format!("{rtt} ms"),
            jitter.to_owned(),
            mode.name().to_owned(),
            exact(results.mean(&at, |run| jain(run, TOGETHER))),
            exact(results.mean(&at, |run| jain(run, WHOLE))),
            tables::shown(results.mean(&at, spread)),
            tables::shown(results.mean(&at, rlc_drops)),
        ]
    });
    format!(
        "Each flow begins by up to so much late, as the repeat's seed draws it; the scenario has 10 ms. Goodputs count from \
         1 s on, when all have begun; the column \"from the start\" counts the time as well in which the first ones have the link to \
         themselves. {REPEATS} repeats; at 0 s nothing differs from one to the next.\n\n{}",
        markdown::table(&head, rows)
    )
}
