use super::*;
use crate::checksum::Sum;
use crate::test_support::{Flow, is_sound, tcp, udp};
use crate::{VnetHeader, split};
use core::time::Duration;
use std::io::IoSlice;

mod properties;

/// A super-segment, as the kernel hands it over.
#[derive(Clone, Debug)]
struct Made {
    header: VnetHeader,
    data: Vec<u8>,
    layout: Layout,
}

impl Made {
    fn new(flow: Flow, is_tcp: bool, seq: u32, flags: u8, size: u16, payload: &[u8]) -> Self {
        let data = match is_tcp {
            true => tcp(flow, seq, flags, payload),
            false => udp(flow, payload),
        };
        let header = match is_tcp {
            true => flow.gso(size),
            false => VnetHeader {
                gso_type: VnetHeader::GSO_UDP,
                checksum_offset: 6,
                ..flow.gso(size)
            },
        };
        let layout = Layout::of(&data).expect("TCP or UDP");
        Self {
            header,
            data,
            layout,
        }
    }

    /// Its packets may be fragmented, so that each has an identification that counts.
    fn may_be_fragmented(mut self) -> Self {
        if !self.layout.is_ipv6 {
            self.data[6] = 0;
            self.data[10..12].fill(0);
            let sum = Sum::default().with(&self.data[..20]).checksum();
            self.data[10..12].copy_from_slice(&sum);
        }
        self
    }

    fn with_ecn(mut self, ecn: u8) -> Self {
        self.data[1] |= if self.layout.is_ipv6 { ecn << 4 } else { ecn };
        self
    }

    fn pieces(&self, number: u32, max: usize) -> Vec<Vec<u8>> {
        self.pieces_behind(number, max, max)
    }

    /// Of which the first has less room.
    fn pieces_behind(&self, number: u32, first: usize, max: usize) -> Vec<Vec<u8>> {
        let whole = SuperSegment::of(self.header, &self.data).expect("a super-segment");
        let (mut room, mut lengths) = (vec![0; 200_000], Vec::new());
        let used = whole.write_pieces(number, (first, max), &mut room, &mut lengths);
        assert_eq!(used.expect("room"), lengths.iter().sum::<usize>());
        cut_at(&room, &lengths)
    }

    fn payload(&self) -> &[u8] {
        &self.data[self.layout.payload..]
    }

    /// What the kernel would make of it.
    fn segments(&self) -> Vec<Vec<u8>> {
        segments(self.header, &self.data)
    }
}

fn cut_at(mut room: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
    let packets = lengths.iter().map(|length| {
        let (packet, rest) = room.split_at(*length);
        room = rest;
        packet.to_vec()
    });
    packets.collect()
}

fn segments(header: VnetHeader, data: &[u8]) -> Vec<Vec<u8>> {
    let (mut room, mut lengths) = (vec![0; 300_000], Vec::new());
    split(header, data, &mut room, &mut lengths).expect("it can be cut");
    cut_at(&room, &lengths)
}

/// What is written is cut as the kernel cuts it.
struct Device {
    joiner: Joiner<Vec<u8>>,
    writes: usize,
    packets: Vec<Vec<u8>>,
}

const START: Duration = Duration::ZERO;

impl Device {
    fn new() -> Self {
        Self {
            joiner: Joiner::new(true),
            writes: 0,
            packets: Vec::new(),
        }
    }

    fn flush(&mut self, now: Duration) {
        let (writes, packets) = (&mut self.writes, &mut self.packets);
        self.joiner.flush(now, &mut |slices: &[IoSlice<'_>]| {
            *writes += 1;
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            let (header, data) = all.split_first_chunk().expect("a header");
            packets.extend(segments(VnetHeader::read(header), data));
        });
    }
}

/// Where the payload of each piece is.
fn ranges(pieces: &[Vec<u8>]) -> Vec<(usize, usize)> {
    let of = |data: &Vec<u8>| {
        let piece = Piece::read(data).expect("a piece");
        (piece.offset, piece.offset + data.len() - piece.payload)
    };
    pieces.iter().map(of).collect()
}

#[test]
fn the_layout_is_as_it_is_documented() {
    let made = Made::new(Flow::V4, true, 7, 0x18, 1_000, &[9; 2_500]).with_ecn(2);
    let pieces = made.pieces(0x2_bcde, 1_400);
    assert_eq!(pieces.len(), 2);
    assert_eq!(pieces[0][..9], [0xd2, 0xbc, 0xde, 0, 0, 3, 0xe8, 9, 0xc4]);
    assert_eq!(pieces[0][9..61], made.data[..52]);
    let first = 1_400 - 61;
    assert_eq!(pieces[0].len(), 1_400);
    let [at, after] = (first as u16).to_be_bytes();
    assert_eq!(pieces[1][..5], [0xc2, 0xbc, 0xde, at, after]);
    assert_eq!(pieces[1].len(), 5 + 2_500 - first);
}

