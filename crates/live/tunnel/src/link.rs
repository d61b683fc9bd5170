//! What carries the packets of one path: datagrams of a socket, or a TCP connection.

use crate::arena::Arena;
use crate::batch::{Batch, Seal};
use crate::inner::Inner;
use crate::stream::Stream;
use crate::udp::{MAX_BYTES, Outgoing, UdpSocket};
use bytes::Bytes;
use multipath::packet::{Form, Packet, decode, decode_form};
use multipath::tunnel::Transmit;
use serde::Serialize;
use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::rc::Rc;
use units::Ecn;

/// Calls that receive before what came is handled.
const RECEIVES: usize = 16;

/// Where packets of a path go.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// In datagrams.
    Udp {
        /// Through this socket.
        socket: Rc<UdpSocket>,
        /// To whom; none: to the one that the socket is connected to.
        to: Option<SocketAddr>,
        /// From which address; none: from that of the socket.
        from: Option<IpAddr>,
    },
    /// In a TCP connection.
    Tcp(Rc<RefCell<Stream>>),
}

/// What a path's socket has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LinkCounters {
    /// Packets sent.
    pub(crate) packets: u64,
    /// Calls that sent them.
    pub(crate) calls: u64,
    /// Packets that the kernel did not take.
    pub(crate) refused: u64,
}

/// A path's way, and what is about to leave on it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) way: Way,
    batch: Batch,
    pub(crate) counters: LinkCounters,
    /// Packets were pushed, or its TCP connection can be written again: to be flushed.
    pub(crate) is_busy: bool,
    /// A packet was larger than the way takes.
    pub(crate) is_too_big: bool,
    /// The kernel's last error, until it is reported.
    pub(crate) fault: Option<io::Error>,
}

impl Link {
    /// Of a way.
    pub(crate) fn new(way: Way) -> Self {
        Self {
            way,
            batch: Batch::default(),
            counters: LinkCounters::default(),
            is_busy: false,
            is_too_big: false,
            fault: None,
        }
    }

    /// Takes a packet, which leaves at the latest with [`Self::flush`].
    pub(crate) fn push(&mut self, transmit: Transmit<Inner>, mut seal: Seal<'_>) {
        let Transmit {
            packet,
            payload,
            size,
            ecn,
            ..
        } = transmit;
        if let Some(size) = size {
            // by itself: where it is too large, nothing else is lost with it
            self.flush();
            let size = usize::try_from(size.get()).unwrap_or(MAX_BYTES);
            self.batch.push_padded(&packet, size, &mut seal);
            return self.flush();
        }
        if let Err(payload) = self.batch.push(&packet, payload, ecn, &mut seal) {
            self.flush();
            // an empty batch takes everything
            let _ = self.batch.push(&packet, payload, ecn, &mut seal);
        }
    }

    /// Takes a datagram of a handshake.
    pub(crate) fn push_bytes(&mut self, datagram: &[u8]) {
        if !self.batch.push_bytes(datagram) {
            self.flush();
            self.batch.push_bytes(datagram);
        }
    }

    /// Sends what was pushed.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.counters.calls += 1;
        self.counters.packets += self.batch.len() as u64;
        let result = match &self.way {
            Way::Udp { socket, to, from } => send_batch(&self.batch, socket, *to, *from),
            Way::Tcp(stream) => {
                let mut stream = stream.borrow_mut();
                self.batch.each(|header, data| stream.push(header, data));
                // what the socket does not take now waits for it
                stream.flush().map(drop)
            }
        };
        if let Err(error) = result {
            self.counters.refused += self.batch.len() as u64;
            match error.raw_os_error() {
                Some(libc::EMSGSIZE) => {
                    self.is_too_big = true;
                }
                // a full queue: as lost as in any other queue
                Some(libc::EAGAIN | libc::ENOBUFS) => {}
                _ => self.fault = Some(error),
            }
        }
        self.batch.clear();
    }
}

