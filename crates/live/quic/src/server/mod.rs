//! The server: endpoints, the connections that come in, and what surrounds them.

mod admin;
mod budget;
mod counters;
mod dashboard;
mod files;
mod frames;
mod http3;
mod paths;
mod pieces;
mod plain;
mod qlog;
mod session;
mod stats;
mod time;

use crate::config::Config;
use crate::reports::Reporter;
use crate::{ALPN, QuicError, epoch, tls};
use budget::{Budget, Limits, Ticket};
pub(crate) use budget::{FIRST_WINDOW, base};
use counters::Counters;
use daemon::Termination;
use quinn::{Endpoint, Incoming, ServerConfig, VarInt};
use report_source::Peers;
use session::Session;
use stats::Stats;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use time::SteadyTime;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Above so many handshakes at once, clients must first show that they receive at their address.
const HANDSHAKES_WITHOUT_RETRY: usize = 100;
/// Clients that wait to be accepted or refused: they do not wait for anything but the processor.
const MAX_INCOMING: usize = 1_000;
/// Kept of what one of them sends meanwhile, bytes.
const INCOMING_BYTES: u64 = 64_000;
/// Kept of all of them, bytes.
const ALL_INCOMING_BYTES: u64 = 4_000_000;
/// Threads that open and read files; each has one descriptor at a time.
const READERS: usize = 64;
/// For connections to end when the server does.
const PARTING: Duration = Duration::from_secs(3);
/// The protocol of HTTP/3 in the handshake (RFC 9114 3.1).
pub(crate) const H3: &[u8] = b"h3";

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) epoch: Instant,
    pub(crate) reporter: Reporter,
    pub(crate) counters: Counters,
    pub(crate) stats: Option<Stats>,
    pub(crate) qlogs: qlog::OpenLogs,
    pub(crate) qlog_failures: qlog::Failures,
    files: files::OpenFiles,
    pub(crate) began: Instant,
    /// Connections for those who watch.
    pub(crate) shown: dashboard::Connections,
    crypto: ServerConfig,
    pub(crate) budget: Arc<Budget>,
    handshakes: AtomicUsize,
}

