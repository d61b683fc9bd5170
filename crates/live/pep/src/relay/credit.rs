//! A window that is shown at once, on Linux.
//!
//! Linux shows a server a larger window with acknowledgements of data, and by itself only when a read has freed
//! at least twice what the server has left (`tcp_cleanup_rbuf`). Neither comes to a server that waits for a window.
//! And a window that was lowered by `TCP_WINDOW_CLAMP` grows by a few segments for each one that arrives, however
//! far the clamp is raised: raising it lifts `rcv_ssthresh` no further than the window shown last. Therefore:
//!
//! ```text
//!   TCP_REPAIR on
//!   TCP_REPAIR_WINDOW   the window shown last is the new one: only so that
//!   TCP_WINDOW_CLAMP    lifts rcv_ssthresh to it
//!   TCP_REPAIR_WINDOW   the window shown last is what it was, so that the new one is news
//!   TCP_REPAIR off      without a packet
//!   read                a byte at least, which was left unread: the kernel sends the update
//!   TCP_WINDOW_CLAMP    the least, if acknowledgements are to show no more than this
//! ```
//!
//! In repair mode a connection takes no data to send and ends without a packet; it is left before the thread that
//! relays this connection does anything else with it. Needs `CAP_NET_ADMIN`.

use crate::sys::{self, RepairWindow};
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use std::io;
use std::os::fd::OwnedFd;

/// Windows that are multiples of up to two to this power can be closed: the kernel's least clamp is 1,152 bytes or
/// so, and the multiple above it must be less than a segment.
const WIDEST_SCALE: u8 = 8;

/// This process may show windows at once.
pub(crate) fn is_permitted() -> bool {
    let probe = || -> io::Result<()> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        sys::set_repair(&socket, true)?;
        sys::set_repair(&socket, false)
    };
    probe().is_ok()
}

/// A window of this scale can be closed.
pub(crate) fn can_close(rcv_wscale: u8) -> bool {
    rcv_wscale <= WIDEST_SCALE
}

/// Acknowledgements show no more than has been shown. Only while a byte waits unread: without one the window could
/// not be shown at once again.
pub(crate) fn close(socket: &OwnedFd) {
    // the kernel's least; a socket that has just been closed by its peer may refuse
    let _ = sys::set_window_clamp(socket, 1);
}

/// At least half of the receive buffer is free: that the kernel shows no window is not for want of room.
pub(crate) fn has_room(socket: &OwnedFd) -> bool {
    sys::receive_memory(socket).is_ok_and(|(taken, all)| taken <= all / 2)
}

/// A window that will be shown with the next read.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What the kernel will hold for shown if it shows nothing.
    marked: u32,
}

/// Prepares a window of so many bytes.
///
/// # Errors
/// The kernel's; the connection is as it was but for the clamp.
pub(crate) fn prepare(socket: &OwnedFd, window: u32) -> io::Result<Prepared> {
    sys::set_repair(socket, true)?;
    let prepared = in_repair(socket, window);
    sys::set_repair(socket, false)?;
    // the end of repair mode clears it; another connection may need the port
    let _ = sockopt::set_socket_reuseaddr(socket, true);
    prepared
}

fn in_repair(socket: &OwnedFd, window: u32) -> io::Result<Prepared> {
    let was = sys::repair_window(socket)?;
    // the same right edge by other numbers, which shows later whether the kernel has sent an update
    let marked = RepairWindow {
        rcv_wnd: was.rcv_wnd.wrapping_add(1),
        rcv_wup: was.rcv_wup.wrapping_sub(1),
        ..was
    };
    let shown = RepairWindow {
        rcv_wnd: was.rcv_wnd.max(window),
        ..was
    };
    sys::set_repair_window(socket, shown)?;
    let clamped = sys::set_window_clamp(socket, window);
    sys::set_repair_window(socket, marked)?;
    clamped?;
    Ok(Prepared {
        marked: marked.rcv_wnd,
    })
}

impl Prepared {
    /// After the read: the window that the server has been shown, bytes, or none. It is less than was prepared where
    /// the receive buffer has no room for it.
    pub(crate) fn shown(&self, socket: &OwnedFd) -> Option<u32> {
        let info = socket_options::tcp_info(socket).ok()?;
        (info.rcv_wnd != self.marked).then_some(info.rcv_wnd)
    }
}
