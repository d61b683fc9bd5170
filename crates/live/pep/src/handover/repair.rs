//! The state of a connection out of the kernel and into it again (`TCP_REPAIR`).

use super::freeze;
use crate::config::Onward;
use crate::relay::{canonical, prepare_end};
use crate::sys::{self, RepairWindow};
use relocation::{Late, Leg, Outcome, Window};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, getpeername,
    getsockname, ipproto, recv, send, socket_with, sockopt,
};
use socket_options::{get_bytes, get_int, set_bytes, set_int};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

// include/uapi/linux/tcp.h
const TCP_REPAIR_QUEUE: i32 = 20;
const TCP_QUEUE_SEQ: i32 = 21;
const TCP_REPAIR_OPTIONS: i32 = 22;
const TCP_TIMESTAMP: i32 = 24;
const NO_QUEUE: i32 = 0;
const RECV_QUEUE: i32 = 1;
const SEND_QUEUE: i32 = 2;
/// Kinds of options (`TCPOPT_MSS` ...).
const OPTION_MSS: u32 = 2;
const OPTION_WINDOW: u32 = 3;
const OPTION_SACK: u32 = 4;
const OPTION_TIMESTAMP: u32 = 8;
/// `tcpi_options`.
const HAS_TIMESTAMPS: u8 = 1;
const HAS_SACK: u8 = 2;
const HAS_SCALES: u8 = 4;
const HAS_ECN: u8 = 8;
/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;
/// `TCP_MAX_WSCALE`.
const MAX_SCALE: u8 = 14;
/// A first segment of which a part is acknowledged stands whole in the queue, bytes at most.
const MAX_SEGMENT: usize = 65_536;
/// The largest that can be requested (`MAX_TCP_WINDOW`), bytes.
const MAX_MSS: u32 = 32_767;
/// Tries to read a connection that changes meanwhile.
const TRIES: usize = 3;
/// Tries to read what belongs together of what it receives, which takes microseconds.
const MOMENTS: usize = 100;
/// Buffers are no smaller, bytes.
const LEAST_BUFFER: u32 = 65_536;
/// The least that is sent at once where the kernel is short of memory, bytes.
const MIN_PIECE: usize = 1_024;

/// What the other proxy has of a socket's queues beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// All that was handed to the socket since it was first copied, bytes, if that is known: what is queued beyond that is
    /// not.
    pub(crate) handed_on: Option<u64>,
    /// Of what it has received and was not read, the first bytes.
    pub(crate) unread: usize,
}

/// A leg and what is to be relayed of it.
#[derive(Debug)]
pub(crate) struct Saved {
    /// As the other proxy has it; in flight is all that is queued and not known, also what was not sent once.
    pub(crate) leg: Leg,
    /// Queued, bytes.
    pub(crate) queued: usize,
    /// Of these, not sent once.
    pub(crate) unsent: usize,
    /// Received and not read, bytes: up to what the leg expects next. More may come.
    pub(crate) inq: usize,
    /// Of these, what is not known.
    pub(crate) unread: Vec<u8>,
}

/// Why a connection stays, as far as its socket knows before anything is changed.
pub(crate) fn refusal(socket: &OwnedFd) -> Option<Outcome> {
    let mut info = [0; 8];
    if get_bytes(socket, libc::SOL_TCP, libc::TCP_INFO, &mut info).is_err() {
        return Some(Outcome::Unreadable);
    }
    match info {
        [state, ..] if state != ESTABLISHED => Some(Outcome::HalfClosed),
        [_, _, _, _, _, options, ..] if options & HAS_ECN != 0 => Some(Outcome::Ecn),
        _ => None,
    }
}

/// What a connection that runs has sent and is not acknowledged; none while it has not sent all that it was given: what is
/// to be sent while its queue is read would be taken for sent.
///
/// # Errors
/// The kernel's.
pub(crate) fn sent(socket: &OwnedFd) -> io::Result<Option<Vec<u8>>> {
    if sys::unsent(socket)? > 0 {
        return Ok(None);
    }
    if sys::unacknowledged(socket)? == 0 {
        return Ok(Some(Vec::new()));
    }
    sys::set_repair(socket, true)?;
    let read = set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE).and_then(|()| {
        let queued = sys::unacknowledged(socket)?;
        peek(socket, queued, MAX_SEGMENT)
    });
    let none = set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, NO_QUEUE);
    sys::set_repair(socket, false)?;
    sockopt::set_socket_reuseaddr(socket, true)?;
    none?;
    let mut sent = read?;
    // nothing was written meanwhile: what is queued now are the last bytes
    let gone = sent.len().saturating_sub(sys::unacknowledged(socket)?);
    sent.drain(..gone);
    Ok(Some(sent))
}

