//! What the control thread is notified of: flows that have begun and ended.
//!
//! The channel to it takes [`MAX_WAITING`] such notices of all workers. Those that find no seat wait with their worker:
//! ends before beginnings, and of a flow that ends before its beginning was sent nothing. So no more wait there than
//! twice the connections that there may be, however long the control thread is busy and however many come and go.

use crate::control::ControlEvent;
use crate::flow::Flow;
use daemon::Seats;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};

/// Notices that wait in the channel, of all workers.
const MAX_WAITING: usize = 4_096;

/// Where notices are sent to; clones share its seats.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    to: Sender<ControlEvent>,
    seats: Seats,
}

impl Channel {
    /// With all seats free.
    pub(crate) fn new(to: Sender<ControlEvent>) -> Self {
        Self {
            to,
            seats: Seats::new(MAX_WAITING),
        }
    }
}

/// Notices that wait with their worker.
#[derive(Debug)]
struct Backlog<T> {
    opened: BTreeMap<u64, T>,
    closed: VecDeque<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Notice<T> {
    Opened(u64, T),
    Closed(u64),
}

impl<T> Default for Backlog<T> {
    fn default() -> Self {
        Self {
            opened: BTreeMap::new(),
            closed: VecDeque::new(),
        }
    }
}

impl<T> Backlog<T> {
    fn opened(&mut self, id: u64, flow: T) {
        self.opened.insert(id, flow);
    }

    /// Of a flow that was opened.
    fn closed(&mut self, id: u64) {
        if self.opened.remove(&id).is_none() {
            self.closed.push_back(id);
        }
    }

    fn next(&mut self) -> Option<Notice<T>> {
        let closed = self.closed.pop_front().map(Notice::Closed);
        closed.or_else(|| {
            let (id, flow) = self.opened.pop_first()?;
            Some(Notice::Opened(id, flow))
        })
    }

    fn len(&self) -> usize {
        self.opened.len() + self.closed.len()
    }
}

/// A worker's notices.
#[derive(Debug)]
pub(super) struct Notices {
    channel: Channel,
    backlog: Backlog<Weak<Flow>>,
}

impl Notices {
    pub(super) fn new(channel: Channel) -> Self {
        Self {
            channel,
            backlog: Backlog::default(),
        }
    }

    /// A flow's windows begin to matter. The control thread is notified at once.
    pub(super) fn opened(&mut self, flow: &Arc<Flow>) {
        self.backlog.opened(flow.id, Arc::downgrade(flow));
        self.send();
    }

    /// A flow has ended that was opened. The control thread is notified with the next [`Self::send`].
    pub(super) fn closed(&mut self, id: u64) {
        self.backlog.closed(id);
    }

    /// Some wait for a seat.
    pub(super) fn is_waiting(&self) -> bool {
        self.backlog.len() > 0
    }

    /// Sends as many as there are seats for.
    pub(super) fn send(&mut self) {
        while self.is_waiting()
            && let Some(seat) = self.channel.seats.take()
            && let Some(notice) = self.backlog.next()
        {
            let event = match notice {
                Notice::Opened(_, flow) => ControlEvent::Opened(flow, seat),
                Notice::Closed(id) => ControlEvent::Closed(id, seat),
            };
            // the control thread may have ended before the workers
            let _ = self.channel.to.send(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::sync::mpsc;

    /// Ten times as many flows come and go as there are places, and the control thread takes nothing.
    #[test]
    fn what_waits_for_a_control_thread_that_takes_nothing_is_bounded() {
        const LIVE: u64 = 100;
        let (sender, events) = mpsc::channel();
        let channel = Channel::new(sender);
        let mut workers = [(); 2].map(|()| Notices::new(channel.clone()));
        let open = |worker: &mut Notices, id| {
            worker.backlog.opened(id, Weak::new());
            worker.send();
        };
        for id in 0..10 * MAX_WAITING as u64 {
            let worker = &mut workers[(id % 2) as usize];
            open(worker, id);
            if id >= LIVE {
                worker.closed(id - LIVE);
                worker.send();
            }
            assert!(worker.backlog.len() <= 2 * LIVE as usize);
        }
        // what is taken makes room, and all that ended is announced once, if its beginning was
        let (mut opened, mut closed, mut taken) = (0, BTreeSet::new(), 0);
        while let Ok(event) = events.try_recv() {
            taken += 1;
            match event {
                ControlEvent::Opened(..) => opened += 1,
                ControlEvent::Closed(id, _) => assert!(closed.insert(id)),
                other => panic!("{other:?}"),
            }
            if taken == MAX_WAITING {
                assert!(events.try_recv().is_err(), "no more than there are places");
                workers.iter_mut().for_each(Notices::send);
            }
        }
        assert_eq!(opened - closed.len(), LIVE as usize);
        assert!(workers.iter().all(|worker| !worker.is_waiting()));
        assert_eq!(channel.seats.taken(), 0);
    }

    proptest! {
        /// Whenever notices are taken, each flow begins and ends once, in this order, and those that live have begun.
        #[test]
        fn flows_begin_before_they_end(steps in proptest::collection::vec(0u8..8, 0..400)) {
            let mut backlog = Backlog::default();
            let mut live = VecDeque::new();
            let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
            let mut most_live = 0;
            let mut take = |backlog: &mut Backlog<u64>| match backlog.next() {
                None => true,
                Some(Notice::Opened(id, flow)) => id == flow && begun.insert(id),
                Some(Notice::Closed(id)) => begun.remove(&id) && ended.insert(id),
            };
            for (id, step) in (0..).zip(steps) {
                match step {
                    0..=2 => {
                        backlog.opened(id, id);
                        live.push_back(id);
                    }
                    3..=5 => if let Some(id) = live.pop_front() {
                        backlog.closed(id);
                    },
                    _ => prop_assert!(take(&mut backlog)),
                }
                most_live = most_live.max(live.len());
                prop_assert!(backlog.len() <= 2 * most_live);
            }
            while backlog.len() > 0 {
                prop_assert!(take(&mut backlog));
            }
            prop_assert_eq!(begun.into_iter().collect::<Vec<_>>(), Vec::from(live));
        }
    }
}
