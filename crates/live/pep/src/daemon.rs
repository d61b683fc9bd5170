//! The daemon as a whole: it starts and stops the parts, reloads, and hands over.

use crate::config::{Config, Interception as Way, Source};
use crate::control::{Control, ControlEvent, Snapshot};
use crate::dashboard;
use crate::error::PepError;
use crate::intercept::Interception;
use crate::listener::{self, Listener};
use crate::recording::{self, Writer};
use crate::registry::lock;
use crate::relay::{Worker, WorkerCommand, WorkerHandle};
use crate::reports::{self, BrokerReader, ReportSink};
use crate::shared::Shared;
use crate::{admin, clock, descriptors, log, metrics, privileges};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Instant;

/// The control thread must have answered by then.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The configuration file, which SIGHUP has read again.
    pub config: PathBuf,
    /// Take the listeners of the instance at the same admin socket over.
    pub upgrade: bool,
    /// Reads radio reports out of brokers; without it such a source is refused.
    pub brokers: Option<BrokerReader>,
}

/// What the threads that serve people reach.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) started_at: Instant,
    listeners: Mutex<Arc<Vec<Listener>>>,
    interception: Mutex<Option<Interception>>,
    workers: Vec<WorkerHandle>,
    control: Option<Sender<ControlEvent>>,
}

impl Core {
    /// Where connections are accepted.
    pub(crate) fn listeners(&self) -> Arc<Vec<Listener>> {
        Arc::clone(&lock(&self.listeners))
    }

    /// The state of the control thread.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        let (to, answer) = mpsc::sync_channel(1);
        self.control
            .as_ref()?
            .send(ControlEvent::Snapshot(to))
            .ok()?;
        answer.recv_timeout(SNAPSHOT_TIMEOUT).ok()
    }

    /// Hands the listeners to a successor by `give`; then accepts nothing any more, and ends with
    /// the last connection. Rules stay, for they are the successor's now. If `give` fails, all goes
    /// on as before.
    pub(crate) fn hand_over(
        &self,
        give: impl FnOnce(&[Listener]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut held = lock(&self.interception);
        let listeners = self.listeners();
        if listeners.is_empty() {
            return Err(std::io::Error::other("nothing is left to be handed over"));
        }
        // the locks must be free when the successor takes them
        let had = held.take().is_some();
        if let Err(error) = give(&listeners) {
            if let (true, Way::Transparent(way)) = (had, &self.shared.config().interception) {
                let port = listeners[0].address.port();
                *held = Interception::claim(way, port).ok();
            }
            return Err(error);
        }
        tracing::info!("listeners handed over; draining");
        self.shared.is_draining.store(true, Relaxed);
        *lock(&self.listeners) = Arc::default();
        let until = clock::now() + self.shared.config().limits.drain;
        self.command_workers(|| WorkerCommand::Drain(until));
        Ok(())
    }

    fn command_workers(&self, command: impl Fn() -> WorkerCommand) {
        for worker in &self.workers {
            worker.send(command());
        }
    }

    /// Reads the configuration again; one that is not usable changes nothing.
    fn reload(&self, path: &Path) {
        let mut config = match Config::load(path) {
            Ok(config) => config,
            Err(error) => {
                tracing::error!(%error, "the configuration is not reloaded");
                return;
            }
        };
        if let Some(key) = self.shared.config().needs_restart(&config) {
            tracing::error!(
                key,
                "the configuration is not reloaded: this key needs --upgrade"
            );
            return;
        }
        descriptors::fit(&mut config.limits);
        if let (Way::Transparent(way), Some(interception)) =
            (&config.interception, &mut *lock(&self.interception))
            && let Err(error) = interception.install(way)
        {
            tracing::error!(%error, "the configuration is not reloaded");
            return;
        }
        self.shared.set_config(config);
        if let Some(control) = &self.control {
            // a control thread that has ended needs no configuration
            let _ = control.send(ControlEvent::Configure(self.shared.config()));
        }
        tracing::info!("configuration reloaded");
    }

    /// New connections pass by; those that are here end.
    fn stop(&self) {
        self.shared.is_draining.store(true, Relaxed);
        if let Some(interception) = lock(&self.interception).take() {
            interception.remove();
        }
        self.command_workers(|| WorkerCommand::Stop);
    }
}

