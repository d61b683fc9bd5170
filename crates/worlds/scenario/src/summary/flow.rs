//! Flows.

use super::{ApplicationSummary, BurstSummary, Spread, mean};
use crate::result::{FlowResult, RunResult};
use crate::statistics::{Estimate, estimate, unit_means};
use serde::Serialize;
use std::collections::BTreeMap;

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its congestion control, or `udp`.
    pub cc: String,
    /// Payload over the time from start to completion, or the run's end.
    pub goodput_bps: Estimate,
    /// End-to-end round-trip times.
    pub rtt_ms: Spread,
    /// One-way delays.
    pub owd_ms: Spread,
    /// One-way delays of segments, before they wait for those that precede them (TCP); not printed of
    /// others.
    #[serde(skip_serializing_if = "Spread::is_empty")]
    pub segment_delay_ms: Spread,
    /// From start to completion; none unless it finished in every repeat.
    pub completion_s: Option<Estimate>,
    /// In how many repeats it finished (0 if it has no end).
    pub finished: usize,
    /// Load times of pages or transfers.
    pub load_time_ms: Spread,
    /// Interarrival jitter at the end (RFC 3550 6.4.1).
    pub jitter_ms: f64,
    /// Payload delivered.
    pub delivered_bytes: f64,
    /// Segments sent again.
    pub retransmits: f64,
    /// Packets that the network dropped.
    pub lost: f64,
    /// Packets lost in a row, of UDP; not printed of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_bursts: Option<BurstSummary>,
    /// How often each reason decided of a loss, with MELD; not printed without.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loss_decisions: BTreeMap<&'static str, f64>,
    /// What its application measured; not printed of those that measure nothing of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationSummary>,
}

pub(super) fn flow_summary(index: usize, named: &FlowResult, runs: &[RunResult]) -> FlowSummary {
    let flows = || runs.iter().filter_map(|run| run.flows.get(index));
    let of = |value: fn(&FlowResult) -> f64| mean(flows().map(value));
    let goodput: Vec<f64> = flows().map(|flow| flow.goodput.as_bps() as f64).collect();
    let completion: Vec<f64> = flows()
        .filter_map(|flow| flow.completion)
        .map(|time| time.as_secs_f64())
        .collect();
    let units = RunResult::units(runs);
    let of_units = |values: &[f64]| estimate(&unit_means(values, &units));
    let all_finished = completion.len() == runs.len() && !runs.is_empty();
    FlowSummary {
        name: named.name.clone(),
        cc: named.cc.clone(),
        goodput_bps: of_units(&goodput),
        rtt_ms: Spread::of(flows().map(|flow| &flow.rtt)),
        owd_ms: Spread::of(flows().map(|flow| &flow.owd)),
        segment_delay_ms: Spread::of(flows().map(|flow| &flow.segment_delay)),
        completion_s: all_finished.then(|| of_units(&completion)),
        finished: completion.len(),
        load_time_ms: Spread::of(flows().map(|flow| &flow.load_time)),
        jitter_ms: of(|flow| flow.jitter_ms),
        delivered_bytes: of(|flow| flow.delivered.get() as f64),
        retransmits: of(|flow| flow.retransmits as f64),
        lost: of(|flow| flow.lost as f64),
        loss_bursts: BurstSummary::of(flows().filter_map(|flow| flow.loss_bursts.as_ref())),
        loss_decisions: loss_decisions(flows(), runs.len()),
        application: ApplicationSummary::of(index, runs),
    }
}

/// How often each reason decided, in a repeat.
fn loss_decisions<'a>(
    flows: impl Iterator<Item = &'a FlowResult>,
    repeats: usize,
) -> BTreeMap<&'static str, f64> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for (_, decision) in flows.flat_map(|flow| &flow.loss_decisions) {
        *counts.entry(decision.reason.name()).or_default() += 1;
    }
    let mean = |count: u64| count as f64 / repeats as f64;
    counts
        .into_iter()
        .map(|(reason, count)| (reason, mean(count)))
        .collect()
}