/// Reads a frozen connection; it is as it was afterwards.
///
/// # Errors
/// The kernel's, or it changed again and again.
pub(crate) fn save(socket: &OwnedFd, known: Known) -> io::Result<Saved> {
    sys::set_repair(socket, true)?;
    let saved = (0..TRIES).find_map(|_| read(socket, known).transpose());
    // the kernel forgets it with repair mode
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, NO_QUEUE)?;
    sys::set_repair(socket, false)?;
    sockopt::set_socket_reuseaddr(socket, true)?;
    saved.unwrap_or_else(|| Err(Errno::AGAIN.into()))
}

/// None if it has changed meanwhile.
fn read(socket: &OwnedFd, known: Known) -> io::Result<Option<Saved>> {
    let queue = |queue| set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, queue);
    let number = || get_int(socket, libc::SOL_TCP, TCP_QUEUE_SEQ).map(|n| n as u32);
    let mut info = [0; 8];
    get_bytes(socket, libc::SOL_TCP, libc::TCP_INFO, &mut info)?;
    let (options, scales) = (info[5], info[6]);
    let scales = match cfg!(target_endian = "little") {
        true => (scales & 15, scales >> 4),
        false => (scales >> 4, scales & 15),
    };
    let scales = (options & HAS_SCALES != 0).then_some(scales);
    let timestamp = get_int(socket, libc::SOL_TCP, TCP_TIMESTAMP)? as u32;
    let mss = get_int(socket, libc::SOL_TCP, libc::TCP_MAXSEG)? as u32;
    queue(SEND_QUEUE)?;
    let unsent = usize::try_from(sys::unsent(socket)?).unwrap_or(usize::MAX);
    let written = number()?;
    let queued = sys::unacknowledged(socket)?;
    let handed_on = known
        .handed_on
        .map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    // those that stand first in the queue
    let head = queued.saturating_sub(handed_on);
    let mut sent = match head {
        0 => Vec::new(),
        _ => peek(socket, queued, MAX_SEGMENT)?,
    };
    let is_whole = head == 0 || sent.len() >= queued;
    let is_same = number()? == written && sys::unacknowledged(socket)? == queued;
    queue(RECV_QUEUE)?;
    let received = received(socket)?;
    let news = received
        .as_ref()
        .map_or(0, |of| of.inq)
        .saturating_sub(known.unread);
    // what comes meanwhile stands behind it
    let unread = unread(socket, known.unread, news)?;
    queue(NO_QUEUE)?;
    let Some(Received {
        rcv_nxt,
        inq,
        window,
    }) = received
    else {
        return Ok(None);
    };
    let is_same = is_same && unread.len() == news;
    if !is_same || !is_whole || unsent > queued {
        return Ok(None);
    }
    if head > 0 {
        sent.drain(..sent.len() - queued);
        sent.truncate(head);
    }
    let address = |address: rustix::io::Result<rustix::net::SocketAddrAny>| {
        let address = SocketAddr::try_from(address?)?;
        Ok::<_, io::Error>(canonical(address))
    };
    let [snd_wl1, snd_wnd, max_window] = window.send;
    Ok(Some(Saved {
        leg: Leg {
            local: address(getsockname(socket))?,
            remote: address(getpeername(socket).and_then(|a| a.ok_or(Errno::NOTCONN)))?,
            snd_una: written.wrapping_sub(queued as u32),
            rcv_nxt,
            mss,
            timestamp: (options & HAS_TIMESTAMPS != 0).then_some(timestamp),
            has_sack: options & HAS_SACK != 0,
            scales,
            window: Window {
                snd_wl1,
                snd_wnd,
                max_window,
                rcv_wnd: shown(window.rcv_wnd, scales),
                rcv_wup: window.rcv_wup,
            },
            in_flight: sent,
        },
        queued,
        unsent,
        inq,
        unread,
    }))
}

/// What belongs together of a socket that goes on receiving.
struct Received {
    rcv_nxt: u32,
    inq: usize,
    window: RepairWindow,
}

/// Of a socket in repair mode whose queue of what it has received is chosen; none if more came again and again.
fn received(socket: &OwnedFd) -> io::Result<Option<Received>> {
    let number = || get_int(socket, libc::SOL_TCP, TCP_QUEUE_SEQ).map(|n| n as u32);
    for _ in 0..MOMENTS {
        let rcv_nxt = number()?;
        let inq = rustix::io::ioctl_fionread(socket)?;
        let window = sys::repair_window(socket)?;
        if number()? == rcv_nxt {
            return Ok(Some(Received {
                rcv_nxt,
                inq: usize::try_from(inq).unwrap_or(usize::MAX),
                window,
            }));
        }
    }
    Ok(None)
}

