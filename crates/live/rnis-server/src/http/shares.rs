//! Requests that are being answered, by client: at most so many of each, so that one client does not hold all
//! places for connections.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The requests of all clients.
#[derive(Debug)]
pub(super) struct Shares {
    max: usize,
    taken: Mutex<BTreeMap<String, usize>>,
}

/// One request of a client; counts until it is dropped.
#[derive(Debug)]
pub(super) struct Share<'a> {
    shares: &'a Shares,
    client: &'a str,
}

impl Shares {
    /// A quarter of so many places for each client, at least one.
    pub(super) fn of(places: usize) -> Self {
        Self {
            max: (places / 4).max(1),
            taken: Mutex::default(),
        }
    }

    /// How many requests of one client may be answered concurrently.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Counts a request of this client; none if it has as many as it may.
    pub(super) fn take<'a>(&'a self, client: &'a str) -> Option<Share<'a>> {
        let mut taken = self.lock();
        let count = taken.entry(client.to_owned()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(Share {
            shares: self,
            client,
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        // counts are whole between calls
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        if let Some(count) = taken.get_mut(self.client) {
            *count -= 1;
            if *count == 0 {
                taken.remove(self.client);
            }
        }
    }
}
