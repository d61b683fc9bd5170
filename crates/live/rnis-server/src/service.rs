//! The service as a whole: everything that listens is opened first, then everything runs.

use crate::client::Client;
use crate::config::{Config, ConfigError};
use crate::http::{self, Api, Listener};
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::publish::{Outlet, amqp, nats, unix};
use crate::{dashboard, registration, sources, tls};
use rnis::mec012::RadioView;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// Connections of the metrics port.
const METRICS_CONNECTIONS: usize = 16;
/// How long taking registrations back may last.
const DEREGISTRATION_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest answer of a MEC platform.
const PLATFORM_ANSWER: usize = 64 << 10;

/// A running service.
pub struct Service {
    hub: Arc<Hub>,
    tasks: JoinSet<()>,
    sources: JoinSet<()>,
    http: Option<SocketAddr>,
    metrics: Option<SocketAddr>,
    ending: watch::Sender<bool>,
    registration: Option<JoinHandle<()>>,
}

impl Service {
    /// Opens everything that listens, and starts.
    ///
    /// # Errors
    /// A port, path, certificate or key that cannot be used; nothing runs then.
    pub async fn start(config: Config) -> io::Result<Self> {
        let metrics = Arc::new(Metrics::default());
        let view = RadioView::new(config.max_age, config.release_after);
        let hub = Arc::new(Hub::new(
            config.ues.clone(),
            config.network.clone(),
            view,
            metrics,
        ));
        let mut tasks = JoinSet::new();
        let http = match &config.http {
            Some(http) => {
                let tls = match &http.tls {
                    Some((certificate, key)) => Some(tls::acceptor(certificate, key)?),
                    None => None,
                };
                let max = http.max_connections;
                let listener =
                    Listener::bind(http.listen, tls, max, Arc::clone(&hub), "http").await?;
                let listener = listener.with_title_case(http.title_case);
                let address = listener.address()?;
                let mut http = http.clone();
                // port 0 is one that the system chose
                let chosen = address.port().to_string();
                http.public_url = match http.public_url.strip_suffix(":0") {
                    Some(host) => format!("{host}:{chosen}"),
                    None => http.public_url,
                };
                if http.callback_networks.is_empty() {
                    tracing::info!(
                        "no callbacks: callback-networks of [http] lists no network; subscriptions have WebSockets"
                    );
                }
                let api = Arc::new(Api::new(http, Arc::clone(&hub))?);
                tasks.spawn(http::dispatch(Arc::clone(&api)));
                tasks.spawn(listener.serve(http::router(&api)));
                Some(address)
            }
            None => None,
        };
        let metrics = match config.metrics {
            Some(address) => {
                let max = METRICS_CONNECTIONS;
                let listener =
                    Listener::bind(address, None, max, Arc::clone(&hub), "metrics").await?;
                let address = listener.address()?;
                let dashboard = dashboard::start(&config, &hub).map_err(io::Error::other)?;
                let listener = listener.with_dashboard(dashboard);
                tasks.spawn(listener.serve(http::metrics_router(Arc::clone(&hub))));
                Some(address)
            }
            None => None,
        };
        if let Some(unix) = &config.unix {
            let socket = unix::Socket::bind(&unix.path)?;
            let readers = unix::serve(socket, Arc::clone(&hub), unix.unread_timeout);
            tasks.spawn(readers);
        }
        if let Some(topic) = config.amqp.clone() {
            tasks.spawn(amqp::publish(topic, Outlet::new(Arc::clone(&hub), "amqp")));
        }
        if let Some(topic) = config.nats.clone() {
            tasks.spawn(nats::publish(topic, Outlet::new(Arc::clone(&hub), "nats")));
        }
        let (ending, ends) = watch::channel(false);
        let registration = register(&config, &hub, ends)?;
        let sources = sources::start(&config, &hub);
        Ok(Self {
            hub,
            tasks,
            sources,
            http,
            metrics,
            ending,
            registration,
        })
    }

    /// Where the REST interface listens.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Where metrics are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// The counters, as they are now.
    pub fn metrics(&self) -> &Metrics {
        self.hub.metrics()
    }

    /// Takes the sources, UEs, cells and networks of another configuration. What listens and what
    /// publishes stays as it was.
    pub fn reload(&mut self, config: &Config) {
        self.hub
            .reconfigure(config.ues.clone(), config.network.clone());
        self.sources = sources::start(config, &self.hub);
    }

    /// Ends the service: registrations are taken back, sockets closed.
    pub async fn stop(mut self) {
        // without a receiver nothing is registered
        let _ = self.ending.send(true);
        if let Some(registration) = self.registration.take()
            && timeout(DEREGISTRATION_TIMEOUT, registration).await.is_err()
        {
            tracing::warn!("registrations at the MEC platform could not be taken back in time");
        }
        self.sources.shutdown().await;
        self.tasks.shutdown().await;
    }
}

fn register(
    config: &Config,
    hub: &Arc<Hub>,
    ends: watch::Receiver<bool>,
) -> io::Result<Option<JoinHandle<()>>> {
    let Some(platform) = config.platform.clone() else {
        return Ok(None);
    };
    let ca_file = config
        .http
        .as_ref()
        .and_then(|http| http.ca_file.as_deref());
    let client = Client::anywhere(ca_file, PLATFORM_ANSWER)?;
    let services = registration::services(config);
    let keep = registration::keep(platform, services, client, Arc::clone(hub), ends);
    Ok(Some(tokio::spawn(keep)))
}

/// What `--check` looks at beyond the file's own form: tables and certificates.
///
/// # Errors
/// What would keep the service from starting.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    use crate::config::SourceKind;
    for source in &config.sources {
        let cell = match &source.kind {
            SourceKind::SrsRan { cell, .. }
            | SourceKind::FlexRic { cell }
            | SourceKind::FlexRan { cell, .. }
            | SourceKind::OaiXapp { cell, .. }
            | SourceKind::LegacyCsv { cell, .. }
            | SourceKind::Kpm { cell } => cell,
            SourceKind::Reports { .. } | SourceKind::Replay { .. } | SourceKind::F1u { .. } => {
                continue;
            }
        };
        let place = format!("source \"{}\"", source.name);
        sources::check_cell(cell).map_err(|error| ConfigError::new(place, error))?;
    }
    if let Some((certificate, key)) = config.http.as_ref().and_then(|http| http.tls.as_ref()) {
        tls::acceptor(certificate, key).map_err(|error| ConfigError::new("[http]", error))?;
    }
    let access = config.dashboard.access();
    access.map_err(|error| ConfigError::new("[dashboard]", error))?;
    Ok(())
}
