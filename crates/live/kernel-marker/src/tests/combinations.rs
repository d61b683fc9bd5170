//! Each ECN field inside with each outside: what the program writes beside [`Wrapped`], and what ends of tunnels that follow
//! RFC 6040 make of it: the tunnel's ([`decapsulated`]), and Linux's of VXLAN.

use super::frames::{Frame, checksum, ecn_of_ip, ip_at};
use super::live::{ANY, network};
use super::tunnels::BOTH;
use super::wrapped::{GTPU, OPTIONS, Outer, VXLAN, complete, g_pdu, inner_at, packet, vxlan};
use super::{BASE, CE, DROP, ECT_0, ECT_1, NEXT, ONE, UPDATED, full, marker, run, v4, v6};
use crate::Marker;
use edge::marker::{Codepoint, UeMarker, Verdict, Wrapped};
use multipath::ecn::decapsulated;
use std::net::IpAddr;
use units::Ecn;

const FIELDS: [u8; 4] = [0, ECT_1, ECT_0, CE];
/// Of one flow, so that it is no longer young, and a quarter of ECT(0) has come.
const PACKETS: u8 = 40;

fn codepoint(field: u8) -> Codepoint {
    match field {
        0 => Codepoint::NotEct,
        ECT_1 => Codepoint::Ect1,
        ECT_0 => Codepoint::Ect0,
        _ => Codepoint::Ce,
    }
}

fn wrapped(outer: u8, inner: u8) -> Wrapped {
    Wrapped {
        outer: codepoint(outer),
        inner: codepoint(inner),
    }
}

/// What leaves a tunnel whose end follows RFC 6040; none: it is dropped.
fn decapsulated_of(wrapped: Wrapped) -> Option<u8> {
    let ecn = |of: Codepoint| Ecn::from_bits(of as u8);
    decapsulated(ecn(wrapped.inner), ecn(wrapped.outer))
        .ecn
        .map(Ecn::bits)
}

/// The state of a UE whose packets are marked soon: ECT(1) by the order, and ECT(0) by a controller that stands still a little
/// below overload.
fn begin(marker: &Marker, ue: IpAddr, inner: u8) {
    let mut words = vec![0; UeMarker::WORDS];
    words[BASE] = match inner {
        ECT_0 | 0 => ONE / 2 - 1,
        _ => 0,
    };
    words[UPDATED] = u64::MAX;
    marker.put(ue, &full(), &words);
}

/// Writes a field into the IP header at an offset, with its checksum if it has one.
fn write_field(frame: &mut [u8], at: usize, field: Codepoint) {
    let field = field as u8;
    if frame[at] >> 4 == 6 {
        frame[at + 1] = frame[at + 1] & !0x30 | field << 4;
        return;
    }
    frame[at + 1] = frame[at + 1] & !3 | field;
    frame[at + 10..at + 12].fill(0);
    let sum = checksum(&frame[at..at + 20]);
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}

/// A frame with these fields: every checksum computed of all that it covers.
fn with_fields(frame: &[u8], inner: usize, fields: Wrapped, has_checksum: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let ip = ip_at(&frame);
    write_field(&mut frame, inner, fields.inner);
    write_field(&mut frame, ip, fields.outer);
    if has_checksum {
        complete(&mut frame);
    }
    frame
}

/// Sends packets of one flow, until one is marked or dropped; gives how that left, if one was.
fn first_changed(marker: &Marker, frame: &[u8]) -> Option<(Vec<u8>, u32)> {
    (0..PACKETS)
        .map(|_| run(marker, frame, 0, 0))
        .find(|(after, returned)| after != frame || *returned != NEXT)
}

/// A tunnelled packet of each kind with these fields, beside its outer one.
fn messages(inner: u8) -> Vec<(u16, usize, Vec<u8>, IpAddr)> {
    let of = Frame::udp(inner, 600);
    let mut all = Vec::new();
    for (frame, ue) in [(of.v4(1), v4(1)), (of.v6(1), v6(1))] {
        let plain = packet(&frame);
        let length = plain.len();
        for options in OPTIONS {
            all.push((GTPU, length, g_pdu(options, &plain), ue));
        }
        all.push((VXLAN, length, vxlan(&frame), ue));
    }
    all
}

