//! The table that all downloads have in common.

use crate::claim::{number, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::ran::Results;
use scenario::Estimate;

/// Experiments with what distinguishes them.
pub(super) type Labelled = (Vec<String>, Experiment);

/// Goodput, completion, round-trip times, and packets lost of one flow.
pub(super) fn flows(results: &Results, heads: &[&str], rows: &[Labelled], name: &str) -> String {
    let columns = [
        "goodput Mbit/s",
        "completion s",
        "RTT mean ms",
        "p50",
        "p95",
        "lost",
        "sent again",
    ];
    let heads: Vec<&str> = heads.iter().copied().chain(columns).collect();
    let lines = rows.iter().filter_map(|(labels, experiment)| {
        let summary = results.summary(experiment)?;
        let flow = summary.flows.iter().find(|flow| flow.name == name)?;
        let goodput = Estimate {
            mean: flow.goodput_bps.mean / 1e6,
            ci95: flow.goodput_bps.ci95 / 1e6,
        };
        let rtt = flow.rtt_ms;
        let mut line = labels.clone();
        line.extend([
            with_interval(goodput),
            flow.completion_s.map_or("-".to_owned(), with_interval),
            number(rtt.mean),
            number(rtt.p50),
            number(rtt.p95),
            format!("{:.0}", flow.lost),
            format!("{:.0}", flow.retransmits),
        ]);
        Some(line)
    });
    markdown::table(&heads, lines)
}

/// A mean with its interval.
pub(super) fn shown(estimate: Estimate) -> String {
    with_interval(estimate)
}
