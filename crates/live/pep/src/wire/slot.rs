//! A connection whose windows are set at the wire.

use super::{ORDER, REQUESTS, SEEN, SHOWN, Wire};
use crate::registry::lock;
use crate::slots::Slot;
use crate::sys;
use edge::wire::{Exact, Order, Relief};
use rustix::net::sockopt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use units::{Bytes, Instant};

/// Its place in the arrays, for as long as this lives.
#[derive(Debug)]
pub(crate) struct WireSlot {
    wire: Arc<Wire>,
    slot: Slot,
    /// The program has seen its SYN, or may still.
    is_used: AtomicBool,
    updates: Mutex<Updates>,
}

#[derive(Debug, Default)]
struct Updates {
    /// The edge of the last update, cumulative, bytes.
    requested: Bytes,
    /// The edge is here at least, cumulative, bytes.
    floor: Bytes,
    /// The server has had less than a segment since.
    blocked_at: Option<Instant>,
}

impl WireSlot {
    pub(super) fn new(wire: Arc<Wire>, slot: Slot) -> Self {
        Self {
            wire,
            slot,
            is_used: AtomicBool::new(true),
            updates: Mutex::default(),
        }
    }

    /// The server has answered. False if the connection's packets do not pass the program: then it is not used.
    pub(crate) fn is_established(&self) -> bool {
        let seen = self.wire.words(&self.wire.state, self.slot)[SEEN].load(Relaxed);
        let is_used = seen == u64::from(self.slot.usage);
        if self.is_used.swap(is_used, Relaxed) && !is_used {
            self.wire.count_clamped();
        }
        is_used
    }

    /// The windows of this connection are set here.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Has segments show what is decided, and sends an update where that is due.
    pub(crate) fn show(&self, socket: &OwnedFd, decide: impl FnOnce() -> Exact) -> Exact {
        // what is decided last is stored last
        let mut updates = lock(&self.updates);
        let exact = decide().at_least(updates.floor);
        let control = self.wire.words(&self.wire.control, self.slot);
        control[ORDER].store(exact.order.word(), Relaxed);
        if let Some(edge) = exact.edge()
            && exact.is_update_due(self.shown(edge).max(updates.requested))
        {
            updates.requested = edge;
            control[REQUESTS].fetch_add(1, Relaxed);
            drop(updates);
            self.send_update(socket);
        }
        exact
    }

    fn send_update(&self, socket: &OwnedFd) {
        // a connection that has just gone needs none
        if sys::send_window_probe(socket).is_ok() {
            self.wire.updates.fetch_add(1, Relaxed);
        }
        // another connection may need the port
        let _ = sockopt::set_socket_reuseaddr(socket, true);
    }

    /// The rightmost edge that was shown, cumulative: the number of these last 32 bits that is next to `near`.
    fn shown(&self, near: Bytes) -> Bytes {
        let shown = self.wire.words(&self.wire.state, self.slot)[SHOWN].load(Relaxed) as u32;
        next_to(near, shown)
    }

    /// What of the window is left to a server of which so much has been received.
    pub(crate) fn left(&self, received: Bytes) -> Bytes {
        self.shown(received).saturating_sub(received)
    }

    /// Has the server be shown the least more where it has had less than a segment for too long. True if it is to be
    /// shown.
    pub(crate) fn relieve(&self, now: Instant, received: Bytes, relief: &Relief) -> bool {
        let left = self.left(received);
        let mut updates = lock(&self.updates);
        let is_due = relief.is_due(now, left, &mut updates.blocked_at);
        if is_due {
            updates.floor = received + relief.least;
        }
        is_due
    }
}

impl Drop for WireSlot {
    fn drop(&mut self) {
        let control = self.wire.words(&self.wire.control, self.slot);
        control[ORDER].store(Order::Kernel.word(), Relaxed);
        self.wire.give_back(self.slot);
    }
}

/// The number with these last 32 bits that is next to another.
fn next_to(near: Bytes, low: u32) -> Bytes {
    let ahead = i64::from(low.wrapping_sub(near.get() as u32).cast_signed());
    Bytes::new(near.get().saturating_add_signed(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_is_next_to_what_is_decided() {
        let at = |near: u64, low: u32| next_to(Bytes::new(near), low).get();
        assert_eq!(at(1_000, 900), 900);
        assert_eq!(at(1_000, 1_100), 1_100);
        let wrapped = (1 << 32) + 10;
        assert_eq!(at(wrapped, u32::MAX - 9), (1 << 32) - 10);
        assert_eq!(at((1 << 32) - 10, 10), wrapped);
        assert_eq!(at(5, u32::MAX), 0);
    }
}
