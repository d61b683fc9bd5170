//! The service as a process: logs, signals, the service manager.

use crate::config::Config;
use crate::service::{Service, check};
use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Log {
    /// One JSON object a line rather than text.
    pub json: bool,
    /// Every refused message and unmapped UE as well.
    pub debug: bool,
}

/// Runs the service until SIGTERM or SIGINT. SIGHUP reads the file again: its sources, UEs, cells
/// and networks are applied; a file with a fault changes nothing and is logged.
///
/// # Errors
/// What keeps it from starting.
pub fn run(path: &Path, config: Config, log: Log) -> io::Result<()> {
    start_log(log);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(serve(path, config))
}

async fn serve(path: &Path, config: Config) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut service = Service::start(config).await?;
    let http = service
        .http_address()
        .map(|a| a.to_string())
        .unwrap_or_default();
    let metrics = service
        .metrics_address()
        .map(|a| a.to_string())
        .unwrap_or_default();
    tracing::info!(http, metrics, "ready");
    notify("READY=1");
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => reload(path, &mut service),
        }
    }
    notify("STOPPING=1");
    tracing::info!("ending");
    service.stop().await;
    Ok(())
}

fn reload(path: &Path, service: &mut Service) {
    notify("RELOADING=1");
    let checked = Config::load(path).and_then(|config| check(&config).map(|()| config));
    match checked {
        Ok(config) => service.reload(&config),
        Err(error) => tracing::error!("configuration kept as it was: {error}"),
    }
    notify("READY=1");
}

/// Lines of the log that could not be written.
static LOST_LINES: AtomicU64 = AtomicU64::new(0);

/// Lines of the log that could not be written since the start: the disk under stderr is full, or its
/// reader is gone.
pub(crate) fn lost_log_lines() -> u64 {
    LOST_LINES.load(Ordering::Relaxed)
}

/// stderr, of which a failure ends neither the service nor a task: the line is lost, and counted.
struct LogFile;

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if io::stderr().write_all(line).is_err() {
            LOST_LINES.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins the log on stderr. A log that the program has already stays.
pub fn start_log(log: Log) {
    let level = if log.debug {
        tracing::Level::DEBUG
    } else {
        tracing::Level::INFO
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(Mutex::new(LogFile));
    // a log that has been started already stays
    let _ = match log.json {
        true => builder.json().try_init(),
        false => builder.try_init(),
    };
}

/// Notifies systemd, where it requests that (sd_notify(3)).
pub fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let name = name.into_encoded_bytes();
    let address = match name.split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(String::from_utf8_lossy(&name).as_ref()),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::warn!("the service manager was not notified of {state}: {error}");
    }
}
