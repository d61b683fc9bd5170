//! Experiments in real time over the kernel's TCP, without a proxy. Needs root.

use crate::{experiment, options, run};
use lab::Error;
use scenario::{FlowResult, RunResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testing::{has_root, wait_until};

/// What ends by itself over a wire: both directions, each congestion control, ECN.
const FINITE: &str = r#"
name = "finite"
description = "Downloads, an upload and short ones over a wire"
duration = "120 s"
[path]
rtt = "20 ms"
[link]
rate = "40 Mbit/s"
uplink-rate = "20 Mbit/s"
buffer = "200 kB"
[flow.down]
cc = "cubic"
ecn = "classic"
app = { kind = "bulk", size = "4 MB" }
[flow.up]
cc = "bbr"
direction = "up"
app = { kind = "bulk", size = "2 MB" }
[flow.short]
cc = "cubic"
app = { kind = "short", size = "20 kB", interval = "500 ms", count = 4 }
"#;

/// What goes on for the whole of a run: a browser, a stream of constant rate with ECN, a call.
const ENDLESS: &str = r#"
name = "endless"
description = "A browser, a stream and a call over a wire"
duration = "5 s"
[path]
rtt = "20 ms"
[link]
rate = "40 Mbit/s"
buffer = "200 kB"
[flow.web]
cc = "newreno"
app = { kind = "web", size = "100 kB", interval = "1 s" }
[flow.cbr]
ecn = "l4s"
app = { kind = "cbr", rate = "2 Mbit/s", stop = "3 s" }
[flow.voip]
app = { kind = "voip" }
"#;

/// A download over a wire.
const WIRE: &str = r#"
name = "wire"
description = "A download over a wire"
duration = "3 s"
[path]
rtt = "20 ms"
[link]
rate = "50 Mbit/s"
buffer = "125 kB"
[flow.bulk]
cc = "cubic"
app = { kind = "continuous" }
"#;

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    let found = result.flows.iter().find(|flow| flow.name == name);
    found.unwrap_or_else(|| panic!("no flow {name}"))
}

fn assert_delays_of_the_path(result: &RunResult, names: &[&str]) {
    for name in names {
        let rtt = &flow(result, name).rtt;
        assert!(rtt.count > 0 && rtt.min >= 20.0, "{name}: {} ms", rtt.min);
        let owd = &flow(result, name).owd;
        assert!(owd.min >= 10.0, "{name}: {} ms", owd.min);
    }
}

#[test]
fn every_byte_of_what_ends_arrives() {
    if !has_root("every_byte_of_what_ends_arrives") {
        return;
    }
    let result = run(&experiment(FINITE, &[]));
    let delivered = |name: &str| flow(&result, name).delivered.get();
    assert_eq!(delivered("down"), 4_000_000);
    assert_eq!(delivered("up"), 2_000_000);
    assert_eq!(delivered("short"), 4 * 20_000);
    assert_eq!(flow(&result, "short").load_time.count, 4);
    assert_delays_of_the_path(&result, &["down", "up", "short"]);
}

#[test]
fn what_goes_on_for_the_whole_run_is_carried() {
    if !has_root("what_goes_on_for_the_whole_run_is_carried") {
        return;
    }
    let result = run(&experiment(ENDLESS, &[]));
    let delivered = |name: &str| flow(&result, name).delivered.get();
    // a page a second at most, and as many whole ones as were loaded
    let pages = flow(&result, "web").load_time.count;
    assert!(pages <= 5, "{pages} pages");
    assert!(delivered("web") > 0 && delivered("web") >= pages * 100_000);
    // 2 Mbit/s for 3 s are 511 packets
    let cbr = delivered("cbr");
    assert!(cbr > 0 && cbr <= 511 * 1_470, "{cbr}");
    assert!(delivered("voip") > 0);
    assert_delays_of_the_path(&result, &["web"]);
}

#[test]
fn labs_of_a_process_run_concurrently() {
    if !has_root("labs_of_a_process_run_concurrently") {
        return;
    }
    let rates = ["20 Mbit/s", "50 Mbit/s"];
    let results = std::thread::scope(|scope| {
        rates
            .map(|rate| {
                let experiment = experiment(WIRE, &[("link.rate", rate)]);
                scope.spawn(move || run(&experiment))
            })
            .map(|thread| thread.join().expect("a run"))
    });
    for (result, rate) in results.iter().zip([20.0, 50.0]) {
        let goodput = flow(result, "bulk").goodput.as_mbps_f64();
        assert!(
            goodput > 0.0 && goodput < rate,
            "{goodput} of {rate} Mbit/s"
        );
    }
}

/// Whether a lab of this process is set up.
fn has_folder() -> bool {
    let prefix = format!("lab-{}-", std::process::id());
    let entries = std::fs::read_dir("/run/brimful").into_iter().flatten();
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.any(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&prefix)) && path.join("owner").exists()
    })
}

#[test]
fn a_stopped_run_ends() {
    if !has_root("a_stopped_run_ends") {
        return;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let experiment = experiment(WIRE, &[("duration", "3600 s")]);
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| lab::run(&experiment, 1, &options(&stop)));
        wait_until("the lab's folder", has_folder);
        stop.store(true, Ordering::Relaxed);
        run.join().expect("a run")
    });
    assert!(matches!(result, Err(Error::Interrupted)), "{result:?}");
}
