//! The other end of the admin socket: `brimful pep status`, `flows`; successors use [`connect`].

use crate::error::PepError;
use daemon::admin::{self, ClientError};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection to the proxy at this admin socket.
pub(crate) fn connect(socket: &Path) -> Result<UnixStream, PepError> {
    admin::connect(socket).map_err(|error| peer(socket, &error))
}

/// The state of the proxy at this admin socket, as JSON.
///
/// # Errors
/// Nothing answers there, or something else does.
pub fn status(socket: &Path) -> Result<Value, PepError> {
    query(socket, "status")
}

/// The connections of the proxy at this admin socket, as JSON.
///
/// # Errors
/// Nothing answers there, or something else does.
pub fn flows(socket: &Path) -> Result<Value, PepError> {
    query(socket, "flows")
}

/// Has the proxy at this admin socket hand a UE's connections over to another, by its name; gives what became of them.
///
/// # Errors
/// Nothing answers there, or the connections stay.
pub fn move_connections(socket: &Path, ue: IpAddr, to: &str) -> Result<Value, PepError> {
    let request = json!({ "command": "move", "ue": ue, "to": to });
    let report = admin::request(socket, &request).map_err(|error| peer(socket, &error))?;
    match report["error"].as_str() {
        None => Ok(report),
        Some(error) => Err(PepError::Peer {
            socket: socket.to_owned(),
            message: format!("hands nothing over: {error}"),
        }),
    }
}

fn query(socket: &Path, command: &str) -> Result<Value, PepError> {
    let request = json!({ "command": command });
    admin::request(socket, &request).map_err(|error| peer(socket, &error))
}

fn peer(socket: &Path, error: &ClientError) -> PepError {
    PepError::Peer {
        socket: socket.to_owned(),
        message: error.to_string(),
    }
}
