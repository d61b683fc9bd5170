//! Sources that connect to the service. Several at once are served, a bounded number: a stranger that
//! sends nothing keeps no bridge out, and is closed.

use super::Feed;
use super::lines::keep_alive;
use crate::Fault;
use crate::accept::AcceptErrors;
use crate::config::{Address, Listening};
use crate::places::{Place, Places};
use crate::publish::unix::Socket;
use daemon::{LogLimit, clock};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use report_source::{Line, Lines};
use rnis::adapters::MAX_MESSAGE_BYTES;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::AsyncRead;
use tokio::net::TcpListener;

type Stream = Box<dyn AsyncRead + Send + Unpin>;

/// Where a source is waited for.
enum Endpoint {
    Unix(Socket),
    Tcp(TcpListener),
}

impl Endpoint {
    async fn open(address: &Address) -> Result<Self, Fault> {
        match address {
            Address::Unix(path) => Ok(Self::Unix(Socket::bind(path)?)),
            Address::Tcp(host) => Ok(Self::Tcp(TcpListener::bind(host).await?)),
            _ => Err("lines come over unix or tcp".into()),
        }
    }

    /// A connection, and where it is from.
    async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        Ok(match self {
            Self::Unix(socket) => (Box::new(socket.listener.accept().await?.0), None),
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                (Box::new(keep_alive(stream)?), Some(from.ip()))
            }
        })
    }
}

/// What the connections of one source share.
struct Shared<'a> {
    feed: &'a mut Feed,
    /// Connections that have sent a message of this source's form.
    reporting: usize,
    log: LogLimit,
}

/// Serves the connections of a source until the service ends.
///
/// # Errors
/// An address at which it cannot listen.
pub(super) async fn serve(
    address: &Address,
    listening: Listening,
    feed: &mut Feed,
) -> Result<(), Fault> {
    let endpoint = Endpoint::open(address).await?;
    let mut errors = AcceptErrors::new(format!("source {}", feed.name), &feed.hub);
    let places = Places::new(listening.max_connections);
    let shared = Mutex::new(Shared {
        feed,
        reporting: 0,
        log: LogLimit::new(),
    });
    let mut connections = FuturesUnordered::new();
    loop {
        let accepted = async {
            errors.pause().await;
            endpoint.accept().await
        };
        tokio::select! {
            // those that have ended first: each holds a socket
            biased;
            Some(()) = connections.next() => {}
            accepted = accepted => match accepted {
                Ok((stream, from)) => {
                    errors.reset();
                    // none of a source's connections is ever busy; a stranger too many is closed
                    if let Some(place) = places.try_enter(Instant::now(), from) {
                        connections.push(connection(stream, place, listening, &shared));
                    }
                }
                Err(error) => errors.failed(&error),
            },
        }
        gauge(&shared, &places);
    }
}

fn lock<'a, 'b>(shared: &'a Mutex<Shared<'b>>) -> MutexGuard<'a, Shared<'b>> {
    // a message that was given up leaves the next one as good
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gauge(shared: &Mutex<Shared<'_>>, places: &Arc<Places>) {
    let shared = lock(shared);
    let labels = [("source", shared.feed.name.as_str())];
    let metrics = shared.feed.hub.metrics();
    let name = "brimful_rnis_source_connections";
    metrics.set(name, &labels, places.taken() as f64);
}

/// One connection, to its end.
async fn connection(
    stream: Stream,
    place: Place,
    listening: Listening,
    shared: &Mutex<Shared<'_>>,
) {
    let mut lines = Lines::new(stream, MAX_MESSAGE_BYTES);
    let mut is_reporting = false;
    let mut deadline = tokio::time::Instant::now() + listening.first_line;
    let reason = loop {
        let line = tokio::select! {
            () = place.evicted() => break "full",
            line = tokio::time::timeout_at(deadline, lines.next()) => line,
        };
        let is_of_use = match line {
            Err(_) if is_reporting => break "silent",
            Err(_) => break "first-line",
            Ok(Ok(Line::End)) => break "ended",
            Ok(Err(_)) => break "broken",
            // an empty line keeps a bridge's connection, not a stranger's
            Ok(Ok(Line::Text(line))) if line.iter().all(u8::is_ascii_whitespace) => is_reporting,
            Ok(Ok(Line::Text(line))) => lock(shared).feed.take(&line),
            Ok(Ok(Line::TooLong)) => {
                lock(shared).feed.refuse(&"a line longer than any message");
                false
            }
        };
        if is_of_use {
            if !std::mem::replace(&mut is_reporting, true) {
                lock(shared).begin();
            }
            place.touch(Instant::now());
            deadline = tokio::time::Instant::now() + listening.silence;
        }
    };
    lock(shared).end(is_reporting, reason);
}

impl Shared<'_> {
    fn begin(&mut self) {
        self.reporting += 1;
        self.feed.up(true);
    }

    fn end(&mut self, was_reporting: bool, reason: &str) {
        if was_reporting {
            self.reporting -= 1;
            if self.reporting == 0 {
                self.feed.up(false);
            }
        }
        let source = self.feed.name.as_str();
        let labels = [("source", source), ("reason", reason)];
        let metrics = self.feed.hub.metrics();
        metrics.add("brimful_rnis_source_closed_total", &labels, 1);
        if let Some(suppressed) = self.log.admit(clock::now()) {
            tracing::info!(source, reason, suppressed, "a connection is closed");
        }
    }
}
