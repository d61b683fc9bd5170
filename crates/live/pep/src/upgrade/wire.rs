//! The messages between predecessor and successor, over the admin socket: a line of JSON each.

use super::{Duty, News, Request, Successor, Task};
use crate::daemon::Core;
use crate::error::PepError;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An answer must have come by then.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest message, bytes.
const MAX_MESSAGE_BYTES: usize = 4_096;
/// Room for control messages: more descriptors than there are.
const ANCILLARY_BYTES: usize = 256;

/// Which descriptors come with an offer, in this order.
#[derive(Debug, Deserialize, Serialize)]
struct Offer {
    /// Where connections are accepted.
    listeners: usize,
    /// That of `/metrics`.
    metrics: bool,
    /// Names of the locks of interface and port.
    locks: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
enum Message {
    Upgrade,
    Ready,
    Go,
    Serving,
}

/// Descriptors that a successor gets copies of.
pub(crate) struct Copies<'a> {
    pub(crate) listeners: Vec<BorrowedFd<'a>>,
    pub(crate) metrics: Option<BorrowedFd<'a>>,
    pub(crate) locks: Vec<(&'a str, BorrowedFd<'a>)>,
}

fn send(stream: &mut UnixStream, message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// The next line until a time; none for a timeout.
fn receive(stream: &mut UnixStream, until: Option<Instant>) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
        stream.set_read_timeout(left)?;
        match stream.read(&mut byte) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(_) if byte[0] == b'\n' => return Ok(Some(line)),
            Ok(_) if line.len() < MAX_MESSAGE_BYTES => line.push(byte[0]),
            Ok(_) => return Err(std::io::ErrorKind::InvalidData.into()),
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock
                | std::io::ErrorKind::TimedOut
                | std::io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}

/// The running instance's side, after a successor has requested an upgrade.
///
/// # Errors
/// Another hand-over is under way.
pub(crate) fn hand_over(core: &Core, stream: &mut UnixStream) -> Result<(), String> {
    if !core.begin_upgrade() {
        return Err("a hand-over is under way, or has been".to_owned());
    }
    let until = Instant::now() + core.hand_over_timeout();
    let mut duty = Duty::Offer;
    loop {
        let request = match duty {
            Duty::Offer => match core.with_copies(|copies| send_offer(stream, copies)) {
                Ok(()) => requested(stream, Some(until)),
                Err(_) => Request::Broken,
            },
            Duty::Go => match send(stream, &Message::Go) {
                Ok(()) => requested(stream, None),
                Err(_) => Request::Broken,
            },
            Duty::Wait => requested(stream, None),
            Duty::Leave => return Ok(()),
            Duty::Resume => {
                tracing::warn!("the successor did not take over: going on as before");
                return Ok(());
            }
        };
        if request == Request::Timeout {
            tracing::warn!("the successor was not ready within hand-over");
        }
        duty = core.advance_upgrade(request);
    }
}

fn requested(stream: &mut UnixStream, until: Option<Instant>) -> Request {
    match receive(stream, until) {
        Ok(None) => Request::Timeout,
        Err(_) => Request::Broken,
        Ok(Some(line)) => read_request(&line),
    }
}

/// What a successor requests by a line of any bytes.
fn read_request(line: &[u8]) -> Request {
    match serde_json::from_slice(line) {
        Ok(Message::Upgrade) => Request::Upgrade,
        Ok(Message::Ready) => Request::Ready,
        Ok(Message::Serving) => Request::Serving,
        Ok(Message::Go) | Err(_) => Request::Broken,
    }
}

/// The offer in a line of any bytes that came with so many descriptors; none if it does not account for each
/// of them.
fn read_offer(line: &[u8], descriptors: usize) -> Option<Offer> {
    let offer: Offer = serde_json::from_slice(line).ok()?;
    let others = usize::from(offer.metrics) + offer.locks.len();
    // one that splits nothing has the lock of its interface
    let is_proxy = offer.listeners > 0 || !offer.locks.is_empty();
    let is_whole = is_proxy && offer.listeners.checked_add(others) == Some(descriptors);
    is_whole.then_some(offer)
}

/// What both ends of an upgrade read in a line of any bytes: whether a proxy accepts it from a successor, and
/// whether a successor accepts it, with so many descriptors, as an offer.
pub fn check_upgrade(line: &[u8], descriptors: usize) -> (bool, bool) {
    let is_request = read_request(line) != Request::Broken;
    (is_request, read_offer(line, descriptors).is_some())
}

