//! Groups, parities, and what is rebuilt.

use super::*;
use crate::packet::{Kind, Options, Packet, decode, encode};
use crate::{PathId, Payload};
use proptest::prelude::*;
use units::{Ecn, Instant};

#[derive(Clone, Debug, PartialEq)]
struct Data(Vec<u8>);

impl Payload for Data {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
    fn parity(of: &[Self]) -> Option<Self> {
        Some(Self(parity(of.iter().map(|data| &data.0[..]))))
    }
    fn rebuilt(&self, others: &[Self]) -> Option<Self> {
        missing(&self.0, others.iter().map(|data| &data.0[..])).map(Self)
    }
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn numbers(all: &[u64]) -> Vec<MpSeq> {
    all.iter().copied().map(MpSeq::new).collect()
}

/// Worked by hand: lengths 3 and 1, "abc" and "z".
#[test]
fn a_parity_is_the_exclusive_or_with_the_lengths_before() {
    let sum = parity([&b"abc"[..], b"z"]);
    assert_eq!(sum, [0, 2, b'a' ^ b'z', b'b', b'c']);
    assert_eq!(missing(&sum, [&b"abc"[..]]).as_deref(), Some(&b"z"[..]));
    assert_eq!(missing(&sum, [&b"z"[..]]).as_deref(), Some(&b"abc"[..]));
}

#[test]
fn what_is_of_no_group_gives_no_packet() {
    let sum = parity([&b"abc"[..], b"z"]);
    assert_eq!(missing(&sum, [&b"longer"[..]]), None);
    assert_eq!(
        missing(&sum, []),
        None,
        "the rest behind the length is not zero"
    );
    assert_eq!(missing(&[], []), None);
    assert_eq!(missing(&[0], []), None);
    assert_eq!(missing(&[0, 9, 1], []), None, "longer than the parity");
}

#[test]
fn the_option_is_as_it_is_documented() {
    let group = Group::of(&numbers(&[
        0x0102_0304_0506,
        0x0102_0304_0507,
        0x0102_0304_0607,
    ]));
    let group = group.expect("ascending");
    let packet = Packet {
        source: 1,
        destination: 2,
        ccval: 0,
        seq: crate::seq::SeqNo::new(7),
        kind: Kind::Data,
        options: Options {
            list: vec![group.option()],
            ..Options::default()
        },
    };
    let mut bytes = Vec::new();
    encode(&packet, &mut bytes).expect("room");
    let option = [46, 16, 11, 0x42, 0x46, 7, 1, 2, 3, 4, 5, 6, 0, 1, 1, 0];
    assert!(
        bytes.windows(16).any(|window| window == option),
        "{bytes:02x?}"
    );
    let (read, _) = decode(&bytes).expect("valid");
    assert_eq!(read.options.list.first().and_then(Group::read), Some(group));
    let DccpOption::Multipath(MpOption::Experimental(data)) = rebuilds() else {
        unreachable!("as it is made");
    };
    assert!(data == [0x42, 0x46, 8] && is_rebuilds(&data));
}

#[test]
fn options_that_name_no_group() {
    let read = |data: &[u8]| {
        Group::read(&DccpOption::Multipath(MpOption::Experimental(
            data.to_vec(),
        )))
    };
    let head = [0x42, 0x46, 7, 0, 0, 0, 0, 0, 1];
    assert_eq!(read(&head), None, "one packet");
    assert_eq!(read(&[&head[..], &[0]].concat()), None, "half a step");
    assert_eq!(read(&[&head[..], &[0, 0]].concat()), None, "the same twice");
    assert_eq!(read(&head[..8]), None);
    assert!(read(&[&head[..], &[0, 1].repeat(7)].concat()).is_some());
    assert_eq!(read(&[&head[..], &[0, 1].repeat(8)].concat()), None, "nine");
    assert_eq!(read(&[0x42, 0x46, 6]), None);
}

/// Groups as an encoder makes them of packets that leave at these times.
fn encode_all(times: &[u64]) -> Vec<(u64, Finished<Data>)> {
    let mut encoder = Encoder::new();
    let mut all = Vec::new();
    let mut number = 0;
    for ms in 0..200 {
        for _ in times.iter().filter(|time| **time == ms) {
            let payload = Data(vec![number as u8; 100 + number as usize]);
            encoder.push(at_ms(ms), MpSeq::new(number), payload, PathId(1));
            number += 1;
            all.extend(encoder.finish(at_ms(ms)).map(|of| (ms, of)));
        }
        all.extend(encoder.finish(at_ms(ms)).map(|of| (ms, of)));
    }
    assert_eq!(encoder.due(), None);
    all
}

#[test]
fn a_group_is_closed_when_it_is_full_or_has_waited() {
    let all = encode_all(&[0, 1, 2, 3, 20, 24, 60]);
    let times: Vec<u64> = all.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(times, [3, 30, 70]);
    let sizes = all.iter().map(|(_, finished)| match &finished.of {
        Made::Parity(group, payload) => (group.numbers().count(), payload.len()),
        Made::Copy(_, payload) => (1, payload.len()),
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [(4, 105), (2, 107), (1, 106)]);
}

fn group_of_four() -> (Group, Data, Vec<(MpSeq, Data)>) {
    let mut all = encode_all(&[0, 0, 0, 0]);
    let packets = (0..4).map(|n| (MpSeq::new(n), Data(vec![n as u8; 100 + n as usize])));
    match all.remove(0).1.of {
        Made::Parity(group, parity) => (group, parity, packets.collect()),
        Made::Copy(..) => unreachable!("four"),
    }
}

#[test]
fn one_missing_packet_is_rebuilt_whatever_comes_last() {
    for lost in 0..4 {
        for parity_at in 0..4 {
            let (group, parity, packets) = group_of_four();
            let mut rebuilder = Rebuilder::new(Duration::from_millis(150));
            let mut rebuilt = Vec::new();
            let arrived = packets.iter().enumerate().filter(|(n, _)| *n != lost);
            for (place, (_, (number, data))) in arrived.enumerate() {
                if place == parity_at {
                    rebuilt.extend(rebuilder.on_parity(at_ms(1), group, parity.clone()));
                }
                rebuilt.extend(rebuilder.on_packet(at_ms(1), *number, data.clone()));
            }
            if parity_at == 3 {
                rebuilt.extend(rebuilder.on_parity(at_ms(2), group, parity));
            }
            assert_eq!(rebuilt, [packets[lost].clone()]);
        }
    }
}

#[test]
fn two_missing_packets_are_not_and_one_that_comes_late_helps_until_the_deadline() {
    for (late, count) in [(100, 1), (151, 0)] {
        let (group, parity, packets) = group_of_four();
        let mut rebuilder = Rebuilder::new(Duration::from_millis(150));
        for (number, data) in &packets[..2] {
            assert_eq!(rebuilder.on_packet(at_ms(0), *number, data.clone()), None);
        }
        assert_eq!(rebuilder.on_parity(at_ms(1), group, parity), None);
        let (number, data) = packets[2].clone();
        let rebuilt = rebuilder.on_packet(at_ms(late), number, data);
        assert_eq!(rebuilt.iter().count(), count, "{rebuilt:?}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut rebuilder = Rebuilder::new(Duration::from_secs(1_000));
    for number in 0..10_000 {
        let group = Group::of(&numbers(&[number + 1_000_000, number + 1_000_007]));
        let rebuilt = rebuilder.on_parity(at_ms(0), group.expect("ascending"), Data(vec![0; 3]));
        assert_eq!(rebuilt, None);
        rebuilder.on_packet(at_ms(0), MpSeq::new(number), Data(vec![1]));
    }
    assert_eq!(rebuilder.kept(), (256, 32));
}

proptest! {
    /// Any one of any packets.
    #[test]
    fn any_packet_is_rebuilt(
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 2..9),
        lost in any::<prop::sample::Index>(),
    ) {
        let lost = lost.index(packets.len());
        let sum = parity(packets.iter().map(|packet| &packet[..]));
        let others = packets.iter().enumerate().filter(|(n, _)| *n != lost);
        let found = missing(&sum, others.map(|(_, packet)| &packet[..]));
        prop_assert_eq!(found.as_ref(), Some(&packets[lost]));
    }

    /// Whatever the bytes.
    #[test]
    fn bytes_that_are_no_group_are_none(data in proptest::collection::vec(any::<u8>(), 0..40)) {
        let data = [&GROUP[..], &data].concat();
        let option = DccpOption::Multipath(MpOption::Experimental(data.clone()));
        if let Some(group) = Group::read(&option) {
            prop_assert_eq!(group.option(), option);
        }
    }
}
