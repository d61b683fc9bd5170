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
use std::time::Duration;
use units::{Instant, Prb, Slot};

/// Between reports.
pub const PERIOD: Duration = Duration::from_millis(1);

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
    readers: Arc<Mutex<Vec<UnixStream>>>,
}

impl Radio {
    /// Listens at a path; `make` gives report number so-and-so of that time.
    pub fn start(path: &Path, make: impl Fn(u64, Instant) -> RadioReport + Send + 'static) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).expect("a socket");
        listener.set_nonblocking(true).expect("set");
        let stop = Arc::new(AtomicBool::new(false));
        let silent = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicU64::new(0));
        let readers = Arc::new(Mutex::new(Vec::<UnixStream>::new()));
        let shared = (stop.clone(), silent.clone(), sent.clone(), readers.clone());
        let thread = std::thread::spawn(move || {
            let (stop, silent, sent, readers) = shared;
            while !stop.load(Relaxed) {
                if let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("set");
                    readers.lock().expect("no panic").push(stream);
                }
                if !silent.load(Relaxed) {
                    let n = sent.fetch_add(1, Relaxed);
                    let mut line = encode_json(&make(n, monotonic()));
                    line.push(b'\n');
                    send_to(&readers, &line);
                }
                std::thread::sleep(PERIOD);
            }
        });
        Self {
            thread: Some(thread),
            stop,
            silent,
            sent,
            readers,
        }
    }

    /// Sends these bytes as they are.
    pub fn send_raw(&self, bytes: &[u8]) {
        send_to(&self.readers, bytes);
    }

    /// Reports sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }
}

/// To all that listen; a line that does not fit whole is lost with its reader.
fn send_to(readers: &Mutex<Vec<UnixStream>>, bytes: &[u8]) {
    let mut readers = readers.lock().expect("no panic");
    readers.retain_mut(|reader| match reader.write(bytes) {
        Ok(n) => n == bytes.len(),
        Err(error) => {
            use std::io::ErrorKind::{Interrupted, WouldBlock};
            matches!(error.kind(), WouldBlock | Interrupted)
        }
    });
}

impl Drop for Radio {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
