//! Reports of a broker or a Unix socket for a daemon that reads them on a thread of its own.

use crate::{Address, Fault, Line, Lines, broker};
use daemon::Backoff;
use rnis::adapters::MAX_MESSAGE_BYTES;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::runtime::Builder;

/// Between looks whether the follower has enough.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A consumer of messages: reports, as they come.
pub trait Follower: Send {
    /// The connection or subscription stands, or no longer; may repeat what was so already.
    fn up(&mut self, up: bool);
    /// A message as it came: any bytes.
    fn message(&mut self, bytes: &[u8]);
    /// A line without anything on it, which is no message: ignored unless the follower counts it.
    fn blank_line(&mut self) {}
}

/// Counts what passes.
struct Counted<'a, F> {
    follower: &'a mut F,
    has_received: bool,
}

impl<F: Follower> Follower for Counted<'_, F> {
    fn message(&mut self, bytes: &[u8]) {
        self.has_received = true;
        self.follower.message(bytes);
    }
    fn blank_line(&mut self) {
        self.follower.blank_line();
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
pub fn follow_broker(
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

/// Brings the lines of a Unix stream socket to a follower until `is_done`; a line that is longer than any message
/// comes empty, to be counted as what it is. Only a process of one of these users, if any are given, may be at the
/// other end: any other user's connection is closed unread, with a warning. A socket that is lost is tried again
/// after 200 ms. Blocks.
///
/// # Errors
/// A system that gives no runtime.
pub fn follow_socket(
    path: &Path,
    users: Option<&[u32]>,
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
    Socket(&'a Path, Option<&'a [u32]>),
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
        tokio::time::sleep(POLL_INTERVAL).await;
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
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        }
        backoff.wait().await;
    }
}

/// One connection, to its end.
async fn once(source: &From<'_>, follower: &mut impl Follower) -> Result<(), Fault> {
    match source {
        From::Socket(path, users) => lines_of(path, *users, follower).await,
        From::Broker(address, topic) => match address.scheme() {
            "nats" | "tls" => broker::subject(address, topic, follower).await,
            _ => broker::exchange(address, topic, follower).await,
        },
    }
}

/// Connects to a socket, and reads its lines.
async fn lines_of(
    path: &Path,
    users: Option<&[u32]>,
    follower: &mut impl Follower,
) -> Result<(), Fault> {
    let stream = UnixStream::connect(path).await?;
    let user = stream.peer_cred()?.uid();
    if users.is_some_and(|users| !users.contains(&user)) {
        return Err(
            format!("a process of user {user} is there, which is not trusted to report").into(),
        );
    }
    follower.up(true);
    let mut lines = Lines::new(stream, MAX_MESSAGE_BYTES);
    loop {
        match lines.next().await? {
            Line::Text(line) if line.iter().all(u8::is_ascii_whitespace) => follower.blank_line(),
            Line::Text(line) => follower.message(&line),
            Line::TooLong => follower.message(b""),
            Line::End => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::sync::{Arc, Mutex, MutexGuard};

    #[derive(Default)]
    struct All {
        up: usize,
        down: usize,
        blank: usize,
        messages: Vec<Vec<u8>>,
    }

    #[derive(Clone, Default)]
    struct Taken(Arc<Mutex<All>>);

    impl Taken {
        fn all(&self) -> MutexGuard<'_, All> {
            self.0.lock().expect("whole")
        }
        /// How often it was up, and how often not.
        fn ups(&self) -> (usize, usize) {
            let all = self.all();
            (all.up, all.down)
        }
        fn messages(&self) -> Vec<Vec<u8>> {
            self.all().messages.clone()
        }
    }

    impl Follower for Taken {
        fn up(&mut self, up: bool) {
            let mut all = self.all();
            *(if up { &mut all.up } else { &mut all.down }) += 1;
        }
        fn message(&mut self, bytes: &[u8]) {
            self.all().messages.push(bytes.to_vec());
        }
        fn blank_line(&mut self) {
            self.all().blank += 1;
        }
    }

    /// Sends this to each who connects, and closes the connection.
    fn serve(path: &Path, bytes: Vec<u8>) {
        let listener = UnixListener::bind(path).expect("a socket");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // a client that is not to read has gone
                let _ = stream.expect("a client").write_all(&bytes);
            }
        });
    }

    #[test]
    fn lines_come_again_after_each_connection_and_one_that_is_too_long_comes_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let long = "x".repeat(MAX_MESSAGE_BYTES + 1);
        serve(
            &path,
            format!("one\n \n{long}\ntwo\nunfinished").into_bytes(),
        );
        let taken = Taken::default();
        let is_done = || taken.messages().len() >= 6;
        follow_socket(&path, None, &mut taken.clone(), is_done).expect("followed");
        let lap = [b"one".to_vec(), Vec::new(), b"two".to_vec()];
        assert_eq!(taken.messages()[..6], [lap.clone(), lap].concat());
        assert!(taken.all().blank >= 2);
        let (up, down) = taken.ups();
        assert!(up >= 2 && down >= 1, "{up} {down}");
    }

    #[test]
    fn a_process_of_another_user_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        serve(&path, b"one\n".to_vec());
        let ours = rustix::process::geteuid().as_raw();
        let taken = Taken::default();
        let is_done = || taken.ups().1 >= 2;
        follow_socket(&path, Some(&[ours + 1]), &mut taken.clone(), is_done).expect("followed");
        assert_eq!((taken.ups().0, taken.messages().len()), (0, 0));
        let taken = Taken::default();
        let is_done = || !taken.messages().is_empty();
        follow_socket(&path, Some(&[ours]), &mut taken.clone(), is_done).expect("followed");
        assert_eq!(taken.messages()[0], b"one");
    }

    #[test]
    fn a_socket_is_no_broker() {
        let address: Address = "unix:/run/radio.sock".parse().expect("an address");
        let error = follow_broker(&address, "a", &mut Taken::default(), || true);
        let error = error.expect_err("no broker").to_string();
        assert_eq!(error, "unix:/run/radio.sock is no broker");
    }
}
