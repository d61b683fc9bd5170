//! A socket that sends nothing and takes nothing, and whose kernel still resets it if its process ends.
//!
//! What arrives is dropped by a filter of the socket, before the connection sees it. What leaves has a mark by which a
//! rule of the interception drops it, resets excepted ([`crate::intercept`]). Neither takes a program or a
//! transaction: a connection is frozen by two system calls.

use crate::intercept::FROZEN_MARK;
use crate::sys;
use socket_options::{set_bytes, set_int};
use std::io;
use std::os::fd::AsFd;

/// `struct sock_filter`: `ret #0`, which drops a packet.
static DROP_ALL: [u8; 8] = {
    let code = (libc::BPF_RET | libc::BPF_K) as u16;
    let code = code.to_ne_bytes();
    [code[0], code[1], 0, 0, 0, 0, 0, 0]
};

/// Has a socket drop all that arrives.
///
/// # Errors
/// The kernel's.
pub(crate) fn deafen(socket: impl AsFd) -> io::Result<()> {
    // struct sock_fprog: the number of instructions, and where they are
    let at = DROP_ALL.as_ptr() as usize;
    let mut program = [0; 2 * size_of::<usize>()];
    program[..2].copy_from_slice(&1u16.to_ne_bytes());
    program[size_of::<usize>()..].copy_from_slice(&at.to_ne_bytes());
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Ends that.
///
/// # Errors
/// The kernel's.
pub(crate) fn hear(socket: impl AsFd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0)
}

/// Freezes a socket.
///
/// # Errors
/// The kernel's; it is as it was.
pub(crate) fn freeze(socket: impl AsFd) -> io::Result<()> {
    deafen(&socket)?;
    sys::set_mark(&socket, FROZEN_MARK).inspect_err(|_| {
        let _ = hear(&socket);
    })
}

/// Has a socket go on that had this mark.
pub(crate) fn thaw(socket: impl AsFd, mark: u32) {
    // neither fails for a socket that was frozen
    let _ = sys::set_mark(&socket, mark);
    let _ = hear(socket);
}
