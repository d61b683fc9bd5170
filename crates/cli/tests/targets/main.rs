//! What the mechanisms reach in the shipped scenarios, as bounds: simulated, with fixed seeds.
#![allow(missing_docs, reason = "tests")]

mod cdbe;
mod dynamic_buffer;
mod meld;
mod rapid;

use scenario::{Experiment, Overrides, RunResult, load};
use std::path::Path;

/// A scenario of `scenarios/`, by its path without `.toml`, with these settings.
fn experiment(path: &str, set: &[(&str, &str)]) -> Experiment {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    let mut points = load(&scenarios.join(path).with_extension("toml"), &overrides)
        .unwrap_or_else(|error| panic!("{error}"));
    points.swap_remove(0).experiment
}

fn simulate(experiment: &Experiment, seed: u64) -> RunResult {
    sim::run(experiment, seed).unwrap_or_else(|error| panic!("{error}"))
}

/// One run, with the seed of the scenario.
fn run(path: &str, set: &[(&str, &str)]) -> RunResult {
    let experiment = experiment(path, set);
    simulate(&experiment, experiment.seed)
}

/// Runs with the seeds 1 to `repeats`.
fn repeated(path: &str, set: &[(&str, &str)], repeats: u64) -> Vec<RunResult> {
    let experiment = experiment(path, set);
    let seeds = 1..=repeats;
    seeds.map(|seed| simulate(&experiment, seed)).collect()
}
