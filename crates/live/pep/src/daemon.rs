//! The daemon as a whole: it starts and stops the parts, reloads, and hands over.

mod asking;
mod reload;
mod threads;

use crate::config::{Config, Interception as Way};
use crate::control::ControlHandle;
use crate::dashboard;
use crate::error::PepError;
use crate::intercept::{Interception, Lock, Openings, claim_interface};
use crate::listener::{self, Listener};
use crate::privileges::User;
use crate::registry::lock;
use crate::relay::{Upstream, WorkerCommand, WorkerHandle};
use crate::shared::Shared;
use crate::unsplit::{Ability, Marking, Watch};
use crate::upgrade::{self, Copies, Duty, Inherited, Predecessor, Request};
use crate::wire::Shown;
use crate::{admin, descriptors, handover, memory, metrics, overflow, privileges};
use daemon::{clock, start_log};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threads::{ControlParts, Threads, spawn};
use units::Instant;

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The configuration file, which SIGHUP has read again.
    pub config: PathBuf,
    /// Take the listeners of the instance at the same admin socket over.
    pub upgrade: bool,
}

/// What the threads that serve people reach.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) started_at: Instant,
    listeners: Mutex<Arc<Vec<Listener>>>,
    /// That of `/metrics`, for a successor.
    metrics: Mutex<Option<TcpListener>>,
    interception: Mutex<Option<Interception>>,
    /// Of the interface, where nothing is intercepted.
    lock: Mutex<Option<Lock>>,
    /// What can be done to packets that are not split.
    unsplit: Ability,
    /// What the dashboard reads of UEs whose packets are marked.
    pub(crate) watch: Option<Arc<Watch>>,
    /// Taken after `interception` where both are.
    upgrade: Mutex<Predecessor>,
    workers: Vec<WorkerHandle>,
    control: Option<ControlHandle>,
}

impl Core {
    /// Where connections are accepted.
    pub(crate) fn listeners(&self) -> Arc<Vec<Listener>> {
        Arc::clone(&lock(&self.listeners))
    }

    /// False if a hand-over is under way already, or nothing is left to be handed over.
    pub(crate) fn begin_upgrade(&self) -> bool {
        let mut side = lock(&self.upgrade);
        !side.is_taken()
            && !self.shared.is_draining.load(Relaxed)
            && side.on(Request::Upgrade) == Duty::Offer
    }

    /// The next step of a hand-over; when the successor serves, this process accepts no more.
    pub(crate) fn advance_upgrade(&self, request: Request) -> Duty {
        // what changes rules holds this lock too: from here on they may be the successor's
        let mut interception = lock(&self.interception);
        let duty = lock(&self.upgrade).on(request);
        if duty == Duty::Leave {
            interception.take();
            drop(interception);
            self.leave();
        }
        duty
    }

    /// The threads of the data path.
    pub(crate) fn workers(&self) -> &[WorkerHandle] {
        &self.workers
    }

    /// These connections are another proxy's, by the UE's end and the server's: packets of theirs that still come here
    /// are dropped for a while.
    pub(crate) fn note_moved(&self, ends: &[(SocketAddr, SocketAddr)]) -> Result<(), PepError> {
        match &*lock(&self.interception) {
            Some(interception) => interception.note_moved(ends),
            None => Ok(()),
        }
    }

    /// For a successor to be ready.
    pub(crate) fn hand_over_timeout(&self) -> Duration {
        Duration::from_nanos(self.shared.config().limits.hand_over.as_nanos())
    }

