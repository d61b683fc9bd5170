//! The thread that brings radio reports from their source to the control thread.

use super::{ControlEvent, MAX_PENDING, MAX_PENDING_BYTES, Source};
use daemon::Seats;
use report_source::{Follower, Peers, ReportSource};
use rnis::codec::decode;
use rnis::{BearerReport, RadioReport, UeReport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;

/// Brings radio reports from their source to the control thread. The source may come, go, and send anything: a message
/// that is no report is counted, and a lost connection is tried again and again ([`report_source`]).
#[derive(Debug)]
pub(crate) struct Reader {
    from: ReportSource,
    to: Sender<ControlEvent>,
    seats: Seats,
    pub(super) source: Arc<Source>,
    /// Ends it; set by it where the control thread has gone.
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Of this source, until `stop`.
    pub(crate) fn new(
        from: ReportSource,
        to: &Sender<ControlEvent>,
        source: &Arc<Source>,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            from,
            to: to.clone(),
            seats: Seats::bounded(MAX_PENDING, MAX_PENDING_BYTES),
            source: Arc::clone(source),
            stop: Arc::clone(stop),
        }
    }

    /// Reads to the end.
    pub(crate) fn run(mut self) {
        let (from, stop) = (self.from.clone(), Arc::clone(&self.stop));
        // who reports is a matter of the socket's permissions, unless `users` has it
        from.follow(Peers::Any, &mut self, || stop.load(Relaxed));
    }

    fn send(&self, event: ControlEvent) {
        if self.to.send(event).is_err() {
            self.stop.store(true, Relaxed);
        }
    }
}

impl Follower for Reader {
    fn up(&mut self, is_up: bool) {
        if self.source.is_connected.swap(is_up, Relaxed) == is_up {
            return;
        }
        let source = &self.from;
        match is_up {
            true => tracing::info!(%source, "radio reports: connected"),
            false => tracing::warn!(%source, "radio reports: lost"),
        }
    }

    /// A report in JSON or in the binary form, or anything else, which is counted.
    fn message(&mut self, bytes: &[u8]) {
        match decode(bytes) {
            // what is said of it may quote it
            Err(error) => match self.seats.take_for(bytes.len()) {
                Some(seat) => self.send(ControlEvent::NoReport(error, seat)),
                None => drop(self.source.unreadable.fetch_add(1, Relaxed)),
            },
            Ok(report) => match self.seats.take_for(memory_of(&report)) {
                Some(seat) => self.send(ControlEvent::Report(Box::new(report), seat)),
                None => drop(self.source.dropped.fetch_add(1, Relaxed)),
            },
        }
    }

    /// Counted as what cannot be read.
    fn blank_line(&mut self) {
        self.message(b"");
    }
}

/// What a report takes, bytes.
fn memory_of(report: &RadioReport) -> usize {
    let bearers: usize = report.ues.iter().map(|ue| ue.bearers.capacity()).sum();
    size_of::<RadioReport>()
        + report.ues.capacity() * size_of::<UeReport>()
        + bearers * size_of::<BearerReport>()
}
