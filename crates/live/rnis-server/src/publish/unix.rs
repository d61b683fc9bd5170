//! Reports over a Unix stream socket: one line of JSON each, to every reader. One that does not take a line in time
//! is closed: readers that stand still do not hold all places.

use super::Outlet;
use crate::accept::AcceptErrors;
use crate::hub::{Hub, Outgoing};
use daemon::{LogLimit, clock};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// Permission to connect: the user and the group of the service, whatever its umask.
const MODE: u32 = 0o660;
/// Maximum number of concurrent readers.
const READERS: usize = 64;
/// The line of a reader that reads events as well.
const EVENTS: &[u8] = b"events";

/// A listening socket, whose file goes away with it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens at a path ([`daemon::socket::bind`]).
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let listener = daemon::socket::bind(path, MODE).map_err(io::Error::other)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener: UnixListener::from_std(listener)?,
            path: path.to_owned(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // it may be gone already
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves readers until the service ends.
pub(crate) async fn serve(socket: Socket, hub: Arc<Hub>, unread_timeout: Duration) {
    let readers = Arc::new(AtomicUsize::new(0));
    let mut errors = AcceptErrors::new("unix", &hub);
    let mut log = LogLimit::new();
    loop {
        errors.pause().await;
        let stream = match socket.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                errors.failed(&error);
                continue;
            }
        };
        errors.reset();
        if readers.fetch_add(1, Ordering::Relaxed) >= READERS {
            readers.fetch_sub(1, Ordering::Relaxed);
            if let Some(suppressed) = log.admit(clock::now()) {
                tracing::warn!(
                    readers = READERS,
                    suppressed,
                    "one reader too many was rejected"
                );
            }
            continue;
        }
        let (hub, readers) = (Arc::clone(&hub), Arc::clone(&readers));
        tokio::spawn(reader(stream, hub, readers, unread_timeout));
    }
}

/// What a reader sends: the one line `events`, if it reads events as well. All else is discarded, and
/// its end is detected.
#[derive(Default)]
struct Requests {
    buffer: [u8; 16],
    line: Vec<u8>,
    events: bool,
}

impl Requests {
    fn take(&mut self, length: usize) {
        for &byte in &self.buffer[..length] {
            match byte {
                b'\n' => self.events |= std::mem::take(&mut self.line) == EVENTS,
                _ if self.line.len() <= EVENTS.len() => self.line.push(byte),
                _ => {}
            }
        }
    }
}

async fn reader(
    mut stream: UnixStream,
    hub: Arc<Hub>,
    readers: Arc<AtomicUsize>,
    unread_timeout: Duration,
) {
    let count = |by| hub.metrics().change("brimful_rnis_readers", &[], by);
    let mut outlet = Outlet::new(Arc::clone(&hub), "unix");
    // who is counted gets every report from now on
    count(1.0);
    let (mut read, mut write) = stream.split();
    let mut requests = Requests::default();
    loop {
        let outgoing = tokio::select! {
            outgoing = outlet.next_of_all() => outgoing,
            read = tokio::io::AsyncReadExt::read(&mut read, &mut requests.buffer) => match read {
                Ok(length @ 1..) => {
                    requests.take(length);
                    continue;
                }
                Ok(0) | Err(_) => None,
            },
        };
        let event;
        let line = match &outgoing {
            // shared with the other readers
            Some(Outgoing::Report(report)) => report.line(),
            Some(Outgoing::Event(json)) if requests.events => {
                event = [json, &b"\n"[..]].concat();
                &event
            }
            Some(Outgoing::Event(_)) => continue,
            None => break,
        };
        let written = timeout(unread_timeout, write.write_all(line)).await;
        if !matches!(written, Ok(Ok(()))) {
            if written.is_err() {
                tracing::debug!("a reader that took nothing within {unread_timeout:?} is closed");
            }
            outlet.lost(1);
            break;
        }
        if matches!(outgoing, Some(Outgoing::Report(_))) {
            outlet.published();
        }
    }
    readers.fetch_sub(1, Ordering::Relaxed);
    count(-1.0);
}
