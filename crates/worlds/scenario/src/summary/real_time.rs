//! How runs in real time kept time.

use super::{Spread, mean};
use crate::result::RunResult;
use serde::Serialize;

/// How runs in real time kept time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealTimeSummary {
    /// How late the cell's slots were run.
    pub lateness_ms: Spread,
    /// Rates and sizes of the scenario were multiplied by this, 0 to 1.
    pub scale: f64,
    /// Packets that the kernel of a host did not take.
    pub refused: f64,
    /// What was run otherwise than the scenario specifies, one sentence each; not printed if nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Of the runs that were in real time, if any was.
pub(super) fn real_time_summary(runs: &[RunResult]) -> Option<RealTimeSummary> {
    let times = || runs.iter().filter_map(|run| run.real_time.as_ref());
    let notes = times().next()?.notes.clone();
    Some(RealTimeSummary {
        lateness_ms: Spread::of(times().map(|time| &time.lateness)),
        scale: mean(times().map(|time| time.scale)),
        refused: mean(times().map(|time| time.refused as f64)),
        notes,
    })
}
