//! Seats in a queue between threads: a bounded number, so that a thread that takes nothing is no reason for memory to
//! grow. What is queued carries its seat, which is free again when it is dropped, taken or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The seats of a queue; clones are the same ones.
#[derive(Clone, Debug)]
pub struct Seats {
    max: usize,
    max_bytes: usize,
    taken: Arc<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    seats: AtomicUsize,
    bytes: AtomicUsize,
}

/// One of them.
#[derive(Debug)]
pub struct Seat {
    taken: Arc<Taken>,
    bytes: usize,
}

impl Seats {
    /// So many, all free.
    pub fn new(max: usize) -> Self {
        Self::bounded(max, usize::MAX)
    }

    /// So many, all free, for what takes no more than `max_bytes` together; one of any size may always wait.
    pub fn bounded(max: usize, max_bytes: usize) -> Self {
        Self {
            max,
            max_bytes,
            taken: Arc::default(),
        }
    }

    /// A free one.
    pub fn take(&self) -> Option<Seat> {
        self.take_for(0)
    }

    /// A free one for what takes so many bytes, if there is room for them.
    pub fn take_for(&self, bytes: usize) -> Option<Seat> {
        let next = |taken| (taken < self.max).then_some(taken + 1);
        self.taken.seats.fetch_update(Relaxed, Relaxed, next).ok()?;
        // free again where there is no room
        let mut seat = Seat {
            taken: Arc::clone(&self.taken),
            bytes: 0,
        };
        let next = |held: usize| {
            let sum = held.checked_add(bytes)?;
            (held == 0 || sum <= self.max_bytes).then_some(sum)
        };
        self.taken.bytes.fetch_update(Relaxed, Relaxed, next).ok()?;
        seat.bytes = bytes;
        Some(seat)
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.seats.load(Relaxed)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.taken.bytes.fetch_sub(self.bytes, Relaxed);
        self.taken.seats.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_and_each_is_free_again_when_it_is_dropped() {
        let seats = Seats::new(2);
        let (first, second) = (seats.take(), seats.clone().take());
        assert!(first.is_some() && second.is_some());
        assert!(seats.take().is_none() && seats.take().is_none());
        assert_eq!(seats.taken(), 2, "a refusal takes none");
        drop(first);
        assert!(seats.take().is_some());
        let thread = std::thread::spawn(move || {
            let _second = second;
            panic!("what holds a seat ends in a panic");
        });
        assert!(thread.join().is_err());
        assert_eq!(seats.taken(), 0);
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_and_one_of_any_size_may() {
        let seats = Seats::bounded(3, 10);
        let large = seats.take_for(11);
        assert!(large.is_some() && seats.take_for(1).is_none());
        assert_eq!(seats.taken(), 1, "where there is no room, no seat is taken");
        drop(large);
        let (first, second) = (seats.take_for(6), seats.take_for(4));
        assert!(first.is_some() && second.is_some() && seats.take_for(1).is_none());
        assert!(seats.take_for(0).is_some());
        drop(first);
        assert!(seats.take_for(6).is_some() && seats.take_for(7).is_none());
    }
}
