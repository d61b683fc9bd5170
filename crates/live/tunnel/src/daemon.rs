//! The daemon as a whole: it starts the parts, reloads, and stops.

use crate::client::Client;
use crate::config::{Config, End};
use crate::dashboard;
use crate::error::TunnelError;
use crate::inside::Inside;
use crate::packet_thread::{Change, Command, Outside, PacketThread};
use crate::poller::{Poller, Waker};
use crate::server::Server;
use crate::status::Status;
use crate::{admin, limits, metrics, radio};
use daemon::metrics::Server as MetricsServer;
use daemon::{Seats, clock, notify, start_log};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
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
    pub(crate) remote: Option<SocketAddr>,
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
        let no_answer = || "the tunnel does not answer".to_owned();
        let seat = self.requests.take().ok_or_else(no_answer)?;
        let (to, answer) = mpsc::channel();
        self.send(Command::Change(change, to, seat));
        let answer = answer.recv_timeout(TIMEOUT);
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
    let shown = dashboard::prepare(config)?;
    let meter = shown.as_ref().map(dash::Prepared::meter);
    start_log(config.log);
    let system = |error| TunnelError::system("the event loop cannot be set up", error);
    let poller = Poller::new().map_err(system)?;
    let waker = Waker::new().map_err(system)?;
    let (commands, received) = mpsc::channel();
    let handle = Handle {
        commands,
        waker: waker.clone(),
        requests: Seats::new(MAX_REQUESTS),
        remote: admin::default_remote(config),
    };
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| TunnelError::system("signals cannot be received", error))?;
    match &config.end {
        End::Client(_) => {
            let mtu = Client::first_mtu(config);
            let mut client = Client::new(config.clone(), mtu, clock::now())?;
            client.watch_network(&poller);
            let inside = Inside::open(&config.tun, mtu)?;
            let _metrics = serve(start, &handle, signals, shown)?;
            go(poller, waker, received, inside, client)
        }
        End::Server(end) => {
            let mtu = config
                .tun
                .mtu
                .unwrap_or(limits::usual_mtu(config.encryption));
            let server = Server::new(config.clone(), mtu, &poller)?;
            let inside = Inside::open(&config.tun, mtu)?;
            let _metrics = serve(start, &handle, signals, shown)?;
            if let Some(reports) = end.reports.clone() {
                let (handle, counts) = (handle.clone(), server.report_counts().clone());
                spawn("radio-reports", move || {
                    radio::read(&reports, handle, counts, meter);
                })?;
            }
            go(poller, waker, received, inside, server)
        }
    }
}

fn go<O: Outside>(
    poller: Poller,
    waker: Waker,
    commands: Receiver<Command>,
    inside: Inside,
    outside: O,
) -> Result<(), TunnelError> {
    let (device, mtu) = (inside.name().to_owned(), inside.mtu());
    let packets = PacketThread::new(poller, waker, commands, inside, outside)?;
    tracing::info!(device, mtu, "running");
    notify("READY=1");
    let result = packets.run();
    tracing::info!("stopped");
    result
}

/// The threads beside the one that moves packets; they end with the process, and that of the metrics with
/// their server.
fn serve(
    start: &Start,
    handle: &Handle,
    signals: Signals,
    shown: Option<dash::Prepared>,
) -> Result<Option<MetricsServer>, TunnelError> {
    if let Some(path) = &start.config.admin {
        let (listener, handle) = (admin::open(path)?, handle.clone());
        spawn("admin", move || admin::serve(handle, &listener))?;
    }
    let mut server = None;
    if let Some(address) = start.config.metrics {
        let listener = metrics::open(address)?;
        let dashboard = shown
            .map(|shown| dashboard::start(shown, handle))
            .transpose()?;
        server = Some(metrics::serve(handle, listener, dashboard)?);
    }
    let (start, handle) = (start.clone(), handle.clone());
    spawn("signals", move || on_signals(&start, &handle, signals))?;
    Ok(server)
}

fn on_signals(start: &Start, handle: &Handle, mut signals: Signals) {
    for signal in signals.forever() {
        if signal != SIGHUP {
            handle.send(Command::Stop);
            continue;
        }
        let Some(file) = &start.file else {
            tracing::warn!("there is no configuration file to be read again");
            continue;
        };
        match Config::load(file, start.config.role()) {
            // what became of it is in the log already
            Ok(config) => drop(handle.change(Change::Configure(Box::new(config)))),
            Err(error) => tracing::error!(%error, "the configuration is not reloaded"),
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), TunnelError> {
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
