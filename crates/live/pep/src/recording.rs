//! Writes all that goes into the proxy's decisions and comes out of them to a file ([`edge::recording`]).
//!
//! The control thread hands entries over and never waits for the disk: a recording that cannot keep
//! up, or has reached its limit, ends, and the log states it. What was written until then is whole and
//! can be replayed.

use crate::config::Recording as Place;
use crate::error::PepError;
use edge::recording::{Entry, Record};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use units::Bytes;

/// Entries that may wait for the disk.
const MAX_PENDING: usize = 65_536;
/// What was recorded is in the file after so long.
const FLUSH: Duration = Duration::from_millis(200);

/// Takes entries. Copies write to the same file.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    to: SyncSender<Entry>,
    has_ended: Arc<AtomicBool>,
}

impl Record for Recording {
    fn record(&mut self, entry: Entry) {
        if !self.has_ended.load(Relaxed) && self.to.try_send(entry).is_err() {
            self.has_ended.store(true, Relaxed);
            tracing::warn!("the recording ends here: the disk does not keep up");
        }
    }
}

/// The thread that writes.
pub(crate) struct Writer {
    file: BufWriter<File>,
    path: PathBuf,
    left: Bytes,
    entries: Receiver<Entry>,
    has_ended: Arc<AtomicBool>,
}

/// Begins a recording: a new file, for its owner's eyes. One that is there is emptied by the writer: until
/// then it may be a predecessor's.
pub(crate) fn begin(place: &Place) -> Result<(Recording, Writer), PepError> {
    let path = place.file.clone();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| {
            PepError::system(format!("{} cannot be written", path.display()), error)
        })?;
    let (to, entries) = sync_channel(MAX_PENDING);
    let has_ended = Arc::new(AtomicBool::new(false));
    let recording = Recording {
        to,
        has_ended: Arc::clone(&has_ended),
    };
    let writer = Writer {
        file: BufWriter::new(file),
        path,
        left: place.limit,
        entries,
        has_ended,
    };
    Ok((recording, writer))
}

impl Writer {
    /// Writes until all recorders are gone.
    pub(crate) fn run(mut self) {
        if let Err(error) = self.write_all() {
            self.has_ended.store(true, Relaxed);
            tracing::warn!(file = %self.path.display(), %error, "the recording ends here");
        }
    }

    fn write_all(&mut self) -> std::io::Result<()> {
        if self.file.get_ref().metadata()?.is_file() {
            self.file.get_ref().set_len(0)?;
        }
        loop {
            match self.entries.recv_timeout(FLUSH) {
                Ok(entry) => {
                    let mut line = entry.encode();
                    line.push(b'\n');
                    let length = Bytes::new(line.len() as u64);
                    if length > self.left {
                        self.file.flush()?;
                        return Err(std::io::Error::other("its limit is reached"));
                    }
                    self.left = self.left.saturating_sub(length);
                    self.file.write_all(&line)?;
                }
                Err(RecvTimeoutError::Timeout) => self.file.flush()?,
                Err(RecvTimeoutError::Disconnected) => return self.file.flush(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edge::recording::{Event, What};
    use rapid::FlowId;
    use units::Instant;

    fn entry(flow: u64) -> Entry {
        Entry {
            at: Instant::from_nanos(flow),
            what: What::In(Event::FlowClose { flow: FlowId(flow) }),
        }
    }

    fn written(limit: Bytes, entries: u64) -> Vec<Entry> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("recording");
        let place = Place {
            file: file.clone(),
            limit,
        };
        let (mut recording, writer) = begin(&place).expect("a recording");
        let thread = std::thread::spawn(move || writer.run());
        for flow in 0..entries {
            recording.record(entry(flow));
        }
        drop(recording);
        thread.join().expect("no panic");
        let text = std::fs::read(&file).expect("the file");
        text.split_inclusive(|byte| *byte == b'\n')
            .map(|line| Entry::decode(line).expect("an entry"))
            .collect()
    }

    #[test]
    fn all_entries_are_written_in_order() {
        let expected: Vec<Entry> = (0..1000).map(entry).collect();
        assert_eq!(written(Bytes::new(1_000_000), 1000), expected);
    }

    #[test]
    fn the_limit_ends_it_at_a_whole_entry() {
        let line = entry(0).encode().len() as u64 + 1;
        let kept = written(Bytes::new(3 * line + 5), 8);
        assert_eq!(kept, (0..3).map(entry).collect::<Vec<_>>());
    }
}
