//! Reports of a broker or a Unix socket for another program on a thread of its own: a proxy or a QUIC
//! server, which have no hub.

use super::{Inbox, broker, lines};
use crate::Fault;
use crate::backoff::Backoff;
use crate::config::Address;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Builder;

/// Between looks whether the follower has enough.
const LOOK: Duration = Duration::from_millis(200);

/// A consumer of reports from a broker.
pub trait Follower: Send {
    /// The subscription stands, or no longer.
    fn up(&mut self, up: bool);
    /// A message as it came: any bytes.
    fn message(&mut self, bytes: &[u8]);
}

/// Counts what passes.
struct Counted<'a, F> {
    follower: &'a mut F,
    has_received: bool,
}

impl<F: Follower> Inbox for Counted<'_, F> {
    fn message(&mut self, bytes: &[u8]) {
        self.has_received = true;
        self.follower.message(bytes);
    }
    fn up(&mut self, up: bool) {
        self.follower.up(up);
    }
}

/// Brings the messages of a broker's topic (AMQP: exchange; NATS: beginning of the subject) to a
/// follower until `is_done`. A broker that is lost is tried again and again, each time after a
/// longer pause of up to ten seconds. Blocks.
///
/// # Errors
/// A URL of no broker, or a system that gives no runtime.
pub fn follow(
    url: &str,
    topic: &str,
    follower: &mut impl Follower,
    is_done: impl Fn() -> bool,
) -> io::Result<()> {
    let address: Address = url.parse().map_err(io::Error::other)?;
    follow_address(&address, topic, follower, is_done)
}

/// The same of an address that is read already.
///
/// # Errors
/// As [`follow`].
pub fn follow_address(
    address: &Address,
    topic: &str,
    follower: &mut impl Follower,
    is_done: impl Fn() -> bool,
) -> io::Result<()> {
    if !matches!(address.scheme(), "amqp" | "amqps" | "nats" | "tls") {
        return Err(io::Error::other(format!("{address} is no broker")));
    }
    let source = From::Broker(address, topic);
    follow_source(&source, follower, is_done)
}

/// Brings the lines of a Unix stream socket to a follower until `is_done`. Only a process of one of
/// these users may be at its other end: any other user's connection is closed unread, with a
/// warning. Blocks.
///
/// # Errors
/// A system that gives no runtime.
pub fn follow_socket(
    path: &Path,
    users: &[u32],
    follower: &mut impl Follower,
    is_done: impl Fn() -> bool,
) -> io::Result<()> {
    follow_source(&From::Socket(path, users), follower, is_done)
}

/// Where from.
enum From<'a> {
    /// A broker and its topic.
    Broker(&'a Address, &'a str),
    /// A socket and the users that may be at its other end.
    Socket(&'a Path, &'a [u32]),
}

impl fmt::Display for From<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker(address, _) => address.fmt(f),
            Self::Socket(path, _) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn follow_source(
    source: &From<'_>,
    follower: &mut impl Follower,
    is_done: impl Fn() -> bool,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            () = keep_following(source, follower) => {}
            () = done(&is_done) => {}
        }
    });
    Ok(())
}

async fn done(is_done: impl Fn() -> bool) {
    while !is_done() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn keep_following(source: &From<'_>, follower: &mut impl Follower) {
    let mut logged = String::new();
    let mut backoff = Backoff::new();
    loop {
        let mut counted = Counted {
            follower,
            has_received: false,
        };
        let ended = once(source, &mut counted).await;
        counted.up(false);
        let outcome = match ended {
            Ok(()) => "closed the connection".to_owned(),
            Err(error) => error.to_string(),
        };
        if counted.has_received {
            backoff.reset();
            logged.clear();
        }
        // a source that is not there yet is logged once
        if outcome != logged {
            tracing::warn!(%source, "radio reports: {outcome}");
            logged = outcome;
        }
        if matches!(source, From::Socket(..)) {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        backoff.wait().await;
    }
}

/// One connection, to its end.
async fn once(source: &From<'_>, inbox: &mut impl Inbox) -> Result<(), Fault> {
    match source {
        From::Socket(path, users) => lines::follow(path, users, inbox).await,
        From::Broker(address, topic) => match address.scheme() {
            "nats" | "tls" => broker::subject(address, topic, inbox).await,
            _ => broker::exchange(address, topic, inbox).await,
        },
    }
}
