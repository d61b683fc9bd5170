//! What is shown of packets that are not split.

use super::Marking;
use super::queue::{Queue, QueueStatus};
use edge::marker::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// Packets that are not split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UnsplitStatus {
    /// `mark`, `queue` or `off`.
    pub(crate) mode: &'static str,
    /// Where the program is.
    pub(crate) interface: String,
    /// How: `tcx`, `clsact`, `waiting` for a predecessor's end, or `none` once a successor has taken over.
    pub(crate) way: &'static str,
    /// What the kernel has last refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// UEs with orders.
    pub(crate) ues: usize,
    /// UEs of reports that got no order, for as many had one as may.
    pub(crate) left_out: u64,
    /// Orders that were written.
    pub(crate) orders: u64,
    /// Packets by what became of them.
    pub(crate) packets: BTreeMap<&'static str, u64>,
    /// Packets that were forwarded without a verdict, by the reason.
    pub(crate) unjudged: BTreeMap<&'static str, u64>,
    /// Of those that were judged, fragments.
    pub(crate) fragments: u64,
    /// Marks that could not be written.
    pub(crate) unwritten_marks: u64,
    /// Packets that were handed to the queue.
    pub(crate) redirected: u64,
    /// What waits here, with `queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<QueueStatus>,
}

impl Marking {
    /// Its state, with what the program has counted; counts are zero where they cannot be read.
    pub(crate) fn status(&self) -> UnsplitStatus {
        let counts = self.marker.as_ref().and_then(|m| m.counts().ok());
        let counts = counts.unwrap_or_default();
        let named = |verdict: Verdict| (verdict.name(), counts.judged.of(verdict));
        let unjudged = counts.unjudged;
        UnsplitStatus {
            mode: self.mode.name(),
            interface: self.interface.clone(),
            way: self.marker.as_ref().map_or("none", |m| m.way().name()),
            error: [&self.place_error, &self.queue_error, &self.order_error]
                .into_iter()
                .find_map(Clone::clone)
                .or_else(|| self.queue.as_ref()?.error()),
            ues: self.orders.len(),
            left_out: self.orders.left_out(),
            orders: self.written,
            packets: Verdict::ALL.into_iter().map(named).collect(),
            unjudged: BTreeMap::from([
                ("malformed", unjudged.malformed),
                ("not_ip", unjudged.not_ip),
                ("own_tcp", unjudged.own_tcp),
                ("signalling", unjudged.signalling),
                ("bundled", unjudged.bundled),
            ]),
            fragments: counts.fragments,
            unwritten_marks: counts.unwritten,
            redirected: counts.redirected,
            queue: self.queue.as_ref().map(Queue::status),
        }
    }
}
