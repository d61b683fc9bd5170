//! The admin socket: one JSON object a line is the request, one the answer.
//!
//! `{"command":"status"}`, `{"command":"flows"}`, and for successors `{"command":"upgrade"}`, which begins
//! a conversation ([`crate::upgrade`]), or, of versions up to 0.2, `{"command":"hand-over"}`, whose answer
//! carries the listeners as descriptors. Only the owner of the socket's file may connect.

mod client;
mod report;

pub(crate) use client::connect;
pub use client::{flows, move_connections, status};
pub(crate) use report::{ServerWindows, flow_reports, overview};

use crate::daemon::Core;
use crate::error::PepError;
use crate::handover;
use crate::privileges::User;
use crate::upgrade;
use daemon::admin::{self, MODE, write_json};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::{Deserialize, Serialize};
use std::io::IoSlice;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command", deny_unknown_fields)]
enum Request {
    Status,
    Flows,
    HandOver,
    Upgrade,
    /// Connections of a UE move to another proxy.
    Move {
        ue: IpAddr,
        to: String,
    },
}

/// Reads a request of any bytes.
fn parse(line: &[u8]) -> Result<Request, String> {
    serde_json::from_slice(line).map_err(|error| {
        format!("{error}; a request is {{\"command\":\"status\"}}, \"flows\", \"move\", \"upgrade\" or \"hand-over\"")
    })
}

/// Whether bytes are a request; if not, what the answer states.
///
/// # Errors
/// They are none.
pub fn check_request(line: &[u8]) -> Result<(), String> {
    parse(line).map(|_| ())
}

/// The answer to a hand-over, beside the descriptors.
#[derive(Debug, Serialize)]
struct HandedOver {
    /// Number of descriptors that come with it.
    listeners: usize,
}

#[derive(Debug, Serialize)]
struct Refusal {
    error: String,
}

/// The socket under another name, so that it replaces a predecessor's at once, and only when it may.
#[derive(Debug)]
pub(crate) struct Opened {
    listener: Option<UnixListener>,
    beside: PathBuf,
    path: PathBuf,
}

impl Opened {
    /// That it can be put in its place.
    ///
    /// # Errors
    /// The folder is not the user's.
    pub(crate) fn check(&self) -> Result<(), PepError> {
        let Some(folder) = self.path.parent().filter(|f| *f != Path::new("")) else {
            return Ok(());
        };
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(|error| {
            let what = format!(
                "the folder of the admin socket {} must be writable for the user that the proxy runs as",
                self.path.display()
            );
            PepError::system(what, error)
        })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn publish(mut self) -> Result<Option<UnixListener>, PepError> {
        std::fs::rename(&self.beside, &self.path).map_err(|error| {
            let what = format!("cannot open the admin socket {}", self.path.display());
            PepError::system(what, error)
        })?;
        Ok(self.listener.take())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.listener.is_some() {
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

/// Opens the socket beside its place. It is the user's, and so is its folder if there was none.
pub(crate) fn open(path: &Path, user: Option<&User>) -> Result<Opened, PepError> {
    let what = || format!("cannot open the admin socket {}", path.display());
    let system = |error| PepError::system(what(), error);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        std::fs::create_dir_all(folder).map_err(system)?;
        user.map_or(Ok(()), |user| user.own(folder))
            .map_err(system)?;
    }
    let _ = std::fs::remove_file(&beside);
    let listener = UnixListener::bind(&beside).map_err(system)?;
    let mode = std::fs::Permissions::from_mode(MODE);
    std::fs::set_permissions(&beside, mode).map_err(system)?;
    let beside_path = Path::new(&beside);
    user.map_or(Ok(()), |user| user.own(beside_path))
        .map_err(system)?;
    Ok(Opened {
        listener: Some(listener),
        beside: beside.into(),
        path: path.to_owned(),
    })
}

/// Serves until the process ends.
pub(crate) fn serve(core: Arc<Core>, listener: &UnixListener) {
    admin::serve(listener, move |line, stream| answer(&core, line, stream));
}

/// Runs what must not stop half-way: there a panic ends the process, as in any thread of the data path.
fn run_whole<T: Send>(run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("hand-over".to_owned());
        let thread = thread.spawn_scoped(scope, run)?;
        let panicked = |_| std::io::Error::other("the hand-over panicked");
        thread.join().map_err(panicked)
    })
}

/// Moves a UE's connections to the proxy of this name.
fn move_to(core: &Core, ue: IpAddr, to: &str) -> Result<impl Serialize, String> {
    let config = core.shared.config();
    let Some(of) = &config.handover else {
        return Err("connections do not move: there is no [handover]".to_owned());
    };
    let Some(peer) = of.peers.iter().find(|peer| peer.name == to) else {
        let names: Vec<&str> = of.peers.iter().map(|peer| peer.name.as_str()).collect();
        return Err(format!("there is no peer {to:?}, but {}", names.join(", ")));
    };
    handover::hand_over(core, ue, peer)
}

fn answer(core: &Core, line: &[u8], stream: &mut UnixStream) -> std::io::Result<()> {
    match parse(line) {
        Ok(Request::Status) => write_json(stream, &overview(core)),
        Ok(Request::Flows) => write_json(stream, &flow_reports(core)),
        Ok(Request::Move { ue, to }) => match move_to(core, ue, &to) {
            Ok(report) => write_json(stream, &report),
            Err(error) => write_json(stream, &Refusal { error }),
        },
        Ok(Request::HandOver) => run_whole(|| hand_over(core, stream))?,
        Ok(Request::Upgrade) => match run_whole(|| upgrade::hand_over(core, stream))? {
            Ok(()) => Ok(()),
            Err(error) => write_json(stream, &Refusal { error }),
        },
        Err(error) => write_json(stream, &Refusal { error }),
    }
}

fn hand_over(core: &Core, stream: &mut UnixStream) -> std::io::Result<()> {
    let handed = core.hand_over(|listeners| {
        let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(|l| l.socket.as_fd()).collect();
        let mut line = serde_json::to_vec(&HandedOver {
            listeners: fds.len(),
        })?;
        line.push(b'\n');
        let mut space = [std::mem::MaybeUninit::uninit(); 256];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(std::io::Error::other("too many listeners to hand over"));
        }
        let flags = SendFlags::NOSIGNAL;
        sendmsg(&*stream, &[IoSlice::new(&line)], &mut ancillary, flags)?;
        Ok(())
    });
    if let Err(error) = &handed {
        tracing::warn!(%error, "the listeners could not be handed over: going on");
    }
    handed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_is_known_is_a_request() {
        assert!(check_request(b"{\"command\":\"status\"}").is_ok());
        for bad in [&b""[..], b"status", b"{\"command\":\"stop\"}", b"\xff\x00"] {
            let error = check_request(bad).expect_err("refused");
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
