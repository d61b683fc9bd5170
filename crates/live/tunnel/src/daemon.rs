//! The daemon as a whole: it starts the parts, reloads, and stops.

use crate::client::Client;
use crate::config::{Config, End, Remote};
use crate::error::TunnelError;
use crate::inside::Inside;
use crate::output::Output;
use crate::packet_thread::{Change, Command, Outside, PacketThread};
use crate::poller::{Poller, Waker};
use crate::reload::Reloader;
use crate::resolver::Resolver;
use crate::server::Server;
use crate::setup::Setup;
use crate::status::Status;
use crate::{admin, limits, metrics};
#[cfg(feature = "edge")]
use crate::{dashboard, radio};
use daemon::metrics::Server as MetricsServer;
#[cfg(feature = "edge")]
use daemon::metrics::Site;
use daemon::{Seats, clock, notify, start_log};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// The thread that moves packets must have answered by then.
const TIMEOUT: Duration = Duration::from_millis(1_000);

/// Requests that may wait for that thread. One whose requester has given up still does: at `/metrics` any host that
/// reaches it requests one after the other, however long the thread is busy.
const MAX_REQUESTS: usize = 64;

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its configuration.
    pub config: Config,
    /// The file that it came from, which SIGHUP has read again.
    pub file: Option<PathBuf>,
}

/// How other threads reach the one that moves packets.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    commands: Sender<Command>,
    waker: Waker,
    requests: Seats,
    /// Where paths go that name no server.
    pub(crate) remote: Option<Remote>,
}

impl Handle {
    pub(crate) fn send(&self, command: Command) -> bool {
        let is_sent = self.commands.send(command).is_ok();
        self.waker.wake();
        is_sent
    }

    /// How the tunnel stands; none if it does not answer, or as many requests wait as may.
    pub(crate) fn status(&self) -> Option<Status> {
        let seat = self.requests.take()?;
        let (to, answer) = mpsc::channel();
        self.send(Command::Status(to, seat));
        answer.recv_timeout(TIMEOUT).ok()
    }

    /// Changes something; the result states what was done.
    pub(crate) fn change(&self, change: Change) -> Result<String, String> {
        self.change_within(change, TIMEOUT)
    }

    /// As [`Self::change`], where the answer may take so long.
    pub(crate) fn change_within(&self, change: Change, time: Duration) -> Result<String, String> {
        let no_answer = || "the tunnel does not answer".to_owned();
        let seat = self.requests.take().ok_or_else(no_answer)?;
        let (to, answer) = mpsc::channel();
        self.send(Command::Change(change, to, seat));
        let answer = answer.recv_timeout(time);
        answer.map_err(|_| no_answer())?
    }
}

/// Runs the tunnel until it is stopped.
///
/// # Errors
/// A key that cannot be used, or a system that lacks what it needs.
pub fn run(start: &Start) -> Result<(), TunnelError> {
    let config = &start.config;
    config.check_keys()?;
    #[cfg(feature = "edge")]
    let shown = dashboard::prepare(config)?;
    #[cfg(feature = "edge")]
    let meter = shown.as_ref().map(dash::Prepared::meter);
    #[cfg(not(feature = "edge"))]
    let shown = ();
    start_log(config.log);
    let system = |error| TunnelError::system("the event loop cannot be set up", error);
    let poller = Poller::new().map_err(system)?;
    let waker = Waker::new().map_err(system)?;
    let output = Output::new(config.threads.has_second(), waker.clone());
    let (commands, received) = mpsc::channel();
    let handle = Handle {
        commands,
        waker: waker.clone(),
        requests: Seats::new(MAX_REQUESTS),
        remote: admin::default_remote(config),
    };
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| TunnelError::system("signals cannot be received", error))?;
    let setup = Setup::default();
    match &config.end {
        End::Client(_) => {
            let mtu = Client::first_mtu(config);
            let mut client = Client::new(config.clone(), mtu, clock::now(), output.clone())?;
            client.watch_network(&poller);
            client.resolve_with(Resolver::start(handle.clone())?);
            let inside = Inside::open(config, mtu, &setup, &output)?;
            let _metrics = serve(start, &handle, setup, signals, shown)?;
            let packets = PacketThread::new(poller, waker, received, inside, client, output);
            go(packets?)
        }
        #[cfg_attr(
            not(feature = "edge"),
            expect(unused_variables, reason = "reports alone need it")
        )]
        End::Server(end) => {
            let mtu = config
                .tun
                .mtu
                .unwrap_or(limits::usual_mtu(config.encryption));
            let server = Server::new(config.clone(), mtu, &poller, output.clone())?;
            let inside = Inside::open(config, mtu, &setup, &output)?;
            let _metrics = serve(start, &handle, setup, signals, shown)?;
            #[cfg(feature = "edge")]
            if let Some(reports) = end.reports.clone() {
                let (handle, counts) = (handle.clone(), server.report_counts().clone());
                spawn("radio-reports", move || {
                    radio::read(&reports, handle, counts, meter);
                })?;
            }
            let packets = PacketThread::new(poller, waker, received, inside, server, output);
            go(packets?)
        }
    }
}