fn send_offer(stream: &UnixStream, copies: Copies<'_>) -> std::io::Result<()> {
    let offer = Offer {
        listeners: copies.listeners.len(),
        metrics: copies.metrics.is_some(),
        locks: copies
            .locks
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect(),
    };
    let mut fds = copies.listeners;
    fds.extend(copies.metrics);
    fds.extend(copies.locks.iter().map(|(_, fd)| *fd));
    let mut line = serde_json::to_vec(&offer)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(std::io::Error::other("too many descriptors to hand over"));
    }
    sendmsg(
        stream,
        &[IoSlice::new(&line)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// What a predecessor has handed over, and the conversation with it.
pub(crate) struct Inherited {
    /// Where connections are accepted.
    pub(crate) listeners: Vec<OwnedFd>,
    metrics: Option<TcpListener>,
    locks: Vec<(String, OwnedFd)>,
    stream: UnixStream,
    side: Successor,
    socket: PathBuf,
}

/// Requests copies of the descriptors of the proxy at this admin socket.
///
/// # Errors
/// Nothing answers there, or it does not hand over; it goes on in any case.
pub(crate) fn request_handover(socket: &Path) -> Result<Inherited, PepError> {
    let peer = |message: String| PepError::Peer {
        socket: socket.to_owned(),
        message,
    };
    let mut stream = crate::admin::connect(socket)?;
    send(&mut stream, &Message::Upgrade).map_err(|e| peer(format!("does not answer: {e}")))?;
    let (line, mut fds) =
        receive_offer(&stream).map_err(|e| peer(format!("does not hand over: {e}")))?;
    let Some(offer) = read_offer(&line, fds.len()) else {
        return Err(peer(format!(
            "does not hand over in two phases, but answers {}; an older version can only be restarted",
            String::from_utf8_lossy(&line).trim()
        )));
    };
    let mut rest = fds.split_off(offer.listeners).into_iter();
    let metrics = offer.metrics.then(|| rest.next()).flatten();
    let mut side = Successor::default();
    side.on(News::Offer);
    Ok(Inherited {
        listeners: fds,
        metrics: metrics.map(TcpListener::from),
        locks: offer.locks.into_iter().zip(rest).collect(),
        stream,
        side,
        socket: socket.to_owned(),
    })
}

fn receive_offer(stream: &UnixStream) -> std::io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = [0; MAX_MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut fds: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            fds.extend(sent);
        }
    }
    Ok((bytes[..received.bytes].to_vec(), fds))
}

impl Inherited {
    /// The listener of `/metrics`, if it is at this address.
    pub(crate) fn take_metrics(&mut self, address: SocketAddr) -> Option<TcpListener> {
        self.metrics
            .take_if(|listener| listener.local_addr().is_ok_and(|at| at == address))
    }

    /// The lock of this name, if the predecessor has it.
    pub(crate) fn take_lock(&mut self, name: &str) -> Option<OwnedFd> {
        let at = self.locks.iter().position(|(of, _)| of == name)?;
        Some(self.locks.swap_remove(at).1)
    }

    /// All that this process needs is open: waits until it may serve.
    ///
    /// # Errors
    /// The predecessor has gone, or has given the hand-over up; it goes on.
    pub(crate) fn ready(&mut self) -> Result<(), PepError> {
        self.side.on(News::Prepared);
        let until = Instant::now() + TIMEOUT;
        let answer = send(&mut self.stream, &Message::Ready)
            .and_then(|()| receive(&mut self.stream, Some(until)));
        let message = answer.map(|line| line.and_then(|l| serde_json::from_slice(&l).ok()));
        let news = match message {
            Ok(Some(Message::Go)) => News::Go,
            _ => News::Failed,
        };
        match self.side.on(news) {
            Task::Serve => Ok(()),
            _ => Err(PepError::Peer {
                socket: self.socket.clone(),
                message: "has given the hand-over up (hand-over in [limits]), and goes on"
                    .to_owned(),
            }),
        }
    }

    /// This process serves: the predecessor may leave.
    pub(crate) fn serving(mut self) {
        // a predecessor that has gone needs no message
        let _ = send(&mut self.stream, &Message::Serving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_accounts_for_each_descriptor() {
        let offer = |listeners: &str, locks: &str| {
            format!("{{\"listeners\":{listeners},\"metrics\":true,\"locks\":[{locks}]}}")
        };
        let good = offer("2", "\"a\"");
        assert_eq!(check_upgrade(good.as_bytes(), 4), (false, true));
        let alone = offer("0", "\"at ran0\"");
        assert_eq!(check_upgrade(alone.as_bytes(), 2), (false, true));
        for (bad, descriptors) in [
            (good.as_str(), 3),
            (&offer("0", ""), 1),
            // its sum with the others is that of the descriptors only where it wraps
            (&offer("18446744073709551615", ""), 0),
            (&offer("18446744073709551615", "\"a\""), 1),
            (&offer("-1", ""), 0),
        ] {
            assert!(!check_upgrade(bad.as_bytes(), descriptors).1, "{bad}");
        }
        for word in ["upgrade", "ready", "serving"] {
            let line = format!("{{\"command\":\"{word}\"}}");
            assert_eq!(check_upgrade(line.as_bytes(), 0), (true, false));
        }
        assert_eq!(check_upgrade(b"{\"command\":\"go\"}", 0), (false, false));
    }
}
