//! A source of radio reports under the test's control.

use rnis::codec::encode_json;
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Clock};
use units::{Instant, Prb, Slot};

/// Between reports.
const PERIOD: Duration = Duration::from_millis(1);

/// The same on an emulated processor, which would do nothing but make and read reports: those that wait are too old then.
const SLOW_PERIOD: Duration = Duration::from_millis(30);

fn period() -> Duration {
    if testing::is_slow_machine() {
        SLOW_PERIOD
    } else {
        PERIOD
    }
}

/// Now, on the clock of radio reports.
pub fn monotonic() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A report of UEs with these addresses that share a cell of `rate` bit/s, none of it used.
pub fn report(ues: &[IpAddr], seq: u64, at: Instant, rate: u64) -> RadioReport {
    let n_prb = Prb::new(100);
    let slot = units::Duration::from_millis(1);
    let ue = |(i, ip): (usize, &IpAddr)| UeReport {
        ip: Some(*ip),
        seq,
        ..UeReport::idle(
            Rnti(i as u16 + 1),
            LinkQuality::Measured {
                full_band_millibytes: rate / 8,
            },
            at,
        )
    };
    RadioReport {
        cell: CellReport {
            slot_duration: slot,
            slot: Slot::new(seq),
            ..CellReport::fdd(CellId(1), n_prb)
        },
        ues: ues.iter().enumerate().map(ue).collect(),
    }
}

/// A radio that is never the bottleneck here: 400 Gbit/s.
pub fn wide_open(ues: &[IpAddr], seq: u64, at: Instant) -> RadioReport {
    report(ues, seq, at, 400_000_000_000)
}

/// A source that sends a report each period to each client.
pub struct Radio {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    /// Reports are not sent while this is set.
    pub silent: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    unsent: Arc<AtomicU64>,
    readers: Arc<Mutex<Vec<Reader>>>,
}

/// One that reads reports.
struct Reader {
    stream: UnixStream,
    /// The rest of a line that did not fit whole.
    rest: Vec<u8>,
}

impl Radio {
    /// Listens at a path, and sends a report each period, however long making one takes; `make` gives report number so-and-so of that time.
    pub fn start(path: &Path, make: impl Fn(u64, Instant) -> RadioReport + Send + 'static) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("set");
        let stop = Arc::new(AtomicBool::new(false));
        let silent = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicU64::new(0));
        let unsent = Arc::new(AtomicU64::new(0));
        let readers = Arc::new(Mutex::new(Vec::<Reader>::new()));
        let flags = (stop.clone(), silent.clone());
        let shared = (sent.clone(), unsent.clone(), readers.clone());
        let thread = std::thread::spawn(move || {
            let ((stop, silent), (sent, unsent, readers)) = (flags, shared);
            let (mut due, period) = (Clock::now(), period());
            while !stop.load(Relaxed) {
                if let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("set");
                    let rest = Vec::new();
                    readers
                        .lock()
                        .expect("no panic")
                        .push(Reader { stream, rest });
                }
                if !silent.load(Relaxed) {
                    let n = sent.fetch_add(1, Relaxed);
                    let mut line = encode_json(&make(n, monotonic()));
                    line.push(b'\n');
                    unsent.fetch_add(send_to(&readers, &line), Relaxed);
                }
                // those that could not be made in time are left out
                due = (due + period).max(Clock::now());
                std::thread::sleep(due - Clock::now().min(due));
            }
        });
        Self {
            thread: Some(thread),
            stop,
            silent,
            sent,
            unsent,
            readers,
        }
    }

    /// Sends these bytes as they are.
    pub fn send_raw(&self, bytes: &[u8]) {
        send_to(&self.readers, bytes);
    }

    /// Reports made.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Reports that a reader did not get, for it had not read those before.
    pub fn unsent(&self) -> u64 {
        self.unsent.load(Relaxed)
    }
}

/// To all that listen; gives how many have not got it, for there was no room.
fn send_to(readers: &Mutex<Vec<Reader>>, bytes: &[u8]) -> u64 {
    let mut readers = readers.lock().expect("no panic");
    let mut unsent = 0;
    readers.retain_mut(|reader| {
        reader.write_rest().is_ok() && {
            let has_room = reader.rest.is_empty();
            if has_room {
                reader.rest.extend_from_slice(bytes);
            }
            unsent += u64::from(!has_room);
            reader.write_rest().is_ok()
        }
    });
    unsent
}

impl Reader {
    /// As much as there is room for.
    fn write_rest(&mut self) -> std::io::Result<()> {
        use std::io::ErrorKind::{Interrupted, WouldBlock};
        while !self.rest.is_empty() {
            match self.stream.write(&self.rest) {
                Ok(n) => drop(self.rest.drain(..n)),
                Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Radio {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
