//! TUN devices: where the kernel's packets come into the lab and leave it.

use crate::offload::{HEADER, VnetHeader, merge, split};
use crate::packet::Packet;
use crate::{Error, sys};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most bytes of one packet of the kernel, with its header.
const LARGEST: usize = HEADER + 65_535;

/// A TUN device. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    fd: OwnedFd,
    buffer: Box<[u8]>,
    /// Packets on their way to the kernel, in order.
    pending: Vec<Packet>,
    /// Packets that the kernel did not take.
    refused: u64,
}

impl Tun {
    /// A device of this name in the calling thread's network namespace.
    pub(crate) fn create(name: &str) -> Result<Self, Error> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open("/dev/net/tun", flags, Mode::empty())
            .map_err(Error::system("open /dev/net/tun"))?;
        sys::make_tun(&fd, name).map_err(Error::system(format!("make the device {name}")))?;
        Ok(Self {
            fd,
            buffer: vec![0; LARGEST].into(),
            pending: Vec::new(),
            refused: 0,
        })
    }

    /// Takes the next packet, or several that the kernel hands over in one piece. False if there is
    /// none.
    pub(crate) fn read(&mut self, packets: &mut Vec<Packet>) -> Result<bool, Error> {
        match rustix::io::read(&self.fd, &mut self.buffer[..]) {
            Ok(length) => {
                if let Some((header, data)) = self.buffer[..length].split_first_chunk::<HEADER>() {
                    split(VnetHeader::read(header), data, packets);
                }
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(Error::system("read from a TUN device")(error)),
        }
    }

    /// Has a packet leave at the next [`Self::flush`].
    pub(crate) fn push(&mut self, packet: Packet) {
        self.pending.push(packet);
    }

    /// Hands what is pending to the kernel. True if there was anything.
    pub(crate) fn flush(&mut self) -> bool {
        let mut at = 0;
        while at < self.pending.len() {
            let merged = merge(&self.pending, at);
            at = merged.range.end;
            if rustix::io::writev(&self.fd, &merged.slices(&self.pending)).is_err() {
                self.refused += merged.range.len() as u64;
            }
        }
        let had_any = at > 0;
        self.pending.clear();
        had_any
    }

    /// Packets that the kernel did not take, as a device that is down does not.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
