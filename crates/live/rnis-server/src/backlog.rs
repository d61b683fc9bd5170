//! Reports that wait for readers that do not keep up, bounded in bytes: of more the oldest are given up. A reader
//! finds those empty, and counts them as lost.

use crate::hub::Published;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A report that waits, until it is given up.
#[derive(Debug)]
pub(crate) struct Waiting(Mutex<Option<Arc<Published>>>);

impl Waiting {
    /// The report; none if it was given up.
    pub(crate) fn report(&self) -> Option<Arc<Published>> {
        let report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        report.clone()
    }

    fn give_up(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The reports that wait for at least one reader.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// In bytes.
    max: usize,
    waiting: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The oldest first, each with its bytes. Readers are done with them in this order.
    reports: VecDeque<(Weak<Waiting>, usize)>,
    bytes: usize,
}

impl Backlog {
    /// Of at most so many bytes, but of one report in any case.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            waiting: Mutex::default(),
        }
    }

    /// Takes one more, and gives up the oldest that are too much with it.
    pub(crate) fn push(&self, report: Published) -> Arc<Waiting> {
        let bytes = report.bytes();
        let added = Arc::new(Waiting(Mutex::new(Some(Arc::new(report)))));
        // counts are whole between calls
        let mut queue = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        queue.reports.push_back((Arc::downgrade(&added), bytes));
        queue.bytes += bytes;
        while let [(oldest, bytes), _, ..] = queue.reports.make_contiguous() {
            let (oldest, bytes) = (oldest.upgrade(), *bytes);
            if oldest.is_some() && queue.bytes <= self.max {
                break;
            }
            if let Some(oldest) = oldest {
                oldest.give_up();
            }
            queue.bytes -= bytes;
            queue.reports.pop_front();
        }
        added
    }
}
