//! Connections, from accept to their end; each is bounded in time and bytes.

use super::head::{self, FAILED, OK, TOO_LONG, UNAVAILABLE};
use super::site::{HEALTH, PLAIN_TEXT, Page, Site};
use crate::{Connections, Standing};
use rustix::net::sockopt::set_tcp_user_timeout;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// The name of the threads of these servers. A panic on one of them is contained here: it ends a request, and is
/// to end no daemon.
pub const THREAD: &str = "metrics-http";

/// Longest head of a request, bytes.
const MAX_HEAD_BYTES: usize = 8_192;
/// Read after the answer, bytes, so that it is not lost to a reset by what a client sent beside its request.
const MAX_REST_BYTES: usize = 65_536;
/// After an error of accept, before the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// From accept until the head of the request has come.
    pub(crate) head: Duration,
    /// From accept to the end.
    pub(crate) whole: Duration,
}

impl Limits {
    pub(crate) const DEFAULT: Self = Self {
        connections: 64,
        head: Duration::from_secs(2),
        whole: Duration::from_secs(10),
    };
}

/// A server that runs on threads of its own. When it is dropped, its address is free and its connections are
/// closed.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves connections of this listener.
    ///
    /// # Errors
    /// The system gives no threads, or the listener is none.
    pub fn start(listener: std::net::TcpListener, site: Site) -> io::Result<Self> {
        Self::start_within(listener, site, Limits::DEFAULT)
    }

    pub(crate) fn start_within(
        listener: std::net::TcpListener,
        site: Site,
        limits: Limits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .thread_name(THREAD)
            .max_blocking_threads(site.threads())
            .build()?;
        let listener = {
            let _in_runtime = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let run = move || run(runtime, listener, site, limits, stopped);
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread.spawn(run)?),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // it contains its panics; one that escaped has ended it too
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: Runtime,
    listener: TcpListener,
    site: Site,
    limits: Limits,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async move {
        tokio::select! {
            () = accept(listener, Arc::new(site), limits) => {}
            _ = stopped => {}
        }
    });
    // a page that hangs is not waited for
    runtime.shutdown_background();
}

async fn accept(listener: TcpListener, site: Arc<Site>, limits: Limits) {
    let mut connections = Connections::new(limits.connections);
    loop {
        tokio::select! {
            () = connections.ended() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let site = Arc::clone(&site);
                    connections.spawn(peer.ip(), Standing::new(), async move {
                        match timeout(limits.whole, serve(stream, &site, limits)).await {
                            Ok(Ok(())) => {}
                            Ok(Err(error)) => tracing::debug!(%peer, %error, "metrics"),
                            Err(_) => tracing::debug!(%peer, "metrics: too slow"),
                        }
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "metrics: cannot accept");
                    sleep(RETRY_INTERVAL).await;
                }
            },
        }
    }
}

/// One request.
async fn serve(stream: TcpStream, site: &Site, limits: Limits) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // what the kernel still has to send after the end is bounded in time too
    let unread = u32::try_from(limits.whole.as_millis()).unwrap_or(u32::MAX);
    set_tcp_user_timeout(&stream, unread)?;
    let Ok(read) = timeout(limits.head, request(stream, site, limits)).await else {
        return Err(io::ErrorKind::TimedOut.into());
    };
    let Some((mut stream, head)) = read? else {
        return Ok(());
    };
    let answer = answer(&head, site).await;
    stream.write_all(&answer).await?;
    stream.shutdown().await?;
    let mut rest = (&mut stream).take(MAX_REST_BYTES as u64);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}

/// The head of a request, as far as it came; none of a client that has gone, or is the dashboard's.
async fn request(
    stream: TcpStream,
    site: &Site,
    limits: Limits,
) -> io::Result<Option<(TcpStream, Vec<u8>)>> {
    let offered = match &site.dashboard {
        Some(dashboard) => dashboard.offer(stream, limits.head).await,
        None => Some(stream),
    };
    let Some(mut stream) = offered else {
        return Ok(None);
    };
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    loop {
        let read = stream.read(&mut part).await?;
        let searched = head.len();
        head.extend_from_slice(&part[..read]);
        match read {
            0 if head.is_empty() => return Ok(None),
            0 => return Ok(Some((stream, head))),
            _ if head.len() > MAX_HEAD_BYTES || head::is_whole(&head, searched) => {
                return Ok(Some((stream, head)));
            }
            _ => {}
        }
    }
}

async fn answer(head: &[u8], site: &Site) -> Vec<u8> {
    if head.len() > MAX_HEAD_BYTES && !head::is_whole(&head[..MAX_HEAD_BYTES], 0) {
        return encode(TOO_LONG, PLAIN_TEXT, "the head is too long\n");
    }
    let path = match head::requested(head, |path| site.has(path)) {
        Ok(path) => path,
        Err(status) => return encode(status, PLAIN_TEXT, &site.paths()),
    };
    let Some(page) = site.page(path) else {
        debug_assert_eq!(path, HEALTH);
        return encode(OK, PLAIN_TEXT, "ok\n");
    };
    match make(Arc::clone(page)).await {
        Some(Ok(text)) => encode(OK, page.media_type, &text),
        Some(Err(reason)) => encode(UNAVAILABLE, PLAIN_TEXT, &format!("{reason}\n")),
        None => {
            tracing::error!(path, "a page could not be made: its code panicked");
            encode(FAILED, PLAIN_TEXT, "the page could not be made\n")
        }
    }
}

/// Makes a page beside the connections; none if that panics.
async fn make(page: Arc<Page>) -> Option<Result<String, &'static str>> {
    // held by the work, not by the request: a page that hangs takes a bounded number of threads
    let permit = Arc::clone(&page.permits).acquire_owned().await.ok()?;
    let made = spawn_blocking(move || {
        let _permit = permit;
        (page.make)()
    });
    made.await.ok()
}

fn encode(status: &str, media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
