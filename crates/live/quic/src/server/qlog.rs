//! One qlog file for each connection: what quinn writes (packets, recovery metrics) and, between,
//! MELD's decisions as events of the name `brimful:loss_decision`.
//!
//! Only [`MAX_OPEN`] files are open at the same time: a client decides how long its connection lasts, and each file has a
//! descriptor until then. Connections beyond go on without.
//!
//! Format: JSON text sequences (RFC 7464) of qlog, draft-ietf-quic-qlog-main-schema; times are
//! milliseconds since the connection began.

use cc::meld::LossDecision;
use daemon::LogLimit;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use units::Instant;

/// Files of all connections that are open at the same time.
pub(crate) const MAX_OPEN: usize = 256;

/// The files that are open.
#[derive(Debug)]
pub(crate) struct OpenLogs(Arc<Semaphore>);

impl OpenLogs {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_OPEN)))
    }

    /// A new file of this name.
    ///
    /// # Errors
    /// The kernel's, or [`MAX_OPEN`] are open.
    pub(crate) fn create(&self, path: &Path) -> io::Result<Qlog> {
        let full = |_| {
            io::Error::other(format!(
                "{MAX_OPEN} logs are open, the most at the same time"
            ))
        };
        let place = Arc::clone(&self.0).try_acquire_owned().map_err(full)?;
        let file = Open {
            to: BufWriter::new(File::create(path)?),
            _place: place,
        };
        Ok(Qlog(Arc::new(Mutex::new(Log {
            file: Some(file),
            error: None,
        }))))
    }
}

/// A file, with its place among those that are open.
#[derive(Debug)]
struct Open {
    to: BufWriter<File>,
    _place: OwnedSemaphorePermit,
}

/// Logs that could not be made or are incomplete: counted, and a line in ten seconds. A client causes one with each connection.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    count: AtomicU64,
    lines: Mutex<LogLimit>,
}

impl Failures {
    /// Of this connection, in this folder.
    pub(crate) fn report(&self, connection: u64, folder: &Path, error: &io::Error) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suppressed) = lines.admit(daemon::clock::now()) {
            let folder = folder.display();
            tracing::warn!(connection, %folder, suppressed, "qlog is missing or incomplete: {error}");
        }
    }

    /// Since the start.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Begins a record (RFC 7464 2.1).
const RECORD: u8 = 0x1e;

/// The file of a connection: a handle, cheap to clone. It ends at the first error, which [`Qlog::flush`]
/// returns: quinn would log each of thousands of events that a full disk refuses.
#[derive(Clone, Debug)]
pub(crate) struct Qlog(Arc<Mutex<Log>>);

#[derive(Debug)]
struct Log {
    /// None after an error.
    file: Option<Open>,
    error: Option<io::Error>,
}

impl Log {
    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if let Some(file) = &mut self.file
            && let Err(error) = write(&mut file.to)
        {
            self.error = Some(error);
            // what waits in it is not written on closing either
            if let Some(file) = self.file.take() {
                drop(file.to.into_parts());
            }
        }
    }
}

