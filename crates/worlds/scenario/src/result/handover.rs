//! A change of cell that has happened: a handover, or a return after the radio link has failed.

use mobility::FailureKind;
use units::{Duration, Instant};

/// One handover of a user from one cell to another, or its return after a radio link failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverResult {
    /// The user.
    pub ue: String,
    /// When it left the source: the command, or the failure.
    pub at: Instant,
    /// The cell that it left.
    pub from: String,
    /// The cell that it went to; after a failure, `none` until it has one.
    pub to: String,
    /// How long no cell served it; at the run's end so far.
    pub interruption: Duration,
    /// What kind of failure it was; none: a handover.
    pub failure: Option<FailureKind>,
    /// Packets towards the user that the source has forwarded.
    pub forwarded: u64,
    /// Packets that were lost because it left.
    pub lost: u64,
    /// It had left the target less than a second before.
    pub is_ping_pong: bool,
}