/// What a silent connection has received beyond what it was frozen with, of which so many bytes were not read; it takes
/// nothing any more.
///
/// # Errors
/// The kernel's.
pub(crate) fn late(socket: &OwnedFd, inq: usize) -> io::Result<Vec<u8>> {
    freeze::deafen(socket)?;
    let all = rustix::io::ioctl_fionread(socket)?;
    let late = usize::try_from(all)
        .unwrap_or(usize::MAX)
        .saturating_sub(inq);
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, RECV_QUEUE)?;
    let bytes = unread(socket, inq, late);
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, NO_QUEUE)?;
    bytes
}

/// Has a restored connection that takes nothing yet have received this too, as far as there is room: what finds none is not
/// acknowledged.
///
/// # Errors
/// The kernel's.
pub(crate) fn append(socket: &OwnedFd, late: &Late) -> io::Result<usize> {
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, RECV_QUEUE)?;
    let appended = append_chosen(socket, late);
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, NO_QUEUE)?;
    appended
}

/// The sequence number that a connection in repair mode expects next.
///
/// # Errors
/// The kernel's.
pub(super) fn next(socket: &OwnedFd) -> io::Result<u32> {
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, RECV_QUEUE)?;
    let next = get_int(socket, libc::SOL_TCP, TCP_QUEUE_SEQ);
    set_int(socket, libc::SOL_TCP, TCP_REPAIR_QUEUE, NO_QUEUE)?;
    next.map(|next| next as u32)
}

fn append_chosen(socket: &OwnedFd, late: &Late) -> io::Result<usize> {
    let next = get_int(socket, libc::SOL_TCP, TCP_QUEUE_SEQ)? as u32;
    let mut left = late.following(next).unwrap_or_default();
    let all = left.len();
    while !left.is_empty() {
        let piece = &left[..left.len().min(MAX_SEGMENT)];
        match send(socket, piece, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(n) => left = &left[n..],
            Err(Errno::NOBUFS | Errno::NOMEM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all - left.len())
}

/// The window that the peer was shown: what the kernel keeps is not bounded by what a segment can state.
fn shown(rcv_wnd: u32, scales: Option<(u8, u8)>) -> u32 {
    let (_, ours) = scales.unwrap_or_default();
    let most = u64::from(u16::MAX) << ours.min(MAX_SCALE);
    u32::try_from(most).map_or(rcv_wnd, |most| rcv_wnd.min(most))
}

/// Of what a socket has received and was not read so many bytes, behind the first ones, which are known; it stays there.
///
/// # Errors
/// The kernel's.
pub(crate) fn unread(socket: &OwnedFd, known: usize, bytes: usize) -> io::Result<Vec<u8>> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let set_offset = |offset| set_int(socket, libc::SOL_SOCKET, libc::SO_PEEK_OFF, offset);
    let offset = i32::try_from(known).unwrap_or(i32::MAX);
    if known > 0 && set_offset(offset).is_ok() {
        let read = peek(socket, bytes, 0);
        set_offset(-1)?;
        return read;
    }
    // before Linux 6.9 a TCP socket has no offset
    let mut read = peek(socket, known + bytes, 0)?;
    read.drain(..known.min(read.len()));
    Ok(read)
}

/// So many bytes of a queue, or as many as there are, with room for more of them.
fn peek(socket: &OwnedFd, bytes: usize, more: usize) -> io::Result<Vec<u8>> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let mut memory = vec![0; bytes + more];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let (n, _) = recv(socket, memory.as_mut_slice(), flags)?;
    memory.truncate(n);
    Ok(memory)
}

