//! Super-segments to pieces.

use super::{HAS_HEADERS, Head, IS_PIECE, MAX_HEADERS, NUMBERS, PIECE_HEADER, SIZES};
use crate::VnetHeader;
use crate::split::SplitError;

/// Every piece of this number has headers: the first, and one of so many.
const HEADERS_EVERY: usize = 32;
/// The last of more pieces than this has headers.
const FEW: usize = 16;

/// What the kernel has handed over to be segmented.
#[derive(Clone, Copy, Debug)]
pub struct SuperSegment<'a> {
    head: Head<'a>,
    payload: &'a [u8],
}

impl<'a> SuperSegment<'a> {
    /// None if it is none: a single packet, or one that has to be cut as it is ([`crate::split`](crate::split())).
    pub fn of(header: VnetHeader, data: &'a [u8]) -> Option<Self> {
        let size = usize::from(header.gso_size);
        let layout = crate::Layout::of(data)?;
        let is_known = match header.kind() {
            VnetHeader::GSO_TCP4 => layout.is_tcp && !layout.is_ipv6,
            VnetHeader::GSO_TCP6 => layout.is_tcp && layout.is_ipv6,
            VnetHeader::GSO_UDP => !layout.is_tcp,
            _ => false,
        };
        let payload = &data[layout.payload..];
        let head = Head::new(data, size, payload.len())?;
        (is_known && payload.len() > size).then_some(Self { head, payload })
    }

    /// Its IP and TCP or UDP headers, those of the whole.
    pub fn headers(&self) -> &'a [u8] {
        self.head.headers
    }

    /// True of TCP, false of UDP.
    pub fn is_tcp(&self) -> bool {
        self.head.layout.is_tcp
    }

    /// The ECN field in its IP header.
    pub fn ecn(&self) -> u8 {
        self.head.ecn()
    }

    /// The length of its first segment.
    pub fn segment_len(&self) -> usize {
        self.head.layout.payload + self.head.size
    }

    /// Segments that it stands for.
    pub fn segments(&self) -> usize {
        self.head.total.div_ceil(self.head.size)
    }

    /// Bytes of all its segments.
    pub fn segments_len(&self) -> usize {
        self.segments() * self.head.headers.len() + self.payload.len()
    }

    /// Writes its pieces, each of at most `max` bytes and the first of at most `first`, one behind the other at the beginning of
    /// `room`, and appends their lengths to `lengths`. Gives the bytes of `room` that were used. `number` is that of no other that
    /// may still be under way.
    ///
    /// # Errors
    /// [`SplitError::Room`] if they do not fit, or `first` or `max` is so small that a piece holds headers alone.
    pub fn write_pieces(
        &self,
        number: u32,
        (first, max): (usize, usize),
        room: &mut [u8],
        lengths: &mut Vec<usize>,
    ) -> Result<usize, SplitError> {
        let headers = SIZES + self.head.headers.len();
        let capacity = max.saturating_sub(PIECE_HEADER);
        // of the first
        let less = max.saturating_sub(first);
        for (room, least) in [(max, SIZES + MAX_HEADERS), (first, headers)] {
            if room.saturating_sub(PIECE_HEADER) <= least {
                let needed = PIECE_HEADER + least + 1;
                return Err(SplitError::Room { needed, room });
            }
        }
        let count = count(self.payload.len() + less, capacity, headers);
        let with_headers = (0..count).filter(|index| has_headers(*index, count));
        let needed = count * PIECE_HEADER + with_headers.count() * headers + self.payload.len();
        let has = room.len();
        let used = room.get_mut(..needed);
        let mut rest = used.ok_or(SplitError::Room { needed, room: has })?;
        let mut at = 0;
        for index in 0..count {
            let has_headers = has_headers(index, count);
            let before = if has_headers { headers } else { 0 };
            // what is behind it has a byte at least
            let later = self.payload.len() - (count - 1 - index);
            let before_payload = if index == 0 { before + less } else { before };
            let end = later.min(at + capacity - before_payload);
            let length = PIECE_HEADER + before + end - at;
            let (piece, after) = rest.split_at_mut(length);
            rest = after;
            self.write(number % NUMBERS, at..end, has_headers, piece);
            lengths.push(length);
            at = end;
        }
        Ok(needed)
    }

    fn write(
        &self,
        number: u32,
        range: core::ops::Range<usize>,
        has_headers: bool,
        out: &mut [u8],
    ) {
        let mark = if has_headers { HAS_HEADERS } else { 0 };
        let [_, high, mid, low] = number.to_be_bytes();
        // none of these is beyond the 65,535 bytes of the whole
        let [at, after] = (range.start as u16).to_be_bytes();
        let first = IS_PIECE | self.head.ecn() << 5 | mark | high;
        out[..PIECE_HEADER].copy_from_slice(&[first, mid, low, at, after]);
        let mut payload = PIECE_HEADER;
        if has_headers {
            let [a, b] = (self.head.size as u16).to_be_bytes();
            let [c, d] = (self.head.total as u16).to_be_bytes();
            out[payload..payload + SIZES].copy_from_slice(&[a, b, c, d]);
            payload += SIZES;
            out[payload..payload + self.head.headers.len()].copy_from_slice(self.head.headers);
            payload += self.head.headers.len();
        }
        out[payload..].copy_from_slice(&self.payload[range]);
    }
}

fn has_headers(index: usize, count: usize) -> bool {
    index.is_multiple_of(HEADERS_EVERY) || (count > FEW && index + 1 == count)
}

/// The fewest pieces that hold a payload.
fn count(payload: usize, capacity: usize, headers: usize) -> usize {
    let holds = |count: usize| {
        let with = count.div_ceil(HEADERS_EVERY)
            + usize::from(count > FEW && !(count - 1).is_multiple_of(HEADERS_EVERY));
        count * capacity - with * headers
    };
    let least = payload.div_ceil(capacity).max(1);
    (least..)
        .find(|count| holds(*count) >= payload)
        .unwrap_or(least)
}
