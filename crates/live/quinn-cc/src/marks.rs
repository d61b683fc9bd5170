//! How many of a connection's packets were marked, on the way to its controller.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The count of packets that arrived with CE, as the peer's acknowledgements have it (RFC 9000 19.3.2): a handle, cheap
/// to clone.
///
/// quinn reports to a controller that the count has grown, not by how much: a driver that reads it from the
/// acknowledgements sets it here.
#[derive(Clone, Debug, Default)]
pub struct MarkFeed(Arc<AtomicU64>);

impl MarkFeed {
    /// A feed of no marks.
    pub fn new() -> Self {
        Self::default()
    }

    /// The count of an acknowledgement; one that is lower came late.
    pub fn set(&self, count: u64) {
        self.0.fetch_max(count, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
