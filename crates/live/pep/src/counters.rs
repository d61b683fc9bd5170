//! What the data path counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub(crate) fn one(&self) {
        self.0.fetch_add(1, Relaxed);
    }
    /// So many more.
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }
    /// Its value.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of all workers.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections accepted.
    pub(crate) accepted: Counter,
    /// Connections whose server answered.
    pub(crate) established: Counter,
    /// Not taken: as many as there may be in all.
    pub(crate) refused_total: Counter,
    /// Not taken: as many as the UE may have.
    pub(crate) refused_ue: Counter,
    /// Not taken: the client may not use the explicit mode.
    pub(crate) refused_client: Counter,
    /// Servers that refused, or could not be reached.
    pub(crate) upstream_failed: Counter,
    /// Servers that did not answer in time.
    pub(crate) handshake_timeouts: Counter,
    /// Connections without a byte for too long.
    pub(crate) idle_timeouts: Counter,
    /// Connections reset by one side, and so to the other.
    pub(crate) resets: Counter,
    /// Connections reset because their UE, or all, held more than there may be.
    pub(crate) memory_resets: Counter,
    /// Connections whose both directions ended, and of which all was acknowledged or its peer has gone.
    pub(crate) finished: Counter,
    /// Connections whose own port was still held towards the server: another was taken.
    pub(crate) port_changed: Counter,
    /// Times that accepting stopped for lack of descriptors or memory.
    pub(crate) accept_pauses: Counter,
    /// Times that a connection waited for a pipe, for lack of descriptors or memory.
    pub(crate) pipe_pauses: Counter,
    /// Times that new connections began to pass by, for there were as many as there may be.
    pub(crate) overflows: Counter,
    /// Windows that were shown to servers at once, by an update.
    pub(crate) windows_shown: Counter,
    /// Windows that were to be shown at once, and the kernel sent no update: the server had enough.
    pub(crate) windows_refused: Counter,
    /// Payload to UEs, bytes.
    pub(crate) bytes_down: Counter,
    /// Payload from UEs, bytes.
    pub(crate) bytes_up: Counter,
}

impl Counters {
    /// All, by their names in status and metrics.
    pub(crate) fn named(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("accepted", self.accepted.get()),
            ("established", self.established.get()),
            ("finished", self.finished.get()),
            ("resets", self.resets.get()),
            ("memory_resets", self.memory_resets.get()),
            ("upstream_failed", self.upstream_failed.get()),
            ("handshake_timeouts", self.handshake_timeouts.get()),
            ("idle_timeouts", self.idle_timeouts.get()),
            ("refused_total", self.refused_total.get()),
            ("refused_ue", self.refused_ue.get()),
            ("refused_client", self.refused_client.get()),
            ("port_changed", self.port_changed.get()),
            ("accept_pauses", self.accept_pauses.get()),
            ("pipe_pauses", self.pipe_pauses.get()),
            ("overflows", self.overflows.get()),
            ("windows_shown", self.windows_shown.get()),
            ("windows_refused", self.windows_refused.get()),
            ("bytes_down", self.bytes_down.get()),
            ("bytes_up", self.bytes_up.get()),
        ]
    }
}
