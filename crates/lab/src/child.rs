//! Programs in the lab's hosts. They end with this process, however it ends.

use crate::namespace::Namespace;
use crate::sys;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

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
