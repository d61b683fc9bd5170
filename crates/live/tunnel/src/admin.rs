//! The admin socket: a request is one JSON object on a line, and so is its answer.
//!
//! `{"command":"status"}`, `{"command":"reload"}`, `{"command":"path-add","path":"NAME,interface=wlan0"}`,
//! `{"command":"path-remove","name":"..."}`, `{"command":"path-priority","name":"...","priority":"standby"}`.
//! Only the owner of the socket's file may connect.

use crate::config::{Config, PathConfig, Remote, parse_priority};
use crate::daemon::Handle;
use crate::error::TunnelError;
use crate::packet_thread::Change;
use crate::reload::Reloader;
use daemon::admin::{self, ClientError, MODE};
use serde::Deserialize;
use serde_json::{Value, json};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command", deny_unknown_fields)]
enum Request {
    Status,
    Reload,
    PathAdd { path: String },
    PathRemove { name: String },
    PathPriority { name: String, priority: String },
}

/// Reads a request of any bytes.
fn parse(line: &[u8]) -> Result<Request, String> {
    serde_json::from_slice(line).map_err(|error| {
        format!(
            "{error}; a request is {{\"command\":\"status\"}}, \"reload\", \"path-add\", \"path-remove\" or \
             \"path-priority\""
        )
    })
}

/// Whether bytes are a request; if not, the text of the answer.
///
/// # Errors
/// They are none.
pub fn check_request(line: &[u8]) -> Result<(), String> {
    parse(line).map(drop)
}

/// Opens the socket; one that a predecessor left behind is replaced.
pub(crate) fn open(path: &Path) -> Result<UnixListener, TunnelError> {
    daemon::socket::bind(path, MODE).map_err(|error| {
        let what = format!("cannot open the admin socket {}", path.display());
        TunnelError::system(what, error)
    })
}

/// Serves until the process ends.
pub(crate) fn serve(handle: Handle, reloader: Arc<Reloader>, listener: &UnixListener) {
    admin::serve(listener, move |line, stream| {
        admin::write_json(stream, &answer(&handle, &reloader, line)?)
    });
}

fn answer(handle: &Handle, reloader: &Reloader, line: &[u8]) -> serde_json::Result<Value> {
    Ok(match parse(line) {
        Err(error) => json!({ "error": error }),
        Ok(Request::Status) => match handle.status() {
            Some(status) => serde_json::to_value(status)?,
            None => json!({ "error": "the tunnel does not answer" }),
        },
        Ok(Request::Reload) => match reloader.reload() {
            Ok(done) => json!({ "done": done }),
            Err(error) => json!({ "error": error }),
        },
        Ok(change) => match change_of(handle, change).and_then(|change| handle.change(change)) {
            Ok(done) => json!({ "done": done }),
            Err(error) => json!({ "error": error }),
        },
    })
}

fn change_of(handle: &Handle, request: Request) -> Result<Change, String> {
    Ok(match request {
        Request::Status | Request::Reload => return Err("no change".to_owned()),
        Request::PathAdd { path } => {
            let path = PathConfig::parse(&path, handle.remote.as_ref())?;
            Change::AddPath(Box::new(path))
        }
        Request::PathRemove { name } => Change::RemovePath(name),
        Request::PathPriority { name, priority } => {
            Change::SetPriority(name, parse_priority(&priority)?)
        }
    })
}

/// Where paths go that name no server: as the first that is configured.
pub(crate) fn default_remote(config: &Config) -> Option<Remote> {
    match &config.end {
        crate::End::Client(client) => client.paths.first().map(|path| path.remote.clone()),
        crate::End::Server(_) => None,
    }
}

/// Sends a request to the tunnel at this admin socket, as JSON, and reads its answer.
///
/// # Errors
/// No tunnel listens there, its answer cannot be read, or it refuses.
pub fn request(socket: &Path, request: &Value) -> Result<Value, TunnelError> {
    let peer = |message: String| TunnelError::Peer {
        socket: socket.to_owned(),
        message,
    };
    let value = admin::request(socket, request).map_err(|error| {
        peer(match error {
            ClientError::Exchange(error) => ClientError::Connect(error).to_string(),
            error => error.to_string(),
        })
    })?;
    match value.get("error").and_then(Value::as_str) {
        Some(error) => Err(TunnelError::Refused {
            socket: socket.to_owned(),
            message: error.to_owned(),
        }),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_known_commands_are_requests() {
        assert!(check_request(b"{\"command\":\"status\"}").is_ok());
        assert!(check_request(b"{\"command\":\"path-remove\",\"name\":\"wifi\"}").is_ok());
        for bad in [&b""[..], b"status", b"{\"command\":\"stop\"}", b"\xff\x00"] {
            let error = check_request(bad).expect_err("rejected");
            assert!(error.contains("a request is"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = check_request(&line);
            prop_assert!(crate::metrics::metrics_status(&line).len() > 3);
        }
    }
}
