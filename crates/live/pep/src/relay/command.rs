//! Commands to a worker, and what sends them.

use super::moving::Moving;
use super::slab::Key;
use crate::listener::Listener;
use daemon::{Seat, Seats};
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
    /// Reset these flows, in the order of their numbers, as far as they are this worker's: what they hold is needed.
    Reset(Arc<[u64]>, Seat),
    /// Give this connection a turn: a window is to be shown at once.
    Turn(Key),
    /// Connections move to another proxy, or from one.
    Moving(Moving),
    /// Close all and end.
    Stop {
        /// Packets of what the kernel would go on to send come to this machine no more.
        is_cut_off: bool,
    },
}

/// Has a connection's worker give it a turn.
#[derive(Debug)]
pub(crate) struct Waker {
    worker: Arc<WorkerHandle>,
    key: Key,
    /// The command is on its way.
    is_sent: AtomicBool,
}

impl Waker {
    /// Of a connection of this worker.
    pub(super) fn new(worker: Arc<WorkerHandle>, key: Key) -> Self {
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
///
/// What waits in its channel is bounded: the daemon sends each of [`WorkerCommand::Listen`], [`WorkerCommand::Drain`] and
/// [`WorkerCommand::Stop`] once, a connection one [`WorkerCommand::Turn`] until it was taken ([`Waker`]), of
/// [`WorkerCommand::Reset`] there is one, and of [`WorkerCommand::Moving`] as many as there are transfers at a time.
#[derive(Clone, Debug)]
pub(crate) struct WorkerHandle {
    sender: Sender<WorkerCommand>,
    /// Readable while commands wait.
    wake: Arc<OwnedFd>,
    resets: Seats,
}

impl WorkerHandle {
    /// Whose commands are taken at the other end of the channel, which `wake` announces.
    pub(super) fn new(sender: Sender<WorkerCommand>, wake: Arc<OwnedFd>) -> Self {
        Self {
            sender,
            wake,
            resets: Seats::new(1),
        }
    }

    /// Has it reset these flows, in the order of their numbers. While it has not taken the last such command it gets no
    /// other: the next look at what is held finds what is still too much.
    pub(crate) fn reset(&self, flows: Arc<[u64]>) {
        if let Some(seat) = self.resets.take() {
            self.send(WorkerCommand::Reset(flows, seat));
        }
    }

    /// Sends it.
    pub(crate) fn send(&self, command: WorkerCommand) {
        // a worker that has ended takes no command
        if self.sender.send(command).is_ok() {
            let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::sync::mpsc::channel;

    fn handle() -> (WorkerHandle, std::sync::mpsc::Receiver<WorkerCommand>) {
        let (sender, commands) = channel();
        let wake = eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd");
        (WorkerHandle::new(sender, Arc::new(wake)), commands)
    }

    /// A user's stalled downloads are found at each look, of which there may be many before a worker's turn ends.
    #[test]
    fn a_worker_that_takes_nothing_has_one_command_to_reset() {
        let (worker, commands) = handle();
        for flow in 0..1_000 {
            worker.clone().reset(Arc::new([flow]));
        }
        let of = |command| match command {
            Ok(WorkerCommand::Reset(flows, _seat)) => flows,
            other => panic!("{other:?}"),
        };
        assert_eq!(*of(commands.try_recv()), [0]);
        assert!(commands.try_recv().is_err());
        worker.reset(Arc::new([7]));
        assert_eq!(*of(commands.try_recv()), [7], "what is taken makes room");
    }

    /// However often a window is to be shown at once before a worker's turn ends.
    #[test]
    fn a_connection_has_one_turn_that_waits() {
        let (worker, commands) = handle();
        let key = Key {
            index: 1,
            generation: 1,
        };
        let waker = Waker::new(Arc::new(worker), key);
        for _ in 0..1_000 {
            waker.wake();
        }
        assert_eq!(commands.try_iter().count(), 1);
        waker.has_turn();
        waker.wake();
        assert_eq!(commands.try_iter().count(), 1);
    }
}
