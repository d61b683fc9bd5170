//! The program as a whole, run by the kernel on packets that are made up here.

mod combinations;
mod disciplines;
mod diversion;
mod fragments;
mod frames;
mod holds;
mod live;
mod model;
mod packets;
mod senders;
mod super_packets;
mod tunnel_live;
mod tunnels;
mod ues;
mod wrapped;

use crate::interface::Interface;
use crate::{Inside, Marker, Settings, Unjudged, Way};
use edge::marker::{Order, UeMarker, Verdict};
use frames::{Frame, ecn_of, ip_at};
use libbpf_rs::ProgramInput;
use std::net::IpAddr;

const ECT_0: u8 = 2;
const ECT_1: u8 = 1;
const CE: u8 = 3;
/// What the program returns.
const NEXT: u32 = u32::MAX;
const DROP: u32 = 2;

/// All of L4S is marked: a queue that drains for hours. The classic law aims so high that p' is soon zero.
fn full() -> Order {
    Order {
        number: 1,
        counted_until: u64::MAX,
        valid_until: u64::MAX,
        drain: 1 << 12,
        queue: 1 << 32,
        slack: 0,
        ramp_from: 1,
        ramp_to: 2,
        target: u64::MAX,
        spared: 0,
    }
}

/// Of an interface with a link header or without, that is not there; none without root.
fn marker(test: &str, settings: Settings) -> Option<Marker> {
    if !testing::has_root(test) {
        return None;
    }
    let nowhere = Interface {
        name: "none".into(),
        index: 0,
        link_header: 14,
    };
    let marker = Marker::detached(&nowhere, &settings, &[Way::Tcx]);
    Some(marker.expect("loaded"))
}

const ALL: Settings = Settings {
    max_ues: 100,
    splits_tcp: false,
    takes_over: false,
    inside: Inside::NOTHING,
};

/// Ten packets of a flow of their own, so that it is no longer young, then one: its bytes thereafter, and what the program
/// returned.
fn passed(marker: &Marker, frame: &[u8]) -> (Vec<u8>, u32) {
    for _ in 0..10 {
        run(marker, frame, 0, 0);
    }
    run(marker, frame, 0, 0)
}

/// Bytes of `struct __sk_buff`, and where it states segments.
const CONTEXT: usize = 192;
const GSO_SEGS: usize = 164;
const GSO_SIZE: usize = 176;

fn run(marker: &Marker, frame: &[u8], segments: u32, size: u32) -> (Vec<u8>, u32) {
    let mut context = [0; CONTEXT];
    context[GSO_SEGS..GSO_SEGS + 4].copy_from_slice(&segments.to_ne_bytes());
    context[GSO_SIZE..GSO_SIZE + 4].copy_from_slice(&size.to_ne_bytes());
    let mut out = vec![0; frame.len() + 64];
    let input = ProgramInput {
        context_in: Some(&mut context),
        data_in: Some(frame),
        data_out: Some(&mut out),
        ..ProgramInput::default()
    };
    let output = marker.run(input).expect("run");
    let returned = output.return_value;
    let data = output.data.expect("data").to_vec();
    (data, returned)
}

fn v4(ue: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, ue])
}

fn v6(ue: u8) -> IpAddr {
    format!("2001:db8::{ue}").parse().expect("an address")
}

/// Fails unless it is marked, and nothing else of it changed but IPv4's checksum.
fn assert_marked(before: &[u8], after: &[u8]) {
    assert_eq!(ecn_of(after), CE);
    assert_eq!(after.len(), before.len());
    let ip = ip_at(before);
    let is_v4 = before[ip] >> 4 == 4;
    for (at, (was, is)) in before.iter().zip(after).enumerate() {
        let may_differ = at == ip + 1 || is_v4 && (ip + 10..ip + 12).contains(&at);
        assert!(was == is || may_differ, "byte {at}: {was:x} {is:x}");
    }
    let field = match is_v4 {
        true => 3,
        false => 3 << 4,
    };
    assert_eq!(before[ip + 1] | field, after[ip + 1]);
}

