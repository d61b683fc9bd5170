//! The daemon as a whole.

use crate::config::Config;
use crate::counts::{About, Counts};
use crate::inbox::Inbox;
use crate::page;
use crate::place::Place;
use crate::source::{self, Reader};
use crate::worker::Worker;
use daemon::{Termination, notify, start_log};
use edge::uplink::UplinkMode;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;

/// Between looks whether the thread that holds packets still runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

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

/// Runs until SIGTERM or SIGINT. Then what waits goes on, and packets pass.
///
/// # Errors
/// What keeps it from starting: nothing is changed then. Or that it could not go on.
pub fn run(config: &Config) -> Result<(), UeError> {
    start_log(config.log);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(UeError::system("an event loop"))?;
    runtime.block_on(serve(config))
}

async fn serve(config: &Config) -> Result<(), UeError> {
    // before anything is attached: a signal that comes meanwhile must detach it
    let mut termination = Termination::new().map_err(UeError::system("signals"))?;
    let counts = Arc::<Counts>::default();
    let about = about(config);
    let listener = match config.metrics {
        None => None,
        Some(address) => {
            let what = format!("cannot listen for metrics at {address}");
            Some(TcpListener::bind(address).map_err(UeError::system(what))?)
        }
    };
    let inbox = Arc::new(Inbox::new().map_err(UeError::system("an eventfd"))?);
    let place = Place::new(&config.interface, &counts).map_err(|error| {
        let text = error.to_string();
        match error.is_input() {
            true => UeError::Input(text),
            false => UeError::Program(text),
        }
    })?;
    let worker = Worker::new(
        place,
        Arc::clone(&inbox),
        Arc::clone(&counts),
        &config.queue,
        config.memory,
    );
    let worker = worker.map_err(|error| UeError::Input(error.to_string()))?;
    let pages = listener.map(|listener| page::serve(listener, &about, &counts));
    let _pages = pages
        .transpose()
        .map_err(UeError::system("a server of metrics"))?;
    let reader = Reader::new(Arc::clone(&inbox), Arc::clone(&counts));
    source::start(&config.source, reader).map_err(UeError::system("a thread"))?;
    let thread = std::thread::Builder::new().name("queue".to_owned());
    let thread = thread.spawn(move || worker.run());
    let thread = thread.map_err(UeError::system("a thread"))?;
    tracing::info!(interface = config.interface, mode = about.mode, source = %config.source, "ready");
    notify("READY=1");
    loop {
        tokio::select! {
            () = termination.received() => break,
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

fn about(config: &Config) -> About {
    let modes = UplinkMode::ALL.iter().zip(UplinkMode::NAMES);
    let mode = modes.filter(|(mode, _)| **mode == config.queue.mode);
    About {
        interface: config.interface.clone(),
        mode: mode.map(|(_, name)| name).next().unwrap_or_default(),
        source: config.source.to_string(),
    }
}
