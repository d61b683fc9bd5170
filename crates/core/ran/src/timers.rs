//! Timers of all RLC entities.
//!
//! A timer that is restarted often is kept in the heap at its earliest time only: when that comes,
//! the entity reads whether the timer still runs, and until when. So restarting costs nothing.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// One direction of one bearer: twice the bearer's index in the cell, plus one for the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityId(pub(crate) u32);

/// Which timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// t-Reassembly.
    Reassembly,
    /// t-PollRetransmit.
    PollRetransmit,
    /// t-StatusProhibit.
    StatusProhibit,
}

const KINDS: usize = 3;

/// The timers.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, EntityId, TimerKind)>>,
    /// Whether the heap has an entry, by entity and kind.
    queued: Vec<bool>,
}

impl Timers {
    pub(crate) fn new(entities: usize) -> Self {
        let n = entities * KINDS;
        Self {
            heap: BinaryHeap::with_capacity(n),
            queued: vec![false; n],
        }
    }
    fn slot(entity: EntityId, kind: TimerKind) -> usize {
        entity.0 as usize * KINDS + kind as usize
    }
    /// A timer runs until `at`. It must not end earlier than one of the same kind that was armed
    /// before and has not come up yet: durations are constant, so none does.
    pub(crate) fn arm(&mut self, entity: EntityId, kind: TimerKind, at: Instant) {
        let slot = Self::slot(entity, kind);
        if !self.queued[slot] {
            self.queued[slot] = true;
            self.heap.push(Reverse((at, entity, kind)));
        }
    }
    /// The next timer that may have expired by `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(EntityId, TimerKind)> {
        let &Reverse((at, entity, kind)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        self.queued[Self::slot(entity, kind)] = false;
        Some((entity, kind))
    }
    /// When [`Self::pop_due`] may next give something.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_entry_for_each_timer() {
        let mut timers = Timers::new(2);
        let at = Instant::from_nanos;
        timers.arm(EntityId(1), TimerKind::Reassembly, at(5));
        timers.arm(EntityId(1), TimerKind::Reassembly, at(9));
        timers.arm(EntityId(0), TimerKind::PollRetransmit, at(7));
        assert_eq!(timers.next(), Some(at(5)));
        assert_eq!(timers.pop_due(at(4)), None);
        assert_eq!(
            timers.pop_due(at(8)),
            Some((EntityId(1), TimerKind::Reassembly))
        );
        assert_eq!(
            timers.pop_due(at(8)),
            Some((EntityId(0), TimerKind::PollRetransmit))
        );
        assert_eq!(timers.next(), None);
        timers.arm(EntityId(1), TimerKind::Reassembly, at(9));
        assert_eq!(timers.next(), Some(at(9)));
    }
}
