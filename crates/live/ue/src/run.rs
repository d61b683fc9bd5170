//! The daemon as a whole.

use crate::config::{Config, ConfigError};
use crate::counts::{About, Counts};
use crate::inbox::{Inbox, Settings};
use crate::place::Place;
use crate::source::{self, Reader};
use crate::worker::Worker;
use crate::{dashboard, page};
use daemon::{Log, Termination, notify, set_log_level, start_log};
use dash::DashError;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Between looks whether the thread that holds packets still runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The configuration file, which SIGHUP has read again.
    pub config: PathBuf,
    /// The log is JSON, whatever the file has.
    pub is_json: bool,
    /// Its level is `debug`, whatever the file has.
    pub is_debug: bool,
}

impl Start {
    fn load(&self) -> Result<Config, ConfigError> {
        let mut config = Config::load(&self.config)?;
        config.log = Log {
            json: self.is_json || config.log.json,
            ..config.log.at_debug(self.is_debug)
        };
        Ok(config)
    }
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UeError {
    /// What was requested is wrong; nothing has been changed.
    #[error("{0}")]
    Input(String),
    /// The machine cannot do it.
    #[error("{0}")]
    Program(String),
    /// The system.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: String,
        /// Its answer.
        error: io::Error,
    },
}

impl UeError {
    /// Whether what was requested is wrong, rather than the machine.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_))
    }

    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |error| Self::System { what, error }
    }
}

impl From<DashError> for UeError {
    fn from(error: DashError) -> Self {
        match error {
            DashError::Token { .. } => Self::Input(error.to_string()),
            _ => Self::Program(error.to_string()),
        }
    }
}

/// Runs until SIGTERM or SIGINT. Then what waits goes on, and packets pass. SIGHUP reads the file again; what of it cannot be
/// applied changes nothing and is logged.
///
/// # Errors
/// What keeps it from starting: nothing is changed then. Or that it could not go on.
pub fn run(start: &Start) -> Result<(), UeError> {
    let config = start.load();
    let config = config.map_err(|error| UeError::Input(error.to_string()))?;
    start_log(config.log);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(UeError::system("an event loop"))?;
    runtime.block_on(serve(start, config))
}

async fn serve(start: &Start, mut config: Config) -> Result<(), UeError> {
    // before anything is attached: a signal that comes meanwhile must detach it
    let mut termination = Termination::new().map_err(UeError::system("signals"))?;
    let mut hangup = signal(SignalKind::hangup()).map_err(UeError::system("signals"))?;
    let counts = Arc::<Counts>::default();
    let about = About {
        interface: config.interface.clone(),
        source: config.source.to_string(),
    };
    let shown = dashboard::prepare(&config)?;
    let listener = config.metrics.map(listen).transpose()?;
    let inbox = Arc::new(Inbox::new().map_err(UeError::system("an eventfd"))?);
    let worker = attach(&config, &inbox, &counts)?;
    let shown = shown.map(|shown| dashboard::start(shown, &about, &counts));
    let shown = shown.transpose()?;
    let pages = listener.map(|listener| page::serve(listener, &about, &counts, shown));
    let _pages = pages
        .transpose()
        .map_err(UeError::system("a server of metrics"))?;
    let reader = Reader::new(Arc::clone(&inbox), Arc::clone(&counts));
    source::start(&config.source, reader).map_err(UeError::system("a thread"))?;
    let thread = std::thread::Builder::new().name("queue".to_owned());
    let thread = thread.spawn(move || worker.run());
    let thread = thread.map_err(UeError::system("a thread"))?;
    tracing::info!(interface = config.interface, mode = config.queue.mode.name(), source = %config.source, "ready");
    notify("READY=1");
    loop {
        tokio::select! {
            () = termination.received() => break,
            _ = hangup.recv() => reload(start, &mut config, &inbox),
            () = tokio::time::sleep(LOOK_INTERVAL) => if thread.is_finished() { break },
        }
    }
    let has_ended = thread.is_finished();
    notify("STOPPING=1");
    inbox.stop();
    // the thread itself has printed its panic
    let joined = thread.join();
    match joined {
        Ok(()) if !has_ended => {
            tracing::info!("ended: packets pass");
            Ok(())
        }
        _ => Err(UeError::Program(
            "the thread that holds packets has ended".to_owned(),
        )),
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, UeError> {
    let what = format!("cannot listen for metrics at {address}");
    TcpListener::bind(address).map_err(UeError::system(what))
}

/// From then on there are device and program; no packet is taken before the worker runs.
fn attach(config: &Config, inbox: &Arc<Inbox>, counts: &Arc<Counts>) -> Result<Worker, UeError> {
    let place = Place::new(&config.interface, counts).map_err(|error| {
        let text = error.to_string();
        match error.is_input() {
            true => UeError::Input(text),
            false => UeError::Program(text),
        }
    })?;
    let (inbox, counts) = (Arc::clone(inbox), Arc::clone(counts));
    let worker = Worker::new(place, inbox, counts, settings(config));
    worker.map_err(|error| UeError::Input(error.to_string()))
}

/// Reads the file again; one that is not usable, or has what cannot change, changes nothing.
fn reload(start: &Start, config: &mut Config, inbox: &Inbox) {
    let apply = || {
        let new = start.load().map_err(|error| error.to_string())?;
        let changed = config.differences(&new).check("brimful ue")?;
        set_log_level(new.log.level);
        inbox.configure(settings(&new));
        *config = new;
        Ok(changed)
    };
    // what came of it is logged
    let _ = daemon::reload(apply);
}

fn settings(config: &Config) -> Settings {
    Settings {
        queue: config.queue,
        memory: config.memory,
    }
}