fn go<O: Outside>(packets: PacketThread<O>) -> Result<(), TunnelError> {
    let (device, mtu, threads) = packets.shape();
    tracing::info!(device, mtu, threads, "running");
    notify("READY=1");
    let result = packets.run();
    tracing::info!("stopped");
    result
}

/// The dashboard, where there is one.
#[cfg(feature = "edge")]
type Shown = Option<dash::Prepared>;
#[cfg(not(feature = "edge"))]
type Shown = ();

/// The threads beside the one that moves packets; they end with the process, and that of the metrics with
/// their server.
fn serve(
    start: &Start,
    handle: &Handle,
    setup: Setup,
    signals: Signals,
    shown: Shown,
) -> Result<Option<MetricsServer>, TunnelError> {
    let (file, config) = (start.file.clone(), start.config.clone());
    let reloader = Arc::new(Reloader::new(file, config, handle.clone(), setup));
    if let Some(path) = &start.config.admin {
        let (listener, handle) = (admin::open(path)?, handle.clone());
        let reloader = Arc::clone(&reloader);
        spawn("admin", move || admin::serve(handle, reloader, &listener))?;
    }
    let mut server = None;
    if let Some(address) = start.config.metrics {
        let listener = metrics::open(address)?;
        #[cfg(feature = "edge")]
        {
            let dashboard = shown.map(|shown| dashboard::start(shown, handle));
            let dashboard = dashboard.transpose()?;
            let with = |site: Site| site.with_dashboard(dashboard);
            server = Some(metrics::serve(handle, listener, with)?);
        }
        #[cfg(not(feature = "edge"))]
        {
            let () = shown;
            server = Some(metrics::serve(handle, listener, |site| site)?);
        }
    }
    let handle = handle.clone();
    spawn("signals", move || on_signals(&handle, &reloader, signals))?;
    Ok(server)
}

fn on_signals(handle: &Handle, reloader: &Reloader, mut signals: Signals) {
    for signal in signals.forever() {
        match signal {
            // what became of it is in the log
            SIGHUP => drop(reloader.reload()),
            _ => drop(handle.send(Command::Stop)),
        }
    }
}

pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), TunnelError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map(drop)
        .map_err(|error| TunnelError::system(format!("the thread {name} cannot be started"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More requests than may wait, of as many hosts, while the thread that moves packets takes nothing.
    #[test]
    fn requests_that_wait_are_bounded() {
        let (commands, received) = mpsc::channel();
        let handle = Handle {
            commands,
            waker: Waker::new().expect("an eventfd"),
            requests: Seats::new(MAX_REQUESTS),
            remote: None,
        };
        std::thread::scope(|scope| {
            for i in 0..2 * MAX_REQUESTS {
                let handle = handle.clone();
                scope.spawn(move || match i % 2 {
                    0 => assert!(handle.status().is_none()),
                    _ => drop(
                        handle
                            .change(Change::RemovePath(String::new()))
                            .expect_err("none"),
                    ),
                });
            }
        });
        assert_eq!(received.try_iter().count(), MAX_REQUESTS);
        assert!(handle.requests.take().is_some(), "what is taken makes room");
    }
}
