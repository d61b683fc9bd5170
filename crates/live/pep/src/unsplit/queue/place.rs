//! Where packets come from and go to: the device that the kernel's program hands them to, and the interface towards the UEs.

use super::counts::Counts;
use kernel_marker::{Holding, Marker, MarkerError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use tun::{Device, FrameSocket, Kind};
use units::{Duration, Instant};

/// Names of devices; the kernel puts a number there.
const DEVICE: &str = "brimfulq%d";
/// Packets are handed over for so long after the thread has last stated that it takes them, at least and at most: if it hangs or
/// has gone, they pass.
const MIN_VALID: Duration = Duration::from_millis(50);
const MAX_VALID: Duration = Duration::from_secs(1);

/// Both.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) marker: Arc<Marker>,
    socket: Arc<FrameSocket>,
    /// None once it has gone.
    device: Option<(Device, u32)>,
    /// Index of the interface.
    interface: u32,
    pub(super) is_ethernet: bool,
    valid_for: Duration,
}

impl Place {
    /// # Errors
    /// The kernel's: no `/dev/net/tun`, no `CAP_NET_ADMIN`.
    pub(super) fn new(
        marker: Arc<Marker>,
        socket: Arc<FrameSocket>,
        counts: &Counts,
    ) -> io::Result<Self> {
        let (interface, is_ethernet) = marker.link().map_err(io::Error::other)?;
        let mut place = Self {
            marker,
            socket,
            device: None,
            interface,
            is_ethernet,
            valid_for: MIN_VALID,
        };
        place.open(counts)?;
        Ok(place)
    }

    fn open(&mut self, counts: &Counts) -> io::Result<()> {
        let kind = match self.is_ethernet {
            true => Kind::Ethernet,
            false => Kind::Ip,
        };
        let device = Device::of(DEVICE, kind, true)?;
        let index = self.socket.set_up(&device)?;
        counts.set_device(device.name());
        self.device = Some((device, index));
        Ok(())
    }

    /// Looks for the interface, and makes the device anew if it has gone.
    pub(super) fn refresh(&mut self, counts: &Counts) {
        let looked = self.marker.link().map_err(io::Error::other);
        let opened = looked.and_then(|(interface, _)| {
            self.interface = interface;
            match self.device {
                None => self.open(counts),
                Some(_) => Ok(()),
            }
        });
        counts.note(opened);
    }

    /// Reports count for so long, and so does what the thread states.
    pub(super) fn set_max_age(&mut self, max_age: Duration) {
        self.valid_for = max_age.clamp(MIN_VALID, MAX_VALID);
    }

    /// Packets of UEs that are held are handed over until a while from now; or from now on none is.
    pub(super) fn announce(&self, now: Instant, takes: bool) -> Result<(), MarkerError> {
        let device = self.device.as_ref().filter(|_| takes);
        let until = device.map_or(0, |_| (now + self.valid_for).since_start().as_nanos());
        self.marker.set_holding(Holding {
            until,
            cookie: self.socket.cookie(),
            device: device.map_or(0, |(_, index)| *index),
        })
    }

    /// Packets that come back are no longer told from others: none does.
    pub(super) fn leave(&self) {
        if let Err(error) = self.marker.set_holding(Holding::default()) {
            tracing::debug!(%error, "what passed the queue is not forgotten");
        }
    }

    /// A frame with its header; none if there is no more.
    pub(super) fn read(&mut self, buffer: &mut [u8], counts: &Counts) -> Option<usize> {
        let (device, _) = self.device.as_ref()?;
        match device.read(buffer) {
            Ok(length) => Some(length),
            Err(error) if is_for_later(&error) => None,
            Err(error) => {
                // packets to a device that has gone would be lost
                self.device = None;
                let _ = self.announce(Instant::ZERO, false);
                counts.note::<(), _>(Err(error));
                None
            }
        }
    }

    /// Sends a frame towards the UEs. None: not now.
    pub(super) fn send(&self, protocol: u16, frame: &[u8]) -> Option<io::Result<()>> {
        match self.socket.send(self.interface, protocol, frame) {
            Err(error) if is_for_later(&error) => None,
            sent => Some(sent),
        }
    }

    /// Waits for frames, for what `inbox` wakes by, for room to send if that is wanted, or so long.
    pub(super) fn wait(&self, inbox: &impl AsFd, wants_room: bool, time: Duration) {
        let mut fds = vec![PollFd::new(inbox, PollFlags::IN)];
        if let Some((device, _)) = &self.device {
            fds.push(PollFd::new(device, PollFlags::IN));
        }
        if wants_room {
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
