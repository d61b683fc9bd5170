//! A lab in which a program of the user's runs on a UE.
//!
//! ```text
//!   [ servers: http, discard, iperf3 ] ... [ edge, proxy ] ... (cell) ... [ UE: COMMAND ]
//! ```
//!
//! The program inherits the terminal, and has the hosts `server`, `edge` and `ue` by these names.
//! The scenario gives the network, the cell and the proxy; its flows do not run.

mod content;
mod service;

use crate::fit::{Fitted, fit};
use crate::names::{RAN_ADDRESS, SERVER_ADDRESS, ue_address};
use crate::run::{Lab, Options, Purpose, check_network, run_radio};
use crate::{Error, child};
use content::Content;
pub use content::content_path;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use scenario::{Experiment, RunResult, Transport};
use service::Iperf;
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
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
/// Variables that would lead programs to a proxy outside of the lab.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy"];

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
    let fitted = check_shell(experiment, options.scale)?;
    let experiment = &*fitted.experiment.drawn(seed);
    let mut lab = Lab::build(experiment, options, visit.files.as_deref())?;
    let mut radio = lab.radio(experiment, seed, options, Purpose::Shell)?;
    let end = Arc::clone(&radio.end);
    let content = visit.files.clone().map_or(Content::Sizes, Content::Files);
    let thread = service::start(&lab.hosts, content, Arc::clone(&lab.stop))?;
    lab.threads.push(thread);
    let _iperf = Iperf::start(&lab.hosts.servers, &lab.folder)?;
    radio.network.flow_starts(Instant::ZERO);
    let (network, outcome, visited) = run_radio(radio, |has_failed| {
        let ended_with = lab.visit(visit, has_failed, &options.stop);
        end.store(true, Ordering::Relaxed);
        ended_with
    })?;
    let (status, proxy_failure) = visited?;
    // whatever else the program has started ends with the lab
    drop(lab);
    let mut result = network.finish(outcome.end, seed);
    result.flows.clear();
    result.real_time = Some(outcome.real_time(fitted.scale, fitted.notes));
    Ok(ShellOutcome {
        status,
        result,
        proxy_failure,
    })
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

impl Lab {
    /// Runs the program, and waits until it ends.
    fn visit(
        &mut self,
        visit: &ShellSession,
        has_failed: &dyn Fn() -> bool,
        stop: &AtomicBool,
    ) -> Result<(ExitStatus, Option<Error>), Error> {
        // from here on the slots run
        self.clock.sleep_until(Instant::from_nanos(1));
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
            if is_late || has_failed() || stop.load(Ordering::Relaxed) {
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
        let names = self.folder.path().join("hosts");
        let text = format!(
            "127.0.0.1 localhost\n{SERVER_ADDRESS} server\n{RAN_ADDRESS} edge\n{} ue\n",
            ue_address(visit.ue)
        );
        let failed = |path: &std::path::Path| Error::system(format!("write {}", path.display()));
        fs::write(&names, text).map_err(failed(&names))?;
        let mut command = Command::new(program);
        command.args(arguments);
        for name in PROXIES {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        let cannot = |source| Error::Command {
            program: program.to_string_lossy().into_owned(),
            source,
        };
        self.folder.mark(&mut command);
        child::run_in_with_names(&mut command, &self.hosts.ues[visit.ue], &names)
            .map_err(cannot)?;
        command.spawn().map_err(cannot)
    }
}

/// Waits until the process has ended, but no longer than a tick.
fn wait(process: &OwnedFd) {
    let timeout = crate::clock::timespec(TICK.as_nanos() as u64);
    // interrupted or not, the caller looks for itself
    let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout));
}
