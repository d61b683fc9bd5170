//! Connections: accepted up to a number, encrypted, served; slow and senseless ones are closed.

use super::gate::Peer;
use crate::hub::Hub;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Router};
use dash::Hosted;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::set_tcp_user_timeout;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Longest time for a TLS handshake, and for the head of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A client that does not take its answer for so long is gone.
const UNREAD: Duration = Duration::from_secs(20);
/// Largest head of a request, in bytes.
const LARGEST_HEAD: usize = 32 << 10;
/// After a failure to accept (no descriptors left) so long is waited.
const PAUSE: Duration = Duration::from_millis(100);

/// A port that is listened at.
pub(crate) struct Listener {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    permits: Arc<Semaphore>,
    hub: Arc<Hub>,
    /// Takes connections that are for it.
    dashboard: Option<Arc<Hosted>>,
}

impl Listener {
    pub(crate) async fn bind(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        connections: usize,
        hub: Arc<Hub>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let named = |error| io::Error::other(format!("cannot listen at {address}: {error}"));
        Ok(Self {
            listener: listener.map_err(named)?,
            tls,
            permits: Arc::new(Semaphore::new(connections)),
            hub,
            dashboard: None,
        })
    }

    /// With a dashboard at the same port.
    pub(crate) fn with_dashboard(self, dashboard: Option<Hosted>) -> Self {
        Self {
            dashboard: dashboard.map(Arc::new),
            ..self
        }
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the service ends.
    pub(crate) async fn serve(self, router: Router) {
        loop {
            // the next connection waits in the kernel while there are too many
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                return;
            };
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let router = router.clone().layer(Extension(Peer(peer.ip())));
            let tls = self.tls.clone();
            let hub = Arc::clone(&self.hub);
            let dashboard = self.dashboard.clone();
            tokio::spawn(async move {
                let mine = match dashboard {
                    Some(dashboard) => dashboard.offer_async(stream, TIMEOUT).await,
                    None => Some(stream),
                };
                let Some(stream) = mine else { return };
                let outcome = connection(stream, tls, router).await;
                let labels = [("outcome", outcome)];
                hub.metrics()
                    .add("brimful_rnis_http_connections_total", &labels, 1);
                drop(permit);
            });
        }
    }
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, router: Router) -> &'static str {
    // without it answers wait for acknowledgements; not worth ending a connection for
    let _ = stream.set_nodelay(true);
    // the kernel ends a connection whose answers are not read: nothing else would, and each holds
    // one of the permits
    if set_tcp_user_timeout(&stream, UNREAD.as_millis() as u32).is_err() {
        return "broken";
    }
    let Some(tls) = tls else {
        return serve(TokioIo::new(stream), router).await;
    };
    match timeout(TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve(TokioIo::new(stream), router).await,
        Ok(Err(_)) => "tls",
        Err(_) => "slow",
    }
}

async fn serve<S>(stream: S, router: Router) -> &'static str
where
    S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(stream, TowerToHyperService::new(router))
        .with_upgrades()
        .await;
    if served.is_ok() { "served" } else { "broken" }
}

/// `/metrics` for Prometheus.
pub(crate) fn metrics_router(hub: Arc<Hub>) -> Router {
    let metrics = move || {
        let hub = Arc::clone(&hub);
        async move {
            let now = crate::clock::now();
            let (cells, silent) =
                hub.look(|view, _| (view.cells(now).count(), view.silent_cells(now)));
            hub.metrics().set("brimful_rnis_cells", &[], cells as f64);
            hub.metrics()
                .set("brimful_rnis_cells_silent", &[], silent as f64);
            let kind = "text/plain; version=0.0.4";
            ([(CONTENT_TYPE, kind)], hub.metrics().render()).into_response()
        }
    };
    Router::new().route("/metrics", get(metrics))
}
