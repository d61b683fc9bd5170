//! Handovers of all repeats.

use crate::result::{HandoverResult, RunResult};
use serde::Serialize;

/// What became of users that went from cell to cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverSummary {
    /// Handovers of a run, in the mean.
    pub count: f64,
    /// Of these, returns within a second to the cell that was left.
    pub ping_pongs: f64,
    /// Packets that sources forwarded in a run, in the mean.
    pub forwarded: f64,
    /// Packets that were lost for them in a run, in the mean.
    pub lost: f64,
    /// Each of them, repeat by repeat.
    pub events: Vec<HandoverEvent>,
}

/// One handover.
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
                ping_pong: it.is_ping_pong,
            })
        });
        Self {
            count: mean(&|_| 1.0),
            ping_pongs: mean(&|it| f64::from(u8::from(it.is_ping_pong))),
            forwarded: mean(&|it| it.forwarded as f64),
            lost: mean(&|it| it.lost as f64),
            events: events.collect(),
        }
    }
}
