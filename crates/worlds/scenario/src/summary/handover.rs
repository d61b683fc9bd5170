//! Handovers of all repeats.

use crate::result::{HandoverResult, RunResult};
use mobility::FailureKind;
use serde::Serialize;

/// What became of users that went from cell to cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverSummary {
    /// Handovers of a run, in the mean.
    pub count: f64,
    /// Radio link failures of a run, in the mean.
    pub failures: f64,
    /// Of these, handovers that came too late (TS 36.300 22.4.2.2).
    pub too_late: f64,
    /// Of these, handovers too early or to a wrong cell.
    pub too_early: f64,
    /// Of the handovers, returns within a second to the cell that was left.
    pub ping_pongs: f64,
    /// Packets that sources forwarded in a run, in the mean.
    pub forwarded: f64,
    /// Packets that were lost for them in a run, in the mean.
    pub lost: f64,
    /// Each of them, repeat by repeat.
    pub events: Vec<HandoverEvent>,
}

/// One handover, or return after a failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverEvent {
    /// The run's seed.
    pub seed: u64,
    /// The user.
    pub ue: String,
    /// When it left the source, s.
    pub at_s: f64,
    /// The source.
    pub from: String,
    /// The target.
    pub to: String,
    /// How long no cell served it.
    pub interruption_ms: f64,
    /// Packets that the source forwarded.
    pub forwarded: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// `handover`, or the kind of failure of the radio link: `too-late`, `too-early`, `wrong-cell`, `same-cell`.
    pub kind: &'static str,
    /// It had left the target less than a second before.
    pub ping_pong: bool,
}

impl HandoverSummary {
    /// Of the runs of an experiment that has several cells.
    pub(super) fn of(runs: &[RunResult]) -> Self {
        let mean = |of: &dyn Fn(&HandoverResult) -> f64| {
            super::mean(runs.iter().map(|run| run.handovers.iter().map(of).sum()))
        };
        let events = runs.iter().flat_map(|run| {
            let of_run = run.handovers.iter();
            of_run.map(|it| HandoverEvent {
                seed: run.seed,
                ue: it.ue.clone(),
                at_s: it.at.as_secs_f64(),
                from: it.from.clone(),
                to: it.to.clone(),
                interruption_ms: it.interruption.as_millis_f64(),
                forwarded: it.forwarded,
                lost: it.lost,
                kind: kind(it),
                ping_pong: it.is_ping_pong,
            })
        });
        Self {
            count: mean(&|it| is(it.failure.is_none())),
            failures: mean(&|it| is(it.failure.is_some())),
            too_late: mean(&|it| is(it.failure == Some(FailureKind::TooLate))),
            too_early: mean(&|it| {
                let kinds = [FailureKind::TooEarly, FailureKind::WrongCell];
                is(it.failure.is_some_and(|kind| kinds.contains(&kind)))
            }),
            ping_pongs: mean(&|it| is(it.is_ping_pong)),
            forwarded: mean(&|it| it.forwarded as f64),
            lost: mean(&|it| it.lost as f64),
            events: events.collect(),
        }
    }
}

fn is(it: bool) -> f64 {
    f64::from(u8::from(it))
}

fn kind(of: &HandoverResult) -> &'static str {
    match of.failure {
        None => "handover",
        Some(FailureKind::TooLate) => "too-late",
        Some(FailureKind::TooEarly) => "too-early",
        Some(FailureKind::WrongCell) => "wrong-cell",
        Some(FailureKind::SameCell) => "same-cell",
    }
}
