//! Radio reports for other processes (a Unix socket, one report as a line of JSON) and for the kernel.
//!
//! Reports are delayed and lost as the scenario states. A reader that does not keep up loses reports;
//! it never holds up the radio.

use crate::cleanup::Folder;
use crate::clock::Clock;
use crate::meld::Programs;
use crate::traffic::SenderStates;
use crate::{Error, quic, tunnel};
use network::ReportChannel;
use rnis::RadioReport;
use scenario::{Experiment, ReportSpec};
use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use units::{Duration, Instant, Streams};

/// Name of the socket of the radio reports, in the lab's folder.
pub(crate) const REPORTS: &str = "radio.sock";
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
pub(crate) struct Reader {
    stream: UnixStream,
    rest: Vec<u8>,
}

impl Reader {
    /// Of a connection; none if that cannot be used.
    pub(crate) fn new(stream: UnixStream) -> Option<Self> {
        let rest = Vec::new();
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, rest })
    }

    /// Sends a line, unless the rest of an earlier one is still waiting. False if the reader is gone.
    pub(crate) fn send(&mut self, line: &[u8]) -> bool {
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

/// Where reports are requested.
pub(crate) struct Listeners {
    /// By the proxy and other programs.
    pub(crate) programs: UnixListener,
    pub(crate) servers: UnixListener,
    /// By the tunnel's end at the edge, if it reads them.
    pub(crate) tunnel: Option<UnixListener>,
}

impl Listeners {
    /// At sockets in the lab's folder.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(experiment: &Experiment, folder: &Folder) -> Result<Self, Error> {
        let at = |name: &str| listen(&folder.path().join(name));
        let has_tunnel = tunnel::reports(experiment).is_some();
        Ok(Self {
            programs: at(REPORTS)?,
            servers: at(quic::REPORTS)?,
            tunnel: has_tunnel.then(|| at(tunnel::REPORTS)).transpose()?,
        })
    }
}

/// Who reads reports.
pub(crate) enum Readers {
    /// Programs, at a socket: each report is a line of JSON.
    Socket(UnixListener),
    /// The kernel of the servers, whose decisions are shown with the senders' states.
    Kernel(Programs, Arc<SenderStates>),
}

/// Sends reports to readers from a thread of its own until `stop`. `name` is that of the random stream
/// of their losses.
pub(crate) fn serve(
    readers: Readers,
    spec: &ReportSpec,
    seed: u64,
    name: &str,
    clock: Clock,
    stop: Arc<AtomicBool>,
) -> Result<(ReportSink, JoinHandle<()>), Error> {
    let rng = Streams::new(seed).child(name).stream("report-loss");
    let channel = ReportChannel::new(spec, rng);
    let (sender, receiver) = sync_channel(UNDER_WAY);
    let mut readers = match readers {
        Readers::Socket(listener) => Open::Socket(listener, Vec::new()),
        Readers::Kernel(programs, senders) => Open::Kernel(programs, senders),
    };
    let work = move || {
        send_all(&mut readers, channel, &receiver, clock, &stop);
        if let Open::Kernel(programs, _) = &readers {
            for line in programs.decisions() {
                crate::note::note(format_args!("{line}"));
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("reports".to_owned())
        .spawn(work)
        .map_err(Error::system("start a thread"))?;
    Ok((ReportSink { sender }, thread))
}

/// Readers that are served.
enum Open {
    Socket(UnixListener, Vec<Reader>),
    Kernel(Programs, Arc<SenderStates>),
}

impl Open {
    /// Lets in who has come.
    fn accept(&mut self) {
        let Self::Socket(listener, readers) = self else {
            return;
        };
        while let Ok((stream, _)) = listener.accept() {
            readers.extend(Reader::new(stream));
        }
    }

    /// Sends a report, made at a time of the run.
    fn send(&mut self, clock: Clock, mut report: RadioReport) {
        match self {
            Self::Socket(_, readers) if readers.is_empty() => {}
            Self::Socket(_, readers) => {
                for ue in &mut report.ues {
                    ue.timestamp = Instant::from_nanos(clock.monotonic(ue.timestamp));
                }
                let mut line = rnis::codec::encode_json(&report);
                line.push(b'\n');
                readers.retain_mut(|reader| reader.send(&line));
            }
            Self::Kernel(programs, senders) => {
                let Some(ue) = report.ues.first() else { return };
                let made_at = Instant::from_nanos(clock.monotonic(ue.timestamp));
                let arrived_at = Instant::from_nanos(clock.monotonic(clock.now()));
                if let Err(error) = programs.update(&report, made_at, arrived_at) {
                    crate::note::note(format_args!(
                        "a radio report did not reach the kernel: {error}"
                    ));
                }
                for (flow, losses) in programs.losses() {
                    senders.set_losses(flow, losses);
                }
            }
        }
    }
}

fn send_all(
    readers: &mut Open,
    mut channel: ReportChannel,
    receiver: &Receiver<(Instant, RadioReport)>,
    clock: Clock,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let arrival = channel.next_arrival();
        let wait = arrival.map_or(TICK, |at| at.saturating_since(clock.now()).min(TICK));
        match receiver.recv_timeout(core::time::Duration::from_nanos(wait.as_nanos())) {
            Ok((made_at, report)) => channel.send(made_at, report),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        readers.accept();
        while let Some(report) = channel.take_arrived(clock.now()) {
            readers.send(clock, report);
        }
    }
}
