//! A daemon: the `brimful` program in a namespace.

use crate::support::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// An orderly end takes no longer.
const END_LIMIT: Duration = Duration::from_secs(30);

/// A running daemon.
pub struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts `brimful WORDS` in a namespace; its log goes to a file of this folder.
    pub fn spawn(host: &Namespace, log: PathBuf, words: &[&str]) -> Self {
        let file = File::create(&log).expect("a log");
        let child = host.enter(|| {
            Command::new(program())
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(file)
                .spawn()
        });
        Self {
            child: child.expect("brimful can be run"),
            log,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn log_bytes(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |m| m.len())
    }

    /// Waits until it writes this line; false where it ends before, or does not within the limit.
    pub fn is_ready(&mut self, line: &str) -> bool {
        let since = Instant::now();
        while since.elapsed() < testing::HANG_LIMIT {
            if self.log().contains(line) {
                return true;
            }
            if self.has_ended().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        // it may have ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it as an operator would; false where it does not end in order.
    pub fn stop(&mut self) -> bool {
        // it may have ended already
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let since = Instant::now();
        while since.elapsed() < END_LIMIT {
            if let Some(status) = self.has_ended() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
        false
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program whose daemons these are.
pub fn program() -> &'static Path {
    static PROGRAM: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PROGRAM.get_or_init(|| {
        let named = std::env::var_os("BRIMFUL").map(PathBuf::from);
        named.unwrap_or_else(|| env!("CARGO_BIN_EXE_brimful").into())
    })
}
