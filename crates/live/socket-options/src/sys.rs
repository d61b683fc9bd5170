//! The two system calls. All `unsafe` code of this crate is here.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option by the bytes of its value.
///
/// # Errors
/// The kernel's.
pub fn set_bytes(fd: impl AsFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a live slice, and the descriptor is borrowed.
    check(unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    })
}

/// Reads an option into these bytes, or the first of them.
///
/// # Errors
/// The kernel's.
pub fn get_bytes(fd: impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<()> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of the live slice, and the descriptor is
    // borrowed.
    check(unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    })
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
