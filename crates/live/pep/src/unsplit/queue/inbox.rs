//! What the control thread leaves for the thread that holds packets: the newest only, so that it is bounded.

use super::Settings;
use crate::registry::lock;
use rapid::Unsplit;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use units::Duration;

/// What a UE's radio carries, and the slots of its cell.
pub(super) type Radio = (Unsplit, Duration);

/// What there is to be done.
#[derive(Debug, Default)]
pub(super) struct Letters {
    pub(super) reports: BTreeMap<IpAddr, Radio>,
    pub(super) settings: Option<Settings>,
    pub(super) stops: bool,
}

/// Where it is left.
#[derive(Debug)]
pub(super) struct Inbox {
    letters: Mutex<Letters>,
    wake: OwnedFd,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            letters: Mutex::default(),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Leaves something, and wakes who takes it.
    pub(super) fn leave(&self, put: impl FnOnce(&mut Letters)) {
        put(&mut lock(&self.letters));
        // full means that it wakes already
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn take(&self) -> Letters {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        std::mem::take(&mut lock(&self.letters))
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
