//! What comes out of the device in one piece goes out in pieces that fill the paths' packets ([`tun::pieces`]), and what comes
//! in pieces goes into the device in one. With encryption only: without it each packet inside has one of its own.

mod delivery;

pub(crate) use delivery::Delivery;

use crate::arena::Arena;
use crate::inner::{self, Inner, Whole};
use bytes::Bytes;
use multipath::class::Class;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::net::IpAddr;
use tun::pieces::{NUMBERS, Packing, SuperSegment};
use tun::{Coalescer, VnetHeader};
use units::{Duration, Instant};

/// Room for the pieces of one super-segment, and for a packet that is none.
const ROOM: usize = 100_000;
/// So many single packets at once are put together.
const MANY: usize = 8;
/// While so many packets wait for a path (3 ms of 100 Mbit/s), single ones are held until there are as many,
const MAX_WAITING: usize = 32;
/// or for so long.
const HOLD: Duration = Duration::from_millis(4);
/// While so many wait, the end of a super-segment is held for as long, so that the next one begins in its packet.
const FEW_WAITING: usize = 4;
/// A packet that has less room is not shared: headers and two lengths take most of that.
const MIN_ROOM: usize = 140;
/// A way that took smaller packets is tried again with others after so long, seconds (RFC 8201 section 4: ten minutes).
const NARROW_TIME: u64 = 600;
/// Ways whose size is remembered; of more all are forgotten.
const MAX_NARROW: usize = 4_096;

/// Cuts what comes out of the device.
#[derive(Debug)]
pub(crate) struct Cutter {
    number: u32,
    /// The end of a super-segment, which came before all that waits.
    tail: Option<Tail>,
    /// Single packets that came one behind the other.
    waiting: Vec<Bytes>,
    /// Since when any of these are held.
    held_since: Option<Instant>,
    /// What those make.
    made: Vec<u8>,
    lengths: Vec<usize>,
    /// Largest packets inside that reach these addresses, and since which second.
    narrow: BTreeMap<IpAddr, (usize, u64)>,
}

/// A packet that has room for the beginning of what comes next: of TCP, of which whatever comes is of use.
#[derive(Debug)]
struct Tail {
    packing: Packing,
    /// What it is the end of.
    of: Whole,
    ecn: u8,
}

impl Tail {
    /// The room for a piece of another super-segment, if it may go with it into a packet of so many bytes.
    fn room_for(&self, whole: &SuperSegment<'_>, max: usize) -> Option<usize> {
        let to = |headers: &[u8]| inner::addresses(headers).map(|(_, to)| to);
        let is_alike = whole.is_tcp()
            && self.ecn == whole.ecn()
            && to(&self.of.headers) == to(whole.headers());
        let room = self.packing.room(max);
        (is_alike && room >= MIN_ROOM).then_some(room)
    }

    fn into_packet(self) -> Inner {
        Inner(self.packing.into_packet().into(), Some(self.of))
    }
}

/// What the pieces of a super-segment share.
struct Cut {
    headers: Bytes,
    is_udp: bool,
    ecn: u8,
    count: usize,
    /// The longest of them.
    max: usize,
    class: Class,
}

