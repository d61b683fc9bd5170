//! What comes out of the device in one piece goes out in pieces that fill the paths' packets ([`tun::pieces`]), and what comes
//! in pieces goes into the device in one. With encryption only: without it each packet inside has one of its own.

use crate::arena::Arena;
use crate::inner::{self, Inner, Whole};
use crate::inside::Inside;
use bytes::Bytes;
use multipath::class::Class;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::net::IpAddr;
use std::time::Duration as StdDuration;
use tun::pieces::{Joiner, NUMBERS, SuperSegment};
use tun::{Coalescer, VnetHeader};
use units::{Duration, Instant};

/// Room for the pieces of one super-segment, and for a packet that is none.
const ROOM: usize = 100_000;
/// So many single packets at once are put together.
const MANY: usize = 8;
/// While packets wait for a path anyway, single ones are held until there are so many,
const MAX_WAITING: usize = 32;
/// or for so long.
const HOLD: Duration = Duration::from_millis(2);
/// A way that took smaller packets is tried again with others after so long, seconds (RFC 8201 section 4: ten minutes).
const NARROW_TIME: u64 = 600;
/// Ways whose size is remembered; of more all are forgotten.
const MAX_NARROW: usize = 4_096;

/// Cuts what comes out of the device.
#[derive(Debug)]
pub(crate) struct Cutter {
    number: u32,
    /// Single packets that came one behind the other.
    waiting: Vec<Bytes>,
    /// Since when the first of them is held.
    held_since: Option<Instant>,
    /// What those make.
    made: Vec<u8>,
    lengths: Vec<usize>,
    /// Largest packets inside that reach these addresses, and since which second.
    narrow: BTreeMap<IpAddr, (usize, u64)>,
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
        self.lengths.clear();
        let room = arena.room(ROOM);
        whole
            .write_pieces(self.number, max, room, &mut self.lengths)
            .ok()?;
        self.number = (self.number + 1) % NUMBERS;
        let headers = Bytes::copy_from_slice(whole.headers());
        let is_udp = !whole.is_tcp();
        let count = self.lengths.len();
        for (index, length) in self.lengths.iter().enumerate() {
            let of = Whole {
                headers: headers.clone(),
                is_udp,
                index,
                count,
            };
            take(Inner(arena.take(*length), Some(of)), class);
        }
        Some(CutCounts {
            packets: whole.segments() as u64,
            bytes: whole.segments_len() as u64,
        })
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

    /// What has come is handed over, unless it may be held: `is_backlogged` states that packets wait for a path.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        is_backlogged: bool,
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
    ) {
        let is_held = is_backlogged && self.waiting.len() < MAX_WAITING;
        if is_held && !self.waiting.is_empty() {
            let since = *self.held_since.get_or_insert(now);
            if now.saturating_since(since) < HOLD {
                return;
            }
        }
        self.flush_singles(second_of(now), mtu, arena, take);
    }

    /// When [`Self::settle`] is to be called although nothing has come.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.held_since.map(|since| since + HOLD)
    }

    /// Hands over single packets: where many wait, those of one flow that follow each other as one. Few leave as they came: not
    /// every scheduler has classes, and the loss of a call's should be no other's.
    pub(crate) fn flush_singles(
        &mut self,
        second: u64,
        mtu: usize,
        arena: &mut Arena,
        take: &mut impl FnMut(Inner, Class),
    ) {
        self.held_since = None;
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

/// Hands over to the device what comes from a peer.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// None without encryption.
    joiner: Option<Joiner<Bytes>>,
}

impl Delivery {
    pub(crate) fn new(inside: &Inside) -> Self {
        let joiner = inside
            .uses_pieces()
            .then(|| Joiner::new(inside.segments_udp()));
        Self { joiner }
    }

