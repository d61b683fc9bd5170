//! Connections: accepted up to a number, encrypted, served; slow and senseless ones are closed.

use super::gate::Peer;
use crate::accept::AcceptErrors;
use crate::hub::Hub;
use crate::places::{Place, Places};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
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
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Longest time for a TLS handshake, and for the head of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A client that does not take its answer for so long is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// A port that is listened at.
pub(crate) struct Listener {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    places: Arc<Places>,
    /// In log and metrics.
    name: &'static str,
    hub: Arc<Hub>,
    title_case: bool,
    /// Takes connections that are for it.
    dashboard: Option<Arc<Hosted>>,
}

impl Listener {
    pub(crate) async fn bind(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        connections: usize,
        hub: Arc<Hub>,
        name: &'static str,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let named = |error| io::Error::other(format!("cannot listen at {address}: {error}"));
        Ok(Self {
            listener: listener.map_err(named)?,
            tls,
            places: Places::new(connections),
            name,
            hub,
            title_case: true,
            dashboard: None,
        })
    }

    /// With header names in Title-Case or lower case.
    pub(crate) fn with_title_case(self, title_case: bool) -> Self {
        Self { title_case, ..self }
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
        let mut errors = AcceptErrors::new(self.name, &self.hub);
        loop {
            errors.pause().await;
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    errors.failed(&error);
                    continue;
                }
            };
            errors.reset();
            // the next ones wait in the kernel while all are busy
            let place = Arc::new(self.places.enter(peer.ip()).await);
            let router = router.clone().layer(Extension(Peer(peer.ip())));
            let router = router.layer(Extension(Arc::clone(&place)));
            let tls = self.tls.clone();
            let hub = Arc::clone(&self.hub);
            let title_case = self.title_case;
            let dashboard = self.dashboard.clone();
            tokio::spawn(async move {
                let served = async {
                    let stream = match dashboard {
                        Some(dashboard) => dashboard.offer_async(stream, TIMEOUT).await?,
                        None => stream,
                    };
                    Some(connection(stream, tls, router, title_case).await)
                };
                let outcome = tokio::select! {
                    outcome = served => outcome,
                    () = place.evicted() => Some("evicted"),
                };
                let Some(outcome) = outcome else { return };
                let labels = [("outcome", outcome)];
                hub.metrics()
                    .add("brimful_rnis_http_connections_total", &labels, 1);
            });
        }
    }
}

/// A connection is busy from a request's head until its answer is made.
async fn busy(place: Extension<Arc<Place>>, request: Request, next: Next) -> Response {
    let _busy = place.busy();
    next.run(request).await
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    title_case: bool,
) -> &'static str {
    // without it answers wait for acknowledgements; not worth ending a connection for
    let _ = stream.set_nodelay(true);
    // the kernel ends a connection whose answers are not read: nothing else would, and each holds
    // one of the places
    if set_tcp_user_timeout(&stream, ANSWER_TIMEOUT.as_millis() as u32).is_err() {
        return "broken";
    }
    let Some(tls) = tls else {
        return serve(TokioIo::new(stream), router, title_case).await;
    };
    match timeout(TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve(TokioIo::new(stream), router, title_case).await,
        Ok(Err(_)) => "tls",
        Err(_) => "slow",
    }
}

async fn serve<S>(stream: S, router: Router, title_case: bool) -> &'static str
where
    S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .title_case_headers(title_case)
        .serve_connection(stream, TowerToHyperService::new(router))
        .with_upgrades()
        .await;
    if served.is_ok() { "served" } else { "broken" }
}

/// `/metrics` for Prometheus, and `/healthz`, which waits for nothing.
pub(crate) fn metrics_router(hub: Arc<Hub>) -> Router {
    let metrics = move || {
        let hub = Arc::clone(&hub);
        async move {
            let now = crate::clock::now();
            let (cells, _) = hub.snapshot();
            let (current, silent) = (cells.current(now).count(), cells.silent(now));
            hub.metrics().set("brimful_rnis_cells", &[], current as f64);
            hub.metrics()
                .set("brimful_rnis_cells_silent", &[], silent as f64);
            let lost = daemon::lost_log_lines();
            let name = "brimful_rnis_log_lost_total";
            hub.metrics().set(name, &[], lost as f64);
            let kind = "text/plain; version=0.0.4";
            ([(CONTENT_TYPE, kind)], hub.metrics().render()).into_response()
        }
    };
    let health = async || ([(CONTENT_TYPE, "text/plain")], "ok\n");
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .layer(from_fn(busy))
}
