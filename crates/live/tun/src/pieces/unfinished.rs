//! A super-segment of which pieces have come: what of it can be written, and how.

use super::{CE, Head, MAX_HEADERS};
use crate::VnetHeader;
use crate::layout::Layout;
use crate::split::{FIRST_ONLY, Place};
use core::time::Duration;
use std::io::IoSlice;

/// Maximum number of places that one write takes payload from.
const MAX_SLICES: usize = 127;
/// Maximum number of datagrams in one write (Linux `UDP_MAX_SEGMENTS` before 6.9).
const MAX_DATAGRAMS: usize = 64;

/// Payload that has not been written.
#[derive(Debug)]
pub(super) struct Part<B> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) data: B,
    /// Where in `data` it begins.
    pub(super) at: usize,
    pub(super) ecn: u8,
    /// It has memory of its own.
    pub(super) is_own: bool,
}

impl<B: AsRef<[u8]>> Part<B> {
    /// The bytes of it that are in a range of the payload.
    pub(super) fn within(&self, start: usize, end: usize) -> &[u8] {
        let (from, to) = (self.start.max(start), self.end.min(end));
        match from < to {
            true => &self.data.as_ref()[self.at + from - self.start..self.at + to - self.start],
            false => &[],
        }
    }
}

/// Headers of a super-segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnHead {
    pub(super) layout: Layout,
    size: usize,
    total: usize,
    bytes: [u8; MAX_HEADERS],
}

impl OwnHead {
    pub(super) fn new(head: &Head<'_>) -> Self {
        let mut bytes = [0; MAX_HEADERS];
        // an IP header and a TCP header have at most 60 bytes each
        bytes[..head.headers.len()].copy_from_slice(head.headers);
        Self {
            layout: head.layout,
            size: head.size,
            total: head.total,
            bytes,
        }
    }

    pub(super) fn get(&self) -> Head<'_> {
        Head {
            layout: self.layout,
            size: self.size,
            total: self.total,
            headers: &self.bytes[..self.layout.payload],
        }
    }

    /// True if a piece can be of it.
    pub(super) fn admits(&self, end: usize, ecn: u8) -> bool {
        let own = self.get().ecn();
        end <= self.total && (ecn == own || (ecn == CE && own != 0))
    }
}

#[derive(Debug)]
pub(super) struct Super<B> {
    pub(super) number: u32,
    pub(super) head: Option<OwnHead>,
    /// By their places; none overlaps another, or what was written.
    pub(super) parts: Vec<Part<B>>,
    /// What was written: ranges by their places, none next to another.
    written: Vec<(usize, usize)>,
    pub(super) touched: Duration,
    /// Another has begun: what is held is not waited for.
    pub(super) is_closed: bool,
}

impl<B: AsRef<[u8]> + Clone> Super<B> {
    /// One of which nothing has come.
    pub(super) fn new(number: u32, now: Duration) -> Self {
        Self {
            number,
            head: None,
            parts: Vec::new(),
            written: Vec::new(),
            touched: now,
            is_closed: false,
        }
    }

    pub(super) fn held(&self) -> usize {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }

    /// Something of this range has come.
    pub(super) fn has_any(&self, start: usize, end: usize) -> bool {
        let parts = self.parts.iter().map(|part| (part.start, part.end));
        let written = self.written.iter().copied();
        parts
            .chain(written)
            .any(|(from, to)| from < end && start < to)
    }

    pub(super) fn write(
        &mut self,
        is_closed: bool,
        joins_udp: bool,
        write: &mut impl FnMut(&[IoSlice<'_>]),
    ) {
        let Some(own) = self.head else { return };
        let head = own.get();
        let mut ready = Vec::new();
        let runs = self.runs();
        let last = runs.len().saturating_sub(1);
        for (index, (start, end)) in runs.into_iter().enumerate() {
            let step = head.size;
            let (from, to) = match head.is_divisible() {
                true if end == head.total || is_closed || index < last => (start, end),
                true => (start, start + (end - start) / step * step),
                false if end == head.total => (start.next_multiple_of(step), end),
                false => (start.next_multiple_of(step), end / step * step),
            };
            if from < to {
                ready.push((from, to));
            }
        }
        for (from, to) in ready {
            for (start, end, is_marked) in self.alike(&head, from, to, joins_udp) {
                self.write_range(&head, start, end, is_marked, write);
            }
            self.take(from, to);
        }
    }

    /// Ranges without a gap.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for part in &self.parts {
            match runs.last_mut() {
                Some((_, end)) if *end == part.start => *end = part.end,
                _ => runs.push((part.start, part.end)),
            }
        }
        runs
    }

