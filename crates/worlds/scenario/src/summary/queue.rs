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

pub(super) fn queue_summary(name: &str, runs: &[RunResult]) -> QueueSummary {
    let queues = || {
        runs.iter()
            .filter_map(|run| run.queues.iter().find(|q| q.name == name))
    };
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
