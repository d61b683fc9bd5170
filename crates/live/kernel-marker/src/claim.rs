//! One marker at an interface: the name of a socket that the kernel gives to one process at a time, and takes back as that
//! ends, however it does. Such names are those of the network namespace, as indices of interfaces are.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::io;
use std::os::fd::OwnedFd;

/// Held as long as this lives.
#[derive(Debug)]
pub(crate) struct Claim {
    _socket: OwnedFd,
}

impl Claim {
    /// Of an interface's index; none if another process has it.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn take(index: u32) -> io::Result<Option<Self>> {
        let socket = stream()?;
        match bind(&socket, &address(index)?) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // so that others can find out whose it is
        listen(&socket, 8)?;
        Ok(Some(Self { _socket: socket }))
    }
}

/// Which process has it, as far as that can be found out.
pub(crate) fn holder(index: u32) -> String {
    match process(index) {
        Ok(0) => "a process of another PID namespace".to_owned(),
        Ok(pid) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => format!("process {pid}, {}", name.trim_end()),
            Err(_) => format!("process {pid}"),
        },
        Err(error) => format!("which cannot be found out: {error}"),
    }
}

fn process(index: u32) -> io::Result<u32> {
    let socket = stream()?;
    connect(&socket, &address(index)?)?;
    // struct ucred: pid, uid, gid
    let mut credentials = [0; 12];
    socket_options::get_bytes(&socket, SOL_SOCKET, SO_PEERCRED, &mut credentials)?;
    let [a, b, c, d, ..] = credentials;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

/// include/uapi/asm-generic/socket.h
const SOL_SOCKET: i32 = 1;
const SO_PEERCRED: i32 = 17;

fn stream() -> io::Result<OwnedFd> {
    // a queue that is full must not block
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

fn address(index: u32) -> io::Result<SocketAddrUnix> {
    let name = format!("brimful-marker/{index}");
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}
