//! What happened at a time of a run: a vertical line in every figure over time.

use scenario::RunResult;

/// Most lines of one panel, the first; the results have all.
const MAX_MARKS: usize = 40;

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// When, s.
    pub(crate) at: f64,
    /// What.
    pub(crate) label: String,
}

/// The handovers of a run, and the radio link failures with the cell that the user came back in.
pub(crate) fn marks(run: &RunResult) -> Vec<Mark> {
    let of_run = run.handovers.iter().take(MAX_MARKS);
    let mark = |it: &scenario::HandoverResult| {
        let what = match it.failure {
            None => "handover",
            Some(_) => "radio link failure",
        };
        Mark {
            at: it.at.as_secs_f64(),
            label: format!("{}: {what}, {} to {}", it.ue, it.from, it.to),
        }
    };
    of_run.map(mark).collect()
}
