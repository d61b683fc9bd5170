//! What is measured of a flow, and what the control thread writes with each decision: apart from the sockets, on two cache
//! lines.

use socket_options::TcpInfo;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use units::Duration;

/// Payload that has passed, cumulative, bytes, and the round-trip time towards the server.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Meters {
    /// Read from the server.
    pub(crate) wan_read: AtomicU64,
    /// Waits unread in the receive buffer towards the server, when last looked at.
    pub(crate) wan_unread: AtomicU64,
    /// Of that, left unread so that a window can be shown: it does not wait for the radio.
    pub(crate) wan_left: AtomicU64,
    /// Handed to the socket towards the UE.
    pub(crate) ran_written: AtomicU64,
    /// Of that, not sent yet, as the control thread last saw it.
    pub(crate) ran_unsent: AtomicU64,
    /// Read from the UE.
    pub(crate) ran_read: AtomicU64,
    /// Handed to the socket towards the server.
    pub(crate) wan_written: AtomicU64,
    /// As the kernel measured it.
    pub(crate) wan_rtt: RoundTrip,
    /// Decided for the window towards the UE, bytes; 0: none is.
    pub(crate) ran_window: AtomicU64,
}

impl Meters {
    /// Received of the server in order.
    pub(crate) fn received(&self) -> u64 {
        self.wan_read.load(Relaxed) + self.wan_unread.load(Relaxed)
    }

    /// Waits here on its way to the UE: unread, in the pipe, and not sent yet.
    pub(crate) fn waiting_down(&self) -> u64 {
        self.unhanded() + self.ran_unsent.load(Relaxed)
    }

    /// Of that, not handed to the socket towards the UE yet.
    pub(crate) fn unhanded(&self) -> u64 {
        let handed = self.ran_written.load(Relaxed) + self.wan_left.load(Relaxed);
        self.received().saturating_sub(handed)
    }
}

/// A round-trip time as the kernel measured it, microseconds; 0: not yet.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: AtomicU32,
    min: AtomicU32,
}

impl RoundTrip {
    /// Takes it from a socket. What the kernel has not measured stays as it is.
    pub(crate) fn sample(&self, socket: &OwnedFd) -> Option<TcpInfo> {
        let info = socket_options::tcp_info(socket).ok()?;
        self.set(info.rtt, info.min_rtt);
        Some(info)
    }

    /// Microseconds; 0 and `u32::MAX` are no measurements.
    pub(crate) fn set(&self, smoothed: u32, min: u32) {
        if smoothed != 0 {
            self.smoothed.store(smoothed, Relaxed);
        }
        if min != 0 && min != u32::MAX {
            self.min.store(min, Relaxed);
        }
    }

    /// Smoothed.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        micros(self.smoothed.load(Relaxed))
    }

    /// Smallest.
    pub(crate) fn min(&self) -> Option<Duration> {
        micros(self.min.load(Relaxed))
    }
}

/// Microseconds of the kernel's counters, whose 0 means that nothing is known.
pub(crate) fn micros(us: u32) -> Option<Duration> {
    (us != 0 && us != u32::MAX).then(|| Duration::from_micros(u64::from(us)))
}
