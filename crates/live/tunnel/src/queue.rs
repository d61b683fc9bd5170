//! Jobs that one thread hands over to another: in their order, and bounded by what they cost.
//!
//! ```text
//!   push --> [ ... jobs ... ] --> take, the job is done, done
//!     waits while held > limit      waits while there is none
//! ```
//!
//! `held` is what all cost that have been pushed and are not done. Whoever pushes waits only for who takes, never the
//! other way round.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What has been handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueCounters {
    /// Jobs.
    pub(crate) jobs: u64,
    /// Times that one had to wait for room.
    pub(crate) waits: u64,
}

/// Jobs.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    /// There is a job, or it is closed.
    filled: Condvar,
    /// There is room, or it is closed.
    freed: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct State<T> {
    /// With what each costs.
    jobs: VecDeque<(T, usize)>,
    held: usize,
    is_open: bool,
    /// A thread waits for [`Queue::filled`], for [`Queue::freed`].
    is_taker_waiting: bool,
    is_giver_waiting: bool,
    counters: QueueCounters,
}

impl<T> Queue<T> {
    /// A closed one, which holds so much at most, or one job that costs more.
    pub(crate) fn new(limit: usize) -> Self {
        let state = State {
            jobs: VecDeque::new(),
            held: 0,
            is_open: false,
            is_taker_waiting: false,
            is_giver_waiting: false,
            counters: QueueCounters::default(),
        };
        Self {
            state: Mutex::new(state),
            filled: Condvar::new(),
            freed: Condvar::new(),
            limit,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs are taken from now on.
    pub(crate) fn open(&self) {
        self.state().is_open = true;
    }

    /// True if jobs are taken and all are done that have been pushed: what is done now keeps their order.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.is_open && state.held == 0
    }

    /// Appends a job, which costs something; waits for room.
    ///
    /// # Errors
    /// It is closed: the job is handed back.
    pub(crate) fn push(&self, job: T, cost: usize) -> Result<(), T> {
        let mut state = self.state();
        if state.is_full(cost, self.limit) {
            state.counters.waits += 1;
            while state.is_full(cost, self.limit) {
                state = self.wait_for_room(state);
            }
        }
        if !state.is_open {
            return Err(job);
        }
        state.held += cost;
        state.jobs.push_back((job, cost));
        state.counters.jobs += 1;
        if std::mem::take(&mut state.is_taker_waiting) {
            drop(state);
            self.filled.notify_one();
        }
        Ok(())
    }

    /// The next job and what it costs; waits for it. None once it is closed and empty.
    pub(crate) fn take(&self) -> Option<(T, usize)> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if !state.is_open {
                return None;
            }
            state.is_taker_waiting = true;
            let woken = self.filled.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job that was taken is done.
    pub(crate) fn done(&self, cost: usize) {
        let mut state = self.state();
        state.held = state.held.saturating_sub(cost);
        if std::mem::take(&mut state.is_giver_waiting) {
            drop(state);
            self.freed.notify_all();
        }
    }

    /// Waits until all jobs are done.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        while state.held > 0 {
            state = self.wait_for_room(state);
        }
    }

    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<T>>,
    ) -> MutexGuard<'a, State<T>> {
        state.is_giver_waiting = true;
        let woken = self.freed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// No more jobs: those that are there are still taken.
    pub(crate) fn close(&self) {
        self.state().is_open = false;
        self.filled.notify_all();
        self.freed.notify_all();
    }

    /// Whoever takes jobs is gone: those that are there are lost.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.jobs.clear();
        state.held = 0;
        drop(state);
        self.close();
    }

    /// What has been handed over so far.
    pub(crate) fn counters(&self) -> QueueCounters {
        self.state().counters
    }
}

impl<T> State<T> {
    /// One that costs so much has to wait.
    fn is_full(&self, cost: usize, limit: usize) -> bool {
        self.is_open && self.held > 0 && self.held + cost > limit
    }
}

#[cfg(test)]
mod tests;