    /// A packet or a piece, of those that the peer may send: `admits` is given IP headers. False if it may not.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        packet: Inner,
        inside: &mut Inside,
        admits: &mut impl FnMut(&[u8]) -> bool,
    ) {
        match &mut self.joiner {
            Some(joiner) if tun::pieces::is_piece(&packet.0) => {
                joiner.push(since_zero(now), packet.0);
            }
            joiner => {
                if let Some(joiner) = joiner
                    .as_mut()
                    .filter(|joiner| joiner.has_flow_of(&packet.0))
                {
                    inside.write_joined(since_zero(now), joiner, admits);
                }
                if admits(&packet.0) {
                    inside.push(packet);
                }
            }
        }
    }

    /// What has come in pieces is written.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        inside: &mut Inside,
        admits: &mut impl FnMut(&[u8]) -> bool,
    ) {
        if let Some(joiner) = &mut self.joiner {
            inside.write_joined(since_zero(now), joiner, admits);
        }
    }

    /// When [`Self::flush`] is to be called although nothing has come.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let at = self.joiner.as_ref()?.next_deadline()?;
        let nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        Some(Instant::ZERO + Duration::from_nanos(nanos))
    }
}

/// The second that a time is in.
pub(crate) fn second_of(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000
}

fn since_zero(now: Instant) -> StdDuration {
    StdDuration::from_nanos(now.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::label;
    use tun::checksum::Sum;

    /// Of IPv6 to that port, its sum right.
    fn datagram(port: u8, value: u8) -> Bytes {
        let mut data = vec![0x60, 0, 0, 0, 0, 252, 17, 64];
        data.extend([0xfd; 32]);
        data.extend([1, 2, 3, port, 0, 252, 0, 0]);
        data.extend([value; 244]);
        let sum = Sum::default()
            .with(&data[8..40])
            .with_word(17)
            .with_word(252);
        let sum = sum.with(&data[40..]).checksum();
        data[46..48].copy_from_slice(&sum);
        data.into()
    }

    fn settled(cutter: &mut Cutter, now: Instant, is_backlogged: bool) -> Vec<Inner> {
        let (mut arena, mut taken) = (Arena::new(), Vec::new());
        cutter.settle(
            now,
            is_backlogged,
            1_400,
            &mut arena,
            &mut |inner, class| {
                assert_eq!(class, Class::Bulk);
                taken.push(inner);
            },
        );
        taken
    }

    /// A packet of bulk comes.
    fn push(cutter: &mut Cutter, packet: Bytes) {
        cutter.push_single(packet, Class::Bulk, &mut |_, _| panic!("it waits"));
    }

    /// A packet of a call comes: what is handed over.
    fn push_of_call(cutter: &mut Cutter, packet: Bytes) -> Vec<Inner> {
        let mut taken = Vec::new();
        cutter.push_single(packet, Class::Latency, &mut |inner, class| {
            assert_eq!(class, Class::Latency);
            taken.push(inner);
        });
        taken
    }

    #[test]
    fn few_packets_leave_as_they_came_and_many_of_a_flow_as_one() {
        for count in [MANY - 1, MANY] {
            let mut cutter = Cutter::new();
            (0..count).for_each(|i| push(&mut cutter, datagram(4, i as u8)));
            let taken = settled(&mut cutter, Instant::ZERO, false);
            let pieces = taken.iter().filter(|inner| tun::pieces::is_piece(&inner.0));
            let payload = 244 * count + 5 * taken.len();
            match count < MANY {
                true => assert_eq!((taken.len(), pieces.count()), (count, 0)),
                false => {
                    assert_eq!((taken.len(), pieces.count()), (2, 2));
                    let bytes: usize = taken.iter().map(|inner| inner.0.len()).sum();
                    assert_eq!(bytes, payload + 4 + 48, "one header");
                    assert_eq!(taken[0].all_or_none(), Some(2));
                    assert_eq!(
                        inner::addresses(taken[1].headers()),
                        inner::addresses(&datagram(4, 0))
                    );
                }
            }
        }
    }

    #[test]
    fn flows_that_take_turns_stay_apart() {
        let mut cutter = Cutter::new();
        (0..MANY).for_each(|i| push(&mut cutter, datagram((i % 2) as u8, 7)));
        let taken = settled(&mut cutter, Instant::ZERO, false);
        let labels = [0, 1].map(|at| taken[at].1.as_ref().map(|whole| label(&whole.headers)));
        assert_eq!(taken.len(), 2);
        assert!(labels[0].is_some() && labels[0] != labels[1]);
    }

    #[test]
    fn while_others_wait_packets_are_held_for_a_time_and_up_to_a_number() {
        let mut cutter = Cutter::new();
        push(&mut cutter, datagram(4, 1));
        assert!(settled(&mut cutter, Instant::ZERO, true).is_empty());
        let at = cutter.next_deadline().expect("it is held");
        assert!(settled(&mut cutter, Instant::ZERO, true).is_empty());
        assert_eq!(settled(&mut cutter, at, true).len(), 1);
        assert_eq!(cutter.next_deadline(), None);
        (0..MAX_WAITING).for_each(|i| push(&mut cutter, datagram(4, i as u8)));
        assert!(!settled(&mut cutter, at, true).is_empty());
    }

    /// However many they are and whatever waits: each leaves as it came, at once, and what waits goes on waiting.
    #[test]
    fn packets_of_calls_are_neither_held_nor_put_together() {
        let mut cutter = Cutter::new();
        push(&mut cutter, datagram(5, 0));
        assert!(settled(&mut cutter, Instant::ZERO, true).is_empty());
        for i in 0..2 * MANY {
            let packet = datagram(4, i as u8);
            let taken = push_of_call(&mut cutter, packet.clone());
            assert_eq!((taken.len(), &taken[0].0), (1, &packet));
        }
        assert!(settled(&mut cutter, Instant::ZERO, true).is_empty());
        let at = cutter.next_deadline().expect("the other is held");
        assert_eq!(settled(&mut cutter, at, true).len(), 1);
        push_of_call(&mut cutter, datagram(4, 1));
        assert_eq!(cutter.next_deadline(), None, "none of a call is");
    }

    /// What the kernel hands over in one piece: datagrams of a call are not cut into pieces, all else is, of its class.
    #[test]
    fn datagrams_of_a_call_in_one_piece_are_split() {
        let single = datagram(4, 7);
        let mut data = single.to_vec();
        data.extend([7; 2 * 244]);
        let header = VnetHeader {
            gso_type: VnetHeader::GSO_UDP,
            gso_size: 244,
            ..VnetHeader::default()
        };
        for (class, is_cut) in [(Class::Latency, false), (Class::Bulk, true)] {
            let (mut arena, mut classes) = (Arena::new(), Vec::new());
            let cut = Cutter::new().cut(
                0,
                (header, &data, class),
                1_400,
                &mut arena,
                &mut |_, class| {
                    classes.push(class);
                },
            );
            assert_eq!(cut.map(|counts| counts.packets), is_cut.then_some(3));
            assert!(classes.len() == usize::from(is_cut) && classes.iter().all(|of| *of == class));
        }
    }

    #[test]
    fn pieces_to_a_narrow_way_are_smaller_for_a_time() {
        let mut cutter = Cutter::new();
        let (_, to) = inner::addresses(&datagram(4, 1)).expect("an address");
        let longest = |cutter: &mut Cutter, now: Instant| {
            (0..MANY).for_each(|i| push(cutter, datagram(4, i as u8)));
            let taken = settled(cutter, now, false);
            taken.iter().map(|inner| inner.0.len()).max()
        };
        assert_eq!(longest(&mut cutter, Instant::ZERO), Some(1_400));
        cutter.note_narrow(0, to, 1_280);
        assert_eq!(longest(&mut cutter, Instant::ZERO), Some(1_280));
        let later = Instant::ZERO + Duration::from_secs(NARROW_TIME);
        assert_eq!(longest(&mut cutter, later), Some(1_400));
    }
}
