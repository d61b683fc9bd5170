//! 25 Cubic flows of one user (4.3, figure 6) at 2 and 8 ms.

use super::{Mode, at_rtt, each_mode, grid, tables};
use crate::claim::{Cell, Claim, Verdict};
use crate::figure::{Axis, Figure, Panel, Shape, Trace};
use crate::markdown;
use crate::measure::{jain, rlc_drops, total_goodput};
use crate::results::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Distribution, RunResult};

const SCENARIO: &str = "rapid/scalability";
const RTTS: [u32; 2] = [2, 8];

pub(super) const SECTION: Section = Section {
    id: "fig6",
    title: "25 Cubic flows (figure 6)",
    experiments: |_| grid(SCENARIO, &RTTS),
    report,
};

fn report(_: &Extent, results: &Results) -> Part {
    Part {
        claims: claims(results),
        text: table(results),
        figures: vec![figure(results)],
    }
}

fn claims(results: &Results) -> Vec<Claim> {
    let span = |mode, measure: fn(&RunResult) -> Option<f64>| {
        Cell::span(RTTS.map(|rtt| results.mean(&at_rtt(SCENARIO, mode, rtt), measure)))
    };
    let index = each_mode(|mode| span(mode, jain));
    let drops = each_mode(|mode| span(mode, rlc_drops));
    vec![
        Claim {
            place: "figure 6",
            what: "without: Jain's index of 25 Cubic flows".to_owned(),
            paper: "unequal",
            verdict: Verdict::of(index[0].least() < 0.9),
            ours: vec![index[0].clone(), Cell::Empty, Cell::Empty],
            reason: "unequal is taken as below 0.9; over a whole run, ours are nearly equal"
                .to_owned(),
        },
        Claim {
            place: "figure 6",
            what: "with: the same".to_owned(),
            paper: "equal",
            verdict: Verdict::of(index[2].least() >= 0.99),
            ours: index,
            reason: String::new(),
        },
        Claim {
            place: "figure 6",
            what: "packets that the RLC buffer dropped".to_owned(),
            paper: "some -> none",
            verdict: Verdict::of(drops[0].most() > 0.0 && drops[2].most() == 0.0),
            ours: drops,
            reason: String::new(),
        },
    ]
}

fn table(results: &Results) -> String {
    let head = [
        "RTT",
        "pep",
        "all flows Mbit/s",
        "least flow Mbit/s",
        "greatest flow Mbit/s",
        "Jain's index",
        "RTT mean ms",
        "RTT p95 ms",
        "utilisation %",
        "RLC drops",
    ];
    let rows = RTTS.into_iter().flat_map(|rtt| {
        Mode::ALL.map(|mode| {
            let at = at_rtt(SCENARIO, mode, rtt);
            let mean = |measure: &dyn Fn(&RunResult) -> Option<f64>| {
                tables::shown(results.mean(&at, measure))
            };
            vec![
                format!("{rtt} ms"),
                mode.name().to_owned(),
                mean(&total_goodput),
                mean(&|run| rates(run).into_iter().reduce(f64::min)),
                mean(&|run| rates(run).into_iter().reduce(f64::max)),
                format!("{:.4}", results.mean(&at, jain).mean),
                mean(&|run| over_flows(run, |rtt| rtt.mean)),
                mean(&|run| over_flows(run, |rtt| rtt.p95)),
                mean(&crate::measure::utilisation),
                mean(&rlc_drops),
            ]
        })
    });
    markdown::table(&head, rows)
}

/// Goodputs of all flows, Mbit/s.
fn rates(run: &RunResult) -> Vec<f64> {
    let flows = run.flows.iter();
    flows.map(|f| f.goodput.as_bps() as f64 / 1e6).collect()
}

/// The mean over all flows of something of their round-trip times.
fn over_flows(run: &RunResult, value: fn(&Distribution) -> f64) -> Option<f64> {
    let flows = run.flows.len();
    (flows > 0).then(|| run.flows.iter().map(|f| value(&f.rtt)).sum::<f64>() / flows as f64)
}

