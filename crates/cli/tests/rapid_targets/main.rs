//! What mode `default` must do in the shipped scenarios of `scenarios/rapid/`, as bounds.
#![allow(missing_docs, reason = "a test")]

mod los;
mod many;
mod nlos;
mod oai;
mod reports;

use scenario::{Distribution, FlowResult, Overrides, RunResult, load};
use std::path::Path;

pub(crate) const RTTS_MS: [u32; 5] = [1, 2, 4, 8, 10];

pub(crate) fn run(scenario: &str, set: &[(&str, &str)]) -> RunResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/rapid");
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let points = load(&folder.join(scenario).with_extension("toml"), &overrides)
        .unwrap_or_else(|error| panic!("{error}"));
    let experiment = &points[0].experiment;
    sim::run(experiment, experiment.seed).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result
        .flows
        .iter()
        .find(|flow| flow.name == name)
        .expect("a flow of that name")
}

pub(crate) fn completion(flow: &FlowResult) -> f64 {
    flow.completion
        .unwrap_or_else(|| panic!("{} did not finish", flow.name))
        .as_secs_f64()
}

pub(crate) fn rlc_drops(result: &RunResult) -> u64 {
    result
        .queues
        .iter()
        .filter(|q| q.name.starts_with("rlc/"))
        .map(|q| q.drops)
        .sum()
}

/// Mean RTT above the base, ms.
pub(crate) fn increase(rtt: &Distribution, base_ms: f64) -> f64 {
    (rtt.mean - base_ms).max(0.001)
}
