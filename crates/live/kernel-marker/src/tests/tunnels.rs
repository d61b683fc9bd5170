//! Packets inside of GTP-U and VXLAN.

use super::frames::{self, Frame, ip_at};
use super::wrapped::{
    GTPU, OPTIONS, OUTER, Outer, VXLAN, assert_marked_inside, bytes, complete, g_pdu, inner_at,
    packet, udp_at, vxlan,
};
use super::{
    ALL, BASE, CE, DROP, ECT_0, ECT_1, NEXT, ONE, UPDATED, assert_marked, full, marker, passed,
    run, v4, v6,
};
use crate::{Counts, Inside, Marker, Settings, Unjudged};
use edge::marker::{UeMarker, Verdict};
use std::net::IpAddr;

pub(super) const BOTH: Settings = Settings {
    inside: Inside::BOTH,
    ..ALL
};

pub(super) fn judging(test: &str, settings: Settings) -> Option<Marker> {
    let marker = marker(test, settings)?;
    let orders = [(v4(1), full()), (v6(1), full())];
    marker.give_all(&orders).expect("orders");
    Some(marker)
}

pub(super) fn inner_frames() -> [Vec<u8>; 2] {
    let frame = Frame::udp(ECT_1, 600);
    [frame.v4(1), frame.v6(1)]
}

#[test]
fn packets_in_each_kind_of_tunnel_are_marked_inside_and_outside_with_right_checksums() {
    let Some(marker) = judging("marks in tunnels", BOTH) else {
        return;
    };
    let mut marked = 0;
    for inner in inner_frames() {
        passed(&marker, &inner);
        marked += 1;
        let plain = packet(&inner);
        let tagged = Frame {
            tags: vec![3, 4],
            ..Frame::udp(ECT_1, 600)
        };
        let tagged = match plain[0] >> 4 {
            4 => tagged.v4(1),
            _ => tagged.v6(1),
        };
        let mut messages: Vec<_> = OPTIONS
            .into_iter()
            .map(|options| (GTPU, g_pdu(options, &plain)))
            .collect();
        messages.extend([(VXLAN, vxlan(&inner)), (VXLAN, vxlan(&tagged))]);
        for (port, message) in &messages {
            for choice in 0..12 {
                let outer = Outer {
                    is_v6: choice % 2 == 1,
                    has_checksum: choice / 2 % 2 == 1,
                    ecn: [ECT_1, ECT_0, 0][choice / 4],
                };
                let before = outer.around(*port, message);
                let (after, returned) = run(&marker, &before, 0, 0);
                assert_eq!(returned, NEXT);
                let outside = match outer.ecn {
                    0 => 0,
                    _ => CE,
                };
                let at = inner_at(&before, plain.len());
                assert_marked_inside(&before, &after, at, outside);
                marked += 1;
            }
        }
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::Young), 20);
    assert_eq!(counts.judged.of(Verdict::MarkL4s), marked);
    assert_eq!(counts.unjudged, Unjudged::default());
    assert_eq!(counts.unwritten, 0);
    // as in a report: what the user is sent
    let total = marker.state(v4(1))[4];
    assert_eq!(total, (10 + marked / 2) * (20 + 8 + 600));
}

#[test]
fn tunnels_are_not_looked_into_unless_that_is_chosen() {
    let others = [(Inside::NOTHING, GTPU), (Inside::NOTHING, VXLAN)]
        .into_iter()
        .chain([(Inside::VXLAN, GTPU), (Inside::GTP_U, VXLAN)]);
    for (inside, port) in others {
        let settings = Settings { inside, ..ALL };
        let Some(marker) = judging("tunnels of others", settings) else {
            return;
        };
        let [inner, _] = inner_frames();
        let message = match port {
            GTPU => g_pdu(OPTIONS[0], &packet(&inner)),
            _ => vxlan(&inner),
        };
        let before = OUTER.around(port, &message);
        assert_eq!(passed(&marker, &before).0, before);
        let counts = marker.counts().expect("counts");
        assert_eq!(counts.judged.of(Verdict::NoReport), 11);
        assert_eq!(marker.state(v4(1)), [0; UeMarker::WORDS]);
        // the UE is the outer destination
        marker.give_all(&[(v4(200), full())]).expect("orders");
        assert_marked(&before, &passed(&marker, &before).0);
    }
}

