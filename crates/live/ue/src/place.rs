//! Where packets come from and go to: the device that the kernel's program hands them to, and the modem's interface.

use crate::counts::Counts;
use kernel_marker::{Diversion, Holding, MarkerError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use tun::{Device, FrameSocket, Kind};
use units::{Duration, Instant};

/// Names of devices; the kernel puts a number there.
const DEVICE: &str = "brimfulu%d";
/// Packets are handed over for so long after the thread has last stated that it takes them: if it hangs, they pass.
const VALID_FOR: Duration = Duration::from_millis(500);

/// Both.
#[derive(Debug)]
pub(crate) struct Place {
    diversion: Diversion,
    socket: FrameSocket,
    /// None once it has gone.
    device: Option<(Device, u32)>,
    /// Index of the interface.
    interface: u32,
    pub(crate) is_ethernet: bool,
}

impl Place {
    /// Attaches the program and makes the device. No packet is taken yet.
    ///
    /// # Errors
    /// What is wrong with the interface, or the kernel's: no `/dev/net/tun`, no rights.
    pub(crate) fn new(interface: &str, counts: &Counts) -> Result<Self, PlaceError> {
        let diversion = Diversion::attach(interface)?;
        let (interface, is_ethernet) = diversion.link()?;
        let socket = FrameSocket::new().map_err(PlaceError::Socket)?;
        let mut place = Self {
            diversion,
            socket,
            device: None,
            interface,
            is_ethernet,
        };
        place.open(counts).map_err(PlaceError::Device)?;
        Ok(place)
    }

    fn open(&mut self, counts: &Counts) -> io::Result<()> {
        let kind = match self.is_ethernet {
            true => Kind::Ethernet,
            false => Kind::Ip,
        };
        let device = Device::of(DEVICE, kind, true)?;
        silence(device.name());
        let index = self.socket.set_up(&device)?;
        counts.set_device(device.name());
        self.device = Some((device, index));
        Ok(())
    }

    /// Looks for the interface, attaches the program again where that has gone and come back, and makes the device anew if it has
    /// gone.
    pub(crate) fn refresh(&mut self, counts: &Counts) {
        let refreshed = self.try_refresh(counts);
        counts.set_error(refreshed.err().map(|error| error.to_string()));
        if let Ok(diverted) = self.diversion.counts() {
            counts.set_diverted(self.diversion.way().name(), diverted);
        }
    }

    fn try_refresh(&mut self, counts: &Counts) -> Result<(), PlaceError> {
        if self.diversion.refresh()? {
            tracing::info!("the modem's interface is there again");
        }
        let (interface, is_ethernet) = self.diversion.link()?;
        self.interface = interface;
        if self.is_ethernet != is_ethernet {
            self.is_ethernet = is_ethernet;
            self.device = None;
        }
        match self.device {
            Some(_) => Ok(()),
            None => self.open(counts).map_err(PlaceError::Device),
        }
    }

    /// Packets are handed over until a while from now; or from now on none is.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn announce(&self, now: Instant, takes: bool) -> Result<(), MarkerError> {
        let device = self.device.as_ref().filter(|_| takes);
        let until = device.map_or(0, |_| (now + VALID_FOR).since_start().as_nanos());
        self.diversion.set(Holding {
            until,
            cookie: self.socket.cookie(),
            device: device.map_or(0, |(_, index)| *index),
        })
    }

    /// A frame with its header; none if there is no more.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (device, _) = self.device.as_ref()?;
        match device.read(buffer) {
            Ok(length) => Some(length),
            Err(error) if is_for_later(&error) => None,
            Err(error) => {
                // packets to a device that has gone would be lost
                tracing::warn!(%error, "the device cannot be read");
                self.device = None;
                let _ = self.announce(Instant::ZERO, false);
                None
            }
        }
    }

    /// Sends a frame by the modem's interface. None: not now.
    pub(crate) fn send(&self, protocol: u16, frame: &[u8]) -> Option<io::Result<()>> {
        match self.socket.send(self.interface, protocol, frame) {
            Err(error) if is_for_later(&error) => None,
            sent => Some(sent),
        }
    }

    /// Waits for frames, for what `inbox` wakes by, for room to send if that is wanted, or so long.
    pub(crate) fn wait(&self, inbox: &impl AsFd, wants_room: bool, time: Duration) {
        let mut fds = vec![PollFd::new(inbox, PollFlags::IN)];
        if let Some((device, _)) = &self.device {
            fds.push(PollFd::new(device, PollFlags::IN));
        }
        if wants_room {
            fds.push(PollFd::new(&self.socket, PollFlags::OUT));
        }
        let time = std::time::Duration::from_nanos(time.as_nanos());
        // an interrupted wait is a short one
        let _ = poll(&mut fds, Timespec::try_from(time).ok().as_ref());
    }
}

/// What keeps packets from being taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    Program(#[from] MarkerError),
    #[error("a device cannot be made: {0} (/dev/net/tun, CAP_NET_ADMIN)")]
    Device(io::Error),
    #[error("a socket for frames cannot be opened: {0} (CAP_NET_RAW)")]
    Socket(io::Error),
}

impl PlaceError {
    /// Whether what was requested is wrong, rather than the machine.
    pub(crate) fn is_input(&self) -> bool {
        matches!(self, Self::Program(error) if error.is_input())
    }
}

/// Without IPv6 of its own: what the kernel would send by the device would leave by the modem.
fn silence(device: &str) {
    let file = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
    match std::fs::write(&file, "1") {
        Ok(()) => {}
        // a kernel without IPv6
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(
            %error,
            "{file} cannot be written: neighbour discovery of the device leaves by the modem"
        ),
    }
}

fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}