#[test]
fn packets_of_each_kind_are_marked_with_right_checksums() {
    let Some(marker) = marker("marks on made-up packets", ALL) else {
        return;
    };
    // each to another UE: flows of one share what is fair
    let ues = (1..6).flat_map(|n| [v4(n), v6(n)]);
    let orders: Vec<_> = ues.map(|ue| (ue, full())).collect();
    marker.give_all(&orders).expect("orders");
    let udp = Frame::udp(ECT_1, 900);
    let tcp = Frame::tcp(ECT_1, 1_200);
    let tagged = Frame {
        tags: vec![5, 77],
        ..udp.clone()
    };
    let with_options = Frame {
        options: (0, vec![0x94, 4, 0, 0, 1, 1, 1, 0]),
        ..tcp.clone()
    };
    // an unknown protocol, and one without ports
    let other = Frame {
        protocol: 50,
        ..udp.clone()
    };
    for (frame, ue) in [&udp, &tcp, &tagged, &with_options, &other]
        .into_iter()
        .zip(1..)
    {
        let before = frame.v4(ue);
        let (after, returned) = passed(&marker, &before);
        assert_eq!(returned, NEXT);
        assert_marked(&before, &after);
    }
    // hop-by-hop, routing, destination options, authentication
    let mut chain = vec![43, 0, 1, 4, 0, 0, 0, 0];
    chain.extend([60, 2, 4, 0, 0, 0, 0, 0]);
    chain.extend([0; 16]);
    chain.extend([51, 0, 1, 4, 0, 0, 0, 0]);
    chain.extend([frames::UDP, 4, 0, 0, 0, 0, 0, 0]);
    chain.extend([0; 16]);
    let with_extensions = Frame {
        options: (0, chain),
        ..udp.clone()
    };
    for (frame, ue) in [&udp, &tcp, &tagged, &with_extensions, &other]
        .into_iter()
        .zip(1..)
    {
        let before = frame.v6(ue);
        let (after, returned) = passed(&marker, &before);
        assert_eq!(returned, NEXT);
        assert_marked(&before, &after);
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 10 * 10);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 10);
    assert_eq!(counts.unjudged, Unjudged::default());
    assert_eq!((counts.fragments, counts.unwritten), (0, 0));
}

#[test]
fn any_header_has_the_right_checksum_once_it_is_marked() {
    let Some(marker) = marker("checksums of made-up packets", ALL) else {
        return;
    };
    marker.give_all(&[(v4(1), full())]).expect("orders");
    let frame = Frame::udp(ECT_1, 100).v4(1);
    passed(&marker, &frame);
    let mut rng = units::Streams::new(5).stream("headers");
    for _ in 0..3_000 {
        let mut frame = frame.clone();
        let ip = ip_at(&frame);
        // identification and TTL: all sums there are
        let id = (rng.below(1 << 16) as u16).to_be_bytes();
        frame[ip + 4..ip + 6].copy_from_slice(&id);
        frame[ip + 8] = rng.below(256) as u8;
        frame[ip + 10..ip + 12].fill(0);
        let sum = frames::checksum(&frame[ip..ip + 20]).to_be_bytes();
        frame[ip + 10..ip + 12].copy_from_slice(&sum);
        let (after, _) = run(&marker, &frame, 0, 0);
        assert_marked(&frame, &after);
    }
}