fn figure(results: &Results) -> Figure {
    let panel = |letter: &str,
                 what: &str,
                 rtt: u32,
                 x: Axis,
                 points: fn(&[RunResult]) -> Vec<(f64, f64)>| {
        let trace = |mode: Mode| Trace {
            name: mode.name().to_owned(),
            points: points(results.runs(&at_rtt(SCENARIO, mode, rtt))),
        };
        Panel {
            title: format!("({letter}) {what}, base RTT {rtt} ms"),
            x,
            y: Axis::linear("share of flows and repeats at most that"),
            shape: Shape::Lines(Mode::ALL.map(trace).to_vec()),
        }
    };
    let goodput = Axis::linear("goodput of a flow (Mbit/s)");
    let delay = Axis::logarithmic("RTT (ms)");
    let mut panels = Vec::new();
    for (letter, rtt) in [("a", 2), ("b", 8)] {
        panels.push(panel(letter, "goodput of 25 flows", rtt, goodput, goodputs));
    }
    for (letter, rtt) in [("c", 2), ("d", 8)] {
        panels.push(panel(letter, "RTT of 25 flows", rtt, delay, delays));
    }
    Figure {
        name: "fig6",
        title: "25 Cubic flows of one user".to_owned(),
        columns: 2,
        panels,
    }
}

/// The distribution function of the goodputs of all flows in all repeats, as steps.
fn goodputs(runs: &[RunResult]) -> Vec<(f64, f64)> {
    let mut all: Vec<f64> = runs.iter().flat_map(rates).collect();
    all.sort_by(f64::total_cmp);
    steps(&all)
}

fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    let share = |count: usize| count as f64 / sorted.len() as f64;
    let both = |(i, value): (usize, &f64)| [(*value, share(i)), (*value, share(i + 1))];
    sorted.iter().enumerate().flat_map(both).collect()
}

/// The distribution function of the round-trip times of all flows in all repeats, each flow counted
/// alike.
fn delays(runs: &[RunResult]) -> Vec<(f64, f64)> {
    let flows = || {
        runs.iter()
            .flat_map(|run| &run.flows)
            .map(|flow| &flow.rtt.cdf)
    };
    let count = flows().count().max(1) as f64;
    let mut jumps: Vec<(f64, f64)> = flows()
        .flat_map(|cdf| {
            let before = core::iter::once(0.0).chain(cdf.iter().map(|(_, share)| *share));
            cdf.iter()
                .zip(before)
                .map(|((ms, share), before)| (*ms, share - before))
        })
        .collect();
    jumps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let points = jumps.iter().map(|(ms, jump)| {
        sum += jump / count;
        (*ms, sum)
    });
    thinned(points.collect())
}

/// Every so many points, and the last, so that there are at most about 400.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MOST: usize = 400;
    let every = points.len().div_ceil(MOST).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.into_iter().enumerate();
    kept.filter(|(i, _)| i % every == 0 || *i == last)
        .map(|(_, point)| point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::FlowResult;

    fn run(cdfs: &[&[(f64, f64)]]) -> RunResult {
        let flows = cdfs.iter().map(|cdf| FlowResult {
            rtt: Distribution {
                cdf: cdf.to_vec(),
                ..Distribution::default()
            },
            ..FlowResult::default()
        });
        RunResult {
            flows: flows.collect(),
            ..RunResult::default()
        }
    }

    #[test]
    fn delays_of_all_flows_count_alike() {
        // half of the first flow's at 1 ms, the rest at 3 ms; all of the second's at 2 ms
        let run = run(&[&[(1.0, 0.5), (3.0, 1.0)], &[(2.0, 1.0)]]);
        assert_eq!(delays(&[run]), [(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]);
        assert_eq!(delays(&[]), []);
    }

    #[test]
    fn goodputs_are_steps() {
        assert_eq!(
            steps(&[1.0, 4.0]),
            [(1.0, 0.0), (1.0, 0.5), (4.0, 0.5), (4.0, 1.0)]
        );
    }

    #[test]
    fn thinning_keeps_the_last_point() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), 0.0)).collect();
        let kept = thinned(points);
        assert!(
            kept.len() <= 401 && kept.last() == Some(&(999.0, 0.0)),
            "{}",
            kept.len()
        );
    }
}