/// A control thread in the making.
struct ControlParts {
    control: Control,
    events: Receiver<ControlEvent>,
    sender: Sender<ControlEvent>,
    source: Option<(Source, ReportSink)>,
    writer: Option<Writer>,
    stop: Arc<AtomicBool>,
}

impl ControlParts {
    /// None without an allocator.
    fn new(config: &Arc<Config>, shown: Option<&dash::Prepared>) -> Result<Option<Self>, PepError> {
        let Some(allocator) = config.allocator.clone() else {
            return Ok(None);
        };
        let recorded = config.record.as_ref().map(recording::begin).transpose()?;
        let (recording, writer) = recorded.unzip();
        let pending = Arc::new(AtomicUsize::new(0));
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let sink = ReportSink::new(sender.clone(), Arc::clone(&pending), Arc::clone(&stop));
        let source = config.reports.source.clone();
        Ok(Some(Self {
            control: Control::new(
                Arc::clone(config),
                allocator,
                recording,
                pending,
                shown.map(dash::Prepared::meter),
            ),
            events,
            sender,
            source: source.map(|source| (source, sink)),
            writer,
            stop,
        }))
    }
}

/// Runs the proxy until it is measured to stop, or has handed over and drained.
///
/// # Errors
/// A configuration that cannot be used, a system that lacks what it needs, or another instance.
pub fn run(start: &Start) -> Result<(), PepError> {
    let mut config = Config::load(&start.config)?;
    if let (Some(Source::Broker(broker)), None) = (&config.reports.source, start.brokers) {
        return Err(PepError::NoBrokers {
            broker: broker.to_string(),
        });
    }
    let shown = dashboard::prepare(&config)?;
    log::begin(config.log);
    descriptors::fit(&mut config.limits);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| PepError::system("signals cannot be received", error))?;
    let listeners = listeners(&config, start.upgrade)?;
    let interception = claim(&config, &listeners, start.upgrade)?;
    let admin_listener = config.admin.as_deref().map(admin::open).transpose()?;
    let metrics_listener = config.metrics.map(metrics::open).transpose()?;
    let is_transparent = config.is_transparent();
    let drops = config.drop_privileges;
    let shared = Arc::new(Shared::new(config));
    let control = ControlParts::new(&shared.config(), shown.as_ref())?;
    if drops {
        // capabilities are a thread's own: before any is started
        privileges::reduce(is_transparent)?;
    }
    let mut threads = Threads::default();
    let (workers, control) = threads.start(&shared, control, start.brokers)?;
    let core = Arc::new(Core {
        shared,
        started_at: clock::now(),
        listeners: Mutex::new(Arc::new(listeners)),
        interception: Mutex::new(interception),
        workers,
        control,
    });
    let all = core.listeners();
    core.command_workers(|| WorkerCommand::Listen(Arc::clone(&all)));
    install(&core)?;
    // after the answer the set-up is complete
    serve(&core, admin_listener, metrics_listener, shown)?;
    announce(&all);
    drop(all);
    threads.end_signals(signals.handle());
    for signal in signals.forever() {
        if signal == SIGHUP {
            core.reload(&start.config);
        } else {
            break;
        }
    }
    core.stop();
    threads.join();
    tracing::info!("stopped");
    Ok(())
}

/// New listeners, or those of a predecessor.
fn listeners(config: &Config, upgrade: bool) -> Result<Vec<Listener>, PepError> {
    if !upgrade {
        return listener::open(config);
    }
    let Some(socket) = &config.admin else {
        return Err(PepError::Peer {
            socket: PathBuf::new(),
            message: "cannot be reached: --upgrade needs the key \"socket\" in [admin]".to_owned(),
        });
    };
    let sockets = admin::take_over(socket)?;
    sockets
        .into_iter()
        .map(|socket| Listener::from_socket(socket, config))
        .collect()
}

