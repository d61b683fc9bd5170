//! What holds whatever becomes of pieces on their way.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn seq_of(packet: &[u8], layout: Layout) -> u32 {
    let at = layout.transport + 4;
    u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"))
}

fn ecn_of(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => packet[1] & 3,
        _ => packet[1] >> 4 & 3,
    }
}

/// How pieces arrive: which are lost, come twice, are marked, and in what order.
#[derive(Clone, Debug)]
struct Fate {
    is_lost: bool,
    is_twice: bool,
    is_marked: bool,
    flushes: bool,
    /// Places that it comes later.
    delay: usize,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (0..8u8, 0..8u8, 0..6u8, any::<bool>(), 0..5usize);
    let fate = fate.prop_map(|(lost, twice, marked, flushes, delay)| Fate {
        is_lost: lost == 0,
        is_twice: twice == 0,
        is_marked: marked == 0,
        flushes,
        delay: delay.saturating_sub(2),
    });
    vec(fate, 60)
}

/// The pieces that arrive, in their order: which, and whether it is flushed after it.
fn arrivals(count: usize, fates: &[Fate]) -> Vec<(usize, bool)> {
    let mut order: Vec<(usize, usize, bool)> = Vec::new();
    for index in 0..count {
        let fate = &fates[index % fates.len()];
        if !fate.is_lost {
            order.push((index + fate.delay, index, fate.flushes));
        }
        if fate.is_twice && !fate.is_lost {
            order.push((index + fate.delay + 1, index, fate.flushes));
        }
    }
    order.sort_by_key(|(at, ..)| *at);
    order
        .into_iter()
        .map(|(_, index, flushes)| (index, flushes))
        .collect()
}

/// What has arrived of a payload.
struct Arrived {
    /// Of each byte, whether it has.
    bytes: Vec<bool>,
    /// Of each byte, whether a mark came with it.
    marked: Vec<bool>,
    /// The headers have come.
    has_head: bool,
}

