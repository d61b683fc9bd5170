use super::*;
use crate::flow::label;
use std::time::Duration as StdDuration;
use tun::checksum::Sum;
use tun::pieces::Joiner;

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

fn settled(cutter: &mut Cutter, now: Instant, backlog: usize) -> Vec<Inner> {
    let (mut arena, mut taken) = (Arena::new(), Vec::new());
    cutter.settle(now, backlog, 1_400, &mut arena, &mut |inner, class| {
        assert_eq!(class, Class::Bulk);
        taken.push(inner);
    });
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
        let taken = settled(&mut cutter, Instant::ZERO, 0);
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
    let taken = settled(&mut cutter, Instant::ZERO, 0);
    let labels = [0, 1].map(|at| taken[at].1.as_ref().map(|whole| label(&whole.headers)));
    assert_eq!(taken.len(), 2);
    assert!(labels[0].is_some() && labels[0] != labels[1]);
}

#[test]
fn while_others_wait_packets_are_held_for_a_time_and_up_to_a_number() {
    let mut cutter = Cutter::new();
    push(&mut cutter, datagram(4, 1));
    assert!(settled(&mut cutter, Instant::ZERO, MAX_WAITING).is_empty());
    let at = cutter.next_deadline().expect("it is held");
    assert!(settled(&mut cutter, Instant::ZERO, MAX_WAITING).is_empty());
    assert_eq!(settled(&mut cutter, at, MAX_WAITING).len(), 1);
    assert_eq!(cutter.next_deadline(), None);
    (0..MAX_WAITING).for_each(|i| push(&mut cutter, datagram(4, i as u8)));
    assert!(!settled(&mut cutter, at, MAX_WAITING).is_empty());
}

/// However many they are and whatever waits: each leaves as it came, at once, and what waits goes on waiting.
#[test]
fn packets_of_calls_are_neither_held_nor_put_together() {
    let mut cutter = Cutter::new();
    push(&mut cutter, datagram(5, 0));
    assert!(settled(&mut cutter, Instant::ZERO, MAX_WAITING).is_empty());
    for i in 0..2 * MANY {
        let packet = datagram(4, i as u8);
        let taken = push_of_call(&mut cutter, packet.clone());
        assert_eq!((taken.len(), &taken[0].0), (1, &packet));
    }
    assert!(settled(&mut cutter, Instant::ZERO, MAX_WAITING).is_empty());
    let at = cutter.next_deadline().expect("the other is held");
    assert_eq!(settled(&mut cutter, at, MAX_WAITING).len(), 1);
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

/// A super-segment of TCP of so many bytes, of which each byte shows its place in the stream.
fn tcp(seq: u32, length: usize) -> (VnetHeader, Vec<u8>) {
    let mut data = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    data.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2]);
    data.extend(seq.to_be_bytes());
    data.extend([0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    data.extend((0..length).map(|at| ((seq as usize + at) / 7) as u8));
    let header = VnetHeader {
        gso_type: VnetHeader::GSO_TCP4,
        gso_size: 1_000,
        ..VnetHeader::default()
    };
    (header, data)
}

/// Cuts one; what is handed over.
fn cut_tcp(cutter: &mut Cutter, seq: u32, length: usize) -> Vec<Inner> {
    let ((header, data), mut taken) = (tcp(seq, length), Vec::new());
    let whole = (header, &data[..], Class::Bulk);
    let cut = cutter.cut(0, whole, 1_400, &mut Arena::new(), &mut |inner, _| {
        taken.push(inner);
    });
    assert_eq!(
        cut.map(|counts| counts.packets),
        Some(length.div_ceil(1_000) as u64)
    );
    taken
}

/// All that wait for a path fill their packets, but for the last one.
#[test]
fn a_super_segment_begins_in_the_packet_in_which_the_one_before_ends() {
    const LENGTH: usize = 3_500;
    let (mut cutter, mut packets) = (Cutter::new(), Vec::new());
    for n in 0..5 {
        packets.extend(cut_tcp(&mut cutter, n * LENGTH as u32, LENGTH));
        packets.extend(settled(&mut cutter, Instant::ZERO, FEW_WAITING));
        assert!(cutter.next_deadline().is_some() && !cutter.is_due(FEW_WAITING));
    }
    assert!(packets.iter().all(|packet| packet.0.len() == 1_400));
    assert!(packets.iter().all(|packet| packet.all_or_none() == Some(1)));
    assert!(cutter.is_due(FEW_WAITING - 1), "none waits before it");
    let last = settled(&mut cutter, Instant::ZERO, FEW_WAITING - 1);
    assert_eq!((last.len(), cutter.next_deadline()), (1, None));
    packets.extend(last);
    let mut joiner = Joiner::new(true);
    let mut came = Vec::new();
    packets
        .into_iter()
        .for_each(|packet| joiner.push(StdDuration::ZERO, &packet.0));
    joiner.flush(StdDuration::ZERO, &mut |slices: &[IoSlice<'_>]| {
        came.extend(slices[1..].iter().flat_map(|slice| slice.to_vec()));
    });
    assert!(
        came.iter()
            .copied()
            .eq((0..5 * LENGTH).map(|at| (at / 7) as u8))
    );
}

/// Whatever else comes is behind it: a single packet, datagrams, another end's.
#[test]
fn the_end_of_a_super_segment_leaves_before_what_comes_after_it() {
    let mut cutter = Cutter::new();
    cut_tcp(&mut cutter, 0, 3_500);
    push(&mut cutter, datagram(4, 1));
    let taken = settled(&mut cutter, Instant::ZERO, FEW_WAITING);
    assert!(tun::pieces::is_piece(&taken[0].0) && taken.len() == 2);
    cut_tcp(&mut cutter, 0, 3_500);
    (0..MANY).for_each(|i| push(&mut cutter, datagram(4, i as u8)));
    let taken = settled(&mut cutter, Instant::ZERO, 0);
    let kinds = taken
        .iter()
        .map(|inner| inner.1.as_ref().map(|of| of.is_udp));
    assert!(kinds.eq([Some(false), Some(true), Some(true)]));
    let at = Instant::ZERO + HOLD;
    cut_tcp(&mut cutter, 0, 3_500);
    assert!(settled(&mut cutter, Instant::ZERO, FEW_WAITING).is_empty());
    assert_eq!(cutter.next_deadline(), Some(at));
    assert_eq!(
        settled(&mut cutter, at, FEW_WAITING).len(),
        1,
        "long enough"
    );
}

#[test]
fn pieces_to_a_narrow_way_are_smaller_for_a_time() {
    let mut cutter = Cutter::new();
    let (_, to) = inner::addresses(&datagram(4, 1)).expect("an address");
    let longest = |cutter: &mut Cutter, now: Instant| {
        (0..MANY).for_each(|i| push(cutter, datagram(4, i as u8)));
        let taken = settled(cutter, now, 0);
        taken.iter().map(|inner| inner.0.len()).max()
    };
    assert_eq!(longest(&mut cutter, Instant::ZERO), Some(1_400));
    cutter.note_narrow(0, to, 1_280);
    assert_eq!(longest(&mut cutter, Instant::ZERO), Some(1_280));
    let later = Instant::ZERO + Duration::from_secs(NARROW_TIME);
    assert_eq!(longest(&mut cutter, later), Some(1_400));
}
