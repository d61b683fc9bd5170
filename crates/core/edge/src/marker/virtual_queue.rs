//! What has been forwarded and the radio has not sent, as far as is known: bytes that drain at the rate of the last
//! report, corrected by each report.
//!
//! ```text
//!   V -= drain x elapsed,   V += bytes of each packet that is forwarded
//!   at a report:  S = queue + passed since `counted_until` - drain x (now - counted_until)
//!                 S <= V <= S + slack
//! ```
//! S is what the base station's queue will be as the packet that comes now gets there. Without slack V is S; with it,
//! V can be longer: it then shows a share that is exceeded although no queue stands.

use super::Order;
use super::fixed::{MAX_QUEUE, drained, queue_of};
use super::history::History;

/// The queue of a UE.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct VirtualQueue {
    /// 2^-16 bytes; up to 2^48.
    length: u64,
    /// As of then, ns.
    at: u64,
    /// The order that was last applied.
    applied: u64,
    passed: History,
}

impl VirtualQueue {
    pub(crate) const WORDS: usize = 3 + History::WORDS;

    pub(crate) fn write(&self, words: &mut Vec<u64>) {
        words.extend([self.length, self.at, self.applied]);
        self.passed.write(words);
    }

    /// The first words of what [`write`](Self::write) gives, without what has passed; none of fewer.
    pub(crate) fn read(words: &[u64]) -> Option<Self> {
        let [length, at, applied] = *words.first_chunk()?;
        Some(Self {
            length,
            at,
            applied,
            passed: History::default(),
        })
    }

    /// Its length at `now`, if nothing else comes, 2^-16 bytes.
    pub(crate) fn ahead(&self, now: u64, drain: u64) -> u64 {
        let elapsed = now.saturating_sub(self.at);
        self.length.saturating_sub(drained(elapsed, drain))
    }

    /// Time passes, whatever the reports.
    pub(crate) fn advance(&mut self, now: u64) {
        self.passed.advance(now);
    }

    /// Drains, and takes the order if it is new. `now` is no earlier than before.
    pub(crate) fn follow(&mut self, now: u64, order: &Order) {
        self.length = self.ahead(now, order.drain);
        self.at = self.at.max(now);
        if order.number == self.applied {
            return;
        }
        self.applied = order.number;
        // a report of longer ago than is kept says nothing of now
        if let Some(passed) = self.passed.since(order.counted_until) {
            let came = queue_of(order.queue.saturating_add(passed));
            let left = drained(now.saturating_sub(order.counted_until), order.drain);
            let least = came.saturating_sub(left);
            let most = least.saturating_add(queue_of(order.slack));
            self.length = self.length.clamp(least, most.min(MAX_QUEUE));
        }
    }

    /// So much is forwarded.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.passed.add(bytes);
        self.length = self.length.saturating_add(queue_of(bytes)).min(MAX_QUEUE);
    }

    /// 2^-16 bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::fixed::BYTE_SHIFT;

    /// Bytes in 2^20 ns at this drain: 1,600.
    const DRAIN: u64 = 1_600 << 4;
    const TICK: u64 = 1 << 20;

    fn order(number: u64, counted_until: u64, queue: u64, slack: u64) -> Order {
        Order {
            number,
            counted_until,
            valid_until: u64::MAX,
            drain: DRAIN,
            queue,
            slack,
            ..Order::default()
        }
    }

    fn bytes(queue: &VirtualQueue) -> u64 {
        queue.length() >> BYTE_SHIFT
    }

    #[test]
    fn it_grows_by_what_is_forwarded_and_drains_to_nothing() {
        let mut queue = VirtualQueue::default();
        let order = order(1, 0, 0, u64::MAX);
        queue.follow(0, &order);
        queue.add(3_200);
        queue.follow(TICK / 2, &order);
        assert_eq!(bytes(&queue), 2_400);
        queue.follow(TICK / 2, &order);
        assert_eq!(bytes(&queue), 2_400, "no time has passed");
        queue.follow(10 * TICK, &order);
        assert_eq!(bytes(&queue), 0);
    }

    #[test]
    fn a_report_counts_what_has_passed_since_and_what_was_sent_since() {
        let mut queue = VirtualQueue::default();
        let first = order(1, 0, 0, 0);
        // 2,000 bytes in each tick, four ticks
        for tick in 0..4 {
            queue.advance(tick * TICK);
            queue.follow(tick * TICK, &first);
            queue.add(2_000);
        }
        // of two ticks ago: 5,000 bytes waited; 4,000 came since, 2 x 1,600 were sent
        queue.advance(4 * TICK);
        queue.follow(4 * TICK, &order(2, 2 * TICK, 5_000, 0));
        assert_eq!(bytes(&queue), 5_000 + 4_000 - 3_200);
        // the same order once more changes nothing
        queue.follow(4 * TICK, &order(2, 2 * TICK, 9_000, 0));
        assert_eq!(bytes(&queue), 5_800);
    }

    #[test]
    fn slack_lets_it_be_longer_than_what_is_reported_and_no_shorter() {
        let mut queue = VirtualQueue::default();
        queue.follow(0, &order(1, 0, 0, 0));
        queue.add(10_000);
        let mut after = |number, reported, slack| {
            queue.follow(0, &order(number, u64::MAX, reported, slack));
            bytes(&queue)
        };
        assert_eq!(after(2, 3_000, 20_000), 10_000);
        assert_eq!(after(3, 3_000, 4_000), 7_000);
        assert_eq!(after(4, 8_000, 0), 8_000);
        assert_eq!(after(5, 0, 0), 0);
    }

    #[test]
    fn a_report_of_long_ago_corrects_nothing() {
        let mut queue = VirtualQueue::default();
        queue.advance(1_000 * TICK);
        queue.follow(1_000 * TICK, &order(1, 900 * TICK, 50_000, 0));
        assert_eq!(bytes(&queue), 0);
    }
}
