//! Programs in the lab's hosts. They end with this process, however it ends.

use crate::cleanup::Folder;
use crate::namespace::Namespace;
use crate::{Error, sys};
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a daemon may take to be ready, on a machine that is busy.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long it may take to end.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Has a command run in a namespace.
///
/// The thread that starts it must live as long as the program is to run.
pub(crate) fn run_in(command: &mut Command, host: &Namespace) -> io::Result<()> {
    let network = host.as_fd().try_clone_to_owned()?;
    sys::before_exec(command, move || enter(network.as_fd()));
    Ok(())
}

/// As [`run_in`], with these names of hosts instead of the machine's `/etc/hosts`.
pub(crate) fn run_in_with_names(
    command: &mut Command,
    host: &Namespace,
    names: &Path,
) -> io::Result<()> {
    let network: OwnedFd = host.as_fd().try_clone_to_owned()?;
    let names = CString::new(names.as_os_str().as_bytes())?;
    sys::before_exec(command, move || {
        enter(network.as_fd())?;
        sys::new_mounts()?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private)?;
        mount_bind(names.as_c_str(), c"/etc/hosts")?;
        Ok(())
    });
    Ok(())
}

/// System calls only: it runs between fork and exec.
fn enter(network: BorrowedFd<'_>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    move_into_link_name_space(network, Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// A daemon of ours that runs in a host. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Daemon {
    /// What it is, for messages: `brimful pep`.
    name: String,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Runs a command in a host until `is_ready`, which is given what it has logged. It logs to
    /// `log` in the lab's folder.
    ///
    /// # Errors
    /// If it cannot be started, ends, or is not ready in time.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        host: &Namespace,
        folder: &Folder,
        log: &str,
        is_ready: impl Fn(&Path) -> bool,
    ) -> Result<Self, Error> {
        let log = folder.path().join(log);
        let failed = |path: &Path| Error::system(format!("write {}", path.display()));
        let output = File::create(&log).map_err(failed(&log))?;
        let errors = output.try_clone().map_err(failed(&log))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        folder.mark(&mut command);
        let cannot = || Error::system(format!("start {name}"));
        run_in(&mut command, host).map_err(cannot())?;
        let child = command.spawn().map_err(cannot())?;
        let mut daemon = Self {
            name: name.to_owned(),
            child,
            log,
        };
        let since = Instant::now();
        while !is_ready(&daemon.log) {
            daemon.check()?;
            if since.elapsed() > TIMEOUT {
                let late = format!("not ready after {} s", TIMEOUT.as_secs());
                return Err(daemon.failure(&late));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(daemon)
    }

    /// That it is still running.
    ///
    /// # Errors
    /// What it printed as it ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failure(&format!("ended with {status}"))),
            Err(error) => Err(Error::system(format!("wait for {}", self.name))(error)),
        }
    }

    fn failure(&self, problem: &str) -> Error {
        let output = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = output.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Error::Program {
            program: self.name.clone(),
            problem: format!("{problem}: {}", last.join(" / ")),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Ok(None)) = (pid, self.child.try_wait()) {
            // it writes its records to the end
            let _ = kill_process(pid, Signal::TERM);
        }
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < GRACE_PERIOD {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
