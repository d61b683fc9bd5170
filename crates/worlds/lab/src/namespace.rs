//! Network namespaces without names: they live as long as a descriptor or a process holds them, so
//! that nothing is left of them when this process is gone, however it went.

use crate::{Error, sys};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// A new one, with nothing in it but a loopback device.
    pub(crate) fn create() -> Result<Self, Error> {
        let make = || -> std::io::Result<OwnedFd> {
            sys::new_network()?;
            Ok(File::open("/proc/thread-self/ns/net")?.into())
        };
        let fd = on_own_thread(make).map_err(Error::system("make a network namespace"))?;
        Ok(Self { fd })
    }

    /// Moves the calling thread into it, for good.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(Error::system("enter a network namespace"))
    }

    /// Does something in it.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        on_own_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Has `ip` (iproute2) carry out these lines in it.
    pub(crate) fn ip(&self, lines: &str) -> Result<(), Error> {
        self.run(|| ip_batch(lines))
    }

    /// Sets a kernel parameter of its network, e.g. `net/ipv4/ip_forward`.
    pub(crate) fn set(&self, parameter: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/{parameter}");
        self.run(|| std::fs::write(&path, value).map_err(Error::system(format!("write {path}"))))
    }

    /// Reads a kernel parameter of its network.
    pub(crate) fn get(&self, parameter: &str) -> Result<String, Error> {
        let path = format!("/proc/sys/{parameter}");
        self.run(|| std::fs::read_to_string(&path).map_err(Error::system(format!("read {path}"))))
    }

    /// Number by which the kernel identifies it, as in `/proc/PID/ns/net`.
    pub(crate) fn inode(&self) -> Result<u64, Error> {
        let stat = rustix::fs::fstat(&self.fd).map_err(Error::system("look at a namespace"))?;
        Ok(stat.st_ino)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A thread that has been moved into another namespace is of no use for anything else.
fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn ip_batch(lines: &str) -> Result<(), Error> {
    let failed = |problem: String| Error::Program {
        program: "ip".to_owned(),
        problem,
    };
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(format!("cannot be started: {e}; install iproute2")))?;
    if let Some(mut input) = child.stdin.take() {
        let written = input.write_all(lines.as_bytes());
        written.map_err(|e| failed(format!("does not read: {e}")))?;
    }
    let output = child.wait_with_output();
    let output = output.map_err(|e| failed(format!("cannot be waited for: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(format!("{message} (lines: {lines:?})")))
}
