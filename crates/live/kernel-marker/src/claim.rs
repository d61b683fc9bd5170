//! One program of a role at an interface.

use crate::attachment::Role;
use kernel_cc::Claim;
use std::io;

/// Of an interface's index; none if another process has it.
///
/// # Errors
/// The kernel's.
pub(crate) fn take(role: Role, index: u32) -> io::Result<Option<Claim>> {
    Claim::take(&name(role, index))
}

/// Which process has it, as far as that can be found out.
pub(crate) fn holder(role: Role, index: u32) -> String {
    match process(role, index) {
        Ok(0) => "a process of another PID namespace".to_owned(),
        Ok(pid) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => format!("process {pid}, {}", name.trim_end()),
            Err(_) => format!("process {pid}"),
        },
        Err(error) => format!("which cannot be found out: {error}"),
    }
}

fn process(role: Role, index: u32) -> io::Result<u32> {
    let socket = Claim::connect(&name(role, index))?;
    // struct ucred: pid, uid, gid
    let mut credentials = [0; 12];
    socket_options::get_bytes(&socket, SOL_SOCKET, SO_PEERCRED, &mut credentials)?;
    let [a, b, c, d, ..] = credentials;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

/// include/uapi/asm-generic/socket.h
const SOL_SOCKET: i32 = 1;
const SO_PEERCRED: i32 = 17;

fn name(role: Role, index: u32) -> String {
    format!("{}/{index}", role.claim)
}
