//! Experiments over the kernel in real time. Needs root.
#![allow(missing_docs, reason = "tests")]

mod cdbe;
mod observed;
mod real_time;

use lab::Options;
use scenario::{Experiment, Observers, Overrides, RunResult};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A download over an LTE cell of constant quality.
const CELL: &str = r#"
name = "cell"
description = "A download over a cell"
duration = "60 s"
sample-interval = "50 ms"
[path]
rtt = "50 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
[ue.a]
channel = { kind = "constant-cqi", cqi = 10 }
[[ue.a.bearer]]
downlink-buffer = "125 kB"
[flow.bulk]
cc = "newreno"
app = { kind = "bulk", size = "4 MB" }
"#;

/// The experiment of a scenario with keys set.
fn experiment(text: &str, set: &[(&str, &str)]) -> Experiment {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let overrides = Overrides {
        set: set.collect(),
        ..Overrides::default()
    };
    let points = scenario::load_str(text, &overrides);
    let mut points = points.unwrap_or_else(|e| panic!("{e}"));
    points.remove(0).experiment
}

/// Of a run without a proxy, which this ends.
fn options(stop: &Arc<AtomicBool>) -> Options {
    Options {
        program: PathBuf::from("no proxy is needed"),
        stop: Arc::clone(stop),
        record: None,
        scale: None,
        observers: Observers::default(),
    }
}

fn run(experiment: &Experiment) -> RunResult {
    let options = options(&Arc::new(AtomicBool::new(false)));
    lab::run(experiment, 1, &options).unwrap_or_else(|e| panic!("{e}"))
}
