//! A handover that has happened.

use units::{Duration, Instant};

/// One handover of a user from one cell to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverResult {
    /// The user.
    pub ue: String,
    /// When it left the source: the command.
    pub at: Instant,
    /// The cell that it left.
    pub from: String,
    /// The cell that it went to.
    pub to: String,
    /// How long no cell served it; at the run's end so far.
    pub interruption: Duration,
    /// Packets towards the user that the source has forwarded.
    pub forwarded: u64,
    /// Packets that were lost because it left.
    pub lost: u64,
    /// It had left the target less than a second before.
    pub is_ping_pong: bool,
}
