//! RLC queues of a UE as a source lists them.

use crate::BearerReport;
use std::collections::BTreeMap;
use units::Bytes;

/// Queues by bearer; 0 is no data radio bearer, or one that the source does not name.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues(BTreeMap<u8, u64>);

impl Queues {
    /// Adds what waits in one.
    pub(super) fn add(&mut self, bearer: u8, bytes: u64) {
        let queue = self.0.entry(bearer).or_insert(0);
        *queue = queue.saturating_add(bytes);
    }

    /// All that waits.
    pub(super) fn total(&self) -> Bytes {
        Bytes::new(
            self.0
                .values()
                .fold(0, |sum, queue| sum.saturating_add(*queue)),
        )
    }

    /// What waits by data radio bearer, where there are several.
    pub(super) fn bearers(&self) -> Vec<BearerReport> {
        let data = self.0.iter().filter(|(id, _)| **id > 0);
        let bearers: Vec<BearerReport> = data
            .map(|(id, queue)| BearerReport {
                id: *id,
                queue_bytes: Bytes::new(*queue),
            })
            .collect();
        if bearers.len() < 2 {
            Vec::new()
        } else {
            bearers
        }
    }
}
