//! A lab in which a program of the user's runs on a UE.
//!
//! ```text
//!   [ servers: http, discard, iperf3 ] ... [ edge, proxy ] ... (cell) ... [ UE: COMMAND ]
//! ```
//!
//! The program inherits the terminal, and has the hosts `server`, `edge` and `ue` by these names.
//! The scenario gives the network, the cell and the proxy; its flows do not run.

mod content;
mod occupied;
mod responsiveness;
mod service;

use crate::Error;
use crate::check::check_network;
use crate::fit::{Fitted, fit};
use crate::run::{Lab, Options, Purpose, run_radio};
use content::Content;
pub use content::content_path;
pub use occupied::{Host, Programs};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use scenario::{Experiment, RunResult, Transport};
use service::Iperf;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;
use units::Instant;

/// How long what happens meanwhile may go unnoticed.
const TICK: Duration = Duration::from_millis(100);
/// How long a program that was stopped may take.
const TIMEOUT: Duration = Duration::from_secs(3);
/// What runs in a shell.
#[derive(Debug)]
pub struct ShellSession {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Index of the UE that it runs on.
    pub ue: usize,
    /// The folder whose files the HTTP server has; none: objects by their size.
    pub files: Option<PathBuf>,
    /// Signals for the program, as they come. After SIGTERM or SIGHUP it has 3 s to end.
    pub signals: Receiver<i32>,
}

/// How it went.
#[derive(Debug)]
pub struct ShellOutcome {
    /// How the program ended.
    pub status: ExitStatus,
    /// What the cell and the wires saw, without flows.
    pub result: RunResult,
    /// The proxy ended before the program did, and what it printed.
    pub proxy_failure: Option<Error>,
}

/// Runs a program in a lab until it ends. The calling thread must be the one that lives longest: the
/// program dies with it.
///
/// # Errors
/// What the lab cannot do, before anything runs; a program that cannot be run
/// ([`Error::Command`]); what the kernel refused.
pub fn shell(
    experiment: &Experiment,
    seed: u64,
    options: &Options,
    visit: &ShellSession,
) -> Result<ShellOutcome, Error> {
    let place = Place {
        ue: visit.ue,
        files: visit.files.as_deref(),
    };
    let (visited, result) = occupy(experiment, seed, options, place, |programs| {
        programs.visit(visit, &options.stop)
    })?;
    let (status, proxy_failure) = visited?;
    Ok(ShellOutcome {
        status,
        result,
        proxy_failure,
    })
}

/// What programs in a lab have around them.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Index of the UE that is called `ue`.
    pub ue: usize,
    /// The folder whose files the HTTP server has; none: objects by their size.
    pub files: Option<&'a Path>,
}

/// Has `work` run programs on the hosts of a lab. Returns what it has returned, and what the cell and the
/// wires saw. The calling thread must be the one that lives longest: the programs die with it.
///
/// # Errors
/// What the lab cannot do, before anything runs; what the kernel refused.
pub fn occupy<T>(
    experiment: &Experiment,
    seed: u64,
    options: &Options,
    place: Place<'_>,
    work: impl FnOnce(&mut Programs<'_>) -> T,
) -> Result<(T, RunResult), Error> {
    let fitted = check_shell(experiment, options.scale)?;
    let experiment = &*fitted.experiment.drawn(seed);
    let mut lab = Lab::build(experiment, options, place.files)?;
    let mut radio = lab.radio(experiment, seed, options, Purpose::Shell)?;
    let end = Arc::clone(&radio.end);
    let content = place
        .files
        .map_or(Content::Sizes, |files| Content::Files(files.to_owned()));
    let thread = service::start(&lab.hosts, content, Arc::clone(&lab.stop))?;
    lab.threads.push(thread);
    let _iperf = Iperf::start(&lab.hosts.servers, &lab.folder)?;
    radio.network.flow_starts(Instant::ZERO);
    let (network, outcome, done) = run_radio(radio, |has_ended| {
        let done =
            Programs::new(&mut lab, place.ue, has_ended, &options.stop).map(|mut programs| {
                // from here on the slots run
                programs.wait_for_slots();
                work(&mut programs)
            });
        end.store(true, Ordering::Relaxed);
        done
    })?;
    // whatever else has been started ends with the lab
    drop(lab);
    let mut result = network.finish(outcome.end, seed);
    result.flows.clear();
    let mut notes = fitted.notes;
    notes.extend(outcome.of_wires());
    result.real_time = Some(outcome.real_time(fitted.scale, notes));
    Ok((done?, result))
}

/// The network, cell and proxy of an experiment as a shell has them here, with the servers of QUIC
/// flows and no other flow.
///
/// # Errors
/// The first thing that the lab cannot do.
pub fn check_shell(experiment: &Experiment, scale: Option<NonZeroU32>) -> Result<Fitted, Error> {
    let available = check_network(experiment)?;
    let mut network = experiment.clone();
    // of flows there are only the servers of QUIC, for whatever program connects to them
    network
        .flows
        .retain(|flow| flow.transport == Transport::Quic);
    for flow in &network.flows {
        crate::traffic::check_flow(flow, &available)?;
    }
    Ok(fit(&network, scale, &available))
}

impl Programs<'_> {
    /// Runs the program of a shell, and waits until it ends.
    fn visit(
        &mut self,
        visit: &ShellSession,
        stop: &AtomicBool,
    ) -> Result<(ExitStatus, Option<Error>), Error> {
        let mut child = self.start(visit)?;
        let pid = Pid::from_child(&child);
        let pidfd =
            pidfd_open(pid, PidfdFlags::empty()).map_err(Error::system("watch the program"))?;
        let (mut proxy_failure, mut ends_by) = (None, None);
        loop {
            wait(&pidfd);
            if let Some(status) = child
                .try_wait()
                .map_err(Error::system("wait for the program"))?
            {
                return Ok((status, proxy_failure));
            }
            while let Ok(signal) = visit.signals.try_recv() {
                // it has not been waited for, so that the number is still its own
                if let Some(signal) = Signal::from_named_raw(signal) {
                    let _ = kill_process(pid, signal);
                    if matches!(signal, Signal::TERM | Signal::HUP) {
                        ends_by = Some(std::time::Instant::now() + TIMEOUT);
                    }
                }
            }
            let is_late = ends_by.is_some_and(|by| std::time::Instant::now() > by);
            if is_late || self.has_ended() || stop.load(Ordering::Relaxed) {
                let _ = child.kill();
            }
            if proxy_failure.is_none()
                && let Err(error) = self.check_proxy()
            {
                crate::note::note(format_args!("{error}; connections now pass by it"));
                proxy_failure = Some(error);
            }
        }
    }

    fn start(&self, visit: &ShellSession) -> Result<Child, Error> {
        let Some((program, arguments)) = visit.command.split_first() else {
            return Err(Error::Unsupported {
                what: "the command".to_owned(),
                why: "is empty; name a program to run on the UE".to_owned(),
            });
        };
        let mut command = Command::new(program);
        command.args(arguments);
        let cannot = |source| Error::Command {
            program: program.to_string_lossy().into_owned(),
            source,
        };
        self.place(Host::Ue, &mut command).map_err(cannot)?;
        command.spawn().map_err(cannot)
    }
}

/// Waits until the process has ended, but no longer than a tick.
fn wait(process: &OwnedFd) {
    let timeout = crate::clock::timespec(TICK.as_nanos() as u64);
    // interrupted or not, the caller looks for itself
    let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout));
}
