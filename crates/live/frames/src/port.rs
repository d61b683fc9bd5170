//! Where frames come from and go to.

use crate::Frame;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use tun::{Device, FrameSocket, Kind};
use units::Duration;

/// A device that a program in the kernel hands frames to, and an interface by which they go on.
#[derive(Debug)]
pub struct Port {
    /// Name of the device; the kernel puts a number there.
    name: &'static str,
    socket: Arc<FrameSocket>,
    /// With its index; none once it has gone.
    device: Option<(Device, u32)>,
    /// Index of the interface.
    interface: u32,
    is_ethernet: bool,
    /// On their way to the interface, in order.
    outbox: VecDeque<Frame>,
}

impl Port {
    /// Makes the device, called `name` with `%d` for its number, for frames of an interface (its index, and whether it has Ethernet
    /// headers).
    ///
    /// # Errors
    /// The kernel's: no `/dev/net/tun`, no `CAP_NET_ADMIN`.
    pub fn new(
        name: &'static str,
        socket: Arc<FrameSocket>,
        (interface, is_ethernet): (u32, bool),
    ) -> io::Result<Self> {
        let mut port = Self {
            name,
            socket,
            device: None,
            interface,
            is_ethernet,
            outbox: VecDeque::new(),
        };
        port.open()?;
        Ok(port)
    }

    fn open(&mut self) -> io::Result<()> {
        let kind = match self.is_ethernet {
            true => Kind::Ethernet,
            false => Kind::Ip,
        };
        let device = Device::of(self.name, kind, true)?;
        let index = self.socket.set_up(&device)?;
        self.device = Some((device, index));
        Ok(())
    }

    /// The interface is this one now; the device is made anew if it has gone or the interface's headers are others. True if it was.
    ///
    /// # Errors
    /// As [`Port::new`].
    pub fn follow(&mut self, (interface, is_ethernet): (u32, bool)) -> io::Result<bool> {
        self.interface = interface;
        if self.is_ethernet != is_ethernet {
            self.is_ethernet = is_ethernet;
            self.device = None;
        }
        if self.device.is_some() {
            return Ok(false);
        }
        self.open()?;
        Ok(true)
    }

    /// Frames have an Ethernet header.
    pub fn is_ethernet(&self) -> bool {
        self.is_ethernet
    }

    /// Name and index of the device; none once it has gone.
    pub fn device(&self) -> Option<(&str, u32)> {
        let device = self.device.as_ref();
        device.map(|(device, index)| (device.name(), *index))
    }

    /// The number of the socket by which frames go on.
    pub fn cookie(&self) -> u64 {
        self.socket.cookie()
    }

    /// A frame behind its header; none if there is no more.
    ///
    /// # Errors
    /// The kernel's: the device has gone, and what is handed to it would be lost.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some((device, _)) = &self.device else {
            return Ok(None);
        };
        match device.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if is_for_later(&error) => Ok(None),
            Err(error) => {
                self.device = None;
                Err(error)
            }
        }
    }

    /// Frames are to go on, after those before.
    pub fn put(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.outbox.extend(frames);
    }

    /// Sends what is to go on, as far as there is room; `on_sent` has each frame with what became of it.
    pub fn send(&mut self, mut on_sent: impl FnMut(&Frame, io::Result<()>)) {
        while let Some(frame) = self.outbox.front() {
            let protocol = frame.headers.protocol;
            match self.socket.send(self.interface, protocol, &frame.bytes) {
                Err(error) if is_for_later(&error) => return,
                sent => on_sent(frame, sent),
            }
            self.outbox.pop_front();
        }
    }

    /// Frames that wait for room at the interface.
    pub fn unsent(&self) -> usize {
        self.outbox.len()
    }

    /// Waits for frames, for what `inbox` wakes by, for room if frames wait for it, or so long.
    pub fn wait(&self, inbox: &impl AsFd, time: Duration) {
        let mut fds = vec![PollFd::new(inbox, PollFlags::IN)];
        if let Some((device, _)) = &self.device {
            fds.push(PollFd::new(device, PollFlags::IN));
        }
        if !self.outbox.is_empty() {
            fds.push(PollFd::new(&*self.socket, PollFlags::OUT));
        }
        let time = std::time::Duration::from_nanos(time.as_nanos());
        // an interrupted wait is a short one
        let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
    }
}

fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}
