//! CDBE over the kernel's TCP. Needs root.

use crate::{CELL, experiment, run};
use scenario::{Metric, RunResult};
use testing::has_root;
use units::{Duration, Instant};

/// What makes of the download over a cell one with CDBE.
const CDBE: [(&str, &str); 3] = [
    ("duration", "4 s"),
    ("flow.bulk.cc", "cdbe"),
    ("flow.bulk.app.size", "10 MB"),
];

/// A download over a wire.
const WIRE: &str = r#"
name = "wire"
description = "A download over a wire"
duration = "4 s"
sample-interval = "100 ms"
[path]
rtt = "40 ms"
[link]
rate = "30 Mbit/s"
buffer = "250 kB"
[flow.bulk]
cc = "cdbe"
app = { kind = "continuous" }
"#;

/// The mean of the flow's series from a second on; none if it has none.
fn mean(result: &RunResult, metric: Metric) -> Option<f64> {
    let mut all = result.series.iter();
    let series = all.find(|series| series.entity == "bulk" && series.metric == metric)?;
    let begins = Instant::ZERO + Duration::from_secs(1);
    let values = series.points.iter().filter(|(at, _)| *at > begins);
    let values: Vec<f64> = values.map(|(_, value)| *value).collect();
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The client reports, the server decides by it, and data arrives.
fn runs(test: &str, text: &str, set: &[(&str, &str)]) {
    if !has_root(test) {
        return;
    }
    for mode in ["paper", "default"] {
        let experiment = experiment(text, &[set, &[("cdbe.mode", mode)]].concat());
        let result = run(&experiment);
        assert!(result.flows[0].delivered.get() > 0, "{test} {mode}");
        for metric in [Metric::Report, Metric::Gain] {
            let mean = mean(&result, metric);
            assert!(mean > Some(0.0), "{test} {mode}: {metric:?} {mean:?}");
        }
    }
}

#[test]
fn over_a_wire_the_kernels_pair_reports_and_decides() {
    runs("wire", WIRE, &[]);
}

#[test]
fn in_a_cell_the_kernels_pair_reports_and_decides() {
    runs("cell", CELL, &CDBE);
}

#[test]
fn a_client_that_reports_the_maximum_causes_no_flood() {
    if !has_root("a_client_that_reports_the_maximum_causes_no_flood") {
        return;
    }
    let absurd = [("cdbe.initial-report", "34 Gbit/s")];
    let experiment = experiment(WIRE, &absurd);
    let flow = &run(&experiment).flows[0];
    // the wire carries 10,400 segments in 4 s at 30 Mbit/s; a window of 34 Gbit/s and 40 ms has 117,000,
    // of which all but the buffer's 165 are lost
    assert!(flow.lost < 10_400, "{} packets lost", flow.lost);
    assert!(flow.delivered.get() > 0);
}

#[test]
fn what_the_kernel_cannot_do_of_reports_is_refused() {
    if !has_root("what_the_kernel_cannot_do_of_reports_is_refused") {
        return;
    }
    for (key, value, expected) in [
        ("flow.bulk.cc", "cqic", "only CDBE's server"),
        ("flow.bulk.cc", "cqic-s", "no modem"),
        ("cdbe.timestamp-tick", "4 ms", "count in 1 ms"),
    ] {
        let experiment = experiment(CELL, &[&CDBE[..], &[(key, value)]].concat());
        let refused = lab::check(&experiment, None).expect_err(value).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let both = [("flow.bulk.cc", "cqic-s"), ("flow.bulk.report", "cdbe")];
    let experiment = experiment(CELL, &[&CDBE[..], &both].concat());
    assert!(lab::check(&experiment, None).is_ok());
}