impl Qlog {
    /// For quinn.
    pub(crate) fn writer(&self) -> Records {
        Records {
            to: self.clone(),
            begun: Vec::new(),
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, bytes: &[u8]) {
        self.log().attempt(|file| file.write_all(bytes));
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The first of this and of all writes since the last call.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut log = self.log();
        log.attempt(BufWriter::flush);
        log.error.take().map_or(Ok(()), Err)
    }

    /// A decision, made so long after the connection began.
    pub(crate) fn decision(&self, since: units::Duration, now: Instant, decision: &LossDecision) {
        let event = json!({
            "time": since.as_millis_f64(),
            "name": "brimful:loss_decision",
            "data": decision_json(now, decision),
        });
        let mut bytes = vec![RECORD];
        bytes.extend_from_slice(event.to_string().as_bytes());
        bytes.push(b'\n');
        self.record(&bytes);
    }
}

/// A decision with everything that it was made from.
pub(crate) fn decision_json(now: Instant, decision: &LossDecision) -> serde_json::Value {
    let radio = decision.radio.as_ref().map(|radio| {
        json!({
            "seq": radio.seq,
            "age_ms": decision.age.map(units::Duration::as_millis_f64),
            "tbs_bytes": radio.tbs.get(),
            "best_tbs_bytes": radio.best_tbs.get(),
            "harq_processes": radio.harq_processes,
            "queue_bytes": radio.queue.get(),
            "served_bytes": radio.served.get(),
            "harq_retx": radio.harq_retx,
            "lost_packets": radio.lost_packets,
            "period_ms": radio.period.as_millis_f64(),
        })
    });
    json!({
        "monotonic_seconds": now.as_secs_f64(),
        "variant": decision.variant.name(),
        "reason": decision.reason.name(),
        "is_congestion": decision.reason.is_congestion(),
        "lost_bytes": decision.lost.get(),
        "bytes_in_flight": decision.bytes_in_flight.get(),
        "most_in_flight_bytes": decision.max_in_flight.get(),
        "tbs_threshold_bytes": decision.tbs_threshold.get(),
        "queue_threshold_bytes": decision.queue_threshold.get(),
        "radio": radio,
    })
}

/// Hands records on whole, however they are written, so that those of two writers do not mix.
#[derive(Debug)]
pub(crate) struct Records {
    to: Qlog,
    begun: Vec<u8>,
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        if let Some(end) = self.begun.iter().rposition(|&b| b == b'\n') {
            let later = self.begun.split_off(end + 1);
            let whole = std::mem::replace(&mut self.begun, later);
            self.to.record(&whole);
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_the_log_with_one_error() {
        let log = OpenLogs::new()
            .create(Path::new("/dev/full"))
            .expect("opened");
        let mut writer = log.writer();
        for _ in 0..10_000 {
            writer
                .write_all(b"\x1e{\"a\":1}\n")
                .expect("no event is refused");
        }
        let error = log.flush().expect_err("it is incomplete");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        log.flush().expect("reported once");
    }

    /// Also one that a full disk has ended gives its place back.
    #[test]
    fn a_log_that_is_closed_makes_room_for_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = OpenLogs::new();
        let create = |n: usize| logs.create(&folder.path().join(format!("{n}.sqlog")));
        let mut open: Vec<Qlog> = (1..MAX_OPEN).map_while(|n| create(n).ok()).collect();
        assert_eq!(open.len(), MAX_OPEN - 1);
        let full = logs.create(Path::new("/dev/full")).expect("the last place");
        assert!(create(MAX_OPEN).is_err());
        assert!(!folder.path().join(format!("{MAX_OPEN}.sqlog")).exists());
        full.record(&[0; 10_000]);
        open.push(create(MAX_OPEN).expect("room again"));
        assert!(create(MAX_OPEN + 1).is_err());
        // a handle of quinn's keeps it open
        let writer = open[0].writer();
        open.remove(0);
        assert!(create(MAX_OPEN + 1).is_err());
        drop(writer);
        create(MAX_OPEN + 1).expect("room again");
    }

    #[test]
    fn records_of_two_writers_do_not_mix() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sqlog");
        let log = OpenLogs::new().create(&path).expect("a file");
        let (mut one, mut two) = (log.writer(), log.writer());
        one.write_all(b"\x1e{\"a\":").expect("written");
        two.write_all(b"\x1e{\"b\":1}\n\x1e{").expect("written");
        one.write_all(b"1}\n").expect("written");
        two.write_all(b"}\n").expect("written");
        log.flush().expect("flushed");
        let text = std::fs::read_to_string(path).expect("read");
        assert_eq!(text, "\x1e{\"b\":1}\n\x1e{\"a\":1}\n\x1e{}\n");
    }
}