#[test]
fn one_tunnel_is_looked_into_and_no_second() {
    let Some(marker) = judging("a tunnel in a tunnel", BOTH) else {
        return;
    };
    let [inner, _] = inner_frames();
    let message = g_pdu(OPTIONS[0], &packet(&inner));
    let twice = g_pdu(OPTIONS[2], &packet(&OUTER.around(GTPU, &message)));
    let twice = OUTER.around(GTPU, &twice);
    assert_eq!(run(&marker, &twice, 0, 0).0, twice);
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::NoReport), 1);
    assert_eq!(counts.fragments, 0);
}

#[test]
fn what_is_not_ecn_capable_inside_is_dropped_and_never_marked() {
    let Some(marker) = judging("the drop law in tunnels", BOTH) else {
        return;
    };
    let mut words = vec![0; UeMarker::WORDS];
    words[BASE] = ONE;
    words[UPDATED] = u64::MAX;
    marker.put(v4(1), &full(), &words);
    let inner = Frame::udp(0, 500).v4(1);
    for (port, message) in [
        (GTPU, g_pdu(OPTIONS[2], &packet(&inner))),
        (VXLAN, vxlan(&inner)),
    ] {
        for ecn in [0, ECT_0, ECT_1, CE] {
            let before = Outer { ecn, ..OUTER }.around(port, &message);
            let (after, returned) = passed(&marker, &before);
            assert_eq!((after, returned), (before, DROP));
        }
    }
}

/// `g_pdu` etc. of the outside: G-PDUs with IP packets, whose destination is their UE.
const G_PDUS: [&str; 5] = [
    "34ff005c000000020000008501000100450000549bfb00004001565ac0a80401c0a803020000b8c0000200015d26776400000000b1de020000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    "34ff006000000001fa163e850200ff800000000045000054074d00004001fb490a0a31fe0a0a32010000325600930001c444ca5f00000000759e0a0000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    "34ff006000000001000000c00100018501000100450000541f6c00004001469c0a2d00010a2d0047000086b00004000d0170c16300000000f097070000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    "34ff00280000000200000085040c9820ffeeddccbbaa9988996601004500001400000000400100000a2d00020a2d0001",
    "34ff004c00000002000000850d1fc9e9a1b2c300000000e9a1b2c300400000e9a1b2c30080000000000005000000070001020000000207010bb81388000000004500001400000000400100000a2d00020a2d0001",
];

