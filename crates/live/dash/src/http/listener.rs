//! A server of the dashboard's own: connections up to a number, beyond which one gives way to a new one; slow and
//! senseless ones are closed.

use super::gate::Peer;
use super::{redirect, router};
use crate::DashError;
use crate::dash::Dash;
use axum::routing::get;
use axum::{Extension, Router};
use daemon::{Connections, Standing};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::set_tcp_user_timeout;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// Longest time for the head of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A client that does not take its answer for so long is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// Connections served concurrently.
pub(super) const MAX_CONNECTIONS: usize = 256;
/// After a failure to accept (no descriptors left) so long is waited.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A port at which the dashboard is served.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    dash: Dash,
}

impl Server {
    /// Listens; port 0 is any that is free.
    ///
    /// # Errors
    /// [`DashError::NeedsToken`] if others can reach the address and the dashboard has no token;
    /// [`DashError::Listen`].
    pub fn bind(address: SocketAddr, dash: Dash) -> Result<Self, DashError> {
        dash.access().check(address)?;
        let fault = |source| DashError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(fault)?;
        listener.set_nonblocking(true).map_err(fault)?;
        Ok(Self {
            address: listener.local_addr().map_err(fault)?,
            listener,
            dash,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a browser finds it.
    pub fn url(&self) -> String {
        format!("http://{}/dash/", self.address)
    }

    /// Serves on a thread of its own until the process ends.
    ///
    /// # Errors
    /// [`DashError::System`] if there is no such thread to be had.
    pub fn spawn(self) -> Result<(), DashError> {
        let runtime = runtime()?;
        let work = move || {
            if let Err(error) = runtime.block_on(self.serve()) {
                tracing::warn!(%error, "the dashboard has ended");
            }
        };
        let thread = std::thread::Builder::new().name("dash".to_owned());
        thread
            .spawn(work)
            .map(drop)
            .map_err(system("start a thread"))
    }

    async fn serve(self) -> Result<(), DashError> {
        let listener = TcpListener::from_std(self.listener).map_err(system("listen"))?;
        let router = Router::new()
            .route("/", get(async || redirect("/dash/")))
            .merge(router(&self.dash));
        let mut connections = Connections::new(MAX_CONNECTIONS);
        loop {
            let accepted = tokio::select! {
                () = connections.ended() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => begin(stream, peer, &router, &mut connections),
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }
}

/// A runtime on one thread, beside those that read files.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, DashError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(system("start the dashboard"))
}

pub(crate) fn system(action: &'static str) -> impl Fn(std::io::Error) -> DashError {
    move |source| DashError::System { action, source }
}

/// Serves a connection as long as it lasts; a WebSocket, which needs no place, beyond that.
pub(super) fn begin(
    stream: TcpStream,
    peer: SocketAddr,
    router: &Router,
    connections: &mut Connections,
) {
    // without it answers wait for acknowledgements; not worth ending a connection for
    let _ = stream.set_nodelay(true);
    // the kernel ends a connection whose answers are not read: nothing else would
    if set_tcp_user_timeout(&stream, ANSWER_TIMEOUT.as_millis() as u32).is_err() {
        return;
    }
    let standing = Standing::new();
    let router = router
        .clone()
        .layer(Extension(Peer(peer.ip())))
        .layer(Extension(standing.clone()));
    connections.spawn(peer.ip(), standing, async move {
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(TIMEOUT)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "dashboard");
        }
    });
}