#[test]
fn what_is_not_to_be_judged_is_forwarded_and_counted() {
    let Some(marker) = marker("what the marker does not judge", ALL) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    // the kernel makes no packet of a frame whose IP header is truncated, but behind a tag
    let tagged = Frame {
        tags: vec![7],
        ..Frame::udp(ECT_1, 60)
    };
    let v4_of = |change: fn(&mut Vec<u8>)| {
        let mut frame = tagged.v4(1);
        let mut packet = frame.split_off(18);
        change(&mut packet);
        frame.extend(packet);
        frame
    };
    let v6_of = |change: fn(&mut Vec<u8>)| {
        let mut frame = tagged.v6(1);
        let mut packet = frame.split_off(18);
        change(&mut packet);
        frame.extend(packet);
        frame
    };
    let malformed = [
        // truncated in the IP header and in that of UDP
        v4_of(|f| f.truncate(19)),
        v4_of(|f| f.truncate(23)),
        v6_of(|f| f.truncate(39)),
        v6_of(|f| f.truncate(45)),
        // a version that contradicts the link, a header that is too short, lengths that are not there
        v4_of(|f| f[0] = 0x65),
        v4_of(|f| f[0] = 0x44),
        v4_of(|f| f[2..4].copy_from_slice(&[0xff, 0xff])),
        v4_of(|f| f[2..4].copy_from_slice(&[0, 19])),
        v4_of(|f| f[2..4].copy_from_slice(&[0, 27])),
        v4_of(|f| {
            f[0] = 0x4f;
            f[2..4].copy_from_slice(&[0, 50]);
        }),
        v6_of(|f| f[0] = 0x45),
        v6_of(|f| f[4..6].copy_from_slice(&[0xff, 0xff])),
        v6_of(|f| f[4..6].copy_from_slice(&[0, 7])),
        // an extension header longer than the packet
        v6_of(|f| {
            f[6] = 60;
            f[41] = 255;
        }),
        // a TCP header that is too short, and one that is not there
        {
            let mut frame = Frame::tcp(ECT_1, 0).v4(1);
            frame[14 + 20 + 12] = 4 << 4;
            frame
        },
        {
            let mut frame = Frame::tcp(ECT_1, 0).v4(1);
            frame[14 + 20 + 12] = 6 << 4;
            frame
        },
    ];
    let not_ip = [
        {
            let mut frame = Frame::udp(ECT_1, 60).v4(1);
            frame[12..14].copy_from_slice(&[0x08, 0x06]);
            frame
        },
        Frame {
            tags: vec![1, 2, 3],
            ..Frame::udp(ECT_1, 60)
        }
        .v4(1),
    ];
    for frame in malformed.iter().chain(&not_ip) {
        for _ in 0..12 {
            let (after, returned) = run(&marker, frame, 0, 0);
            assert_eq!(after, *frame);
            assert_eq!(returned, NEXT);
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.unjudged.malformed, 12 * malformed.len() as u64);
    assert_eq!(counts.unjudged.not_ip, 12 * not_ip.len() as u64);
    assert_eq!(counts.unjudged.own_tcp, 0);
    for verdict in Verdict::ALL {
        assert_eq!(counts.judged.of(verdict), 0, "{verdict:?}");
    }
}

#[test]
fn no_bytes_are_written_to_what_is_not_understood() {
    let Some(marker) = marker("random bytes", ALL) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    let mut rng = units::Streams::new(8).stream("bytes");
    for number in 0..20_000 {
        let tagged = Frame {
            tags: vec![7],
            ..Frame::udp(ECT_1, 40)
        };
        let mut frame = match number % 2 {
            0 => tagged.v4(1),
            _ => tagged.v6(1),
        };
        for _ in 0..=rng.below(4) {
            let at = 16 + rng.below(frame.len() as u64 - 16) as usize;
            frame[at] = rng.below(256) as u8;
        }
        let length = 18 + rng.below(frame.len() as u64 - 17) as usize;
        frame.truncate(length);
        let (after, returned) = run(&marker, &frame, 0, 0);
        assert!(returned == NEXT || returned == DROP);
        assert_eq!(after.len(), frame.len());
        let differing = frame.iter().zip(&after).filter(|(was, is)| was != is);
        assert!(differing.count() <= 3, "{frame:x?} {after:x?}");
    }
}

#[test]
fn segments_of_this_machines_own_tcp_are_not_judged_where_tcp_is_split() {
    // packets that the kernel runs a test with have a socket
    let splits = Settings {
        splits_tcp: true,
        ..ALL
    };
    let Some(marker) = marker("segments of own sockets", splits) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    let tcp = Frame::tcp(ECT_1, 700);
    for before in [tcp.v4(1), tcp.v6(1)] {
        let (after, returned) = passed(&marker, &before);
        assert_eq!((after, returned), (before, NEXT));
    }
    let udp = Frame::udp(ECT_1, 700).v4(1);
    assert_marked(&udp, &passed(&marker, &udp).0);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.unjudged.own_tcp, 22);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 1);
}

