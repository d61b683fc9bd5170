//! TUN devices: where the kernel's packets come into the lab and leave it.

use crate::Error;
use crate::offload::{merge, split};
use crate::packet::Packet;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use tun::{Device, VnetHeader};

/// A TUN device. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    device: Device,
    buffer: Box<[u8]>,
    /// Packets on their way to the kernel, in order.
    pending: Vec<Packet>,
    /// Packets that the kernel did not take.
    refused: u64,
}

impl Tun {
    /// A device of this name in the calling thread's network namespace.
    pub(crate) fn create(name: &str) -> Result<Self, Error> {
        let device = Device::create(name, false)
            .map_err(Error::system(format!("make the device {name}")))?;
        Ok(Self {
            device,
            buffer: vec![0; Device::MAX_READ_BYTES].into(),
            pending: Vec::new(),
            refused: 0,
        })
    }

    /// Takes the next packet, or several that the kernel hands over in one piece. False if there is
    /// none.
    pub(crate) fn read(&mut self, packets: &mut Vec<Packet>) -> Result<bool, Error> {
        match self.device.read(&mut self.buffer) {
            Ok(length) => {
                if let Some((header, data)) = self.buffer[..length].split_first_chunk() {
                    split(VnetHeader::read(header), data, packets);
                }
                Ok(true)
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(false)
            }
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
            if self.device.write(&merged.slices(&self.pending)).is_err() {
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
        self.device.as_fd()
    }
}
