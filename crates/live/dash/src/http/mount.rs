//! The dashboard beside something else at the same port: the other server accepts connections, and
//! offers each to the dashboard before it reads from it.

use super::listener::{MAX_CONNECTIONS, begin, runtime, system};
use super::router;
use crate::DashError;
use crate::dash::Dash;
use daemon::Connections;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Sender, channel};

/// How a request for the dashboard begins.
const OURS: [&[u8]; 3] = [b"GET /dash", b"POST /dash", b"HEAD /dash"];
/// Between looks whether more of a request has come.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Takes connections that others have accepted.
#[derive(Clone, Debug)]
pub struct Mount {
    sender: Sender<TcpStream>,
}

impl Mount {
    /// Starts the thread that serves them.
    ///
    /// # Errors
    /// [`DashError::System`] if there is none to be had.
    pub fn start(dash: &Dash) -> Result<Self, DashError> {
        let (sender, mut receiver) = channel::<TcpStream>(64);
        let router = router(dash);
        let runtime = runtime()?;
        let serve = async move {
            let mut connections = Connections::new(MAX_CONNECTIONS);
            loop {
                let stream = tokio::select! {
                    () = connections.ended() => continue,
                    received = receiver.recv() => match received {
                        Some(stream) => stream,
                        None => return,
                    },
                };
                let stream = stream
                    .set_nonblocking(true)
                    .and_then(|()| tokio::net::TcpStream::from_std(stream));
                // otherwise it has gone already
                if let Ok(stream) = stream
                    && let Ok(peer) = stream.peer_addr()
                {
                    begin(stream, peer, &router, &mut connections);
                }
            }
        };
        let thread = std::thread::Builder::new().name("dash".to_owned());
        let spawned = thread.spawn(move || runtime.block_on(serve));
        spawned.map_err(system("start a thread"))?;
        Ok(Self { sender })
    }

    /// Takes a connection whose first request is for the dashboard; gives any other back, with
    /// nothing read from it. Waits so long at most for the request to begin. The connection must
    /// block.
    pub fn offer(&self, stream: TcpStream, timeout: Duration) -> Option<TcpStream> {
        let until = Instant::now() + timeout;
        loop {
            let mut begun = [0; 10];
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Some(stream);
            }
            let length = match stream.peek(&mut begun) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Some(stream),
            };
            match is_ours(&begun[..length]) {
                Some(true) => return self.take(stream),
                None if length > 0 => std::thread::sleep(POLL_INTERVAL),
                _ => return Some(stream),
            }
        }
    }

    /// Takes a connection that is known to be for the dashboard.
    fn take(&self, stream: TcpStream) -> Option<TcpStream> {
        let _ = stream.set_read_timeout(None);
        // if it is swamped, the connection is closed: the browser tries again
        let _ = self.sender.try_send(stream);
        None
    }

    /// As [`Mount::offer`], of a connection on a tokio runtime.
    pub async fn offer_async(
        &self,
        stream: tokio::net::TcpStream,
        timeout: Duration,
    ) -> Option<tokio::net::TcpStream> {
        let until = tokio::time::Instant::now() + timeout;
        loop {
            let mut begun = [0; 10];
            let peeked = tokio::time::timeout_at(until, stream.peek(&mut begun)).await;
            let Ok(Ok(length)) = peeked else {
                return Some(stream);
            };
            match is_ours(&begun[..length]) {
                Some(true) => {
                    return match stream.into_std() {
                        Ok(stream) => {
                            let _ = self.sender.try_send(stream);
                            None
                        }
                        Err(_) => None,
                    };
                }
                None if length > 0 => tokio::time::sleep(POLL_INTERVAL).await,
                _ => return Some(stream),
            }
        }
    }
}

/// Whether a request that begins so is for the dashboard; none if that is not yet to be seen.
fn is_ours(begun: &[u8]) -> Option<bool> {
    let common = |ours: &&[u8]| {
        let length = ours.len().min(begun.len());
        ours[..length] == begun[..length]
    };
    match OURS.iter().find(|ours| common(ours)) {
        Some(possible) if begun.len() < possible.len() => None,
        possible => Some(possible.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_recognised_by_its_first_bytes() {
        assert_eq!(is_ours(b"GET /dash/api"), Some(true));
        assert_eq!(is_ours(b"POST /dash/"), Some(true));
        assert_eq!(is_ours(b"GET /d"), None);
        assert_eq!(is_ours(b"GET /metrics"), Some(false));
        assert_eq!(is_ours(b"GET /m"), Some(false));
        assert_eq!(is_ours(b"\xff"), Some(false));
    }
}