/// The end of one super-segment, all of a small one, and the beginning of a third.
#[test]
fn several_pieces_go_in_one_packet() {
    let made = |length: usize, seq: u32| {
        let payload: Vec<u8> = (0..length).map(|at| (at + seq as usize) as u8).collect();
        Made::new(Flow::V4, true, seq, 0x10, 100, &payload).with_ecn(2)
    };
    let (one, two, three) = (made(3_000, 0), made(300, 3_000), made(2_000, 3_300));
    let mut pieces = one.pieces(1, 1_400);
    let mut packing = Packing::new(&pieces.pop().expect("the last"));
    let room = packing.room(1_400);
    let of_two = two.pieces_behind(2, room, 1_400);
    assert_eq!(of_two.len(), 1);
    packing.push(&of_two[0]);
    let room = packing.room(1_400);
    let mut of_three = three.pieces_behind(3, room, 1_400).into_iter();
    let first = of_three.next().expect("one at least");
    assert_eq!(first.len(), room);
    let length = (of_two[0].len() - 5) as u16;
    packing.push(&first);
    let shared = packing.into_packet();
    assert_eq!(shared.len(), 1_400);
    let second = shared.len() - first.len() - 2 - of_two[0].len();
    assert_eq!(shared[second..][..3], [0xd8, 0, 2]);
    assert_eq!(shared[second + 5..][..2], length.to_be_bytes());
    assert_eq!(shared[shared.len() - first.len()..], first);
    pieces.push(shared);
    pieces.extend(of_three);
    for is_marked in [false, true] {
        let mut device = Device::new();
        for mut packet in pieces.clone() {
            if is_marked {
                mark(&mut packet);
                assert_eq!(ecn(&packet), Some(CE));
            }
            device.joiner.push(START, &packet);
        }
        device.flush(START);
        let all = [&one, &two, &three].map(|made| made.payload().to_vec());
        let came: Vec<u8> = device
            .packets
            .iter()
            .flat_map(|packet| packet[one.layout.payload..].to_vec())
            .collect();
        assert_eq!(came, all.concat());
        let fields = device.packets.iter().map(|packet| packet[1] & CE);
        assert!(
            fields.eq(core::iter::repeat_n(
                if is_marked { CE } else { 2 },
                device.packets.len()
            )),
            "a mark is of all that a packet carries"
        );
        assert_eq!(device.joiner.take_counters(), JoinCounters::default());
    }
}

#[test]
fn what_a_packet_of_several_states_must_be_in_it() {
    let made = Made::new(Flow::V4, true, 0, 0x10, 100, &[7; 500]);
    let piece = made.pieces(1, 1_400).remove(0);
    let mut packing = Packing::new(&piece);
    packing.push(&piece);
    let whole = packing.into_packet();
    for length in 0..whole.len() {
        let (mut joiner, mut cut) = (Joiner::new(true), whole[..length].to_vec());
        mark(&mut cut);
        joiner.push(START, &cut);
        let counted = joiner.take_counters();
        assert!(
            counted.malformed + counted.contradictory + counted.repeated > 0,
            "{length}"
        );
    }
    let mut joiner = Joiner::new(true);
    joiner.push(START, &whole);
    assert_eq!(joiner.take_counters().repeated, 1);
}

#[test]
fn headers_stand_in_the_first_in_some_between_and_in_the_last() {
    let made = Made::new(Flow::V6, true, 7, 0x10, 1_000, &[9; 60_000]);
    let pieces = made.pieces(0, 1_443);
    let with: Vec<usize> = pieces
        .iter()
        .enumerate()
        .filter(|(_, data)| data[0] & HAS_HEADERS != 0)
        .map(|(index, _)| index)
        .collect();
    assert_eq!(with, [0, 32, pieces.len() - 1]);
    assert!(
        pieces[..pieces.len() - 1]
            .iter()
            .all(|piece| piece.len() == 1_443)
    );
}

