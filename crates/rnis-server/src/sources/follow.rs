//! Reports of a broker for another program on a thread of its own: a proxy, which has no hub.

use super::{Inbox, broker};
use crate::Fault;
use crate::backoff::Backoff;
use crate::config::Address;
use std::io;
use std::time::Duration;
use tokio::runtime::Builder;

/// Between looks whether the follower has enough.
const LOOK: Duration = Duration::from_millis(200);

/// Whoever takes reports out of a broker.
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
    if !matches!(address.scheme(), "amqp" | "amqps" | "nats" | "tls") {
        return Err(io::Error::other(format!("{address} is no broker")));
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            () = keep_following(&address, topic, follower) => {}
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

async fn keep_following(address: &Address, topic: &str, follower: &mut impl Follower) {
    let mut backoff = Backoff::new();
    loop {
        let mut counted = Counted {
            follower,
            has_received: false,
        };
        let ended = once(address, topic, &mut counted).await;
        counted.up(false);
        match ended {
            Ok(()) => tracing::warn!(broker = %address, "closed the connection"),
            Err(error) => tracing::warn!(broker = %address, "{error}"),
        }
        if counted.has_received {
            backoff.reset();
        }
        backoff.wait().await;
    }
}

/// One connection, to its end.
async fn once(address: &Address, topic: &str, inbox: &mut impl Inbox) -> Result<(), Fault> {
    match address.scheme() {
        "nats" | "tls" => broker::subject(address, topic, inbox).await,
        _ => broker::exchange(address, topic, inbox).await,
    }
}
