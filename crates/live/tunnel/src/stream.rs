//! TCP as a carrier: the same packets, framed ([`crate::frames`]).

use crate::arena::Arena;
use crate::frames;
use crate::udp::{Way, any, local_ip};
use bytes::Bytes;
use multipath::tunnel::StreamState;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, send, socket_with,
    sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::{BitRate, Bytes as Size, Duration};

/// What the socket may hold beyond what its window lets out: enough that the window never waits for
/// the daemon's next look, a millisecond later.
const UNSENT: u32 = 128 * 1024;
/// Bytes read in one call.
const READ: usize = 128 * 1024;
/// Bytes that may wait for the socket; a peer that reads nothing ends the path.
const MAX_WAITING: usize = 8 << 20;

/// A TCP connection that carries packets.
#[derive(Debug)]
pub(crate) struct Stream {
    fd: OwnedFd,
    /// Frames that the socket has not taken, from `written` on.
    waiting: Vec<u8>,
    written: usize,
    /// The beginning of a frame whose end has not come.
    partial: Vec<u8>,
    /// The poller notifies when it can be written.
    pub(crate) is_watched: bool,
    /// The longest frame that is accepted.
    max_frame: usize,
}

/// The longest frame of a peer that has shown nothing yet: the largest header, which a Request is, sealed.
const MAX_FIRST_FRAME: usize =
    1 + multipath::packet::MAX_HEADER_LEN + secrecy::message::DATA_OVERHEAD;

impl Stream {
    /// Begins to connect.
    ///
    /// # Errors
    /// The kernel's: no such interface, address, route, or congestion control.
    pub(crate) fn connect(way: &Way, remote: SocketAddr, controller: &str) -> io::Result<Self> {
        let family = if remote.is_ipv6() {
            AddressFamily::INET6
        } else {
            AddressFamily::INET
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        way.apply(&fd)?;
        let local = way.local.unwrap_or_else(|| any(remote.is_ipv6()));
        bind(&fd, &SocketAddr::new(local, 0))?;
        let mut stream = Self::new(fd, controller)?;
        stream.accept_any_length();
        match connect(&stream.fd, &remote) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(stream),
            Err(error) => Err(error.into()),
        }
    }

    /// Of a connection that was accepted; its first frames may be no longer than a Request.
    ///
    /// # Errors
    /// The kernel's, e.g. if it has no such congestion control.
    pub(crate) fn new(fd: OwnedFd, controller: &str) -> io::Result<Self> {
        socket_options::set_bytes(
            &fd,
            libc::SOL_TCP,
            libc::TCP_CONGESTION,
            controller.as_bytes(),
        )?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        socket_options::set_int(
            &fd,
            libc::SOL_TCP,
            libc::TCP_NOTSENT_LOWAT,
            UNSENT.cast_signed(),
        )?;
        // a path that is dead is found by its own probes; this is for what no path holds any more
        socket_options::set_int(&fd, libc::SOL_TCP, libc::TCP_USER_TIMEOUT, 30_000)?;
        Ok(Self {
            fd,
            waiting: Vec::new(),
            written: 0,
            partial: Vec::new(),
            is_watched: false,
            max_frame: MAX_FIRST_FRAME,
        })
    }

    /// The peer has shown that it speaks the protocol: its frames may have any length.
    pub(crate) fn accept_any_length(&mut self) {
        self.max_frame = usize::from(u16::MAX);
    }

    /// Something waits for the socket.
    pub(crate) fn is_waiting(&self) -> bool {
        self.written < self.waiting.len()
    }

    /// The poller is to notify otherwise than it does.
    pub(crate) fn needs_watching(&self) -> bool {
        self.is_waiting() != self.is_watched
    }

    /// Appends a packet, to be sent by [`Self::flush`].
    pub(crate) fn push(&mut self, header: &[u8], payload: &[u8]) {
        // a packet inside is at most 65,000 bytes, a header 1,020: longer ones do not exist
        let Ok(length) = u16::try_from(header.len() + payload.len()) else {
            return;
        };
        self.waiting.extend_from_slice(&length.to_be_bytes());
        self.waiting.extend_from_slice(header);
        self.waiting.extend_from_slice(payload);
    }

    /// Hands what waits to the socket. True if all of it was taken.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while self.written < self.waiting.len() {
            match send(&self.fd, &self.waiting[self.written..], SendFlags::NOSIGNAL) {
                Ok(n) => self.written += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOTCONN) => {
                    self.waiting.drain(..self.written);
                    self.written = 0;
                    if self.waiting.len() > MAX_WAITING {
                        return Err(io::Error::other("the peer reads nothing"));
                    }
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.waiting.clear();
        self.written = 0;
        Ok(true)
    }

    /// Hands the packets that have come to `take`. True if the connection has ended.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) fn read(&mut self, arena: &mut Arena, take: impl FnMut(Bytes)) -> io::Result<bool> {
        let kept = self.partial.len();
        let room = arena.room(kept + READ);
        room[..kept].copy_from_slice(&self.partial);
        let end = (kept + READ).min(room.len());
        let read = match rustix::io::read(&self.fd, &mut room[kept..end]) {
            Ok(0) => return Ok(true),
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR | Errno::NOTCONN) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        self.partial.clear();
        let left = frames::split(arena.take(kept + read), self.max_frame, take)
            .map_err(|frames::TooLong| io::Error::other("a frame that is longer than a Request"))?;
        self.partial.extend_from_slice(&left);
        Ok(false)
    }

    /// The address that it sends from.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn local_ip(&self) -> io::Result<IpAddr> {
        local_ip(&self.fd)
    }

    /// Whether connecting has failed.
    ///
    /// # Errors
    /// The socket's.
    pub(crate) fn check(&self) -> io::Result<()> {
        match sockopt::socket_error(&self.fd)? {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::from_raw_os_error(error.raw_os_error())),
        }
    }

    /// How the connection stands, as the kernel reports. The window is reported larger by what the socket
    /// may hold: it must always have something to send when an acknowledgement comes.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn state(&self) -> io::Result<StreamState> {
        let info = socket_options::tcp_info(&self.fd)?;
        let bytes = |segments: u32| Size::new(u64::from(segments) * u64::from(info.snd_mss));
        let micros = |us: u32| Duration::from_micros(u64::from(us));
        let waiting = Size::new((self.waiting.len() - self.written) as u64);
        let in_flight = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
        Ok(StreamState {
            cwnd: bytes(info.snd_cwnd) + Size::new(u64::from(UNSENT)),
            in_flight: bytes(in_flight),
            unsent: Size::new(u64::from(info.notsent_bytes)) + waiting,
            srtt: (info.rtt > 0).then(|| micros(info.rtt)),
            min_rtt: (info.min_rtt != u32::MAX).then(|| micros(info.min_rtt)),
            delivery_rate: (info.delivery_rate > 0)
                .then(|| BitRate::from_bps(info.delivery_rate.saturating_mul(8))),
        })
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
