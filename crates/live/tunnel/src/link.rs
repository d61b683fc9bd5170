//! What carries the packets of one path: datagrams of a socket, or a TCP connection.

use crate::arena::Arena;
use crate::batch::{Batch, Seal};
use crate::inner::Inner;
use crate::output::{Outcome, Output, Sending};
use crate::stream::Stream;
use crate::udp::{MAX_BYTES, UdpSocket};
use bytes::Bytes;
use multipath::packet::{Form, Packet, decode, decode_form};
use multipath::tunnel::Transmit;
use serde::Serialize;
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use units::Ecn;

/// Calls that receive before what came is handled.
const RECEIVES: usize = 16;

/// Where packets of a path go.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// In datagrams.
    Udp {
        /// Through this socket.
        socket: Arc<UdpSocket>,
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
    output: Output,
    batch: Batch,
    packets: u64,
    calls: u64,
    outcome: Arc<Outcome>,
    /// Packets were pushed, or its TCP connection can be written again: to be flushed.
    pub(crate) is_busy: bool,
}

impl Link {
    /// Of a way.
    pub(crate) fn new(way: Way, output: &Output) -> Self {
        Self {
            way,
            output: output.clone(),
            batch: Batch::default(),
            packets: 0,
            calls: 0,
            outcome: Arc::default(),
            is_busy: false,
        }
    }

    /// What its socket has counted.
    pub(crate) fn counters(&self) -> LinkCounters {
        LinkCounters {
            packets: self.packets,
            calls: self.calls,
            refused: self.outcome.refused(),
        }
    }

    /// True if a packet was larger than the way takes, since this was last called.
    pub(crate) fn take_too_big(&self) -> bool {
        self.outcome.take_too_big()
    }

    /// The kernel's last error since this was last called.
    pub(crate) fn take_fault(&self) -> Option<io::Error> {
        self.outcome.take_fault()
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
        self.calls += 1;
        self.packets += self.batch.len() as u64;
        match &self.way {
            Way::Udp { socket, to, from } => {
                let sending = Sending {
                    socket: Arc::clone(socket),
                    to: *to,
                    from: *from,
                    outcome: Arc::clone(&self.outcome),
                };
                self.output.send(&mut self.batch, sending);
            }
            Way::Tcp(stream) => {
                let mut stream = stream.borrow_mut();
                self.batch.finish();
                self.batch.each(|header, data| stream.push(header, data));
                // what the socket does not take now waits for it
                if let Err(error) = stream.flush() {
                    self.outcome.note(error, self.batch.len());
                }
                self.batch.clear();
            }
        }
    }
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