    /// A range that has come, in ranges that are written at once: those that are marked on the way apart from others. A
    /// datagram of which a part is marked is marked (RFC 3168 5.3).
    fn alike(
        &self,
        head: &Head<'_>,
        from: usize,
        to: usize,
        joins_udp: bool,
    ) -> Vec<(usize, usize, bool)> {
        let mut pieces: Vec<(usize, usize, bool)> = Vec::new();
        let is_marked = |start: usize, end: usize| {
            let mut within = self.parts.iter().filter(|p| p.start < end && start < p.end);
            within.any(|part| part.ecn == CE)
        };
        let mut add =
            |start: usize, end: usize, max: usize, is_marked: bool| match pieces.last_mut() {
                Some((first, last, marked))
                    if *last == start && end - *first <= max && *marked == is_marked =>
                {
                    *last = end;
                }
                _ => pieces.push((start, end, is_marked)),
            };
        if head.is_divisible() {
            for part in &self.parts {
                let (start, end) = (part.start.max(from), part.end.min(to));
                if start < end {
                    add(start, end, usize::MAX, part.ecn == CE);
                }
            }
            return pieces;
        }
        let at_once = match head.layout.is_tcp {
            true => usize::MAX / head.size,
            false if joins_udp => MAX_DATAGRAMS,
            false => 1,
        };
        let mut start = from;
        while start < to {
            let end = to.min(start + head.size);
            add(start, end, at_once * head.size, is_marked(start, end));
            start = end;
        }
        pieces
    }

    /// Writes a range that has come as one packet, or several where it came in more parts than one write takes.
    fn write_range(
        &self,
        head: &Head<'_>,
        mut start: usize,
        end: usize,
        is_marked: bool,
        write: &mut impl FnMut(&[IoSlice<'_>]),
    ) {
        while start < end {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES + 1];
            let (mut used, mut to) = (1, start);
            let within = self.parts.iter().filter(|p| p.start < end && start < p.end);
            for part in within.take(MAX_SLICES) {
                slices[used] = IoSlice::new(part.within(start, end));
                used += 1;
                to = part.end.min(end);
            }
            if to == start {
                return;
            }
            if to < end && !head.is_divisible() {
                // a datagram in more parts than that is not written, and one that has begun is another packet's
                let whole = start + (to - start) / head.size * head.size;
                if whole == start {
                    return;
                }
                return self.write_parted(head, start, whole, end, is_marked, write);
            }
            let mut buffer = [0; VnetHeader::BYTES + MAX_HEADERS];
            let length = headers(head, start, to, is_marked, &mut buffer);
            slices[0] = IoSlice::new(&buffer[..length]);
            write(&slices[..used]);
            start = to;
        }
    }

    fn write_parted(
        &self,
        head: &Head<'_>,
        start: usize,
        whole: usize,
        end: usize,
        is_marked: bool,
        write: &mut impl FnMut(&[IoSlice<'_>]),
    ) {
        self.write_range(head, start, whole, is_marked, write);
        self.write_range(head, whole, end, is_marked, write);
    }

    /// A range was written.
    fn take(&mut self, from: usize, to: usize) {
        let mut left = Vec::with_capacity(self.parts.len());
        for part in self.parts.drain(..) {
            let (start, end) = (part.start, part.end);
            if end <= from || to <= start {
                left.push(part);
                continue;
            }
            // what was written may be in the middle of a part
            if start < from {
                left.push(Part {
                    end: from,
                    data: part.data.clone(),
                    ..part
                });
            }
            if to < end {
                left.push(Part {
                    start: to,
                    at: part.at + to - start,
                    ..part
                });
            }
        }
        self.parts = left;
        self.written.push((from, to));
        self.written.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(self.written.len());
        for &(start, end) in &self.written {
            match merged.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => merged.push((start, end)),
            }
        }
        self.written = merged;
    }
}

/// Writes the headers of a range of a super-segment for the device; gives their length.
fn headers(
    head: &Head<'_>,
    start: usize,
    end: usize,
    is_marked: bool,
    buffer: &mut [u8; VnetHeader::BYTES + MAX_HEADERS],
) -> usize {
    let layout = head.layout;
    let (vnet, headers) = buffer.split_at_mut(VnetHeader::BYTES);
    let headers = &mut headers[..layout.payload];
    headers.copy_from_slice(head.headers);
    if is_marked {
        headers[1] |= if layout.is_ipv6 { CE << 4 } else { CE };
    }
    let length = layout.payload + end - start;
    let place = Place {
        before: start,
        segments: start.div_ceil(head.size),
        is_last: end == head.total,
    };
    place.set(layout, headers, length);
    let at = layout.checksum_at();
    let pseudo = layout.pseudo(headers, length).folded();
    headers[at..at + 2].copy_from_slice(&pseudo);
    let is_cut = end - start > head.size;
    let is_ecn = layout.is_tcp && headers[layout.transport + 13] & FIRST_ONLY != 0;
    let gso_type = match (layout.is_tcp, layout.is_ipv6) {
        _ if !is_cut => VnetHeader::GSO_NONE,
        (true, false) => VnetHeader::GSO_TCP4,
        (true, true) => VnetHeader::GSO_TCP6,
        (false, _) => VnetHeader::GSO_UDP,
    };
    let header = VnetHeader {
        flags: VnetHeader::NEEDS_CHECKSUM,
        gso_type: gso_type
            | if is_ecn && is_cut {
                VnetHeader::GSO_ECN
            } else {
                0
            },
        // none of these exceeds the 65,535 bytes of the whole
        header_length: layout.payload as u16,
        gso_size: if is_cut { head.size as u16 } else { 0 },
        checksum_start: layout.transport as u16,
        checksum_offset: layout.checksum_offset() as u16,
    };
    vnet.copy_from_slice(&header.bytes());
    VnetHeader::BYTES + layout.payload
}
