//! What the kernel offers and no safe crate does: real-time scheduling, and children in namespaces.
//! All `unsafe` code of this crate is here.
#![allow(
    unsafe_code,
    reason = "the one module that speaks to the kernel directly"
)]

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// A datagram that has come to a socket of IPv4: its length, whence it came, and the type of service of its packet, if the socket has
/// `IP_RECVTOS`; else 0. What is longer than the buffer is cut.
///
/// # Errors
/// The kernel's.
pub(crate) fn receive(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, SocketAddrV4, u8)> {
    /// As control messages are aligned.
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all fields are numbers and pointers, of which zero is a value.
    let mut from: libc::sockaddr_in = unsafe { mem::zeroed() };
    // SAFETY: as above.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_name = (&raw mut from).cast();
    header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header names live memory with its lengths.
    let read = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut header, 0) };
    let length = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let mut tos = 0;
    // SAFETY: the kernel has filled the control messages up to `msg_controllen`.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        if !message.is_null()
            && ((*message).cmsg_level, (*message).cmsg_type) == (libc::SOL_IP, libc::IP_TOS)
        {
            tos = libc::CMSG_DATA(message).read();
        }
    }
    let address = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
    let port = u16::from_be(from.sin_port);
    Ok((length, SocketAddrV4::new(address, port), tos))
}

/// The kernel's number of the calling thread's network namespace, as programs in the kernel see it.
///
/// # Errors
/// The kernel's; older than 5.14 has none.
pub(crate) fn network_cookie() -> io::Result<u64> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut cookie = [0; 8];
    socket_options::get_bytes(
        &socket,
        libc::SOL_SOCKET,
        libc::SO_NETNS_COOKIE,
        &mut cookie,
    )?;
    Ok(u64::from_ne_bytes(cookie))
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