#[test]
fn messages_of_real_base_stations_and_cores_are_read() {
    let Some(marker) = judging("messages of real base stations", BOTH) else {
        return;
    };
    for message in G_PDUS {
        let mut message = bytes(message);
        let header = message.windows(2).position(|pair| pair == [0x45, 0]);
        let at = header.expect("an IPv4 header");
        let ue: [u8; 4] = message[at + 16..at + 20].try_into().expect("four");
        marker.remove(IpAddr::from(ue)).expect("removed");
        marker.give_all(&[(ue.into(), full())]).expect("orders");
        message[at + 1] |= ECT_1;
        message[at + 10..at + 12].fill(0);
        let sum = frames::checksum(&message[at..at + 20]);
        message[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        let before = OUTER.around(GTPU, &message);
        let (after, _) = passed(&marker, &before);
        // what begins there is all of the rest
        let inner = inner_at(&before, message.len() - at);
        assert_marked_inside(&before, &after, inner, CE);
    }
    let counts = marker.counts().expect("counts");
    assert_eq!(counts.judged.of(Verdict::MarkL4s), G_PDUS.len() as u64);
    assert_eq!(counts.unjudged, Unjudged::default());
}

#[test]
fn what_holds_no_packet_is_forwarded_and_counted_apart() {
    let Some(marker) = judging("messages without a packet", BOTH) else {
        return;
    };
    // echo, end markers, error indications, extension headers; reports of a base station; not IP
    let signalling = [
        "320100040000000000000000",
        "3202000600000000000000000e00",
        "30fe000000000001",
        "34fe0008000000010000008501000100",
        "361a00180000000000000085010001400100000010000012678500040a350102",
        "321a0010112233440001000010deadbeef85000401010101",
        "321f000800000000000000008d028584",
        "34ff000c00000001000000840200001122330000",
        "34ff001400000002000000840404001122330244556677aabbccdd00",
        "34ff00140000000100000084041c00000186a0000123000125000000",
        "34ff001c0000000100000084062f010301010c020105060126000000070000000c000000",
    ];
    let no_ip = [
        "30ff0004deadbeefdeadbeef",
        "32ff0008deadbeef00010000deadbeef",
        "34ff000c000000010000008501100900deadbeef",
    ];
    for message in signalling.iter().chain(&no_ip) {
        let before = OUTER.around(GTPU, &bytes(message));
        assert_eq!(run(&marker, &before, 0, 0), (before, NEXT));
    }
    let mut arp = inner_frames()[0].clone();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let before = OUTER.around(VXLAN, &vxlan(&arp));
    assert_eq!(run(&marker, &before, 0, 0), (before, NEXT));
    let counts = marker.counts().expect("counts");
    let unjudged = Unjudged {
        signalling: signalling.len() as u64,
        not_ip: 1 + no_ip.len() as u64,
        ..Unjudged::default()
    };
    let expected = Counts {
        unjudged,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn what_contradicts_itself_is_forwarded_and_counted() {
    let Some(marker) = judging("malformed tunnels", BOTH) else {
        return;
    };
    let [inner, _] = inner_frames();
    let plain = packet(&inner);
    let longer = "00000085".to_owned() + &"01000185".repeat(10) + "01000100";
    let changed = |at: usize, to: u8| {
        let mut message = g_pdu(OPTIONS[2], &plain);
        message[at] = to;
        OUTER.around(GTPU, &message)
    };
    let of_udp = |length: u8| {
        let mut frame = OUTER.around(GTPU, &g_pdu(OPTIONS[0], &plain));
        let udp = ip_at(&frame) + 20;
        frame[udp + 4..udp + 6].copy_from_slice(&[0, length]);
        frame
    };
    let mut beyond = OUTER.around(GTPU, &g_pdu(OPTIONS[0], &plain));
    let udp = ip_at(&beyond) + 20;
    beyond[udp + 5] += 1;
    let mut no_vni = vxlan(&inner);
    no_vni[0] = 0;
    let malformed = [
        changed(0, 0x54),  // version 2
        changed(0, 0x24),  // GTP'
        changed(2, 0x7f),  // longer than the datagram
        changed(3, 0),     // shorter than the packet
        changed(12, 0),    // an extension header of no length
        changed(12, 0xff), // one that is longer than the message
        changed(16, 0x42), // a short IPv4 header
        changed(18, 0x7f), // a total length beyond the message
        OUTER.around(GTPU, &g_pdu((0x34, &longer), &plain)),
        OUTER.around(GTPU, &g_pdu(OPTIONS[0], &plain[..19])),
        OUTER.around(GTPU, &g_pdu(OPTIONS[0], &plain)[..7]),
        OUTER.around(GTPU, &bytes("34ff00020000000100")),
        of_udp(7),
        of_udp(20),
        beyond,
        OUTER.around(VXLAN, &no_vni),
        OUTER.around(VXLAN, &vxlan(&inner)[..20]),
        OUTER.around(VXLAN, &vxlan(&inner[..30])),
    ];
    for frame in &malformed {
        let (after, returned) = run(&marker, frame, 0, 0);
        assert_eq!((&after, returned), (frame, NEXT));
    }
    let counts = marker.counts().expect("counts");
    let unjudged = Unjudged {
        malformed: malformed.len() as u64,
        ..Unjudged::default()
    };
    let expected = Counts {
        unjudged,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn any_udp_checksum_stays_right_and_is_never_none() {
    let Some(marker) = judging("checksums of UDP", BOTH) else {
        return;
    };
    for inner in inner_frames() {
        passed(&marker, &inner);
    }
    let outer = Outer {
        has_checksum: true,
        ..OUTER
    };
    let [_, inner] = inner_frames();
    let plain = packet(&inner);
    let mut rng = units::Streams::new(6).stream("payloads");
    for number in 0..3_000 {
        let mut before = outer.around(GTPU, &g_pdu(OPTIONS[2], &plain));
        let at = inner_at(&before, plain.len());
        let end = before.len();
        let half = match number {
            // all of it, once it is marked, then adds up to a checksum of zero
            0 => {
                before[at + 1] |= 0x30;
                complete(&mut before);
                let udp = ip_at(&before) + udp_at(&before[ip_at(&before)..]);
                let sum = [before[udp + 6], before[udp + 7]];
                before[at + 1] &= !0x20;
                sum
            }
            _ => (rng.below(1 << 16) as u16).to_be_bytes(),
        };
        before[end - 2..].copy_from_slice(&half);
        complete(&mut before);
        let (after, _) = run(&marker, &before, 0, 0);
        assert_marked_inside(&before, &after, at, CE);
        let udp = ip_at(&before) + 20;
        if number == 0 {
            assert_eq!(after[udp + 6..udp + 8], [0xff, 0xff]);
        }
    }
}

#[test]
fn no_bytes_are_written_to_tunnels_that_are_not_understood() {
    let Some(marker) = judging("random bytes in tunnels", BOTH) else {
        return;
    };
    let mut rng = units::Streams::new(9).stream("bytes");
    let mut frames = Vec::new();
    for inner in inner_frames() {
        for is_v6 in [false, true] {
            let outer = Outer {
                is_v6,
                has_checksum: is_v6,
                ..OUTER
            };
            for options in OPTIONS {
                frames.push(outer.around(GTPU, &g_pdu(options, &packet(&inner)[..80])));
                frames.push(outer.around(GTPU, &g_pdu(options, &packet(&inner))));
            }
            frames.push(outer.around(VXLAN, &vxlan(&inner)));
        }
    }
    let runs = 30_000;
    for number in 0..runs {
        let mut frame = frames[number % frames.len()].clone();
        for _ in 0..=rng.below(4) {
            let at = 18 + rng.below(110.min(frame.len() as u64 - 18)) as usize;
            frame[at] = rng.below(256) as u8;
        }
        if rng.below(3) == 0 {
            frame.truncate(18 + rng.below(frame.len() as u64 - 17) as usize);
        }
        let (after, returned) = run(&marker, &frame, 0, 0);
        assert!(returned == NEXT || returned == DROP);
        assert_eq!(after.len(), frame.len());
        let differing = frame.iter().zip(&after).filter(|(was, is)| was != is);
        // the fields, two checksums of IPv4 or one and UDP's
        assert!(differing.count() <= 6, "{frame:x?} {after:x?}");
    }
    let counts = marker.counts().expect("counts");
    let judged: u64 = Verdict::ALL.map(|of| counts.judged.of(of)).iter().sum();
    let Unjudged {
        malformed,
        not_ip,
        own_tcp,
        signalling,
        bundled,
    } = counts.unjudged;
    assert_eq!((own_tcp, bundled, counts.unwritten), (0, 0, 0));
    assert!(malformed > 0 && signalling > 0);
    assert_eq!(judged + malformed + not_ip + signalling, runs as u64);
}
