//! The operator's program that has the network send a UE's packets here.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The program at work.
#[derive(Debug)]
pub(super) struct Route {
    /// Its sender is dropped as the program ends.
    end: Receiver<()>,
    is_over: bool,
}

impl Route {
    /// Starts it with the UE's address, and these lines on its standard input. That it fails is logged.
    pub(super) fn begin(hook: &Path, ue: IpAddr, lines: String) -> Self {
        let (at_end, end) = channel();
        let hook = hook.to_path_buf();
        let thread = std::thread::Builder::new().name("route-hook".to_owned());
        let spawned = thread.spawn(move || {
            if let Err(error) = run(&hook, ue, &lines) {
                tracing::error!(hook = %hook.display(), %ue, %error, "the route is not changed");
            }
            drop(at_end);
        });
        if let Err(error) = spawned {
            tracing::error!(%ue, %error, "no thread for the route hook: the route is not changed");
        }
        Self {
            end,
            is_over: false,
        }
    }

    /// It has ended, as far as has been waited for it.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Waits until it has ended, for so long at most.
    pub(super) fn wait(&mut self, most: Duration) {
        self.is_over |= self.end.recv_timeout(most) != Err(RecvTimeoutError::Timeout);
    }
}

fn run(hook: &PathBuf, ue: IpAddr, lines: &str) -> std::io::Result<()> {
    let mut child = Command::new(hook)
        .arg(ue.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // a program that reads nothing is as good
        let _ = stdin.write_all(lines.as_bytes());
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(status.to_string())),
    }
}
