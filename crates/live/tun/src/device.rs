//! A TUN device, or a TAP device.

use crate::sys;
use rustix::fs::{Mode, OFlags, open};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A TUN device whose packets stand behind a [`crate::VnetHeader`]. It is gone when this is dropped.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    name: String,
    segments_udp: bool,
}

/// What a device hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IP packets (TUN).
    Ip,
    /// Ethernet frames (TAP).
    Ethernet,
}

impl Device {
    /// Maximum bytes of one read: the header, and the largest packet.
    pub const MAX_READ_BYTES: usize = crate::VnetHeader::BYTES + 65_535 + 40;

    /// A device of this name, at most 15 bytes, in the calling thread's network namespace. Reads and
    /// writes do not block. It is down and has no addresses. `with_udp`: UDP comes in large pieces
    /// too, if the kernel can do that (from 6.2 on).
    ///
    /// # Errors
    /// The kernel's: no `/dev/net/tun`, no `CAP_NET_ADMIN`, a name that is taken.
    pub fn create(name: &str, with_udp: bool) -> io::Result<Self> {
        Self::of(name, Kind::Ip, with_udp)
    }

    /// The same of another kind; `%d` in its name stands for a number of the kernel's choice.
    ///
    /// # Errors
    /// As of [`Self::create`].
    pub fn of(name: &str, kind: Kind, with_udp: bool) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open("/dev/net/tun", flags, Mode::empty())?;
        let name = sys::make_device(&fd, name, kind == Kind::Ethernet)?;
        let segments_udp = sys::set_offload(&fd, with_udp)?;
        Ok(Self {
            fd,
            name,
            segments_udp,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// UDP comes and is taken in large pieces as well.
    pub fn segments_udp(&self) -> bool {
        self.segments_udp
    }

    /// Reads one packet with its header.
    ///
    /// # Errors
    /// The kernel's; `WouldBlock` if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.fd, buffer)?)
    }

    /// Writes one packet with its header, from several places.
    ///
    /// # Errors
    /// The kernel's, e.g. if the device is down.
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(&self.fd, pieces)?)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Packets that a device did not take, for as many waited there for its reader as may: of a device of the calling thread's
/// network namespace, 0 if there is none of this name.
pub fn refused(device: &str) -> u64 {
    let all = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let of = all.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == device).then_some(numbers)
    });
    // eight of receiving, then bytes, packets, errors, drops
    let dropped = of.and_then(|numbers| numbers.split_whitespace().nth(11)?.parse().ok());
    dropped.unwrap_or(0)
}