fn claim(
    config: &Config,
    listeners: &[Listener],
    upgrade: bool,
) -> Result<Option<Interception>, PepError> {
    const TRIES: usize = 40;
    let (Way::Transparent(way), Some(first)) = (&config.interception, listeners.first()) else {
        return Ok(None);
    };
    let mut tries = 0;
    loop {
        match Interception::claim(way, first.address.port()) {
            // the predecessor is about to let go
            Err(PepError::Taken { .. }) if upgrade && tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            result => return result.map(Some),
        }
    }
}

fn install(core: &Core) -> Result<(), PepError> {
    let config = core.shared.config();
    if let (Way::Transparent(way), Some(interception)) =
        (&config.interception, &mut *lock(&core.interception))
    {
        interception.install(way)?;
    }
    Ok(())
}

fn announce(listeners: &[Listener]) {
    for listener in listeners {
        tracing::info!(address = %listener.address, "accepting");
    }
}

fn serve(
    core: &Arc<Core>,
    admin_listener: Option<std::os::unix::net::UnixListener>,
    metrics_listener: Option<std::net::TcpListener>,
    shown: Option<dash::Prepared>,
) -> Result<(), PepError> {
    if let Some(listener) = admin_listener {
        let core = Arc::clone(core);
        std::thread::spawn(move || admin::serve(&core, &listener));
    }
    if let Some(listener) = metrics_listener {
        let dashboard = shown
            .map(|shown| dashboard::start(shown, core))
            .transpose()?;
        let core = Arc::clone(core);
        std::thread::spawn(move || metrics::serve(&core, listener, dashboard));
    }
    Ok(())
}

/// The threads that end with the daemon.
#[derive(Default)]
struct Threads {
    workers: Arc<Mutex<Vec<JoinHandle<()>>>>,
    control: Option<(JoinHandle<()>, Sender<ControlEvent>, Arc<AtomicBool>)>,
    writer: Option<JoinHandle<()>>,
}

impl Threads {
    fn start(
        &mut self,
        shared: &Arc<Shared>,
        control: Option<ControlParts>,
        brokers: Option<BrokerReader>,
    ) -> Result<(Vec<WorkerHandle>, Option<Sender<ControlEvent>>), PepError> {
        let mut sender = None;
        if let Some(parts) = control {
            shared.set_control(parts.sender.clone());
            sender = Some(parts.sender.clone());
            let (control, events) = (parts.control, parts.events);
            let thread = spawn("control", move || control.run(&events))?;
            if let Some(writer) = parts.writer {
                self.writer = Some(spawn("recording", move || writer.run())?);
            }
            if let Some((source, sink)) = parts.source {
                spawn("reports", move || reports::read(&source, brokers, &sink))?;
            }
            self.control = Some((thread, parts.sender, parts.stop));
        }
        let mut handles = Vec::new();
        for i in 0..shared.config().relay.workers {
            let (worker, handle) = Worker::new(Arc::clone(shared))?;
            let thread = spawn(&format!("relay-{i}"), move || worker.run())?;
            lock(&self.workers).push(thread);
            handles.push(handle);
        }
        Ok((handles, sender))
    }

    /// Ends the wait for signals when the last worker has ended.
    fn end_signals(&self, signals: Handle) {
        let workers = Arc::clone(&self.workers);
        std::thread::spawn(move || {
            join_workers(&workers);
            signals.close();
        });
    }

    fn join(self) {
        join_workers(&self.workers);
        if let Some((thread, sender, stop)) = self.control {
            stop.store(true, Relaxed);
            let _ = sender.send(ControlEvent::Stop);
            let _ = thread.join();
        }
        if let Some(writer) = self.writer {
            // what was recorded is written to its end
            let _ = writer.join();
        }
    }
}

/// The first one waits for them, the other for the first.
fn join_workers(workers: &Mutex<Vec<JoinHandle<()>>>) {
    let mut threads = lock(workers);
    for thread in threads.drain(..) {
        // a panic has been measured by the thread itself
        let _ = thread.join();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, PepError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error| PepError::system(format!("the thread {name} cannot be started"), error))
}
