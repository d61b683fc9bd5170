//! What RAPID, mode `default`, must reach in the shipped scenarios of `scenarios/rapid/`.

mod bursty;
mod los;
mod many;
mod narrow;
mod nlos;
mod oai;
mod reports;

use scenario::{Distribution, FlowResult, RunResult};

/// Of the paper's 1, 2, 4, 8 and 10: `reproduce rapid` has all.
pub(super) const RTTS_MS: [u32; 3] = [1, 4, 10];

/// Duration of the mixed scenarios here, of 30 s: with one of BBR's ProbeRTT, and the walk behind the buildings.
pub(super) const MIXED: &str = "12 s";

pub(super) fn run(scenario: &str, set: &[(&str, &str)]) -> RunResult {
    crate::run(&format!("rapid/{scenario}"), set)
}

pub(super) fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result
        .flows
        .iter()
        .find(|flow| flow.name == name)
        .expect("a flow of that name")
}

pub(super) fn completion(flow: &FlowResult) -> f64 {
    flow.completion
        .unwrap_or_else(|| panic!("{} did not finish", flow.name))
        .as_secs_f64()
}

pub(super) fn rlc_drops(result: &RunResult) -> u64 {
    result
        .queues
        .iter()
        .filter(|q| q.name.starts_with("rlc/"))
        .map(|q| q.drops)
        .sum()
}

/// Mean RTT above the base, ms.
pub(super) fn increase(rtt: &Distribution, base_ms: f64) -> f64 {
    (rtt.mean - base_ms).max(0.001)
}

/// Jain's fairness index of the flows' goodputs.
pub(super) fn jain(result: &RunResult) -> f64 {
    let rates = || result.flows.iter().map(|f| f.goodput.as_mbps_f64());
    let sum: f64 = rates().sum();
    let squares: f64 = rates().map(|rate| rate * rate).sum();
    sum * sum / (result.flows.len() as f64 * squares)
}