#[test]
fn what_is_not_segmented_is_none() {
    let made = |flags, size| Made::new(Flow::V4, true, 7, flags, size, &[9; 2_500]);
    for (made, is_one) in [
        (made(0x10, 1_000), true),
        (made(0xd9, 1_000), true),
        (made(0x12, 1_000), false),
        (made(0x14, 1_000), false),
        (made(0x30, 1_000), false),
        (made(0, 1_000), false),
        (made(0x10, 0), false),
        (made(0x10, 2_500), false),
    ] {
        let whole = SuperSegment::of(made.header, &made.data);
        assert_eq!(whole.is_some(), is_one, "{made:?}");
    }
    let single = made(0x10, 1_000);
    let none = SuperSegment::of(VnetHeader::default(), &single.data);
    assert!(none.is_none());
}

#[test]
fn one_that_comes_whole_is_written_at_once_as_it_was() {
    for flow in Flow::ALL {
        for is_tcp in [true, false] {
            let payload: Vec<u8> = (0..50_000u32).map(|i| (i / 7) as u8).collect();
            let made = Made::new(flow, is_tcp, u32::MAX - 9_000, 0x99, 1_200, &payload);
            let mut device = Device::new();
            for piece in made.pieces(1, 1_443) {
                device.joiner.push(START, &piece);
            }
            device.flush(START);
            assert_eq!(device.packets, made.segments());
            assert_eq!(device.writes, 1);
            assert_eq!(
                (device.joiner.held(), device.joiner.next_deadline()),
                (0, None)
            );
            assert_eq!(device.joiner.take_counters(), JoinCounters::default());
        }
    }
}

#[test]
fn the_beginning_of_a_segment_waits_for_its_end_for_a_while() {
    let made = Made::new(Flow::V4, true, 0, 0x18, 1_000, &[9; 10_000]);
    let pieces = made.pieces(1, 1_443);
    let arrived = ranges(&pieces)[1].1;
    let mut device = Device::new();
    for piece in &pieces[..2] {
        device.joiner.push(START, piece);
    }
    device.flush(START);
    assert_eq!(device.packets, made.segments()[..2]);
    let deadline = device.joiner.next_deadline().expect("it waits");
    device.flush(deadline - Duration::from_nanos(1));
    assert_eq!(device.packets.len(), 2);
    device.flush(deadline);
    let held = &device.packets[2];
    assert_eq!(held.len() - made.layout.payload, arrived - 2_000);
    assert_eq!((device.joiner.held(), is_sound(held)), (0, true));
}

#[test]
fn contradictions_and_repetitions_are_refused_and_counted() {
    let made = Made::new(Flow::V4, false, 0, 0, 500, &[9; 4_000]);
    let other = Made::new(Flow::V4, false, 0, 0, 400, &[9; 4_000]);
    let (pieces, others) = (made.pieces(1, 700), other.pieces(1, 700));
    let mut device = Device::new();
    let mut push = |data: Vec<u8>| device.joiner.push(START, &data);
    // before its headers it may end beyond what they state
    let mut beyond = pieces[1].clone();
    beyond[3..5].copy_from_slice(&3_900u16.to_be_bytes());
    push(beyond.clone());
    push(pieces[0].clone());
    push(pieces[0].clone());
    push(others[0].clone());
    push(beyond);
    let mut overlapping = pieces[1].clone();
    overlapping[4] -= 1;
    push(overlapping);
    let mut ecn = pieces[2].clone();
    mark(&mut ecn);
    push(ecn);
    push(vec![IS_PIECE | HAS_HEADERS; 40]);
    push(vec![IS_PIECE, 0, 0, 0, 0]);
    push(vec![0x45; 40]);
    for piece in &pieces[1..] {
        push(piece.clone());
    }
    device.flush(START);
    assert_eq!(device.packets, made.segments());
    assert_eq!(
        device.joiner.take_counters(),
        JoinCounters {
            malformed: 3,
            contradictory: 4,
            repeated: 2,
            incomplete: 0,
        }
    );
}

#[test]
fn what_a_peer_has_held_is_bounded() {
    let made = Made::new(Flow::V4, true, 0, 0x10, 1_000, &[9; 60_000]);
    let mut device = Device::new();
    // none has headers, so that nothing can be written
    for number in 0..200 {
        for piece in made
            .pieces(number, 1_443)
            .into_iter()
            .filter(|p| p[0] & HAS_HEADERS == 0)
        {
            device.joiner.push(START, &piece);
            assert!(device.joiner.held() <= 256 * 1_024);
        }
        device.flush(START);
    }
    assert!(device.packets.is_empty());
    assert!(device.joiner.take_counters().incomplete > 5_000);
    let deadline = device.joiner.next_deadline().expect("it is discarded then");
    for _ in 0..20 {
        device.flush(deadline);
    }
    assert_eq!(
        (device.joiner.held(), device.joiner.next_deadline()),
        (0, None)
    );
}
