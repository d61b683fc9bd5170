//! Seats in a queue between threads: a bounded number, so that a thread that takes nothing is no reason for memory to
//! grow. What is queued carries its seat, which is free again when it is dropped, taken or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The seats of a queue; clones are the same ones.
#[derive(Clone, Debug)]
pub struct Seats {
    max: usize,
    taken: Arc<AtomicUsize>,
}

/// One of them.
#[derive(Debug)]
pub struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// So many, all free.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            taken: Arc::default(),
        }
    }

    /// A free one.
    pub fn take(&self) -> Option<Seat> {
        let next = |taken| (taken < self.max).then_some(taken + 1);
        self.taken.fetch_update(Relaxed, Relaxed, next).ok()?;
        Some(Seat(Arc::clone(&self.taken)))
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
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
}
