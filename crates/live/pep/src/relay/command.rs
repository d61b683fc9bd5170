//! Commands to a worker, and what sends them.

use super::slab::Key;
use crate::listener::Listener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use units::Instant;

/// A command to a worker.
#[derive(Debug)]
pub(crate) enum WorkerCommand {
    /// Accept here too.
    Listen(Arc<Vec<Listener>>),
    /// Accept nothing any more; end when the last connection has ended, or at this time.
    Drain(Instant),
    /// Reset these flows, as far as they are this worker's: what they hold is needed.
    Reset(Arc<[u64]>),
    /// Give this connection a turn: a window is to be shown at once.
    Turn(Key),
    /// Close all and end.
    Stop {
        /// Packets of what the kernel would go on to send come to this machine no more.
        is_cut_off: bool,
    },
}

/// Has a connection's worker give it a turn.
#[derive(Debug)]
pub(crate) struct Waker {
    worker: WorkerHandle,
    key: Key,
    /// The command is on its way.
    is_sent: AtomicBool,
}

impl Waker {
    /// Of a connection of this worker.
    pub(super) fn new(worker: WorkerHandle, key: Key) -> Self {
        Self {
            worker,
            key,
            is_sent: AtomicBool::new(false),
        }
    }

    /// Has it given a turn soon.
    pub(crate) fn wake(&self) {
        if !self.is_sent.swap(true, Relaxed) {
            self.worker.send(WorkerCommand::Turn(self.key));
        }
    }

    /// It is being given.
    pub(super) fn has_turn(&self) {
        self.is_sent.store(false, Relaxed);
    }
}

/// Sends commands to a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerHandle {
    pub(super) sender: Sender<WorkerCommand>,
    /// Readable while commands wait.
    pub(super) wake: Arc<OwnedFd>,
}

impl WorkerHandle {
    /// Sends it.
    pub(crate) fn send(&self, command: WorkerCommand) {
        // a worker that has ended takes no command
        if self.sender.send(command).is_ok() {
            let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        }
    }
}