#[test]
fn each_field_inside_with_each_outside_is_marked_as_the_core_states() {
    let Some(marker) = marker("fields inside and outside", BOTH) else {
        return;
    };
    let (mut marked, mut dropped) = (0, 0);
    for inner in FIELDS {
        for (port, length, message, ue) in messages(inner) {
            for choice in 0..16_u8 {
                let outer = Outer {
                    is_v6: choice & 1 != 0,
                    has_checksum: choice & 2 != 0,
                    ecn: FIELDS[usize::from(choice >> 2)],
                };
                let before = outer.around(port, &message);
                begin(&marker, ue, inner);
                let changed = first_changed(&marker, &before);
                let fields = wrapped(outer.ecn, inner);
                let Some(fields) = fields.marked() else {
                    // what is not ECN-capable is dropped; what is marked goes on as it is
                    let expected = (inner == 0).then(|| (before.clone(), DROP));
                    assert_eq!(changed, expected, "{fields:?}");
                    dropped += u64::from(inner == 0);
                    continue;
                };
                let at = inner_at(&before, length);
                let expected = with_fields(&before, at, fields, outer.has_checksum);
                assert_eq!(changed, Some((expected, NEXT)), "{fields:?} {outer:?}");
                assert_eq!(decapsulated_of(fields), Some(CE), "{fields:?}");
                marked += 1;
            }
        }
    }
    let of = |verdict| marker.counts().expect("counts").judged.of(verdict);
    assert_eq!(marked, 2 * 16 * 2 * (OPTIONS.len() as u64 + 1));
    assert_eq!(
        of(Verdict::MarkL4s) + of(Verdict::MarkClassic),
        marked,
        "{dropped}"
    );
    assert_eq!(of(Verdict::DropNotEct), dropped);
    assert_eq!(marker.counts().expect("counts").unwritten, 0);
}

#[test]
fn linux_takes_the_marks_out_of_vxlan() {
    let test = "Linux takes marks out of VXLAN";
    let Some(network) = network(test, ANY) else {
        return;
    };
    let mut command = network.ue.command("ip");
    command.args(
        "link add vx1 address 02:02:02:02:02:02 type vxlan id 7 local 10.0.0.2 dstport 4789"
            .split(' '),
    );
    if !command.output().expect("run").status.success() {
        testing::skip(test, testing::Missing::Kernel("vxlan"));
        return;
    }
    network
        .ue
        .sh("ip link set vx1 up; ip addr add 10.0.0.77/32 dev vx1");
    network.edge.sh("ping -c 1 -w 60 10.0.0.2");
    let marker = network.attach(&BOTH, ANY).expect("attached");
    let of = |verdict| marker.counts().expect("counts").judged.of(verdict);
    let marks = || of(Verdict::MarkL4s) + of(Verdict::MarkClassic);
    for inner in FIELDS {
        for outer in FIELDS {
            let fields = wrapped(outer, inner);
            network.set_ecn(outer);
            begin(&marker, v4(77), inner);
            let (before, drops) = (marks(), of(Verdict::DropNotEct));
            let mut arrived = [0; 4];
            for number in 0..PACKETS {
                let mut frame = Frame::udp(inner, 500);
                frame.payload[8] = number;
                let mut frame = frame.v4(77);
                // a sender with the receiver's address would be a loop
                frame[11] = 9;
                let (marked, dropped) = (marks(), of(Verdict::DropNotEct));
                network.send_to(VXLAN, &vxlan(&frame));
                let is_marked = marks() > marked;
                let fields = fields.marked().filter(|_| is_marked).unwrap_or(fields);
                let is_dropped = of(Verdict::DropNotEct) > dropped;
                let Some(expected) = decapsulated_of(fields).filter(|_| !is_dropped) else {
                    continue;
                };
                let packet = network.next(28 + 500);
                assert_eq!(packet[28], number, "{fields:?}");
                assert_eq!(ecn_of_ip(&packet), expected, "{fields:?}");
                assert_eq!(checksum(&packet[..20]), 0);
                arrived[usize::from(expected)] += 1;
            }
            let can_be_marked = fields.marked().is_some();
            assert_eq!(marks() > before, can_be_marked, "{fields:?}");
            assert_eq!(of(Verdict::DropNotEct) > drops, inner == 0, "{fields:?}");
            let all: u32 = arrived.iter().sum();
            match (inner, outer) {
                (0, CE) => assert_eq!(all, 0, "such are dropped by the end"),
                (0, _) => assert!(arrived[0] > 0 && all < u32::from(PACKETS)),
                _ => assert_eq!(all, u32::from(PACKETS)),
            }
        }
    }
}
