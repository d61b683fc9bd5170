//! What is read off a run of two flows.

use crate::measure::{dropped, queue, sojourn};
use scenario::RunResult;

/// The game from the entry into the UPF until the MAC's pull.
const GAMING: &str = "ran/gaming";
/// The bulk flow likewise.
const BULK: &str = "ran/bulk";
/// A full packet, bytes.
pub(super) const PACKET: f64 = 1500.0;

/// The game's mean delay, ms.
pub(super) fn delay(run: &RunResult) -> Option<f64> {
    sojourn(run, GAMING).map(|s| s.mean)
}

/// The 99th percentile of the game's delay, ms.
pub(super) fn p99(run: &RunResult) -> Option<f64> {
    sojourn(run, GAMING).map(|s| s.p99)
}

/// The game's packets that were dropped, %.
pub(super) fn lost(run: &RunResult) -> Option<f64> {
    dropped(run, GAMING)
}

/// What the game's packets found in the RLC as they came to it, full packets.
pub(super) fn found(run: &RunResult) -> Option<f64> {
    queue(run, GAMING).map(|q| q.mean_bytes / PACKET)
}

/// The bulk flow's own mean delay, ms.
pub(super) fn bulk(run: &RunResult) -> Option<f64> {
    sojourn(run, BULK).map(|s| s.mean)
}

/// Share of what the radio allowed that was pulled.
pub(super) fn used(run: &RunResult) -> Option<f64> {
    Some(run.link.utilisation)
}