    /// Gives what a successor gets copies of.
    pub(crate) fn with_copies<T>(
        &self,
        give: impl FnOnce(Copies<'_>) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        let listeners = self.listeners();
        let metrics = lock(&self.metrics);
        let interception = lock(&self.interception);
        let own = lock(&self.lock);
        let locks = interception.iter().flat_map(Interception::locks);
        give(Copies {
            listeners: listeners.iter().map(|l| l.socket.as_fd()).collect(),
            metrics: metrics.as_ref().map(AsFd::as_fd),
            locks: locks.chain(own.iter().map(Lock::named)).collect(),
        })
    }

    /// Whether the rules may be a successor's.
    fn is_yielding(&self) -> bool {
        lock(&self.upgrade).is_yielding()
    }

    /// Accepts nothing any more, and ends with the last connection.
    fn leave(&self) {
        tracing::info!("listeners handed over; draining");
        self.shared.is_draining.store(true, Relaxed);
        *lock(&self.listeners) = Arc::default();
        lock(&self.metrics).take();
        lock(&self.lock).take();
        if let Some(control) = &self.control {
            control.yield_marks();
        }
        let until = clock::now() + self.shared.config().limits.drain;
        self.command_workers(|| WorkerCommand::Drain(until));
    }

    /// Hands the listeners to a successor of a version up to 0.2 by `give`, in one phase; then accepts
    /// nothing any more, and ends with the last connection. Rules stay, for they are the successor's
    /// now. If `give` fails, all goes on as before.
    pub(crate) fn hand_over(
        &self,
        give: impl FnOnce(&[Listener]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut held = lock(&self.interception);
        let listeners = self.listeners();
        if listeners.is_empty() || lock(&self.upgrade).is_taken() {
            return Err(std::io::Error::other("nothing is left to be handed over"));
        }
        // the locks must be free when the successor takes them
        let had = held.take().is_some();
        if let Err(error) = give(&listeners) {
            if let (true, Way::Transparent(way)) = (had, &self.shared.config().interception) {
                let port = listeners[0].address.port();
                *held = Interception::claim(way, port, |_| None).ok();
            }
            return Err(error);
        }
        drop(held);
        self.leave();
        Ok(())
    }

    fn command_workers(&self, command: impl Fn() -> WorkerCommand) {
        for worker in &self.workers {
            worker.send(command());
        }
    }

    /// Has new connections pass by, or be taken again, by how many there are.
    pub(crate) fn fit_interception(&self) -> Result<(), PepError> {
        let mut held = lock(&self.interception);
        let Some(interception) = held.as_mut().filter(|_| !self.is_yielding()) else {
            return Ok(());
        };
        let (shared, limits) = (&self.shared, self.shared.config().limits);
        let connections = shared.registry.connections();
        let wanted = overflow::passes_by(interception.is_passing_by(), connections, &limits);
        if wanted != interception.is_passing_by() {
            interception.pass_by(wanted)?;
            shared.is_passing_by.store(wanted, Relaxed);
            if wanted {
                shared.counters.overflows.one();
                tracing::warn!(
                    connections,
                    "as many connections as may be: new ones pass by"
                );
            } else {
                tracing::info!(connections, "new connections are taken again");
            }
        }
        Ok(())
    }

    /// New connections pass by; those that are here end.
    fn stop(&self) {
        self.shared.is_draining.store(true, Relaxed);
        let mut held = lock(&self.interception);
        let rules = held.take().filter(|_| !self.is_yielding());
        let is_cut_off = rules.is_some();
        if let Some(interception) = rules {
            interception.remove();
        }
        drop(held);
        self.command_workers(|| WorkerCommand::Stop { is_cut_off });
    }
}

/// Runs the proxy until a signal to stop, or until it has handed over and drained.
///
/// # Errors
/// A configuration that cannot be used, a system that lacks what it needs, or another instance.
pub fn run(start: &Start) -> Result<(), PepError> {
    let mut config = Config::load(&start.config)?;
    let user = config.user.as_deref();
    let user = user
        .map(|name| User::find(name, &start.config))
        .transpose()?;
    let shown = dashboard::prepare(&config)?;
    start_log(config.log);
    fit(&mut config);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| PepError::system("signals cannot be received", error))?;
    let mut inherited = start
        .upgrade
        .then(|| request_handover(&config))
        .transpose()?;
    let listeners = listeners(&config, inherited.as_mut())?;
    let interception = claim(&config, &listeners, inherited.as_mut())?;
    let own = claim_alone(&config, inherited.as_mut())?;
    let admin_socket = open_admin(&config, user.as_ref())?;
    let takes_over = handover::open(&config, user.as_ref())?;
    let keys = handover::keys(&config)?;
    let metrics_listener = metrics_listener(&config, inherited.as_mut())?;
    let drops = config.drop_privileges;
    let marking = Marking::new(&config, inherited.is_some())?;
    let unsplit = Ability::of(marking.as_ref());
    let watch = marking.as_ref().map(Marking::watch);
    let shared = Arc::new(Shared::new(Shown::new(&config)?, config));
    if let Some(keys) = keys {
        shared.handover.set_keys(keys);
    }
    let control = ControlParts::new(&shared.config(), shown.as_ref(), marking)?;
    if drops {
        // capabilities are a thread's own: before any is started
        privileges::reduce(&shared.config().interception, user.as_ref())?;
        if let Some(admin) = &admin_socket {
            admin.check()?;
        }
    }
    Upstream::check(&shared.config())?;
    let mut threads = Threads::default();
    let (workers, control) = threads.start(&shared, control)?;
    let core = Arc::new(Core {
        shared,
        started_at: clock::now(),
        listeners: Mutex::new(Arc::new(listeners)),
        metrics: Mutex::new(copy(metrics_listener.as_ref())?),
        upgrade: Mutex::default(),
        interception: Mutex::new(interception),
        lock: Mutex::new(own),
        unsplit,
        watch,
        workers,
        control,
    });
    let metrics_page = match metrics_listener {
        Some(listener) => Some((
            listener,
            shown.map(|s| dashboard::start(s, &core)).transpose()?,
        )),
        None => None,
    };
    if let Some(inherited) = &mut inherited {
        // until it is ready, and if it never is, the predecessor goes on as if there had been no request
        check(&core)?;
        inherited.ready()?;
    }
    begin(&core, inherited.is_some())?;
    logged(threads.start_writer(), inherited.is_some())?;
    // after the answer the set-up is complete
    serve(&core, admin_socket, metrics_page, inherited.is_some())?;
    if let Some(inherited) = inherited {
        inherited.serving();
    }
    handover::follow(&core)?;
    if let Some(listener) = takes_over {
        let core = Arc::clone(&core);
        std::thread::spawn(move || handover::serve(&core, &listener));
    }
    announce(&core);
    threads.end_signals(signals.handle(), &core.shared);
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

/// The admin socket, which is the user's.
fn open_admin(config: &Config, user: Option<&User>) -> Result<Option<admin::Opened>, PepError> {
    let Some(path) = &config.admin else {
        return Ok(None);
    };
    admin::open(path, user).map(Some)
}

/// Requests what the running instance can hand over.
fn request_handover(config: &Config) -> Result<Inherited, PepError> {
    let Some(socket) = &config.admin else {
        return Err(PepError::Peer {
            socket: PathBuf::new(),
            message: "cannot be reached: --upgrade needs the key \"socket\" in [admin]".to_owned(),
        });
    };
    upgrade::request_handover(socket)
}

/// New listeners, or those of a predecessor.
///
/// # Errors
/// The predecessor splits connections, and this process does not: nobody would take its rules away.
fn listeners(
    config: &Config,
    inherited: Option<&mut Inherited>,
) -> Result<Vec<Listener>, PepError> {
    let sockets = inherited.map_or_else(Vec::new, |i| std::mem::take(&mut i.listeners));
    if sockets.is_empty() {
        return listener::open(config);
    }
    if let (false, Some(socket)) = (config.splits(), &config.admin) {
        return Err(PepError::Peer {
            socket: socket.clone(),
            message: "splits connections, which [split] enabled = false ends: stop it and start this one, \
                      without --upgrade"
                .to_owned(),
        });
    }
    sockets.into_iter().map(Listener::from_socket).collect()
}

fn claim(
    config: &Config,
    listeners: &[Listener],
    mut inherited: Option<&mut Inherited>,
) -> Result<Option<Interception>, PepError> {
    let (Way::Transparent(way), Some(first)) = (&config.interception, listeners.first()) else {
        return Ok(None);
    };
    let inherit = |name: &str| inherited.as_mut()?.take_lock(name);
    Interception::claim(way, first.address.port(), inherit).map(Some)
}

/// The lock of the interface, where nothing is intercepted: one process marks there.
fn claim_alone(
    config: &Config,
    mut inherited: Option<&mut Inherited>,
) -> Result<Option<Lock>, PepError> {
    let Way::Off { ran_interface } = &config.interception else {
        return Ok(None);
    };
    claim_interface(ran_interface, |name| inherited.as_mut()?.take_lock(name)).map(Some)
}

/// Bounds connections by what this machine has.
fn fit(config: &mut Config) {
    if config.splits() {
        descriptors::fit(config);
        memory::fit(&mut config.limits);
    }
}

/// That of a predecessor, where it is at the same address.
fn metrics_listener(
    config: &Config,
    inherited: Option<&mut Inherited>,
) -> Result<Option<TcpListener>, PepError> {
    let Some(address) = config.metrics else {
        return Ok(None);
    };
    match inherited.and_then(|inherited| inherited.take_metrics(address)) {
        Some(listener) => Ok(Some(listener)),
        None => metrics::open(address).map(Some),
    }
}

fn copy(listener: Option<&TcpListener>) -> Result<Option<TcpListener>, PepError> {
    let copied = listener.map(TcpListener::try_clone).transpose();
    copied.map_err(|error| PepError::system("the listener for metrics cannot be copied", error))
}

/// Whether the rules could be put in place.
fn check(core: &Core) -> Result<(), PepError> {
    let config = core.shared.config();
    if let (Way::Transparent(way), Some(interception)) =
        (&config.interception, &*lock(&core.interception))
    {
        interception.check(way, Openings::of(&config))?;
    }
    Ok(())
}

/// Accepts, and puts the rules in place. A successor goes on if that fails: what its predecessor had in
/// place leads to the same listeners, and from here on it is the only one.
fn begin(core: &Core, is_successor: bool) -> Result<(), PepError> {
    let config = core.shared.config();
    let all = core.listeners();
    if is_successor {
        for listener in all.iter() {
            if let Err(error) = listener.adopt(&config) {
                tracing::error!(%error, "a listener stays as the predecessor has set it");
            }
        }
    }
    core.command_workers(|| WorkerCommand::Listen(Arc::clone(&all)));
    let installed = match (&config.interception, &mut *lock(&core.interception)) {
        (Way::Transparent(way), Some(interception)) => {
            interception.install(way, Openings::of(&config))
        }
        _ => Ok(()),
    };
    logged(installed, is_successor)
}

/// A successor cannot go back: what fails is logged.
fn logged(result: Result<(), PepError>, is_successor: bool) -> Result<(), PepError> {
    match result {
        Err(error) if is_successor => {
            tracing::error!(%error, "the predecessor's stays in place");
            Ok(())
        }
        result => result,
    }
}

fn announce(core: &Core) {
    for listener in core.listeners().iter() {
        tracing::info!(address = %listener.address, "accepting");
    }
    if let Way::Off { ran_interface } = &core.shared.config().interception {
        tracing::info!(
            interface = ran_interface,
            "no connection is split; packets are marked, or wait"
        );
    }
}

fn serve(
    core: &Arc<Core>,
    admin_socket: Option<admin::Opened>,
    metrics_page: Option<(TcpListener, Option<dash::Hosted>)>,
    is_successor: bool,
) -> Result<(), PepError> {
    if core.shared.config().is_transparent() {
        let core = Arc::clone(core);
        logged(
            spawn("overflow", move || overflow::run(&core)).map(drop),
            is_successor,
        )?;
    }
    match admin_socket.map(admin::Opened::publish).transpose() {
        Err(error) => logged(Err(error), is_successor)?,
        Ok(None | Some(None)) => {}
        Ok(Some(Some(listener))) => {
            let core = Arc::clone(core);
            std::thread::spawn(move || admin::serve(core, &listener));
        }
    }
    if let Some((listener, dashboard)) = metrics_page {
        let core = Arc::clone(core);
        std::thread::spawn(move || metrics::serve(&core, listener, dashboard));
    }
    Ok(())
}
