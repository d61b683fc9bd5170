//! Frames that leave an interface as they are, with the header that a device hands them over with.

use crate::{Device, sys};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Packets that wait for the reader of a device, at most.
const MAX_WAITING: i32 = 1_000;
/// Bytes that may be on their way in the kernel.
const SEND_BUFFER: i32 = 8_000_000;
/// include/uapi/linux/if_packet.h: each frame stands behind a [`crate::VnetHeader`].
const PACKET_VNET_HDR: i32 = 15;

/// A socket that sends frames by any interface, and receives none (`AF_PACKET`). They pass the interface's qdisc and the
/// programs at its egress.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    cookie: u64,
}

impl FrameSocket {
    /// Of the calling thread's network namespace. Sending does not block.
    ///
    /// # Errors
    /// The kernel's: no `CAP_NET_RAW`.
    pub fn new() -> io::Result<Self> {
        let fd = sys::packet_socket()?;
        sys::set_option(&fd, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        // without CAP_NET_ADMIN within what any process may
        sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)
            .or_else(|_| sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER))?;
        let cookie = sys::cookie(&fd)?;
        Ok(Self { fd, cookie })
    }

    /// The kernel's number of it, by which programs tell its frames from others.
    pub fn cookie(&self) -> u64 {
        self.cookie
    }

    /// Sends a frame behind its [`crate::VnetHeader`] by the interface of this index. `protocol`: its EtherType.
    ///
    /// # Errors
    /// The kernel's; `WouldBlock` if as much is on its way as may be.
    pub fn send(&self, interface: u32, protocol: u16, frame: &[u8]) -> io::Result<()> {
        sys::send_frame(&self.fd, interface, protocol, frame)
    }

    /// Sets a device up. Gives its index.
    ///
    /// # Errors
    /// The kernel's: no `CAP_NET_ADMIN`.
    pub fn set_up(&self, device: &Device) -> io::Result<u32> {
        sys::set_up(&self.fd, device.name(), MAX_WAITING)
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
