//! Socket options that no safe crate has, and `TCP_INFO`.
//!
//! ```text
//!   descriptor, level, name --> setsockopt, getsockopt --> integers, bytes, [`TcpInfo`]
//! ```
//!
//! What this crate is *not*: it opens no socket and has no list of options; which ones are set, and why, stands where
//! that is decided.

#[expect(unsafe_code, reason = "the kernel's interfaces that no safe crate has")]
mod sys;
mod tcp_info;

pub use sys::{get_bytes, set_bytes};
pub use tcp_info::{TcpInfo, tcp_info};

use std::io;
use std::os::fd::AsFd;

/// Sets an option whose value is a C `int`.
///
/// # Errors
/// The kernel's.
pub fn set_int(fd: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Reads an option whose value is a C `int`.
///
/// # Errors
/// The kernel's.
pub fn get_int(fd: impl AsFd, level: i32, name: i32) -> io::Result<i32> {
    let mut bytes = [0; 4];
    get_bytes(fd, level, name, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}