/// Packets that were cut, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CutCounts {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Cutter {
    pub(crate) fn new() -> Self {
        Self {
            number: 0,
            tail: None,
            waiting: Vec::new(),
            held_since: None,
            made: Vec::new(),
            lengths: Vec::new(),
            narrow: BTreeMap::new(),
        }
    }

    /// Packets to this address have to be so small.
    pub(crate) fn note_narrow(&mut self, second: u64, to: IpAddr, mtu: usize) {
        if self.narrow.len() >= MAX_NARROW {
            self.narrow.clear();
        }
        self.narrow.insert(to, (mtu, second));
    }

    /// The largest piece that may go where these headers lead.
    fn max(&mut self, second: u64, headers: &[u8], mtu: usize) -> usize {
        if self.narrow.is_empty() {
            return mtu;
        }
        let Some((_, to)) = inner::addresses(headers) else {
            return mtu;
        };
        match self.narrow.get(&to) {
            Some((max, since)) if second.saturating_sub(*since) < NARROW_TIME => mtu.min(*max),
            Some(_) => {
                self.narrow.remove(&to);
                mtu
            }
            None => mtu,
        }
    }

    /// Cuts a packet of the device of that class; none if it is no super-segment, its segments are too large for `mtu`, or it is
    /// datagrams of a call, each of which is to be lost by itself.
    pub(crate) fn cut(
        &mut self,
        second: u64,
        (header, data, class): (VnetHeader, &[u8], Class),
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
    ) -> Option<CutCounts> {
        let whole = SuperSegment::of(header, data).filter(|whole| whole.segment_len() <= mtu)?;
        if class == Class::Latency && !whole.is_tcp() {
            return None;
        }
        let max = self.max(second, whole.headers(), mtu);
        let is_bulk = class == Class::Bulk;
        let tail = self.tail.as_ref().filter(|_| is_bulk);
        let behind_tail = tail.and_then(|tail| tail.room_for(&whole, max));
        if behind_tail.is_none() {
            self.flush_tail(take);
        }
        self.lengths.clear();
        let (room, first) = (arena.room(ROOM), behind_tail.unwrap_or(max));
        whole
            .write_pieces(self.number, (first, max), room, &mut self.lengths)
            .ok()?;
        self.number = (self.number + 1) % NUMBERS;
        let cut = Cut {
            headers: Bytes::copy_from_slice(whole.headers()),
            is_udp: !whole.is_tcp(),
            ecn: whole.ecn(),
            count: self.lengths.len(),
            max,
            class,
        };
        let lengths = std::mem::take(&mut self.lengths);
        for (index, length) in lengths.iter().enumerate() {
            self.hand_over(arena.take(*length), index, &cut, take);
        }
        self.lengths = lengths;
        Some(CutCounts {
            packets: whole.segments() as u64,
            bytes: whole.segments_len() as u64,
        })
    }

    /// A piece of what is cut: behind the end of the one before, or as an end that is held, or by itself.
    fn hand_over(
        &mut self,
        piece: Bytes,
        index: usize,
        cut: &Cut,
        take: &mut impl FnMut(Inner, Class),
    ) {
        let is_last = index + 1 == cut.count;
        let may_share = is_last && !cut.is_udp && cut.class == Class::Bulk;
        let of = Whole {
            headers: cut.headers.clone(),
            is_udp: cut.is_udp,
            index,
            count: cut.count,
        };
        let tail = match self.tail.take() {
            Some(mut tail) => {
                tail.packing.push(&piece);
                tail
            }
            None if may_share && piece.len() + MIN_ROOM <= cut.max => Tail {
                packing: Packing::new(&piece),
                of,
                ecn: cut.ecn,
            },
            None => return take(Inner(piece, Some(of)), cut.class),
        };
        match is_last && tail.packing.room(cut.max) >= MIN_ROOM {
            true => self.tail = Some(tail),
            false => take(tail.into_packet(), cut.class),
        }
    }

    /// Takes a single packet. One of a call is handed over at once and by itself: its loss is to be no other's. To be followed
    /// by [`Self::settle`].
    pub(crate) fn push_single(
        &mut self,
        packet: Bytes,
        class: Class,
        take: &mut impl FnMut(Inner, Class),
    ) {
        match class {
            Class::Latency => take(Inner::packet(packet), class),
            Class::Bulk => self.waiting.push(packet),
        }
    }

    /// True if what is here may be held while so many packets wait for a path: those leave before it anyway.
    fn may_hold(&self, backlog: usize) -> bool {
        match self.waiting.len() {
            0 => self.tail.is_some() && backlog >= FEW_WAITING,
            singles => backlog >= MAX_WAITING && singles < MAX_WAITING,
        }
    }

    /// Something is held that may be no longer, with so many packets that wait for a path.
    pub(crate) fn is_due(&self, backlog: usize) -> bool {
        self.held_since.is_some() && !self.may_hold(backlog)
    }

    /// What has come is handed over, unless it may be held, with so many packets that wait for a path.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        backlog: usize,
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
    ) {
        if self.may_hold(backlog) {
            let since = *self.held_since.get_or_insert(now);
            if now.saturating_since(since) < HOLD {
                return;
            }
        }
        self.flush_singles(second_of(now), mtu, arena, take);
        self.flush_tail(take);
    }

    /// When [`Self::settle`] is to be called although nothing has come.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.held_since.map(|since| since + HOLD)
    }

    fn flush_tail(&mut self, take: &mut impl FnMut(Inner, Class)) {
        if let Some(tail) = self.tail.take() {
            take(tail.into_packet(), Class::Bulk);
        }
    }

    /// Hands over single packets, and what came before them: where many wait, those of one flow that follow each other as one.
    /// Few leave as they came: not every scheduler has classes, and the loss of a call's should be no other's.
    pub(crate) fn flush_singles(
        &mut self,
        second: u64,
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
    ) {
        self.held_since = None;
        if self.waiting.is_empty() {
            return;
        }
        self.flush_tail(take);
        let mut waiting = std::mem::take(&mut self.waiting);
        match waiting.len() < MANY {
            true => waiting
                .drain(..)
                .for_each(|packet| take(Inner::packet(packet), Class::Bulk)),
            false => self.put_together(second, mtu, arena, take, &mut waiting),
        }
        self.waiting = waiting;
    }

    fn put_together(
        &mut self,
        second: u64,
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
        waiting: &mut Vec<Bytes>,
    ) {
        let (mut singles, mut made) = (Coalescer::new(true), std::mem::take(&mut self.made));
        let mut write = |slices: &[IoSlice<'_>]| {
            made.clear();
            slices
                .iter()
                .for_each(|slice| made.extend_from_slice(slice));
            let Some((header, data)) = made.split_first_chunk() else {
                return;
            };
            let header = VnetHeader::read(header);
            let whole = (header, data, Class::Bulk);
            if self.cut(second, whole, mtu, arena, take).is_none() {
                self.flush_tail(take);
                take_single(data, arena, take);
            }
        };
        waiting
            .drain(..)
            .for_each(|packet| singles.push(packet, &mut write));
        singles.flush(&mut write);
        self.made = made;
    }
}

/// A packet that nothing was put together with.
fn take_single(data: &[u8], arena: &mut Arena, take: &mut impl FnMut(Inner, Class)) {
    let room = arena.room(data.len());
    room[..data.len()].copy_from_slice(data);
    take(Inner::packet(arena.take(data.len())), Class::Bulk);
}

/// The second that a time is in.
pub(crate) fn second_of(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000
}

#[cfg(test)]
mod tests;
