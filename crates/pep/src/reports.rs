//! Reads radio reports from a Unix stream socket: one JSON object a line.
//!
//! The source may come, go, and send anything: a line that is no report is counted, one that is too
//! long ends the connection, and a lost connection is tried again and again.

use crate::control::ControlEvent;
use rnis::DecodeError;
use rnis::codec::{MAX_ENCODED_BYTES, decode_json};
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Between tries to connect.
const RETRY: Duration = Duration::from_millis(200);
/// A read ends after this, to see whether the daemon stops.
const PATIENCE: Duration = Duration::from_millis(500);
/// Reports that may wait for the control thread; more are dropped, for only the newest count.
const MOST_PENDING: usize = 256;

/// The thread that reads reports.
pub(crate) struct Reader {
    source: PathBuf,
    to: Sender<ControlEvent>,
    pending: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// From the socket at this path, until `stop`.
    pub(crate) fn new(
        source: &Path,
        to: Sender<ControlEvent>,
        pending: Arc<AtomicUsize>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            source: source.to_owned(),
            to,
            pending,
            stop,
        }
    }

    /// Runs until told to stop, or nobody listens any more.
    pub(crate) fn run(self) {
        let mut was_told = false;
        while !self.stop.load(Relaxed) {
            match UnixStream::connect(&self.source) {
                Ok(stream) => {
                    tracing::info!(source = %self.source.display(), "radio reports: connected");
                    was_told = false;
                    if self.read(stream).is_none() {
                        return;
                    }
                    tracing::warn!(source = %self.source.display(), "radio reports: lost");
                }
                Err(error) if !was_told => {
                    was_told = true;
                    let source = self.source.display();
                    tracing::warn!(%source, %error, "radio reports: no source yet, trying on");
                }
                Err(_) => {}
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Reads until the connection ends. None if nobody listens any more.
    fn read(&self, mut stream: UnixStream) -> Option<()> {
        // without it the thread would only notice the stop with the next report
        let _ = stream.set_read_timeout(Some(PATIENCE));
        self.to.send(ControlEvent::Source(true)).ok()?;
        let mut lines = Lines::default();
        let mut buffer = vec![0; 65_536];
        while !self.stop.load(Relaxed) {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    let mut result = Some(());
                    let fits = lines.push(&buffer[..n], |line| {
                        result = result.and_then(|()| self.hand_over(line));
                    });
                    result?;
                    if !fits {
                        self.to.send(ControlEvent::Unreadable).ok()?;
                        break;
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(_) => break,
            }
        }
        self.to.send(ControlEvent::Source(false)).ok()
    }

    fn hand_over(&self, line: &[u8]) -> Option<()> {
        let event = match decode_json(line) {
            Err(DecodeError::Report(_)) => ControlEvent::Absurd,
            Err(_) => ControlEvent::Unreadable,
            Ok(_) if self.pending.load(Relaxed) >= MOST_PENDING => ControlEvent::Dropped(1),
            Ok(report) => {
                self.pending.fetch_add(1, Relaxed);
                ControlEvent::Report(Box::new(report))
            }
        };
        self.to.send(event).ok()
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
