//! Where packets come from and go to: the device that the kernel's program hands them to, and the interface towards the UEs.

use super::counts::Counts;
use frames::Port;
use kernel_marker::{Holding, Marker, MarkerError};
use std::io;
use std::sync::Arc;
use tun::FrameSocket;
use units::{Duration, Instant};

/// Names of devices; the kernel puts a number there.
const DEVICE: &str = "brimfulq%d";
/// Packets are handed over for so long after the thread has last stated that it takes them, at least and at most: if it hangs or
/// has gone, they pass.
const MIN_VALID: Duration = Duration::from_millis(50);
const MAX_VALID: Duration = Duration::from_secs(1);

/// Both, and the program.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) marker: Arc<Marker>,
    pub(super) port: Port,
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
        let link = marker.link().map_err(io::Error::other)?;
        let place = Self {
            marker,
            port: Port::new(DEVICE, socket, link)?,
            valid_for: MIN_VALID,
        };
        place.on_device(counts);
        Ok(place)
    }

    /// The device is another.
    fn on_device(&self, counts: &Counts) {
        if let Some((device, _)) = self.port.device() {
            counts.set_device(device);
        }
    }

    /// Looks for the interface, and makes the device anew if it has gone.
    pub(super) fn refresh(&mut self, counts: &Counts) {
        let link = self.marker.link().map_err(io::Error::other);
        let followed = link.and_then(|link| self.port.follow(link));
        if counts.note(followed) == Some(true) {
            self.on_device(counts);
        }
    }

    /// Reports count for so long, and so does what the thread states.
    pub(super) fn set_max_age(&mut self, max_age: Duration) {
        self.valid_for = max_age.clamp(MIN_VALID, MAX_VALID);
    }

    /// Packets of UEs that are held are handed over until a while from now; or from now on none is.
    pub(super) fn announce(&self, now: Instant, takes: bool) -> Result<(), MarkerError> {
        let device = self.port.device().filter(|_| takes);
        let until = device.map_or(0, |_| (now + self.valid_for).since_start().as_nanos());
        self.marker.set_holding(Holding {
            until,
            cookie: self.port.cookie(),
            device: device.map_or(0, |(_, index)| index),
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
        let read = self.port.read(buffer);
        read.unwrap_or_else(|error| {
            // packets to a device that has gone would be lost
            let _ = self.announce(Instant::ZERO, false);
            counts.note::<(), _>(Err(error));
            None
        })
    }
}
