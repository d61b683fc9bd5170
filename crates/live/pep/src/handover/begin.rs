//! A restored connection begins to live: its peer gets an acknowledgement with its window, and is asked for its own.
//!
//! The probe that ends repair mode (`tcp_send_window_probe`) asks and states nothing: its number is one that the peer has
//! acknowledged already, so that a peer answers it and takes neither acknowledgement nor window from it. A server that
//! waits for either would wait until its timer. Linux acknowledges by itself with data that arrives, and as a read frees
//! at least twice what the peer has left (`tcp_cleanup_rbuf`); so each restored connection has a byte in its receive queue
//! that is none of its own ([`super::repair`]), whose number is the last that it has received:
//!
//! ```text
//!   TCP_REPAIR_WINDOW   the window shown last is the one that is to be shown: only so that
//!   TCP_WINDOW_CLAMP    up from the least lifts rcv_ssthresh to it
//!   TCP_REPAIR_WINDOW   none was shown
//!   TCP_REPAIR off      without a packet
//!   read                that byte: the kernel sends an acknowledgement with the window
//!   SO_DETACH_FILTER    what arrives is taken from now on
//!   probe
//! ```

use super::{freeze, repair};
use crate::sys::{self, RepairWindow};
use rustix::net::{RecvFlags, recv, sockopt};
use socket_options::{get_int, set_int};
use std::io;
use std::os::fd::OwnedFd;

/// How a connection begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    /// The window that is to be shown, bytes; never less than was shown.
    pub(crate) window: u32,
    /// Its receive buffer and the clamp of its window stay as they are.
    pub(crate) is_locked: bool,
    /// The peer is asked later for what it has: it answers one probe in half a second (`tcp_invalid_ratelimit`), and the
    /// answer has to come here.
    pub(crate) is_probed_later: bool,
}

/// Has a restored connection live.
///
/// # Errors
/// The kernel's.
pub(crate) fn begin(socket: &OwnedFd, how: Beginning) -> io::Result<()> {
    // include/uapi/asm-generic/socket.h, include/net/sock.h
    const SO_BUF_LOCK: i32 = 72;
    const RCVBUF_LOCK: i32 = 2;
    let clamp = get_int(socket, libc::SOL_TCP, libc::TCP_WINDOW_CLAMP)?;
    let true_window = prepare(socket, how.window)?;
    sys::set_repair(socket, false)?;
    recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT)?;
    keep_right_edge(socket, true_window)?;
    freeze::hear(socket)?;
    let _ = sys::set_window_clamp(socket, u32::try_from(clamp).unwrap_or(u32::MAX));
    let locks = if how.is_locked { RCVBUF_LOCK } else { 0 };
    // before Linux 5.14 both stay as large as they are
    let _ = set_int(socket, libc::SOL_SOCKET, SO_BUF_LOCK, locks);
    if !how.is_probed_later {
        sys::send_window_probe(socket)?;
    }
    sockopt::set_socket_reuseaddr(socket, true)?;
    Ok(())
}

/// Has the next read show a window of so many bytes; gives that of before.
fn prepare(socket: &OwnedFd, window: u32) -> io::Result<RepairWindow> {
    let next = repair::next(socket)?;
    let was = sys::repair_window(socket)?;
    // modulo 2^32, and not below zero
    let left = was.rcv_wup.wrapping_add(was.rcv_wnd).wrapping_sub(next);
    let left = u32::try_from(left as i32).unwrap_or(0);
    let window = window.max(left).max(1);
    // as the kernel's own probe has it: the peer's next segment has its window. The kernel refuses what is beyond ours
    let [_, snd_wnd, max_window] = was.send;
    let shown = RepairWindow {
        send: [next.wrapping_sub(1), snd_wnd, max_window],
        rcv_wnd: window,
        rcv_wup: next,
    };
    sys::set_repair_window(socket, shown)?;
    for clamp in [1, window] {
        sys::set_window_clamp(socket, clamp)?;
    }
    let none = RepairWindow {
        rcv_wnd: 0,
        ..shown
    };
    sys::set_repair_window(socket, none)?;
    Ok(RepairWindow {
        rcv_wnd: left,
        ..shown
    })
}

/// Where the kernel has shown nothing, for want of room: its peer still has what it was shown before.
fn keep_right_edge(socket: &OwnedFd, before: RepairWindow) -> io::Result<()> {
    sys::set_repair(socket, true)?;
    let kept = sys::repair_window(socket).and_then(|now| match now.rcv_wnd {
        0 => sys::set_repair_window(socket, before),
        _ => Ok(()),
    });
    sys::set_repair(socket, false)?;
    kept
}
