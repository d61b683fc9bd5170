//! How people reach the control thread: their requests wait in its channel.

use super::{ControlEvent, Snapshot};
use crate::config::Config;
use daemon::Seats;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, sync_channel};
use std::time::Duration;

/// The control thread must have answered by then.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);
/// Requests for snapshots that may wait for it. One whose requester has given up still does: at `/metrics` any host that
/// reaches it requests one after the other, however long the thread is busy.
const MAX_REQUESTS: usize = 64;

/// A handle of the control thread.
#[derive(Clone, Debug)]
pub(crate) struct ControlHandle {
    to: Sender<ControlEvent>,
    requests: Seats,
}

impl ControlHandle {
    /// Of the thread that takes what is sent there.
    pub(crate) fn new(to: Sender<ControlEvent>) -> Self {
        Self {
            to,
            requests: Seats::new(MAX_REQUESTS),
        }
    }

    /// Its state; none if it does not answer, or as many requests wait as may.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        let seat = self.requests.take()?;
        let (to, answer) = sync_channel(1);
        self.to.send(ControlEvent::Snapshot(to, seat)).ok()?;
        answer.recv_timeout(SNAPSHOT_TIMEOUT).ok()
    }

    /// Has it note with the flows of a UE what it has learnt of them. False if it does not answer in time: then they are as
    /// they were.
    pub(crate) fn note_learnt(&self, ue: IpAddr) -> bool {
        let Some(seat) = self.requests.take() else {
            return false;
        };
        let (to, answer) = sync_channel(1);
        let sent = self.to.send(ControlEvent::NoteLearnt(ue, to, seat));
        sent.is_ok() && answer.recv_timeout(SNAPSHOT_TIMEOUT).is_ok()
    }

    /// Has it decide by another configuration. Only a signal to reload does, whose sender may as well end the daemon.
    pub(crate) fn configure(&self, config: Arc<Config>) {
        // a control thread that has ended needs none
        let _ = self.to.send(ControlEvent::Configure(config));
    }

    /// Has it end its marks, for a successor's.
    pub(crate) fn yield_marks(&self) {
        let _ = self.to.send(ControlEvent::Yield);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// More requests than may wait, of as many hosts, while the control thread takes nothing.
    #[test]
    fn requests_for_snapshots_that_wait_are_bounded() {
        let (to, events) = channel();
        let handle = ControlHandle::new(to);
        std::thread::scope(|scope| {
            for _ in 0..2 * MAX_REQUESTS {
                scope.spawn(|| assert!(handle.snapshot().is_none()));
            }
        });
        assert_eq!(events.try_iter().count(), MAX_REQUESTS);
        // what is taken makes room
        std::thread::scope(|scope| {
            let requester = scope.spawn(|| handle.snapshot());
            match events.recv() {
                Ok(ControlEvent::Snapshot(to, _seat)) => {
                    to.send(Snapshot::default()).expect("it waits");
                }
                other => panic!("{other:?}"),
            }
            assert!(requester.join().expect("no panic").is_some());
        });
    }
}
