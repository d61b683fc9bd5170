//! Reads radio reports: from a Unix stream socket, one JSON object a line, or out of a broker by a
//! function of the program that runs the proxy.
//!
//! The source may come, go, and send anything: a message that is no report is counted, one that is
//! too long ends the connection, and a lost connection is tried again and again.

use crate::config::{Broker, Source};
use crate::control::ControlEvent;
use rnis::DecodeError;
use rnis::codec::{MAX_ENCODED_BYTES, decode};
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Between tries to connect.
const RETRY: Duration = Duration::from_millis(200);
/// A read ends after this, to see whether the daemon stops.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Reports that may wait for the control thread; more are dropped, for only the newest count.
const MAX_PENDING: usize = 256;

/// Brings reports out of a broker to a sink until that is closed. It has a thread of its own, and
/// connects again by itself whenever the broker is lost.
pub type BrokerReader = fn(&Broker, &ReportSink);

/// Where reports are brought to.
#[derive(Clone, Debug)]
pub struct ReportSink {
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
    pub fn connected(&self, is_connected: bool) {
        self.send(ControlEvent::Source(is_connected));
    }

    /// A message: a report in JSON or in the binary form, or anything else, which is counted.
    pub fn message(&self, bytes: &[u8]) {
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
    pub fn is_closed(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn send(&self, event: ControlEvent) {
        if self.to.send(event).is_err() {
            self.stop.store(true, Relaxed);
        }
    }
}

/// Reads a source until the sink is closed. A broker needs its reader.
pub(crate) fn read(source: &Source, brokers: Option<BrokerReader>, sink: &ReportSink) {
    match (source, brokers) {
        (Source::Unix(path), _) => read_socket(path, sink),
        (Source::Broker(broker), Some(read)) => read(broker, sink),
        (Source::Broker(broker), None) => {
            tracing::error!(source = %broker, "this program cannot read brokers");
        }
    }
}

fn read_socket(path: &Path, sink: &ReportSink) {
    let source = path.display();
    let mut was_logged = false;
    while !sink.is_closed() {
        match UnixStream::connect(path) {
            Ok(stream) => {
                tracing::info!(%source, "radio reports: connected");
                was_logged = false;
                sink.connected(true);
                read_stream(stream, sink);
                sink.connected(false);
                tracing::warn!(%source, "radio reports: lost");
            }
            Err(error) if !was_logged => {
                was_logged = true;
                tracing::warn!(%source, %error, "radio reports: no source yet, trying on");
            }
            Err(_) => {}
        }
        std::thread::sleep(RETRY);
    }
}

/// Reads until the connection ends.
fn read_stream(mut stream: UnixStream, sink: &ReportSink) {
    // without it the thread would only notice the stop with the next report
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let mut lines = Lines::default();
    let mut buffer = vec![0; 65_536];
    while !sink.is_closed() {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                if !lines.push(&buffer[..n], |line| sink.message(line)) {
                    let length = MAX_ENCODED_BYTES + 1;
                    sink.send(ControlEvent::NoReport(DecodeError::TooLong { length }));
                    return;
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return,
        }
    }
}

/// Cuts a stream into lines.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Gives each line that is complete now. False if one is longer than any report.
    fn push(&mut self, mut bytes: &[u8], mut give: impl FnMut(&[u8])) -> bool {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = bytes.split_at(end);
            if self.begun.is_empty() {
                give(line);
            } else {
                self.begun.extend_from_slice(line);
                give(&self.begun);
                self.begun.clear();
            }
            bytes = &rest[1..];
        }
        self.begun.extend_from_slice(bytes);
        self.begun.len() <= MAX_ENCODED_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(
            text in "[ab\n]{0,200}", cuts in proptest::collection::vec(1usize..20, 1..20)
        ) {
            let mut lines = Lines::default();
            let mut got: Vec<String> = Vec::new();
            let mut rest = text.as_bytes();
            for n in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*n).min(rest.len()));
                let give = |l: &[u8]| got.push(String::from_utf8_lossy(l).into_owned());
                prop_assert!(lines.push(now, give));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            let mut expected: Vec<&str> = text.split('\n').collect();
            prop_assert_eq!(expected.pop().unwrap_or_default().as_bytes(), &lines.begun[..]);
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn an_endless_line_is_no_report() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 65_536];
        let pieces = (0..).take_while(|_| lines.push(&piece, |_| {})).count();
        assert_eq!(pieces, MAX_ENCODED_BYTES / piece.len());
    }
}
