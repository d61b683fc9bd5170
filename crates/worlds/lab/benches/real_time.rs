//! What the lab holds on this machine: the goodput of one real TCP flow through the emulated cell, and
//! how late slots of 1 ms are at 100 Mbit/s. Needs root.
#![allow(missing_docs, reason = "a bench")]

use lab::Options;
use scenario::{Experiment, Observers, Overrides, RunResult};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// One Cubic flow over the 5G cell of RAPID's simulations, 852.6 Mbit/s in slots of 125 us.
const FAST: &str = r#"
extends = "fast-cell.inc"
name = "bench-fast"
description = "One flow over 28 GHz"
duration = "10 s"
[flow.bulk]
cc = "cubic"
app = { kind = "continuous" }
tcp = { mss = "1440 B", receive-buffer = "10 MB", send-buffer = "10 MB" }
"#;

/// One Cubic flow over 20 MHz of LTE with 256QAM: 97.9 Mbit/s in slots of 1 ms.
const LTE: &str = r#"
name = "bench-lte"
description = "One flow over 20 MHz of LTE"
duration = "10 s"
[path]
rtt = "50 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
mcs-table = "qam256"
[ue.phone]
channel = { kind = "constant-mcs", mcs = 27 }
[[ue.phone.bearer]]
rlc = "am"
downlink-buffer = "2 MB"
[flow.bulk]
cc = "cubic"
app = { kind = "continuous" }
"#;

fn main() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: the lab's bench needs root");
        return;
    }
    for (text, what) in [
        (FAST, "goal: 500 Mbit/s of goodput"),
        (
            LTE,
            "goal: slots late by less than 0.5 ms at the 99th percentile",
        ),
    ] {
        let experiment = experiment(text);
        let cpu = processor_seconds();
        let began = Instant::now();
        let result = run(&experiment);
        let seconds = began.elapsed().as_secs_f64();
        report(&experiment, &result, (processor_seconds() - cpu) / seconds);
        println!("  {what}");
    }
}

/// Beside the scenarios, which it extends.
fn experiment(text: &str) -> Experiment {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/rapid");
    let file = folder.join(format!(".bench-{}.toml", std::process::id()));
    std::fs::write(&file, text).expect("a scenario");
    let points = scenario::load(&file, &Overrides::default());
    let _ = std::fs::remove_file(&file);
    points
        .unwrap_or_else(|e| panic!("{e}"))
        .remove(0)
        .experiment
}

fn run(experiment: &Experiment) -> RunResult {
    let options = Options {
        program: PathBuf::new(),
        stop: Arc::new(AtomicBool::new(false)),
        record: None,
        scale: None,
        observers: Observers::default(),
    };
    lab::run(experiment, 1, &options).unwrap_or_else(|e| panic!("{e}"))
}

fn report(experiment: &Experiment, result: &RunResult, cores: f64) {
    let time = result.real_time.as_ref().expect("it was in real time");
    let late = &time.lateness;
    println!(
        "{}: {:.1} Mbit/s of goodput through {:.1} Mbit/s (scale {}); slots late by {:.3} ms at the \
         median, {:.3} ms p99, {:.3} ms at most; {cores:.2} cores",
        experiment.name,
        result.flows[0].goodput.as_mbps_f64(),
        result.link.capacity.as_mbps_f64(),
        time.scale,
        late.p50,
        late.p99,
        late.max,
    );
}

/// Processor time of this process and the kernel on its behalf.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
