//! Brings radio reports from their source to the control thread.
//!
//! The source may come, go, and send anything: a message that is no report is counted, and a lost connection is
//! tried again and again ([`report_source`]).

use crate::control::ControlEvent;
use report_source::{Follower, Peers, ReportSource};
use rnis::codec::decode;
use rnis::{BearerReport, RadioReport, UeReport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;

/// Messages that may wait for the control thread; more are dropped, for only the newest count.
const MAX_PENDING: usize = 256;
/// What they may take together, bytes; one may always wait.
const MAX_PENDING_BYTES: usize = 16_000_000;

/// Messages of the source that wait for the control thread, how many found no place, and whether it is connected.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    messages: AtomicUsize,
    bytes: AtomicUsize,
    dropped: AtomicU64,
    unreadable: AtomicU64,
    is_connected: AtomicBool,
}

/// A message's place among those that wait.
#[derive(Debug)]
pub(crate) struct Place {
    pending: Arc<Pending>,
    bytes: usize,
}

impl Pending {
    /// A place for a message that takes so many bytes; none where there are too many. There is one source.
    fn place(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let (messages, held) = (self.messages.load(Relaxed), self.bytes.load(Relaxed));
        let has_room = messages < MAX_PENDING && held.saturating_add(bytes) <= MAX_PENDING_BYTES;
        if messages > 0 && !has_room {
            return None;
        }
        self.messages.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        Some(Place {
            pending: Arc::clone(self),
            bytes,
        })
    }

    /// The source is connected.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Relaxed)
    }

    /// Reports that came faster than they could be used.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Messages that were no reports, and came faster than that could be recorded.
    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable.load(Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pending.messages.fetch_sub(1, Relaxed);
        self.pending.bytes.fetch_sub(self.bytes, Relaxed);
    }
}

/// What a report takes, bytes.
fn memory_of(report: &RadioReport) -> usize {
    let bearers: usize = report.ues.iter().map(|ue| ue.bearers.capacity()).sum();
    size_of::<RadioReport>()
        + report.ues.capacity() * size_of::<UeReport>()
        + bearers * size_of::<BearerReport>()
}

/// Brings what a source sends to the control thread.
#[derive(Debug)]
pub(crate) struct Reader {
    source: ReportSource,
    to: Sender<ControlEvent>,
    pending: Arc<Pending>,
    /// Ends it; set by it where the control thread has gone.
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Of this source, until `stop`.
    pub(crate) fn new(
        source: ReportSource,
        to: &Sender<ControlEvent>,
        pending: &Arc<Pending>,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            source,
            to: to.clone(),
            pending: Arc::clone(pending),
            stop: Arc::clone(stop),
        }
    }

    /// Reads to the end.
    pub(crate) fn run(mut self) {
        let (source, stop) = (self.source.clone(), Arc::clone(&self.stop));
        // who reports is a matter of the socket's permissions, unless `users` has it
        source.follow(Peers::Any, &mut self, || stop.load(Relaxed));
    }

    fn send(&self, event: ControlEvent) {
        if self.to.send(event).is_err() {
            self.stop.store(true, Relaxed);
        }
    }
}

impl Follower for Reader {
    fn up(&mut self, is_up: bool) {
        if self.pending.is_connected.swap(is_up, Relaxed) == is_up {
            return;
        }
        let source = &self.source;
        match is_up {
            true => tracing::info!(%source, "radio reports: connected"),
            false => tracing::warn!(%source, "radio reports: lost"),
        }
    }

    /// A report in JSON or in the binary form, or anything else, which is counted.
    fn message(&mut self, bytes: &[u8]) {
        let pending = &self.pending;
        match decode(bytes) {
            // what is said of it may quote it
            Err(error) => match pending.place(bytes.len()) {
                Some(place) => self.send(ControlEvent::NoReport(error, place)),
                None => drop(pending.unreadable.fetch_add(1, Relaxed)),
            },
            Ok(report) => match pending.place(memory_of(&report)) {
                Some(place) => self.send(ControlEvent::Report(Box::new(report), place)),
                None => drop(pending.dropped.fetch_add(1, Relaxed)),
            },
        }
    }

    /// Counted as what cannot be read.
    fn blank_line(&mut self) {
        self.message(b"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::codec::encode_binary;
    use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
    use std::sync::mpsc::{Receiver, channel};
    use units::{Bytes, Cqi, Duration, Hertz, Instant, Prb, Slot};

    /// A report of so many UEs.
    fn report(ues: u16) -> Vec<u8> {
        let ue = |rnti| UeReport {
            rnti: Rnti(rnti),
            ip: None,
            prb_dl: Prb::new(0),
            quality: LinkQuality::Measured {
                full_band_millibytes: 1_000,
            },
            cqi: Cqi::new(15),
            tbs_bytes: Bytes::ZERO,
            served_bytes: Bytes::ZERO,
            rlc_queue_bytes: Bytes::ZERO,
            bearers: Vec::new(),
            harq_processes: 0,
            harq_retx: 0,
            lost_packets: None,
            seq: 1,
            timestamp: Instant::ZERO,
        };
        encode_binary(&RadioReport {
            cell: CellReport {
                id: CellId(1),
                n_prb: Prb::new(100),
                scs: Hertz::from_khz(15),
                slot_duration: Duration::from_millis(1),
                downlink_share: 1.0,
                slot: Slot::new(1),
                slots: 1,
                prb_background: Prb::new(0),
            },
            ues: (0..ues).map(ue).collect(),
        })
    }

    fn reader() -> (Reader, Receiver<ControlEvent>) {
        let (to, events) = channel();
        let source = "unix:/run/radio.sock".parse().expect("a source");
        let reader = Reader::new(source, &to, &Arc::default(), &Arc::default());
        (reader, events)
    }

    #[test]
    fn what_waits_for_the_control_thread_is_bounded_in_number() {
        let (mut reader, events) = reader();
        let send = |reader: &mut Reader| {
            for _ in 0..1_000 {
                reader.message(b"no report");
                reader.message(&report(1));
            }
        };
        send(&mut reader);
        assert_eq!(events.try_iter().count(), MAX_PENDING);
        let left_out = reader.pending.dropped() + reader.pending.unreadable();
        assert_eq!(left_out, 2_000 - MAX_PENDING as u64);
        // what was taken has made room
        send(&mut reader);
        assert_eq!(events.try_iter().count(), MAX_PENDING);
    }

    #[test]
    fn what_waits_for_the_control_thread_is_bounded_in_bytes() {
        let (mut reader, events) = reader();
        let message = report(5_000);
        for _ in 0..100 {
            reader.message(&message);
        }
        let of = |event| match event {
            ControlEvent::Report(report, _) => report.ues.capacity() * size_of::<UeReport>(),
            _ => 0,
        };
        let held: usize = events.try_iter().map(of).sum();
        assert!(reader.pending.dropped() > 0);
        assert!(
            (1_000_000..=MAX_PENDING_BYTES).contains(&held),
            "{held} bytes"
        );
    }
}
