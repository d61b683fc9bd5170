//! A packet that is to be segmented, carried in pieces that have its headers now and then, not each.
//!
//! ```text
//!   [IP TCP | payload of many segments] -> SuperSegment -> pieces of any size -> (lost, late, twice)
//!                                                                  -> Joiner -> [virtio_net_hdr | IP TCP | payload]
//! ```
//!
//! The layout of a piece:
//!
//! ```text
//!   1 e e h n i i i | i 16 | offset 16 | with n: length 16 | with h: segment size 16 | payload length 16 | IP and TCP or UDP headers | payload
//! ```
//!
//! `i` is the number of the super-segment, 19 bits; `offset` is where in its payload the piece begins; `e` is the ECN field of
//! what it carries, which a mark on the way changes. With `n` another piece stands behind it in the same packet ([`Packing`]):
//! `length` is the bytes from behind that field to there. With `h` the headers of the super-segment stand in it, as they are of the
//! whole, but for lengths and checksums, which are made anew. The first bit is set, which it is of no IP packet.
//!
//! Headers stand in the first piece, in every 32nd, and in the last one of more than sixteen, so that it takes more than one
//! loss to lose what has arrived.

mod cut;
mod join;
mod packing;
#[cfg(test)]
mod tests;
mod unfinished;

pub use cut::SuperSegment;
pub use join::{JoinCounters, Joiner};
pub use packing::Packing;

use crate::layout::Layout;

/// Bytes of a piece before its payload, without headers.
pub const PIECE_HEADER: usize = 5;
/// What stands before headers in a piece that has them.
const SIZES: usize = 4;
/// Maximum bytes of headers: IPv4 with options and TCP with options.
const MAX_HEADERS: usize = 120;
/// What stands behind that if another piece follows.
const LENGTH: usize = 2;
/// Numbers of super-segments: so many, then again from 0.
pub const NUMBERS: u32 = 1 << 19;
/// First bit of a piece.
const IS_PIECE: u8 = 0x80;
const HAS_HEADERS: u8 = 0x10;
const HAS_NEXT: u8 = 0x08;
/// Bits of the number in the first byte.
const NUMBER: u8 = 0x07;
/// ACK, PSH, FIN, ECE and CWR: what segments that are cut may have.
const TCP_FLAGS: u8 = 0xd9;
const ACK: u8 = 0x10;
/// ECT(0), ECT(1), CE.
const CE: u8 = 3;

/// True if bytes are a piece, not an IP packet.
pub fn is_piece(data: &[u8]) -> bool {
    data.first().is_some_and(|first| first & IS_PIECE != 0)
}

/// The ECN field of what a piece carries, in a packet of several that of all; none if it is no piece.
pub fn ecn(data: &[u8]) -> Option<u8> {
    let first = data.first().filter(|first| **first & IS_PIECE != 0)?;
    Some(first >> 5 & 3)
}

/// Sets that to congestion experienced.
pub fn mark(mut data: &mut [u8]) {
    while let Some(first) = data.first_mut().filter(|first| **first & IS_PIECE != 0) {
        *first |= CE << 5;
        let Some(end) = end_of_first(data) else {
            return;
        };
        data = &mut data[end..];
    }
}

/// Where the first piece of a packet ends; none if what it states of that cannot be.
fn end_of_first(data: &[u8]) -> Option<usize> {
    match *data {
        [first, ..] if first & HAS_NEXT == 0 => Some(data.len()),
        [_, _, _, _, _, high, low, ..] => {
            let length = usize::from(u16::from_be_bytes([high, low]));
            let end = PIECE_HEADER + LENGTH + length;
            // another one stands behind it
            (end < data.len()).then_some(end)
        }
        _ => None,
    }
}

/// What a super-segment is, beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head<'a> {
    layout: Layout,
    /// Payload of each segment but the last.
    size: usize,
    /// Payload of all.
    total: usize,
    headers: &'a [u8],
}

impl<'a> Head<'a> {
    /// None if nothing that has these headers is segmented.
    fn new(data: &'a [u8], size: usize, total: usize) -> Option<Self> {
        let layout = Layout::of(data)?;
        let headers = &data[..layout.payload];
        let is_cut = !layout.is_tcp || {
            let flags = headers[layout.transport + 13];
            flags & ACK != 0 && flags & !TCP_FLAGS == 0
        };
        // as long as the IP header can state
        let fits = layout.payload + total <= usize::from(u16::MAX);
        (is_cut && size > 0 && total > 0 && fits).then_some(Self {
            layout,
            size,
            total,
            headers,
        })
    }

    /// The ECN field in its IP header.
    fn ecn(&self) -> u8 {
        match self.layout.is_ipv6 {
            true => self.headers[1] >> 4 & CE,
            false => self.headers[1] & CE,
        }
    }

    /// Any bytes of it are segments of their own: of TCP, where a packet is never fragmented, so that its identification
    /// means nothing (RFC 6864 4.1). All else keeps the segments that the sender has made.
    fn is_divisible(&self) -> bool {
        self.layout.is_tcp && (self.layout.is_ipv6 || self.headers[6] & 0x40 != 0)
    }
}

/// A piece as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece<'a> {
    ecn: u8,
    number: u32,
    offset: usize,
    head: Option<Head<'a>>,
    /// Where its payload begins, and ends.
    payload: usize,
    end: usize,
}

impl<'a> Piece<'a> {
    /// The first piece of a packet.
    fn read(data: &'a [u8]) -> Option<Self> {
        if !is_piece(data) {
            return None;
        }
        let end = end_of_first(data)?;
        let ([first, high, low, at, after], rest) = data[..end].split_first_chunk()?;
        let length = if first & HAS_NEXT != 0 { LENGTH } else { 0 };
        let rest = &rest[length..];
        let word = |high: u8, low: u8| usize::from(u16::from_be_bytes([high, low]));
        let head = match (first & HAS_HEADERS != 0, rest) {
            (false, _) => None,
            (true, [a, b, c, d, packet @ ..]) => {
                Some(Head::new(packet, word(*a, *b), word(*c, *d))?)
            }
            _ => return None,
        };
        let before = head.map_or(0, |head| SIZES + head.headers.len());
        let piece = Self {
            ecn: first >> 5 & CE,
            number: u32::from_be_bytes([0, first & NUMBER, *high, *low]),
            offset: word(*at, *after),
            head,
            payload: PIECE_HEADER + length + before,
            end,
        };
        // one without payload is of no use, and none goes beyond what an IP packet holds
        let last = piece.offset + end - piece.payload;
        (end > piece.payload && last <= usize::from(u16::MAX)).then_some(piece)
    }
}