fn send_batch(
    batch: &Batch,
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    from: Option<IpAddr>,
) -> io::Result<()> {
    let out = |pieces: &[IoSlice<'_>], segment| {
        socket
            .send(&Outgoing {
                to,
                from,
                pieces,
                segment,
                ecn: batch.ecn().bits(),
            })
            .map(drop)
    };
    let segment = batch.segment();
    let mut may_not_cut = false;
    if segment.is_none() || socket.cuts() {
        let mut result = batch.with_pieces(|pieces| out(pieces, segment));
        if is_too_big(&result) {
            // what a router has reported of a packet before is the error of the next call, which sends nothing
            result = batch.with_pieces(|pieces| out(pieces, segment));
        }
        may_not_cut = segment.is_some()
            && matches!(&result, Err(error)
                if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)));
        if !may_not_cut {
            return result;
        }
    }
    let mut result = Ok(());
    batch.each(|header, data| {
        let sent = out(&[IoSlice::new(header), IoSlice::new(data)], None);
        if sent.is_err() {
            result = sent;
        }
    });
    // a device or a kernel that cannot cut datagrams; pieces beyond the path's MTU are not cut either
    if may_not_cut && !is_too_big(&result) {
        socket.stop_cutting();
    }
    result
}

fn is_too_big<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE))
}

/// One packet that came, as it was written or to be expanded.
#[derive(Debug)]
pub(crate) struct Arrived<F = Form> {
    pub(crate) packet: F,
    pub(crate) payload: Option<Inner>,
    pub(crate) ecn: Ecn,
}

/// What came in a datagram, and by what.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    /// The link that opened it; 0 if packets are not sealed.
    pub(crate) link: u32,
    pub(crate) arrived: Arrived,
}

impl<F> Arrived<F> {
    fn new(packet: F, carries_data: bool, data: &Bytes, header: usize, ecn: Ecn) -> Self {
        let has_payload = carries_data && data.len() > header;
        Self {
            packet,
            payload: has_payload.then(|| Inner::packet(data.slice(header..))),
            ecn,
        }
    }
}

/// Reads a packet that was not sealed. None if it is none.
pub(crate) fn read_packet(data: &Bytes, ecn: Ecn) -> Option<Arrived<Packet>> {
    let (packet, header) = decode(data).ok()?;
    let carries_data = packet.kind.carries_data();
    Some(Arrived::new(packet, carries_data, data, header, ecn))
}

/// Reads a packet, which was sealed or not. None if it is none.
pub(crate) fn read_form(data: &Bytes, is_sealed: bool, ecn: Ecn) -> Option<Arrived> {
    if !is_sealed {
        let Arrived {
            packet,
            payload,
            ecn,
        } = read_packet(data, ecn)?;
        return Some(Arrived {
            packet: Form::Whole(packet),
            payload,
            ecn,
        });
    }
    let (form, header) = decode_form(data).ok()?;
    let carries_data = match &form {
        Form::Whole(packet) => packet.kind.carries_data(),
        Form::Compact(_) => true,
    };
    Some(Arrived::new(form, carries_data, data, header, ecn))
}

/// Reads what has come to a socket, whose packets are sealed or not. `open` is given each datagram, and from whom it is to which address: it opens it in its
/// place, and answers by which link, and where in it the packet stands; none if it carries none. Gives the number of
/// packets that were none.
///
/// # Errors
/// The kernel's: for a connected socket e.g. that the peer's host has no socket at that port. What came before is in
/// `incoming` all the same.
pub(crate) fn receive_datagrams(
    socket: &UdpSocket,
    is_sealed: bool,
    arena: &mut Arena,
    incoming: &mut Vec<Incoming>,
    mut open: impl FnMut(SocketAddr, Option<IpAddr>, &mut [u8]) -> Option<(u32, Range<usize>)>,
) -> io::Result<u64> {
    let mut unreadable = 0;
    let mut packets = Vec::new();
    for _ in 0..RECEIVES {
        let room = arena.room(MAX_BYTES + 1);
        let got = match socket.receive(room) {
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        packets.clear();
        let mut begin = 0;
        for datagram in room[..got.length].chunks_mut(got.segment) {
            let length = datagram.len();
            if let Some((link, range)) = open(got.from, got.to, datagram)
                && !range.is_empty()
            {
                packets.push((link, begin + range.start..begin + range.end));
            }
            begin += length;
        }
        let all = arena.take(got.length);
        let ecn = Ecn::from_bits(got.ecn);
        for (link, range) in packets.drain(..) {
            match read_form(&all.slice(range), is_sealed, ecn) {
                Some(arrived) => incoming.push(Incoming {
                    from: got.from,
                    to: got.to,
                    link,
                    arrived,
                }),
                None => unreadable += 1,
            }
        }
    }
    Ok(unreadable)
}