/// Has pieces of a payload of so many bytes arrive at a device.
fn arrive(device: &mut Device, pieces: &[Vec<u8>], fates: &[Fate], length: usize) -> Arrived {
    let places = ranges(pieces);
    let mut arrived = Arrived {
        bytes: vec![false; length],
        marked: vec![false; length],
        has_head: false,
    };
    for (index, flushes) in arrivals(pieces.len(), fates) {
        let mut data = pieces[index].clone();
        arrived.has_head |= data[0] & HAS_HEADERS != 0;
        let (start, end) = places[index];
        if fates[index % fates.len()].is_marked {
            mark(&mut data);
            arrived.marked[start..end].fill(true);
        }
        arrived.bytes[start..end].fill(true);
        device.joiner.push(START, &data);
        if flushes {
            device.flush(START);
        }
    }
    arrived
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, late, doubled or marked: of TCP each byte that arrives with any headers comes out once, in segments
    /// with right sums and the flags that belong to them.
    #[test]
    fn bytes_of_tcp_come_out_as_they_went_in(
        payload in vec(any::<u8>(), 1_001..40_000),
        size in 200u16..1_000,
        max in 200usize..1_500,
        first in 150usize..1_500,
        seq: u32,
        more_flags in prop::sample::select(vec![0u8, 0x08, 0x01, 0x80, 0x40, 0xc9]),
        is_ipv6: bool,
        ecn in 1u8..3,
        fates in fates(),
    ) {
        let flow = if is_ipv6 { Flow::V6 } else { Flow::V4 };
        let made = Made::new(flow, true, seq, ACK | more_flags, size, &payload).with_ecn(ecn);
        let first = first.min(max);
        let pieces = made.pieces_behind(77, first, max);
        prop_assert!(pieces[0].len() <= first && pieces.iter().all(|piece| piece.len() <= max));
        let mut device = Device::new();
        let Arrived { bytes: arrived, marked, has_head } =
            arrive(&mut device, &pieces, &fates, payload.len());
        device.flush(Duration::from_millis(10));
        let mut out = vec![false; payload.len()];
        for packet in &device.packets {
            prop_assert!(is_sound(packet) && made.layout.is_whole(packet));
            let start = seq_of(packet, made.layout).wrapping_sub(seq) as usize;
            let body = &packet[made.layout.payload..];
            let end = start + body.len();
            prop_assert_eq!(body, &payload[start..end]);
            prop_assert!(body.len() <= usize::from(size));
            prop_assert!(!out[start..end].contains(&true), "no byte twice");
            out[start..end].fill(true);
            let is_ce = marked[start..end].contains(&true);
            // a packet is marked if any of it was, and none without cause in the same write
            prop_assert!(ecn_of(packet) == CE || (ecn_of(packet) == ecn && !is_ce));
            let flags = packet[made.layout.transport + 13];
            let mut expected = ACK | more_flags & 0x40;
            expected |= if end == payload.len() { more_flags & 0x09 } else { 0 };
            expected |= if start == 0 { more_flags & 0x80 } else { 0 };
            prop_assert_eq!(flags, expected);
        }
        prop_assert_eq!(device.joiner.held() > 0, !has_head && arrived.contains(&true));
        if has_head {
            prop_assert_eq!(out, arrived);
        } else {
            prop_assert!(device.packets.is_empty());
        }
    }

    /// Of UDP, and of TCP that may be fragmented, the segments come out that the sender made, each whole or not at all.
    #[test]
    fn segments_come_out_as_they_went_in(
        payload in vec(any::<u8>(), 1_001..40_000),
        size in 200u16..1_000,
        max in 200usize..1_500,
        is_ipv6: bool,
        is_tcp: bool,
        fates in fates(),
    ) {
        let flow = if is_ipv6 && !is_tcp { Flow::V6 } else { Flow::V4 };
        let made = Made::new(flow, is_tcp, 5, 0x10, size, &payload).may_be_fragmented().with_ecn(2);
        let pieces = made.pieces(77, max);
        let mut device = Device::new();
        let Arrived { bytes: arrived, marked, has_head } =
            arrive(&mut device, &pieces, &fates, payload.len());
        device.flush(START);
        let size = usize::from(size);
        let expected: Vec<Vec<u8>> = made
            .segments()
            .into_iter()
            .enumerate()
            .filter(|(index, _)| {
                let end = payload.len().min((index + 1) * size);
                has_head && !arrived[index * size..end].contains(&false)
            })
            .map(|(index, mut packet)| {
                let end = payload.len().min((index + 1) * size);
                if marked[index * size..end].contains(&true) {
                    packet[1] |= if made.layout.is_ipv6 { CE << 4 } else { CE };
                    if !made.layout.is_ipv6 {
                        packet[10..12].fill(0);
                        let sum = Sum::default().with(&packet[..20]).checksum();
                        packet[10..12].copy_from_slice(&sum);
                    }
                }
                packet
            })
            .collect();
        let mut out = device.packets;
        let place = |packet: &Vec<u8>| expected.iter().position(|of| of == packet);
        prop_assert!(out.iter().all(|packet| is_sound(packet) && place(packet).is_some()));
        out.sort_by_key(place);
        prop_assert_eq!(out, expected);
    }

    /// Several at once, whose pieces take turns.
    #[test]
    fn pieces_of_several_are_not_mixed(
        many in vec((1_001usize..9_000, any::<bool>()), 2..8),
        order in vec(0usize..8, 0..80),
    ) {
        let made: Vec<Made> = many
            .iter()
            .enumerate()
            .map(|(index, (length, is_ipv6))| {
                let flow = if *is_ipv6 { Flow::V6 } else { Flow::V4 };
                Made::new(flow, false, 0, 0, 900, &vec![index as u8; *length])
            })
            .collect();
        let mut left: Vec<_> = made
            .iter()
            .zip(0..)
            .map(|(made, number)| made.pieces(NUMBERS - 2 + number, 1_000).into_iter())
            .collect();
        let mut device = Device::new();
        for of in order.into_iter().chain((0..made.len()).cycle().take(200)) {
            let count = left.len();
            if let Some(piece) = left[of % count].next() {
                device.joiner.push(START, &piece);
                device.flush(START);
            }
        }
        let mut expected: Vec<Vec<u8>> = made.iter().flat_map(Made::segments).collect();
        expected.sort();
        device.packets.sort();
        prop_assert_eq!(device.packets, expected);
        prop_assert_eq!(device.joiner.take_counters(), JoinCounters::default());
    }

    #[test]
    fn any_bytes_are_handled(
        all in vec((vec(any::<u8>(), 0..120), 0u8..4, 0u64..500), 0..40),
    ) {
        let mut device = Device::new();
        let mut now = START;
        for (mut data, kind, millis) in all {
            if let Some(first) = data.first_mut() {
                *first |= IS_PIECE;
            }
            if kind > 0 && data.len() > 20 {
                data[..3].fill(0x90);
                data[9] = 0x45;
                (data[15], data[16], data[18]) = (0, 0, if kind == 1 { 6 } else { 17 });
            }
            let _ = (ecn(&data), is_piece(&data));
            device.joiner.push(now, &data);
            now += Duration::from_millis(millis);
            device.joiner.flush(now, &mut |_| {});
            prop_assert!(device.joiner.held() <= 256 * 1_024);
        }
    }
}
