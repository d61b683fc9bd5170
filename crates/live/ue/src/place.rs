//! Where packets come from and go to: the device that the kernel's program hands them to, and the modem's interface.

use crate::counts::Counts;
use frames::Port;
use kernel_marker::{Diversion, Holding, MarkerError};
use std::io;
use std::sync::Arc;
use tun::FrameSocket;
use units::{Duration, Instant};

/// Names of devices; the kernel puts a number there.
const DEVICE: &str = "brimfulu%d";
/// Packets are handed over for so long after the thread has last stated that it takes them: if it hangs, they pass.
const VALID_FOR: Duration = Duration::from_millis(500);

/// Both, and the program.
#[derive(Debug)]
pub(crate) struct Place {
    diversion: Diversion,
    pub(crate) port: Port,
}

impl Place {
    /// Attaches the program and makes the device. No packet is taken yet.
    ///
    /// # Errors
    /// What is wrong with the interface, or the kernel's: no `/dev/net/tun`, no rights.
    pub(crate) fn new(interface: &str, counts: &Counts) -> Result<Self, PlaceError> {
        let diversion = Diversion::attach(interface)?;
        let link = diversion.link()?;
        let socket = FrameSocket::new().map_err(PlaceError::Socket)?;
        let port = Port::new(DEVICE, Arc::new(socket), link).map_err(PlaceError::Device)?;
        let place = Self { diversion, port };
        place.on_device(counts);
        Ok(place)
    }

    /// The device is another.
    fn on_device(&self, counts: &Counts) {
        if let Some((device, _)) = self.port.device() {
            silence(device);
            counts.set_device(device);
        }
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
        let link = self.diversion.link()?;
        if self.port.follow(link).map_err(PlaceError::Device)? {
            self.on_device(counts);
        }
        Ok(())
    }

    /// Packets are handed over until a while from now; or from now on none is.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn announce(&self, now: Instant, takes: bool) -> Result<(), MarkerError> {
        let device = self.port.device().filter(|_| takes);
        let until = device.map_or(0, |_| (now + VALID_FOR).since_start().as_nanos());
        self.diversion.set(Holding {
            until,
            cookie: self.port.cookie(),
            device: device.map_or(0, |(_, index)| index),
        })
    }

    /// A frame with its header; none if there is no more.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let read = self.port.read(buffer);
        read.unwrap_or_else(|error| {
            // packets to a device that has gone would be lost
            tracing::warn!(%error, "the device cannot be read");
            let _ = self.announce(Instant::ZERO, false);
            None
        })
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
