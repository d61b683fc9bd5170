//! Radio reports for other processes: a Unix socket, one report as a line of JSON.
//!
//! Reports are delayed and lost as the scenario says. A reader that does not keep up loses reports;
//! it never holds up the radio.

use crate::Error;
use crate::clock::Clock;
use apparatus::ReportChannel;
use rnis::RadioReport;
use scenario::ReportSpec;
use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use units::{Duration, Instant, Streams};

/// Reports under way from the radio to the thread that sends them.
const UNDER_WAY: usize = 1024;
/// How long new readers and the end wait at most.
const TICK: Duration = Duration::from_millis(20);

/// Where the radio puts its reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportSink {
    sender: SyncSender<(Instant, RadioReport)>,
}

impl ReportSink {
    /// Takes a report; one that finds no room is lost.
    pub(crate) fn send(&self, now: Instant, report: RadioReport) {
        let _ = self.sender.try_send((now, report));
    }
}

/// A reader with what it has not taken of a report.
struct Reader {
    stream: UnixStream,
    rest: Vec<u8>,
}

impl Reader {
    /// Sends a line, unless the rest of an earlier one is still waiting. False if nobody reads.
    fn send(&mut self, line: &[u8]) -> bool {
        if !self.push() {
            return false;
        }
        if self.rest.is_empty() {
            self.rest.extend_from_slice(line);
            return self.push();
        }
        true
    }

    fn push(&mut self) -> bool {
        while !self.rest.is_empty() {
            match self.stream.write(&self.rest) {
                Ok(0) => return false,
                Ok(written) => {
                    self.rest.drain(..written);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// Listens at `path`; readers are served once [`serve`] runs.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, Error> {
    let failed = || Error::system(format!("listen at {}", path.display()));
    let listener = UnixListener::bind(path).map_err(failed())?;
    listener.set_nonblocking(true).map_err(failed())?;
    Ok(listener)
}

/// Sends reports to all readers from a thread of its own until `stop`.
pub(crate) fn serve(
    listener: UnixListener,
    spec: &ReportSpec,
    seed: u64,
    clock: Clock,
    stop: Arc<AtomicBool>,
) -> Result<(ReportSink, JoinHandle<()>), Error> {
    let rng = Streams::new(seed).child("pep").stream("report-loss");
    let channel = ReportChannel::new(spec, rng);
    let (sender, receiver) = sync_channel(UNDER_WAY);
    let work = move || send_all(&listener, channel, &receiver, clock, &stop);
    let thread = std::thread::Builder::new()
        .name("reports".to_owned())
        .spawn(work)
        .map_err(Error::system("start a thread"))?;
    Ok((ReportSink { sender }, thread))
}

fn send_all(
    listener: &UnixListener,
    mut channel: ReportChannel,
    receiver: &Receiver<(Instant, RadioReport)>,
    clock: Clock,
    stop: &AtomicBool,
) {
    let mut readers: Vec<Reader> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let arrival = channel.next_arrival();
        let wait = arrival.map_or(TICK, |at| at.saturating_since(clock.now()).min(TICK));
        match receiver.recv_timeout(core::time::Duration::from_nanos(wait.as_nanos())) {
            Ok((made_at, report)) => channel.send(made_at, report),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                let rest = Vec::new();
                readers.push(Reader { stream, rest });
            }
        }
        while let Some(mut report) = channel.take_arrived(clock.now()) {
            if readers.is_empty() {
                continue;
            }
            for ue in &mut report.ues {
                ue.timestamp = Instant::from_nanos(clock.monotonic(ue.timestamp));
            }
            let mut line = rnis::codec::encode_json(&report);
            line.push(b'\n');
            readers.retain_mut(|reader| reader.send(&line));
        }
    }
}
