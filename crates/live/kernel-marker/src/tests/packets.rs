//! What the program reads of packets (`bpf/marker_packet.h`, `bpf/marker_tunnel.h`), compiled for this machine, beside a model
//! of what their bytes mean: the same of any packet, and nothing is read beyond it.

use super::frames::{Frame, TCP};
use super::model::{Unread, WORDS, read};
use super::wrapped::{GTPU, OPTIONS, OUTER, Outer, VXLAN, fragments, g_pdu, packet, vxlan};
use super::{CE, ECT_0, ECT_1};
use testing::{Native, OfSocket, Outgoing};
use units::{Rng, Streams};

/// What the program reads of each.
fn answers(packets: &[Outgoing]) -> Vec<[u32; WORDS]> {
    let of_crate = env!("CARGO_MANIFEST_DIR");
    let headers = ["../kernel-cc/bpf"];
    let mut native = Native::compile(of_crate, "packet_check", &headers, "any");
    native.words(packets)
}

/// Frames of each kind: tags, options, extension headers, fragments, each transport, tunnels.
fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut plain = Vec::new();
    for ecn in [0, ECT_1, ECT_0, CE] {
        for tags in [vec![], vec![7], vec![7, 8], vec![7, 8, 9]] {
            for protocol in [TCP, 17, 33, 58, 132, 136, 50] {
                let whole = match protocol {
                    TCP => Frame::tcp(ecn, 30),
                    _ => Frame::udp(ecn, 30),
                };
                let tags = tags.clone();
                plain.push(Frame {
                    tags,
                    protocol,
                    ..whole
                });
            }
        }
    }
    let chain = |kinds: &[u8], protocol: u8| {
        let mut bytes = Vec::new();
        for (i, kind) in kinds.iter().enumerate() {
            let next = kinds.get(i + 1).copied().unwrap_or(protocol);
            let length = u8::from(*kind == 51);
            bytes.extend([next, length, 0, 0, 0, 0, 0, 1]);
            bytes.extend(vec![0; usize::from(length) * 4]);
        }
        bytes
    };
    let mut all: Vec<Vec<u8>> = plain.iter().flat_map(|of| [of.v4(1), of.v6(1)]).collect();
    for kinds in [
        &[0][..],
        &[0, 43, 60],
        &[44],
        &[51, 60],
        &[135],
        &[60; 8],
        &[60; 9],
    ] {
        for protocol in [TCP, 17, 58] {
            let frame = Frame {
                options: (kinds[0], chain(kinds, protocol)),
                protocol,
                ..Frame::tcp(ECT_1, 20)
            };
            all.push(frame.v6(1));
        }
    }
    for fragment in [0x2000, 0x4000, 0x0010, 0x2010] {
        let frame = Frame {
            fragment,
            ..Frame::udp(ECT_0, 40)
        };
        all.push(frame.v4(1));
        let options = Frame {
            options: (0, vec![1; 8]),
            ..frame
        };
        all.push(options.v4(1));
    }
    let outers = [false, true].map(|is_v6| Outer { is_v6, ..OUTER });
    for of in [
        Frame::udp(ECT_1, 20),
        Frame::tcp(ECT_0, 20),
        Frame::tcp(0, 0),
    ] {
        for inner in [of.v4(2), of.v6(2)] {
            for outer in outers {
                for options in OPTIONS {
                    all.push(outer.around(GTPU, &g_pdu(options, &packet(&inner))));
                }
                all.push(outer.around(VXLAN, &vxlan(&inner)));
            }
            for cut in [8, 24, 40, 48, 64, 96] {
                let message = g_pdu(OPTIONS[2], &packet(&inner));
                all.extend(fragments(&OUTER.around(GTPU, &message), cut));
                all.extend(fragments(&OUTER.around(VXLAN, &vxlan(&inner)), cut));
            }
        }
    }
    // in no order that a mutation would know
    for at in (1..all.len()).rev() {
        all.swap(at, rng.below(at as u64 + 1) as usize);
    }
    all
}

/// A frame as it is, or with bytes changed, cut or lengthened; as a super-packet or not; of a socket or not.
fn any_of(frame: &[u8], rng: &mut Rng) -> Outgoing {
    let mut bytes = frame.to_vec();
    for _ in 0..rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = match rng.below(3) {
            0 => rng.below(256) as u8,
            1 => bytes[at] ^ 1 << rng.below(8),
            _ => [0, 1, 6, 8, 17, 44, 0x45, 0x60, 0x81, 255][rng.below(10) as usize],
        };
    }
    match rng.below(6) {
        0 => bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize),
        1 => bytes.extend(vec![0; rng.below(20) as usize]),
        2 => drop(bytes.drain(..14.min(bytes.len()))),
        _ => {}
    }
    let linear = match rng.below(3) {
        0 => rng.below(bytes.len() as u64 + 1) as u32,
        _ => bytes.len() as u32,
    };
    let (gso_size, gso_segs) = match rng.below(6) {
        0 => (1 + rng.below(64) as u32, rng.below(3) as u32),
        1 => (0, rng.below(70_000) as u32),
        _ => (0, 0),
    };
    Outgoing {
        linear,
        gso_size,
        gso_segs,
        link_header: rng.below(8) != 0,
        splits_tcp: rng.below(3) == 0,
        gtp_u: rng.below(4) != 0,
        vxlan: rng.below(4) != 0,
        seed: rng.below(1 << 32) as u32,
        socket: [
            OfSocket::None,
            OfSocket::Tcp,
            OfSocket::Udp,
            OfSocket::Request,
        ][rng.below(4) as usize],
        ..Outgoing::frame(bytes)
    }
}

#[test]
fn any_packet_is_read_as_what_its_bytes_mean() {
    let mut rng = Streams::new(58).stream("packets");
    let frames = frames(&mut rng);
    let mut packets: Vec<Outgoing> = frames.iter().cloned().map(Outgoing::frame).collect();
    for _ in 0..60 {
        packets.extend(frames.iter().map(|frame| any_of(frame, &mut rng)));
    }
    let mut ends = [0; 6];
    let mut inside = 0;
    for (packet, answer) in packets.iter().zip(answers(&packets)) {
        assert_eq!(answer, read(packet), "{packet:x?}");
        ends[answer[0] as usize] += 1;
        inside += u32::from(answer[16] != 0);
    }
    for unread in [
        Unread::Malformed,
        Unread::NotIp,
        Unread::OwnTcp,
        Unread::Signalling,
        Unread::Bundled,
    ] {
        assert!(ends[unread as usize] >= 10, "{unread:?}: {ends:?}");
    }
    assert!(ends[0] > 1_000 && inside > 500, "{ends:?} {inside}");
}
