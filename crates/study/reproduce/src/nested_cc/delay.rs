//! What packets wait in the scheduler's buffer, where `aware` has the queue of both paths stand: with CoDel there,
//! and without.

use super::combination::{Combination, named};
use super::place::{FLOW, Place};
use super::table::SERVERS;
use super::{AWARE, nested};
use crate::claim::{Cell, Claim, Verdict, with_interval};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::{goodput, increase, sojourn};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::{Estimate, RunResult};

/// Delays with CoDel in the buffer, and without.
pub(super) const SECTION: Section = Section {
    id: "ours-delay",
    title: "Ours: what packets wait for a path",
    experiments,
    report,
};

/// Most that a download's mean round-trip time may be above that of the first path, ms: the goal.
const GOAL: f64 = 40.0;
/// What it may lose by that, %.
const LOSS: f64 = 3.0;
/// How the scheduler's buffer signals, and the name in the table.
const QUEUES: [(&str, &str); 2] = [("drop-tail", "drop-tail"), ("codel", "CoDel")];
/// The buffer towards the users.
const BUFFER: &str = "tunnel/scheduler/down";
/// Of `fade.toml`, ms: the least of both paths.
const FADE_RTT: f64 = 47.0;

/// Where it is looked at.
struct Condition {
    name: String,
    server: &'static str,
    /// The first path's round-trip time, ms.
    rtt: f64,
    experiment: Experiment,
}

fn conditions(extent: &Extent) -> Vec<Condition> {
    let places = [
        ("SHORT", 40.0, 0.5),
        ("LONG", 80.0, 0.5),
        ("LONG DIST", 80.0, 0.8),
    ];
    let mut all = Vec::new();
    for server in SERVERS {
        for (name, rtt, share) in places {
            let place = Place {
                share,
                ..Place::at(name, rtt)
            };
            let file = if extent.quick { "100 MB" } else { place.file };
            let place = Place { file, ..place };
            all.push(Condition {
                name: format!("{} over CCID2, {name}", named(server)),
                server,
                rtt,
                experiment: nested(Combination::new(server, "ccid2"), AWARE, &place),
            });
        }
        all.push(Condition {
            name: format!("{} over CCID5, Wi-Fi and a fading cell", named(server)),
            server,
            rtt: FADE_RTT,
            experiment: Experiment::of("nested-cc/fade").set("server-cc", server),
        });
    }
    all
}

fn with(condition: &Condition, queue: &'static str) -> Experiment {
    condition
        .experiment
        .clone()
        .set("tunnel.scheduler-queue", queue)
}

fn experiments(extent: &Extent) -> Vec<Experiment> {
    let conditions = conditions(extent);
    let of = |condition| QUEUES.map(|(queue, _)| with(condition, queue));
    conditions.iter().flat_map(of).collect()
}

/// 95th percentile of what packets waited for a path, ms.
fn waited(run: &RunResult) -> Option<f64> {
    Some(sojourn(run, BUFFER)?.p95)
}

fn report(extent: &Extent, results: &Results) -> Part {
    let conditions = conditions(extent);
    let mut rows = Vec::new();
    for condition in &conditions {
        for (queue, name) in QUEUES {
            let experiment = with(condition, queue);
            rows.push(vec![
                condition.name.clone(),
                name.to_owned(),
                with_interval(results.mean(&experiment, goodput(FLOW))),
                with_interval(results.mean(&experiment, increase(FLOW, condition.rtt))),
                with_interval(results.mean(&experiment, waited)),
            ]);
        }
    }
    let heads = [
        "",
        "scheduler's buffer",
        "Mbit/s",
        "mean RTT above the first path's, ms",
        "p95 of the wait for a path, ms",
    ];
    let table = markdown::table(&heads, rows);
    Part {
        claims: claims(results, &conditions),
        text: format!(
            "`aware`, whose paths hold no more than they need: what is beyond that waits in the scheduler's buffer.\n\n{table}"
        ),
        figures: Vec::new(),
    }
}

/// Of Cubic, which fills every buffer.
fn claims(results: &Results, conditions: &[Condition]) -> Vec<Claim> {
    let cubic = conditions.iter().filter(|of| of.server == "cubic");
    let [(plain, _), (codel, _)] = QUEUES;
    let mut above = Vec::new();
    let mut kept = Vec::new();
    for condition in cubic {
        let [plain, codel] = [plain, codel].map(|queue| with(condition, queue));
        above.push(results.mean(&codel, increase(FLOW, condition.rtt)));
        let ratio = results.ratio(&codel, &plain, goodput(FLOW));
        kept.push(Estimate {
            mean: 100.0 * ratio.mean,
            ci95: 100.0 * ratio.ci95,
        });
    }
    let goal = |what: &str, paper, all: Vec<Estimate>, judge: fn(&Cell) -> Verdict| {
        let cell = Cell::span(all);
        let verdict = judge(&cell);
        Claim::new(
            "our goal",
            format!("Cubic, `aware` with CoDel: {what}"),
            paper,
        )
        .measured(&[Cell::Empty, Cell::Empty, cell], verdict)
        .if_not("see below")
    };
    vec![
        goal(
            "mean RTT above the first path's, ms",
            "(<= 40)",
            above,
            |ms| ms.at_most(GOAL),
        ),
        goal(
            "throughput in per cent of that without",
            "(>= 97)",
            kept,
            |part| part.at_least(100.0 - LOSS),
        ),
    ]
}
