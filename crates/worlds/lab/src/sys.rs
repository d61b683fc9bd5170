//! What the kernel offers and no safe crate does: a few socket options, real-time
//! scheduling, and children in namespaces. All `unsafe` code of this crate is here.
#![allow(
    unsafe_code,
    reason = "the one module that speaks to the kernel directly"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sets an option whose value is a C `int`.
///
/// # Errors
/// The kernel's.
pub(crate) fn set_int(fd: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a live integer, and the descriptor is borrowed.
    check(unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    })
}

/// What the kernel reports of a TCP connection (the beginning of its `struct tcp_info`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    /// Payload of a segment, bytes.
    pub(crate) mss: u32,
    /// Both ends have agreed on ECN (RFC 3168).
    pub(crate) has_ecn: bool,
    /// Segments sent and not acknowledged.
    pub(crate) unacked: u32,
    /// Of those, selectively acknowledged.
    pub(crate) sacked: u32,
    /// Of those, found lost.
    pub(crate) lost: u32,
    /// Of those found lost, sent again.
    pub(crate) retrans: u32,
    /// Congestion window, segments.
    pub(crate) cwnd: u32,
    /// Segments sent again so far.
    pub(crate) total_retrans: u32,
    /// Window that the peer shows, bytes (0 before Linux 5.4).
    pub(crate) peer_window: u32,
}

/// Queries the kernel about a TCP connection.
///
/// # Errors
/// The kernel's.
pub(crate) fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    let mut words = [0u32; 64];
    let mut length = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the array, whose size that is.
    check(unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            words.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    // include/uapi/linux/tcp.h: offsets of the fields in bytes
    let at = |offset: usize| words[offset / 4];
    // a byte among four: tcpi_options, of which TCPI_OPT_ECN is 8
    let options = at(4).to_ne_bytes()[1];
    Ok(TcpInfo {
        mss: at(16),
        has_ecn: options & 8 != 0,
        unacked: at(24),
        sacked: at(28),
        lost: at(32),
        retrans: at(36),
        cwnd: at(80),
        total_retrans: at(100),
        peer_window: at(228),
    })
}

/// Takes up to `length` bytes from a TCP connection and throws them away: with `MSG_TRUNC`, TCP
/// copies nothing (tcp(7)). `place` is not written to.
///
/// # Errors
/// The kernel's.
pub(crate) fn discard(fd: impl AsFd, place: &mut [u8; 1], length: usize) -> io::Result<usize> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: TCP with MSG_TRUNC writes nothing to the buffer, whatever the length.
    let read = unsafe { libc::recv(fd, place.as_mut_ptr().cast(), length, libc::MSG_TRUNC) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// The kernel's number of the calling thread's network namespace, as programs in the kernel see it.
///
/// # Errors
/// The kernel's; older than 5.14 has none.
pub(crate) fn network_cookie() -> io::Result<u64> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of a live integer, and the descriptor is borrowed.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    })?;
    Ok(cookie)
}

/// Gives the calling thread precedence over all ordinary ones (SCHED_FIFO, least priority).
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`.
pub(crate) fn run_before_others() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are live, and 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
}

/// Moves the calling thread into a new network namespace.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`.
pub(crate) fn new_network() -> io::Result<()> {
    // SAFETY: descriptors stay shared; only the network of this thread changes.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }?;
    Ok(())
}

/// Has the command's process call `prepare` before it becomes the program.
///
/// `prepare` runs between fork and exec: it may make system calls, and must not allocate, lock or
/// panic.
pub(crate) fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all callers pass functions of system calls only (see `child.rs`).
    unsafe { command.pre_exec(prepare) };
}

/// A mount namespace of the calling process's own, between fork and exec.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`.
pub(crate) fn new_mounts() -> io::Result<()> {
    // SAFETY: the process has one thread, and shares no descriptors with others.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }?;
    Ok(())
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