/// A server that runs, until it is dropped or closed.
pub struct Server {
    endpoints: Vec<Endpoint>,
    tasks: JoinSet<()>,
    shared: Arc<Shared>,
    metrics: Option<(SocketAddr, daemon::metrics::Server)>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Begins to listen, to read reports and to serve, in the tokio runtime in which it is called.
    ///
    /// # Errors
    /// A controller, certificate, address or file that cannot be used.
    pub async fn start(config: Config) -> Result<Self, QuicError> {
        let shared = Arc::new(Shared::new(config)?);
        let mut tasks = JoinSet::new();
        let mut endpoints = Vec::new();
        for &address in &shared.config.listen {
            let endpoint = Endpoint::server(shared.crypto.clone(), address)
                .map_err(|source| QuicError::Socket { address, source })?;
            tasks.spawn(accept(endpoint.clone(), Arc::clone(&shared)));
            endpoints.push(endpoint);
        }
        let mut metrics = None;
        if let Some(address) = shared.config.metrics {
            let dashboard = dashboard::start(&shared)?;
            metrics = Some(admin::start(address, &shared, dashboard)?);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        if let Some(source) = shared.config.reports.clone() {
            let mut inlet = shared.reporter.inlet(source.is_foreign());
            let is_over = Arc::clone(&is_over);
            std::thread::Builder::new()
                .name("radio-reports".to_owned())
                .spawn(move || {
                    source.follow(Peers::Own, &mut inlet, || is_over.load(Ordering::Relaxed));
                })
                .map_err(QuicError::System)?;
        }
        Ok(Self {
            endpoints,
            tasks,
            shared,
            metrics,
            is_over,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.endpoints.iter().map(Endpoint::local_addr);
        addresses.filter_map(Result::ok).collect()
    }

    /// Where `/metrics` and `/status` are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(at, _)| *at)
    }

    /// Where reports of this program go in.
    pub fn reporter(&self) -> &Reporter {
        &self.shared.reporter
    }

    /// The answer of `/status`, as JSON.
    pub fn status(&self) -> serde_json::Value {
        admin::status(&self.shared)
    }

    /// Ends all connections, and waits until their clients have acknowledged it, for at most 3 s.
    pub async fn close(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for endpoint in &self.endpoints {
            endpoint.close(VarInt::from_u32(0), b"the server ends");
        }
        let idle = async {
            for endpoint in &self.endpoints {
                endpoint.wait_idle().await;
            }
        };
        // a client that does not answer has gone already
        let _ = tokio::time::timeout(PARTING, idle).await;
        self.tasks.abort_all();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("addresses", &self.addresses())
            .finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn new(config: Config) -> Result<Self, QuicError> {
        let epoch = epoch();
        // a wrong name is found here, not with the first connection
        quinn_cc::AdapterFactory::named(epoch, &config.cc, config.meld)?;
        for (name, folder) in [("qlog", &config.qlog), ("root", &config.root)] {
            let Some(folder) = folder else { continue };
            let found = std::fs::metadata(folder).and_then(|found| match found.is_dir() {
                true => Ok(()),
                false => Err(std::io::Error::other("is no folder")),
            });
            found.map_err(|source| QuicError::Folder {
                name,
                path: folder.clone(),
                source,
            })?;
        }
        let crypto = tls::server(&config.certificate, &[H3, ALPN])?;
        let stats = config.stats.as_ref().map(Stats::open).transpose()?;
        Ok(Self {
            epoch,
            reporter: Reporter::new(config.ues.clone()),
            counters: Counters::default(),
            stats,
            qlogs: qlog::OpenLogs::new(),
            qlog_failures: qlog::Failures::default(),
            files: files::OpenFiles::new(),
            began: Instant::now(),
            shown: dashboard::Connections::default(),
            crypto: before_acceptance(ServerConfig::with_crypto(Arc::new(crypto))),
            budget: Budget::new(Limits {
                memory: config.memory,
                connections: config.connections,
                per_source: config.connections_per_address,
                streams: config.streams,
            }),
            handshakes: AtomicUsize::new(0),
            config,
        })
    }

    pub(crate) fn open(&self) -> usize {
        self.budget.connections()
    }
}

/// Counts something up while it lives.
struct Guard<'a>(&'a AtomicUsize);

impl<'a> Guard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bounds what is kept of clients whose connection has not been accepted or refused yet; the steps of the system's
/// clock do not concern what they have to prove.
fn before_acceptance(mut crypto: ServerConfig) -> ServerConfig {
    crypto
        .time_source(Arc::new(SteadyTime::new()))
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(ALL_INCOMING_BYTES);
    crypto
}

async fn accept(endpoint: Endpoint, shared: Arc<Shared>) {
    while let Some(incoming) = endpoint.accept().await {
        let from = incoming.remote_address().ip();
        let is_busy = shared.handshakes.load(Ordering::Relaxed) > HANDSHAKES_WITHOUT_RETRY
            || shared.budget.requires_proof(from);
        if is_busy && !incoming.remote_address_validated() && incoming.may_retry() {
            // it may retry, as was just checked
            let _ = incoming.retry();
            continue;
        }
        match shared.budget.admit(from, Instant::now()) {
            Ok(ticket) => {
                tokio::spawn(serve(incoming, ticket, Arc::clone(&shared)));
            }
            Err(refusal) => {
                shared.counters.refuse(refusal);
                incoming.refuse();
            }
        }
    }
}

/// One connection, from its first packet to its end.
async fn serve(incoming: Incoming, ticket: Ticket, shared: Arc<Shared>) {
    let remote = incoming.remote_address();
    let (session, transport) = Session::new(ticket, remote, Arc::clone(&shared));
    let mut config = shared.crypto.clone();
    config.transport_config(Arc::new(transport));
    let connection = {
        let _handshake = Guard::new(&shared.handshakes);
        match incoming.accept_with(Arc::new(config)) {
            Ok(connecting) => connecting.await,
            Err(error) => Err(error),
        }
    };
    match connection {
        Ok(connection) => session.run(connection).await,
        Err(error) => {
            shared.counters.failed.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%remote, %error, "no connection");
        }
    }
}

/// Runs a server until SIGTERM or SIGINT. `ready` is called with where it listens.
///
/// # Errors
/// What keeps it from starting.
pub fn run(config: Config, ready: impl FnOnce(&Server)) -> Result<(), QuicError> {
    daemon::start_log(config.log);
    let runtime = Builder::new_multi_thread()
        .max_blocking_threads(READERS)
        .enable_all()
        .build()
        .map_err(QuicError::System)?;
    runtime.block_on(async {
        let mut termination = Termination::new().map_err(QuicError::System)?;
        let server = Server::start(config).await?;
        ready(&server);
        daemon::notify("READY=1");
        termination.received().await;
        daemon::notify("STOPPING=1");
        server.close().await;
        Ok(())
    })
}

/// What a path of HTTP names below a folder, if anything: never what is not below it. For fuzzing.
///
/// # Panics
/// If it would lead out of the folder.
pub fn check_path(path: &str) {
    if let Some(paths::Named::File(file)) = paths::named(path) {
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        assert!(file.components().all(is_plain), "{path:?} is {file:?}");
    }
    for length in [0, 1, 1_000] {
        if let Ok(Some((first, last))) = paths::range(path, length) {
            assert!(first <= last && last < length, "{path:?} of {length}");
        }
    }
}

/// Reads the lengths of the frames of HTTP/3 in any bytes, whole and cut. For fuzzing.
///
/// # Panics
/// If it matters how they are cut.
pub fn check_frames(bytes: &[u8]) {
    let (mut whole, mut cut) = (frames::Scan::request(), frames::Scan::request());
    let in_parts = bytes
        .chunks(7)
        .try_fold(0, |sum, part| Ok(sum + cut.push(part)?));
    assert_eq!(whole.push(bytes), in_parts);
}

/// Whether a path is a folder's own or below it, links followed.
fn is_below(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}
