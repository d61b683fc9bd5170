//! The service as a process.

use crate::config::Config;
use crate::service::{Service, check};
use daemon::{Log, Termination, notify, start_log};
use std::io;
use std::path::Path;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

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
    let mut termination = Termination::new()?;
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
            () = termination.received() => break,
            _ = hangup.recv() => reload(path, &mut service),
        }
    }
    notify("STOPPING=1");
    tracing::info!("ending");
    service.stop().await;
    Ok(())
}

fn reload(path: &Path, service: &mut Service) {
    let apply = || {
        let checked = Config::load(path).and_then(|config| check(&config).map(|()| config));
        service.reload(&checked.map_err(|error| error.to_string())?);
        Ok("sources, UEs, cells, networks".to_owned())
    };
    // what came of it is logged
    let _ = daemon::reload(apply);
}
