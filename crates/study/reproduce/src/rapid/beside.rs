//! Beside a greedy flow that the proxy does not intercept, in one queue with it and in queues apart.

use super::{Mode, in_mode, tables};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{goodput, rtt, utilisation};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

/// Repeats: shares of long-lived flows differ little.
const REPEATS: u32 = 3;
/// Base round-trip time, ms.
const BASE: f64 = 50.0;
const MODES: [Mode; 2] = [Mode::None, Mode::Default];
/// The base station's queues: one, one for each flow, and one for each of two bearers, of which the proxy is given the queue of its
/// own, or that of both together.
const QUEUES: [&str; 5] = ["drop-tail", "fq-codel", "sfq", BEARERS, BOTH_BEARERS];
const BEARERS: &str = "bearers";
const BOTH_BEARERS: &str = "bearers, one sum";

pub(super) const SECTION: Section = Section {
    id: "beside",
    title: "4G: beside greedy QUIC that is not intercepted, in one queue and in queues apart",
    experiments: |extent| points(extent).iter().map(Point::experiment).collect(),
    report,
};

/// A row.
#[derive(Clone, Copy, Debug)]
struct Point {
    queue: &'static str,
    /// Congestion control of QUIC.
    control: &'static str,
    /// QUIC was there first.
    is_first: bool,
    mode: Mode,
}

impl Point {
    fn experiment(&self) -> Experiment {
        let queued = match self.queue {
            BEARERS => in_mode("rapid/oai-quic-bearers", self.mode),
            BOTH_BEARERS => in_mode("rapid/oai-quic-bearers", self.mode).set("pep.bearer", "0"),
            queue => in_mode("rapid/oai-quic", self.mode).set("cell.queues.rlc.algorithm", queue),
        };
        let experiment = queued.set("flow.quic.cc", self.control).at_most(REPEATS);
        match self.is_first {
            true => experiment
                .set("flow.quic.start", "0 s")
                .set("flow.tcp.start", "3 s"),
            false => experiment,
        }
    }
}

fn points(extent: &Extent) -> Vec<Point> {
    let controls: &[&str] = match extent.quick {
        true => &["cubic"],
        false => &["cubic", "bbr", "newreno"],
    };
    let orders: &[bool] = match extent.quick {
        true => &[false],
        false => &[false, true],
    };
    let mut points = Vec::new();
    for queue in QUEUES {
        for &control in controls {
            for &is_first in orders {
                points.extend(MODES.map(|mode| Point {
                    queue,
                    control,
                    is_first,
                    mode,
                }));
            }
        }
    }
    points
}

/// TCP's part of both rates, each over the flow's own time, %.
fn share(run: &RunResult) -> Option<f64> {
    let [tcp, quic] = [goodput("tcp")(run)?, goodput("quic")(run)?];
    Some(100.0 * tcp / (tcp + quic))
}

fn report(extent: &Extent, results: &Results) -> Part {
    let points = points(extent);
    let row = |is_apart: bool, measure: &dyn Fn(&RunResult) -> Option<f64>| {
        let [none, default] = MODES.map(|mode| {
            let of = points
                .iter()
                .filter(|point| point.mode == mode && (point.queue != "drop-tail") == is_apart);
            Cell::span(of.map(|point| results.mean(&point.experiment(), measure)))
        });
        [none, Cell::Empty, default]
    };
    let [one, apart] = [false, true].map(|is_apart| row(is_apart, &share));
    let wait = row(true, &|run| Some(rtt("tcp")(run)? - BASE));
    let claims = vec![
        Claim::new(
            "our bound",
            "4G, TCP beside QUIC in queues apart: share of both, %",
            "(>= 40)",
        )
        .measured(&apart, apart[2].at_least(40.0)),
        Claim::new(
            "our bound",
            "the same: mean RTT of TCP over the base, ms",
            "(<= 20)",
        )
        .measured(&wait, wait[2].at_most(20.0)),
        Claim::new(
            "our bound",
            "4G, TCP beside QUIC in one queue: share of both, %",
            "(>= 40)",
        )
        .measured(&one, one[2].at_least(40.0)),
    ];
    Part {
        claims,
        text: table(&points, results),
        figures: Vec::new(),
    }
}

fn table(points: &[Point], results: &Results) -> String {
    let head = [
        "queue",
        "QUIC",
        "first",
        "pep",
        "TCP Mbit/s",
        "QUIC Mbit/s",
        "TCP's share %",
        "RTT of TCP ms",
        "p95",
        "RTT of QUIC ms",
        "utilisation %",
    ];
    let rows = points.iter().map(|point| {
        let at = point.experiment();
        let mean =
            |measure: &dyn Fn(&RunResult) -> Option<f64>| tables::shown(results.mean(&at, measure));
        let p95 = |run: &RunResult| Some(crate::measure::flow(run, "tcp")?.rtt.p95);
        vec![
            point.queue.to_owned(),
            point.control.to_owned(),
            if point.is_first { "QUIC" } else { "TCP" }.to_owned(),
            point.mode.name().to_owned(),
            mean(&goodput("tcp")),
            mean(&goodput("quic")),
            mean(&share),
            mean(&rtt("tcp")),
            mean(&p95),
            mean(&rtt("quic")),
            mean(&utilisation),
        ]
    });
    let table = markdown::table(&head, rows);
    format!(
        "`oai-quic` with the base station's queue as named, or on two bearers (`oai-quic-bearers`), whose queues the proxy \
         is reported one by one or as one sum; who comes second begins 1 s (QUIC) or 3 s (TCP) after the \
         first. Rates are over each flow's own time, of 60 s. {REPEATS} repeats.\n\n{table}"
    )
}
