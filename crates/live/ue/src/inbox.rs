//! What other threads leave for the one that holds packets: the newest only, so that it is bounded.

use edge::uplink::{ModemStatus, UplinkConfig};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Bytes;

/// Statuses that wait; an older one gives way, and its bytes are in the next one's counter.
const MAX_WAITING: usize = 64;

/// What the thread goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) queue: UplinkConfig,
    /// Memory that packets may take.
    pub(crate) memory: Bytes,
}

/// What there is to be done.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    pub(crate) settings: Option<Settings>,
    pub(crate) statuses: VecDeque<ModemStatus>,
    pub(crate) stops: bool,
}

/// Where it is left.
#[derive(Debug)]
pub(crate) struct Inbox {
    letters: Mutex<Letters>,
    wake: OwnedFd,
}

/// A lock of a value that is whole whatever thread has panicked.
pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            letters: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn leave(&self, status: ModemStatus) {
        self.put(|letters| {
            if letters.statuses.len() >= MAX_WAITING {
                letters.statuses.pop_front();
            }
            letters.statuses.push_back(status);
        });
    }

    /// Other settings.
    pub(crate) fn configure(&self, settings: Settings) {
        self.put(|letters| letters.settings = Some(settings));
    }

    pub(crate) fn stop(&self) {
        self.put(|letters| letters.stops = true);
    }

    fn put(&self, put: impl FnOnce(&mut Letters)) {
        put(&mut lock(&self.letters));
        // full means that it wakes already
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(crate) fn take(&self) -> Letters {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        std::mem::take(&mut lock(&self.letters))
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Instant;

    #[test]
    fn a_thread_that_takes_nothing_finds_the_newest_only() {
        let inbox = Inbox::new().expect("an eventfd");
        for sent in 0..1_000 {
            inbox.leave(ModemStatus {
                at: Instant::from_nanos(sent),
                sent: Bytes::new(sent),
                queue: Bytes::ZERO,
            });
        }
        inbox.stop();
        let letters = inbox.take();
        assert!(letters.stops);
        assert_eq!(letters.statuses.len(), MAX_WAITING);
        assert_eq!(letters.statuses.back().map(|it| it.sent.get()), Some(999));
        assert!(!inbox.take().stops);
    }
}
