//! Reading and writing of a connection, with an eye on the end of the run.

use super::FlowContext;
use crate::measure::Event;
use crate::sys;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use units::{BitRate, Bytes, Duration};

/// Bytes read or written at a time.
const CHUNK: usize = 256 * 1024;
/// What a sender with a limited rate hands over at a time: a segment, or what passes in this time.
const RELEASE_INTERVAL: Duration = Duration::from_micros(100);

/// Why a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All was transferred.
    Whole,
    /// The other end closed, or the connection broke.
    Broken,
    /// The run is over.
    Stopped,
}

/// The run is over: when the socket is closed, what it still holds is given up, or the kernel would
/// keep it, and try to send it to hosts that are gone, for minutes.
fn stopped(socket: &OwnedFd) -> Ended {
    // a connection that has ended by itself holds nothing
    let _ = set_socket_linger(socket, Some(core::time::Duration::ZERO));
    Ended::Stopped
}

/// Reads and discards so many bytes.
pub(crate) fn discard(context: &FlowContext, socket: &OwnedFd, size: u64) -> Ended {
    let mut buffer = [0u8; 1];
    let mut left = size;
    while left > 0 {
        // TCP throws away as much as the length states, and copies nothing; the buffer is only a place
        let length = left.min(CHUNK as u64) as usize;
        match sys::discard(socket, &mut buffer, length) {
            Ok(0) => return Ended::Broken,
            Ok(read) => left -= read as u64,
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted => {
                    if context.has_stopped() {
                        return stopped(socket);
                    }
                }
                _ => return Ended::Broken,
            },
        }
    }
    Ended::Whole
}

/// Reads exactly these bytes.
pub(crate) fn read_exact(context: &FlowContext, socket: &OwnedFd, into: &mut [u8]) -> Ended {
    let mut filled = 0;
    while filled < into.len() {
        match recv(socket, &mut into[filled..], RecvFlags::empty()) {
            Ok((0, _)) => return Ended::Broken,
            Ok((read, _)) => filled += read,
            Err(Errno::AGAIN | Errno::INTR) if !context.has_stopped() => {}
            Err(Errno::AGAIN | Errno::INTR) => return stopped(socket),
            Err(_) => return Ended::Broken,
        }
    }
    Ended::Whole
}

/// Writes these bytes.
pub(crate) fn write_all(context: &FlowContext, socket: &OwnedFd, bytes: &[u8]) -> Ended {
    let mut written = 0;
    while written < bytes.len() {
        match send(socket, &bytes[written..], SendFlags::NOSIGNAL) {
            Ok(n) => written += n,
            Err(Errno::AGAIN | Errno::INTR) if !context.has_stopped() => {}
            Err(Errno::AGAIN | Errno::INTR) => return stopped(socket),
            Err(_) => return Ended::Broken,
        }
    }
    Ended::Whole
}

/// Writes an object of so many bytes, no faster than `rate`, without making up for pauses.
pub(crate) fn write_object(
    context: &FlowContext,
    socket: &OwnedFd,
    size: u64,
    rate: Option<BitRate>,
) -> Ended {
    let payload = vec![0x42u8; CHUNK];
    let chunk = rate.map_or(CHUNK as u64, |rate| {
        let passing = rate.bytes_in(RELEASE_INTERVAL).max(context.spec.tcp.mss);
        passing.get().min(CHUNK as u64)
    });
    let mut left = size;
    let mut next_at = context.clock.now();
    while left > 0 {
        let now = context.clock.now();
        if rate.is_some() && now < next_at && !context.sleep_until(next_at) {
            return stopped(socket);
        }
        if context.has_stopped() {
            return stopped(socket);
        }
        let part = chunk.min(left);
        match write_all(context, socket, &payload[..part as usize]) {
            Ended::Whole => {}
            ended => return ended,
        }
        if left != u64::MAX {
            left -= part;
        }
        if let Some(rate) = rate {
            next_at = next_at.max(context.clock.now()) + Bytes::new(part) / rate;
        }
    }
    Ended::Whole
}

/// The data's sender has nothing more to send: reports the peer, waits until it has closed too, and
/// reports what was sent again.
pub(crate) fn close_sender(context: &FlowContext, socket: &Arc<OwnedFd>) {
    let _ = shutdown(&**socket, Shutdown::Write);
    let _ = discard(context, socket, u64::MAX);
    report_retransmits(context, socket);
}

/// Reports what a sender's connection has sent again.
pub(crate) fn report_retransmits(context: &FlowContext, socket: &OwnedFd) {
    if let Ok(info) = socket_options::tcp_info(socket) {
        context.report(Event::Retransmits(info.total_retrans.into()));
    }
}
