//! The tables that every experiment has in common.

use super::Mode;
use crate::claim::{number, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use scenario::{FlowSummary, Summary};

const FLOWS: [&str; 9] = [
    "pep",
    "flow",
    "goodput Mbit/s",
    "completion s",
    "RTT mean ms",
    "p90",
    "p95",
    "utilisation %",
    "RLC drops",
];

/// Experiments with what distinguishes them in the table.
pub(super) type Labelled = (String, Mode, Experiment);

/// Goodput, completion, round-trip times, utilisation and drops of these flows.
pub(super) fn flows(results: &Results, head: &str, rows: &[Labelled], names: &[&str]) -> String {
    let mut heads = vec![head];
    heads.extend(FLOWS);
    let lines = rows.iter().flat_map(|(label, mode, experiment)| {
        let summary = results.summary(experiment);
        let flows = summary
            .into_iter()
            .flat_map(|s| s.flows.iter().map(move |f| (s, f)));
        flows
            .filter(|(_, flow)| names.contains(&flow.name.as_str()))
            .map(move |(summary, flow)| flow_row(label, *mode, summary, flow))
    });
    markdown::table(&heads, lines)
}

fn flow_row(label: &str, mode: Mode, summary: &Summary, flow: &FlowSummary) -> Vec<String> {
    let rtt = flow.rtt_ms;
    vec![
        label.to_owned(),
        mode.name().to_owned(),
        flow.name.clone(),
        goodput(flow),
        flow.completion_s.map_or("-".to_owned(), with_interval),
        number(rtt.mean),
        number(rtt.p90),
        number(rtt.p95),
        format!("{:.1}", 100.0 * summary.link.utilisation),
        format!("{:.0}", rlc_drops(summary)),
    ]
}

/// A mean with its interval, for a cell.
pub(super) fn shown(estimate: scenario::Estimate) -> String {
    with_interval(estimate)
}

fn goodput(flow: &FlowSummary) -> String {
    let scenario::Estimate { mean, ci95 } = flow.goodput_bps;
    with_interval(scenario::Estimate {
        mean: mean / 1e6,
        ci95: ci95 / 1e6,
    })
}

fn rlc_drops(summary: &Summary) -> f64 {
    let queues = summary.queues.iter().filter(|q| q.name.starts_with("rlc/"));
    queues.map(|q| q.drops).sum()
}

/// Goodput, one-way delay, jitter and loss of a UDP flow.
pub(super) fn udp(results: &Results, head: &str, rows: &[Labelled], name: &str) -> String {
    let heads = [
        head,
        "pep",
        "UDP goodput Mbit/s",
        "one-way delay mean ms",
        "p95",
        "jitter ms",
        "lost",
    ];
    let lines = rows.iter().flat_map(|(label, mode, experiment)| {
        let flows = results.summary(experiment).map_or(&[][..], |s| &s.flows);
        flows
            .iter()
            .filter(|flow| flow.name == name)
            .map(move |flow| {
                vec![
                    label.clone(),
                    mode.name().to_owned(),
                    goodput(flow),
                    number(flow.owd_ms.mean),
                    number(flow.owd_ms.p95),
                    number(flow.jitter_ms),
                    format!("{:.1}", flow.lost),
                ]
            })
    });
    markdown::table(&heads, lines)
}