/// A connection in repair mode that takes nothing: it sends nothing, and ends without a packet. One towards a server is
/// bound and marked as `onward` has it.
///
/// # Errors
/// The kernel's.
pub(crate) fn restore(leg: &Leg, onward: Option<&Onward>) -> io::Result<OwnedFd> {
    let is_ipv6 = leg.local.is_ipv6();
    let family = if is_ipv6 {
        AddressFamily::INET6
    } else {
        AddressFamily::INET
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sys::set_repair(&socket, true)?;
    freeze::deafen(&socket)?;
    sys::set_transparent(&socket, is_ipv6)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    prepare_end(&socket)?;
    if let Some(onward) = onward {
        if onward.mark != 0 {
            sys::set_mark(&socket, onward.mark)?;
        }
        if let Some(interface) = &onward.interface {
            sys::bind_to_device(&socket, interface)?;
        }
    }
    // room for all that the peer may send; the kernel takes twice as much, for what it keeps beside it. More would have the
    // window grow with each transfer
    let room = leg.window.rcv_wnd.max(LEAST_BUFFER);
    sockopt::set_socket_recv_buffer_size_force(&socket, room as usize)?;
    set_send_buffer(&socket, leg.in_flight.len().saturating_mul(2))?;
    let set = |name, value| set_int(&socket, libc::SOL_TCP, name, value);
    // a byte is put before what it expects next: see `super::begin`
    let last = leg.rcv_nxt.wrapping_sub(1);
    for (queue, number) in [(RECV_QUEUE, last), (SEND_QUEUE, leg.snd_una)] {
        set(TCP_REPAIR_QUEUE, queue)?;
        set(TCP_QUEUE_SEQ, number as i32)?;
    }
    bind(&socket, &leg.local)?;
    // connecting in repair mode takes segments to be of 536 bytes otherwise, whatever the options state afterwards
    set(libc::TCP_MAXSEG, leg.mss.min(MAX_MSS) as i32)?;
    connect(&socket, &leg.remote)?;
    set_bytes(
        &socket,
        libc::SOL_TCP,
        TCP_REPAIR_OPTIONS,
        &option_words(leg),
    )?;
    if let Some(timestamp) = leg.timestamp {
        set(TCP_TIMESTAMP, timestamp as i32)?;
    }
    set(TCP_REPAIR_QUEUE, SEND_QUEUE)?;
    fill(&socket, &leg.in_flight)?;
    set(TCP_REPAIR_QUEUE, RECV_QUEUE)?;
    send(&socket, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
    set(TCP_REPAIR_QUEUE, NO_QUEUE)?;
    // grows again as the connection does
    set_send_buffer(&socket, 0)?;
    let window = &leg.window;
    let window = RepairWindow {
        send: [window.snd_wl1, window.snd_wnd, window.max_window],
        rcv_wnd: window.rcv_wnd,
        rcv_wup: window.rcv_wup,
    };
    sys::set_repair_window(&socket, window)?;
    Ok(socket)
}

fn set_send_buffer(socket: &OwnedFd, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
    let bytes = bytes.max(LEAST_BUFFER as i32);
    set_int(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
}

/// An array of `struct tcp_repair_opt`: kind and value.
fn option_words(leg: &Leg) -> Vec<u8> {
    let mut pairs = vec![(OPTION_MSS, leg.mss)];
    // connecting in repair mode has chosen a scale of ours, as if the peer knew of it
    let (snd, rcv) = leg.scales.unwrap_or_default();
    pairs.push((OPTION_WINDOW, u32::from(snd) | u32::from(rcv) << 16));
    if leg.has_sack {
        pairs.push((OPTION_SACK, 0));
    }
    if leg.timestamp.is_some() {
        pairs.push((OPTION_TIMESTAMP, 0));
    }
    let words = pairs.into_iter().flat_map(|(kind, value)| [kind, value]);
    words.flat_map(u32::to_ne_bytes).collect()
}

/// Into the queue of what was sent; in smaller pieces where the kernel is short of memory.
fn fill(socket: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    let mut piece = MAX_SEGMENT;
    while !bytes.is_empty() {
        let most = piece.min(bytes.len());
        match send(
            socket,
            &bytes[..most],
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        ) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::NOBUFS | Errno::NOMEM) if piece > MIN_PIECE => piece /= 2,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_no_larger_than_a_segment_can_state() {
        assert_eq!(shown(14_000_000, None), 65_535);
        assert_eq!(shown(14_000_000, Some((7, 0))), 65_535);
        assert_eq!(shown(14_000_000, Some((0, 7))), 65_535 << 7);
        assert_eq!(shown(1_000, Some((7, 7))), 1_000);
        assert_eq!(shown(1 << 30, Some((14, 14))), 65_535 << 14);
    }

    /// Connecting in repair mode chooses a scale, which no peer has seen.
    #[test]
    fn a_connection_without_scales_is_restored_without() {
        let address = ([127, 0, 0, 1], 1).into();
        let leg = Leg {
            local: address,
            remote: address,
            snd_una: 1,
            rcv_nxt: 1,
            mss: 1_460,
            timestamp: None,
            has_sack: false,
            scales: None,
            window: Window {
                snd_wl1: 1,
                snd_wnd: 1,
                max_window: 1,
                rcv_wnd: 1,
                rcv_wup: 1,
            },
            in_flight: Vec::new(),
        };
        let words = |of: &[u32]| of.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        let expected = [OPTION_MSS, 1_460, OPTION_WINDOW, 0];
        assert_eq!(option_words(&leg), words(&expected));
        let scaled = Leg {
            scales: Some((3, 7)),
            ..leg
        };
        let expected = [OPTION_MSS, 1_460, OPTION_WINDOW, 3 | 7 << 16];
        assert_eq!(option_words(&scaled), words(&expected));
    }
}
