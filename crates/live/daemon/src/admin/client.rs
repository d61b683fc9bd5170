//! The other end of the admin socket: commands that query a running daemon or change it.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// An answer must have come by then.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why there is no answer, to be read behind "the daemon at PATH".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No process listens there, or not for this user.
    #[error("does not answer ({0}): is it running, and with this configuration?")]
    Connect(io::Error),
    /// It has accepted, and does not answer.
    #[error("does not answer: {0}")]
    Exchange(io::Error),
    /// It answers, but no JSON.
    #[error("answers no JSON: {0}")]
    NoJson(serde_json::Error),
}

/// A connection to the daemon at this admin socket, whose reads and writes end after 5 s.
///
/// # Errors
/// [`ClientError::Connect`].
pub fn connect(socket: &Path) -> Result<UnixStream, ClientError> {
    let stream = UnixStream::connect(socket).map_err(ClientError::Connect)?;
    let limit = Some(TIMEOUT);
    stream
        .set_read_timeout(limit)
        .map_err(ClientError::Connect)?;
    stream
        .set_write_timeout(limit)
        .map_err(ClientError::Connect)?;
    Ok(stream)
}

/// Sends a request to the daemon at this admin socket, and reads its answer.
///
/// # Errors
/// [`ClientError`].
pub fn request(socket: &Path, request: &Value) -> Result<Value, ClientError> {
    let mut stream = connect(socket)?;
    let mut line = String::new();
    stream
        .write_all(format!("{request}\n").as_bytes())
        .and_then(|()| BufReader::new(stream).read_line(&mut line))
        .map_err(ClientError::Exchange)?;
    serde_json::from_str(&line).map_err(ClientError::NoJson)
}
