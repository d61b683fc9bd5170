//! Brings radio reports from their source to the control thread.
//!
//! The source may come, go, and send anything: a message that is no report is counted, and a lost connection is
//! tried again and again ([`report_source`]).

use crate::config::Source;
use crate::control::ControlEvent;
use report_source::{Follower, follow_broker, follow_socket};
use rnis::codec::decode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;

/// Reports that may wait for the control thread; more are dropped, for only the newest count.
const MAX_PENDING: usize = 256;

/// Where reports are brought to.
#[derive(Clone, Debug)]
pub(crate) struct ReportSink {
    to: Sender<ControlEvent>,
    pending: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl ReportSink {
    /// Closed by `stop`; `pending` is decremented when reports are taken reports out of the channel.
    pub(crate) fn new(
        to: Sender<ControlEvent>,
        pending: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { to, pending, stop }
    }

    /// The source is connected, or no longer.
    fn connected(&self, is_connected: bool) {
        self.send(ControlEvent::Source(is_connected));
    }

    /// A message: a report in JSON or in the binary form, or anything else, which is counted.
    fn message(&self, bytes: &[u8]) {
        self.send(match decode(bytes) {
            Err(error) => ControlEvent::NoReport(error),
            Ok(_) if self.pending.load(Relaxed) >= MAX_PENDING => ControlEvent::Dropped(1),
            Ok(report) => {
                self.pending.fetch_add(1, Relaxed);
                ControlEvent::Report(Box::new(report))
            }
        });
    }

    /// The receiver of reports is gone.
    fn is_closed(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn send(&self, event: ControlEvent) {
        if self.to.send(event).is_err() {
            self.stop.store(true, Relaxed);
        }
    }
}

/// Reads a source until the sink is closed.
pub(crate) fn read(source: &Source, sink: &ReportSink) {
    let mut inlet = Inlet {
        source,
        sink,
        is_up: false,
    };
    let is_done = || sink.is_closed();
    let ended = match source {
        // who reports is a matter of the socket's permissions
        Source::Unix(path) => follow_socket(path, None, &mut inlet, is_done),
        Source::Broker(broker) => follow_broker(&broker.url, &broker.topic, &mut inlet, is_done),
    };
    if let Err(error) = ended {
        tracing::error!(%source, %error, "no radio reports");
    }
}

/// Where the messages of the source come in.
struct Inlet<'a> {
    source: &'a Source,
    sink: &'a ReportSink,
    is_up: bool,
}

impl Follower for Inlet<'_> {
    fn up(&mut self, is_up: bool) {
        if is_up == self.is_up {
            return;
        }
        self.is_up = is_up;
        self.sink.connected(is_up);
        let source = self.source;
        match is_up {
            true => tracing::info!(%source, "radio reports: connected"),
            false => tracing::warn!(%source, "radio reports: lost"),
        }
    }

    fn message(&mut self, bytes: &[u8]) {
        self.sink.message(bytes);
    }

    /// Counted as what cannot be read.
    fn blank_line(&mut self) {
        self.sink.message(b"");
    }
}
