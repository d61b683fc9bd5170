//! The queues of UEs above their modems, with their records: what a UE sends waits here or passes, as [`edge::uplink`] decides
//! by what its modem shows.
//!
//! ```text
//!   UE --> send --> [ UplinkQueue ] --> poll_passed --> cell: the modem's buffer
//!                        ^ statuses, every period: sent, waiting
//! ```

use crate::Error;
use crate::cell::CellRoute;
use crate::measure::{QueueMeter, SeriesSet};
use edge::marker::Left;
use edge::uplink::{ModemStatus, UplinkQueue};
use queue::Packet;
use ran::UeIndex;
use scenario::{Experiment, Metric, QueueResult};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Streams};

/// A packet that waits, with its way.
#[derive(Clone, Copy, Debug)]
struct Waiting<P> {
    packet: P,
    route: CellRoute,
    came_at: Instant,
}

crate::wrapper::is_packet!(Waiting);

/// The queue of one UE.
struct One<P> {
    queue: UplinkQueue<Waiting<P>>,
    period: Duration,
    next_status: Instant,
    /// When more of what waits may go on.
    next_release: Option<Instant>,
    meter: QueueMeter,
}

/// The queues of all UEs that have one.
pub(crate) struct UplinkQueues<P> {
    /// By UE.
    ues: Vec<Option<One<P>>>,
    passed: VecDeque<(CellRoute, P)>,
    dropped: Vec<P>,
    // kept for its memory
    left: Left<Waiting<P>>,
}

impl<P: Packet + Send> UplinkQueues<P> {
    /// Those of an experiment, watched from `began` on; none if no UE has one.
    ///
    /// # Errors
    /// A configuration that cannot be.
    pub(crate) fn new(
        experiment: &Experiment,
        streams: &Streams,
        began: Instant,
    ) -> Result<Option<Self>, Error> {
        let ues = experiment.ues.iter().map(|ue| {
            let Some(spec) = &ue.uplink_queue else {
                return Ok(None);
            };
            let rng = streams.child("ue").child(&ue.name).stream("uplink-queue");
            let queue = UplinkQueue::new(&spec.config, rng);
            Ok::<_, Error>(Some(One {
                queue: queue.map_err(|error| Error::UplinkQueue {
                    ue: ue.name.clone(),
                    problem: error.to_string(),
                })?,
                period: spec.status_period,
                next_status: Instant::ZERO + spec.status_period,
                next_release: None,
                meter: QueueMeter::new(format!("ue/{}/up", ue.name), began),
            }))
        });
        let ues = ues.collect::<Result<Vec<_>, Error>>()?;
        let has_any = ues.iter().any(Option::is_some);
        Ok(has_any.then(|| Self {
            ues,
            passed: VecDeque::new(),
            dropped: Vec::new(),
            left: Left::default(),
        }))
    }

    /// A UE sends a packet.
    pub(crate) fn send(&mut self, now: Instant, route: CellRoute, packet: P) {
        let Some(one) = self.ues.get_mut(route.ue.0).and_then(Option::as_mut) else {
            self.passed.push_back((route, packet));
            return;
        };
        let packet = Waiting {
            packet,
            route,
            came_at: now,
        };
        one.next_release = one.queue.send(now, packet, &mut self.left);
        self.settle(now, route.ue.0);
    }

    /// When anything is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let of = |one: &One<P>| match one.next_release {
            Some(at) => at.min(one.next_status),
            None => one.next_status,
        };
        self.ues.iter().flatten().map(of).min()
    }

    /// Does what is due by `now`; `status` has the bytes that a UE's modem has sent, and those that wait in it.
    pub(crate) fn on_deadline(
        &mut self,
        now: Instant,
        mut status: impl FnMut(UeIndex) -> (Bytes, Bytes),
    ) {
        for ue in 0..self.ues.len() {
            let Some(one) = &mut self.ues[ue] else {
                continue;
            };
            let has_status = one.next_status <= now;
            if has_status {
                while one.next_status <= now {
                    one.next_status += one.period;
                }
                let (sent, queue) = status(UeIndex(ue));
                let at = now;
                one.queue.on_status(now, &ModemStatus { at, sent, queue });
            }
            if has_status || one.next_release.is_some_and(|at| at <= now) {
                one.next_release = one.queue.release(now, &mut self.left);
                self.settle(now, ue);
            }
        }
    }

    /// Sorts what has left a queue, and writes it down.
    fn settle(&mut self, now: Instant, ue: usize) {
        let Some(one) = &mut self.ues[ue] else { return };
        for it in self.left.passed.drain(..) {
            one.meter.left(now.saturating_since(it.came_at));
            self.passed.push_back((it.route, it.packet));
        }
        for it in self.left.dropped.drain(..) {
            one.meter.dropped();
            self.dropped.push(it.packet);
        }
        self.left.overflowed = 0;
        one.meter.set(now, one.queue.waits().bytes);
    }

    /// The next packet that goes into its modem.
    pub(crate) fn poll_passed(&mut self) -> Option<(CellRoute, P)> {
        self.passed.pop_front()
    }

    /// Packets that have been dropped.
    pub(crate) fn take_dropped(&mut self, into: &mut Vec<P>) {
        into.append(&mut self.dropped);
    }

    /// A step of the time series.
    pub(crate) fn sample(&self, now: Instant, series: &mut SeriesSet) {
        for one in self.ues.iter().flatten() {
            let bytes = one.meter.bytes().get() as f64;
            series.push(one.meter.name(), Metric::QueueBytes, now, bytes);
        }
    }

    /// Packets that wait.
    pub(crate) fn waiting(&self) -> usize {
        let ues = self.ues.iter().flatten();
        ues.map(|one| one.queue.waits().packets).sum()
    }

    /// The results of all queues.
    pub(crate) fn finish(self, end: Instant) -> impl Iterator<Item = QueueResult> {
        let ues = self.ues.into_iter().flatten();
        ues.map(move |one| one.meter.finish(end))
    }
}
