//! What the radio does, on its way to the controller of a connection.

use cc::RadioState;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Instant;

/// Radio states kept for a connection that has no event in the meantime.
const MAX_PENDING: usize = 64;

/// Hands radio states to the controller of one connection: a handle, cheap to clone.
///
/// The controller is notified of pending states before each of its next events, and when quinn reads its
/// window: a driver that wakes the connection after [`Self::push`] has them act although nothing is acknowledged.
/// At most 64 wait; beyond them the oldest are dropped and counted.
#[derive(Clone, Debug, Default)]
pub struct RadioFeed(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether anything waits: all that a connection reads of an empty feed.
    has_pending: AtomicBool,
    queue: Mutex<Queue>,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    states: VecDeque<Arrival>,
    is_unbound: bool,
}

/// A state, and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) state: RadioState,
}

impl RadioFeed {
    /// An empty feed, bound.
    pub fn new() -> Self {
        Self::default()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // every change of the queue is complete at once: a thread that panicked left it whole
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a state that comes at `at`, counted from the factory's epoch. Returns false, and counts it as
    /// dropped, while the feed is unbound.
    pub fn push(&self, at: Instant, state: RadioState) -> bool {
        let mut queue = self.queue();
        if queue.is_unbound {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        if queue.states.len() == MAX_PENDING {
            queue.states.pop_front();
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
        queue.states.push_back(Arrival { at, state });
        self.0.has_pending.store(true, Ordering::Release);
        true
    }

    /// Drops what waits.
    pub fn clear(&self) {
        let mut queue = self.queue();
        queue.states.clear();
        self.0.has_pending.store(false, Ordering::Release);
    }

    /// Drops what waits and rejects more until [`Self::bind`]: the connection has come to another
    /// address, and the UE behind it is not determined yet. quinn makes a new controller for a new
    /// address; [`crate::AdapterFactory`] then calls this.
    pub fn unbind(&self) {
        let mut queue = self.queue();
        queue.states.clear();
        queue.is_unbound = true;
        self.0.has_pending.store(false, Ordering::Release);
    }

    /// Takes states again.
    pub fn bind(&self) {
        self.queue().is_unbound = false;
    }

    /// True between [`Self::unbind`] and [`Self::bind`].
    pub fn is_unbound(&self) -> bool {
        self.queue().is_unbound
    }

    /// States dropped because 64 newer ones waited, or rejected.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Whether a state waits.
    pub(crate) fn has_pending(&self) -> bool {
        self.0.has_pending.load(Ordering::Acquire)
    }

    /// Takes the oldest state that waits.
    pub(crate) fn pop(&self) -> Option<Arrival> {
        if !self.has_pending() {
            return None;
        }
        let mut queue = self.queue();
        let state = queue.states.pop_front();
        self.0
            .has_pending
            .store(!queue.states.is_empty(), Ordering::Release);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Duration};

    fn state(seq: u64) -> RadioState {
        RadioState {
            tbs: Bytes::new(2_292),
            best_tbs: Bytes::new(2_292),
            harq_processes: 8,
            queue: Bytes::ZERO,
            served: Bytes::ZERO,
            harq_retx: 0,
            lost_packets: None,
            period: Duration::from_millis(8),
            slots: 8,
            seq,
            made_at: Instant::ZERO,
        }
    }

    #[test]
    fn states_come_out_in_order_and_the_oldest_give_way() {
        let feed = RadioFeed::new();
        assert_eq!(feed.pop(), None);
        for seq in 0..70 {
            assert!(feed.push(Instant::ZERO, state(seq)));
        }
        assert_eq!(feed.dropped(), 6);
        let seqs: Vec<_> = core::iter::from_fn(|| feed.pop())
            .map(|arrival| arrival.state.seq)
            .collect();
        assert_eq!(seqs, (6..70).collect::<Vec<_>>());
    }

    #[test]
    fn an_unbound_feed_discards_and_rejects() {
        let feed = RadioFeed::new();
        feed.push(Instant::ZERO, state(1));
        feed.unbind();
        assert_eq!(feed.pop(), None);
        assert!(!feed.push(Instant::ZERO, state(2)) && feed.is_unbound());
        assert_eq!((feed.pop(), feed.dropped()), (None, 1));
        feed.bind();
        assert!(feed.push(Instant::ZERO, state(3)));
        feed.clear();
        assert_eq!(feed.pop(), None);
        assert!(feed.push(Instant::ZERO, state(4)));
        assert_eq!(feed.pop().map(|arrival| arrival.state.seq), Some(4));
    }
}