#[test]
fn fragments_are_one_flow_and_are_judged() {
    let Some(marker) = marker("fragments", ALL) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    let first = Frame {
        fragment: 0x2000,
        ..Frame::udp(ECT_1, 800)
    };
    // what would be ports is payload
    let mut later = Frame {
        fragment: 100,
        ..first.clone()
    };
    later.payload[..4].fill(9);
    for _ in 0..5 {
        run(&marker, &first.v4(1), 0, 0);
        run(&marker, &later.v4(1), 0, 0);
    }
    assert_marked(&later.v4(1), &run(&marker, &later.v4(1), 0, 0).0);
    let fragment = |offset: u8| Frame {
        options: (44, vec![frames::UDP, 0, 0, offset, 1, 2, 3, 4]),
        ..Frame::udp(ECT_1, 800)
    };
    for _ in 0..5 {
        run(&marker, &fragment(1).v6(1), 0, 0);
        run(&marker, &fragment(0x80).v6(1), 0, 0);
    }
    let last = fragment(0x80).v6(1);
    assert_marked(&last, &run(&marker, &last, 0, 0).0);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.fragments, 22);
    assert_eq!(counts.judged.of(Verdict::Young), 20);
    // one that is whole has ports
    run(&marker, &fragment(0).v6(1), 0, 0);
    assert_eq!(marker.counts().expect("counts").fragments, 22);
}

#[test]
fn a_super_packet_counts_by_its_segments() {
    let Some(marker) = marker("super-packets", ALL) else {
        return;
    };
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    // 2,900 bytes in three segments of TCP
    let frame = Frame::tcp(ECT_1, 2_900);
    for (address, frame, headers) in [(v4(1), frame.v4(1), 40), (v6(1), frame.v6(1), 60)] {
        // the second time the number of segments is not stated
        let (first, _) = run(&marker, &frame, 3, 1_000);
        assert_eq!(first, frame);
        run(&marker, &frame, 0, 1_000);
        let state = marker.state(address);
        // virtual queue: the reported one, and what was forwarded
        let total = state[4];
        assert_eq!(total, 2 * (2_900 + 3 * headers));
        let counts = marker.counts().expect("counts");
        assert_eq!(counts.judged.of(Verdict::Young) % 6, 0);
        for _ in 0..2 {
            run(&marker, &frame, 3, 1_000);
        }
        let (after, _) = run(&marker, &frame, 3, 1_000);
        assert_marked(&frame, &after);
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 24);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), 6);
}

/// Places of p' and of its last update among the words of a state.
const BASE: usize = UeMarker::WORDS - 6;
const UPDATED: usize = UeMarker::WORDS - 4;
const ONE: u64 = 1 << 30;

#[test]
fn the_classic_law_marks_and_drops() {
    let Some(marker) = marker("the classic law", ALL) else {
        return;
    };
    let begin = |base: u64| {
        marker.remove(v4(1)).expect("removed");
        let mut words = vec![0; UeMarker::WORDS];
        // it stays so
        words[BASE] = base;
        words[UPDATED] = u64::MAX;
        marker.put(v4(1), &full(), &words);
    };
    let fates = |ecn: u8, count: usize| {
        let frame = Frame::udp(ecn, 500).v4(1);
        let run = |_| {
            let (after, returned) = run(&marker, &frame, 0, 0);
            if ecn_of(&after) != ecn {
                assert_marked(&frame, &after);
                return 'm';
            }
            match returned {
                DROP => 'd',
                NEXT => 'f',
                other => panic!("{other}"),
            }
        };
        (0..count).map(run).collect::<String>()
    };
    begin(ONE);
    assert_eq!(fates(0, 13), "ffffffffffddd", "not ECN-capable");
    begin(ONE);
    assert_eq!(fates(ECT_0, 13), "ffffffffffddd", "overload");
    begin(ONE);
    assert_eq!(fates(ECT_1, 13), "ffffffffffddd", "overload");
    // p'^2 of an eighth
    begin(379_625_062);
    assert_eq!(fates(ECT_0, 10), "ffffffffff");
    let later = fates(ECT_0, 80);
    assert_eq!(later.matches('m').count(), 9, "{later}");
    assert!(!later.contains('d'), "{later}");
}
