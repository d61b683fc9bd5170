//! The other end of the admin socket: `brimful pep status`, `flows`, and a successor.

use super::HandedOver;
use crate::error::PepError;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{BufRead, BufReader, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// An answer must have come by then.
const TIMEOUT: Duration = Duration::from_secs(5);

fn connect(socket: &Path) -> Result<UnixStream, PepError> {
    let peer = |error: std::io::Error| PepError::Peer {
        socket: socket.to_owned(),
        message: format!("does not answer ({error}): is it running, and with this configuration?"),
    };
    let stream = UnixStream::connect(socket).map_err(peer)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(peer)?;
    stream.set_write_timeout(Some(TIMEOUT)).map_err(peer)?;
    Ok(stream)
}

/// Sends a command, gives the line that is the answer.
///
/// # Errors
/// Nothing answers there.
pub fn ask(socket: &Path, command: &str) -> Result<String, PepError> {
    let mut stream = connect(socket)?;
    let mut line = String::new();
    write_command(&mut stream, command)
        .and_then(|()| BufReader::new(stream).read_line(&mut line))
        .map_err(|error| PepError::Peer {
            socket: socket.to_owned(),
            message: format!("does not answer: {error}"),
        })?;
    Ok(line)
}

fn write_command(stream: &mut UnixStream, command: &str) -> std::io::Result<()> {
    let request = serde_json::json!({ "command": command });
    stream.write_all(format!("{request}\n").as_bytes())
}

/// The state of the proxy at this admin socket, as JSON.
///
/// # Errors
/// Nothing answers there, or something else does.
pub fn status(socket: &Path) -> Result<serde_json::Value, PepError> {
    parsed(socket, "status")
}

/// The connections of the proxy at this admin socket, as JSON.
///
/// # Errors
/// Nothing answers there, or something else does.
pub fn flows(socket: &Path) -> Result<serde_json::Value, PepError> {
    parsed(socket, "flows")
}

fn parsed(socket: &Path, command: &str) -> Result<serde_json::Value, PepError> {
    let line = ask(socket, command)?;
    serde_json::from_str(&line).map_err(|error| PepError::Peer {
        socket: socket.to_owned(),
        message: format!("answers no JSON: {error}"),
    })
}

/// Takes the listeners of the proxy at this admin socket over.
pub(crate) fn take_over(socket: &Path) -> Result<Vec<OwnedFd>, PepError> {
    let peer = |message: String| PepError::Peer {
        socket: socket.to_owned(),
        message,
    };
    let mut stream = connect(socket)?;
    write_command(&mut stream, "hand-over").map_err(|e| peer(format!("does not answer: {e}")))?;
    let mut bytes = [0; 1_024];
    let mut space = [MaybeUninit::uninit(); 256];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        &stream,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(|e| peer(format!("does not hand over: {e}")))?;
    let mut sockets: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            sockets.extend(fds);
        }
    }
    let answer = &bytes[..received.bytes];
    match serde_json::from_slice::<HandedOver>(answer) {
        Ok(handed) if handed.listeners == sockets.len() && !sockets.is_empty() => Ok(sockets),
        _ => Err(peer(format!(
            "does not hand over its listeners, but answers {}",
            String::from_utf8_lossy(answer).trim()
        ))),
    }
}
