//! The other end of the admin socket: `brimful pep status`, `flows`; successors use [`connect`].

use crate::error::PepError;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// An answer must have come by then.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the proxy at this admin socket.
pub(crate) fn connect(socket: &Path) -> Result<UnixStream, PepError> {
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
