//! Queues.

use super::{Spread, mean};
use crate::result::{QueueResult, RunResult};
use serde::Serialize;

/// A queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// What waited, over time.
    pub bytes: QueueBytes,
    /// How long packets waited.
    pub sojourn_ms: Spread,
    /// Packets dropped.
    pub drops: f64,
}

/// What waited in a queue, over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueBytes {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
}

/// Of the queue that has this place and name in the first run.
pub(super) fn queue_summary(place: usize, name: &str, runs: &[RunResult]) -> QueueSummary {
    // in nearly all runs it has the same place: looking through all of each would take time by the square of their number
    let of_run = |run| queue(run, place, name);
    let queues: Vec<&QueueResult> = runs.iter().filter_map(of_run).collect();
    let queues = || queues.iter().copied();
    let of = |value: fn(&QueueResult) -> f64| mean(queues().map(value));
    QueueSummary {
        name: name.to_owned(),
        bytes: QueueBytes {
            mean: of(|queue| queue.mean_bytes),
            p99: of(|queue| queue.p99_bytes),
            max: of(|queue| queue.max_bytes),
        },
        sojourn_ms: Spread::of(queues().map(|queue| &queue.sojourn)),
        drops: of(|queue| queue.drops as f64),
    }
}

fn queue<'a>(run: &'a RunResult, place: usize, name: &str) -> Option<&'a QueueResult> {
    let is_it = |queue: &&QueueResult| queue.name == name;
    let there = run.queues.get(place).filter(is_it);
    there.or_else(|| run.queues.iter().find(is_it))
}
