//! The wire format against bytes written out from the layouts of RFC 4340 and RFC 9897, and there
//! and back for any packet.

mod compact;
mod damaged;
mod layouts;
mod multipath;
mod properties;

use super::*;
use crate::seq::MpSeq;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::Duration;

const SEQ: u64 = 0x0102_0304_0506;
const ACK: u64 = 0xA1A2_A3A4_A5A6;

fn packet(kind: Kind) -> Packet {
    Packet {
        source: 6511,
        destination: 0xC001,
        ccval: 0,
        seq: SeqNo::new(SEQ),
        kind,
        options: Options::default(),
    }
}

fn with(kind: Kind, list: Vec<DccpOption>) -> Packet {
    Packet {
        options: Options {
            list,
            ..Options::default()
        },
        ..packet(kind)
    }
}

fn ack() -> Kind {
    Kind::Ack {
        ack: SeqNo::new(ACK),
    }
}

fn bytes(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    let written = encode(packet, &mut out).expect("it has a form");
    assert_eq!(written, out.len());
    assert_eq!(written, encoded_len(packet));
    out
}

/// Those bytes are that packet, both ways.
#[track_caller]
fn same(packet: &Packet, wire: &[u8]) {
    assert_eq!(bytes(packet), wire, "written");
    assert_eq!(decode(wire), Ok((packet.clone(), wire.len())), "read");
}

/// The generic header of RFC 4340 5.1, ports 6511 and 49153, the sequence number above.
const fn generic(words: u8, type_and_x: u8) -> [u8; 16] {
    [
        0x19, 0x6F, 0xC0, 0x01, words, 0x00, 0x00, 0x00, type_and_x, 0x00, 1, 2, 3, 4, 5, 6,
    ]
}

/// The acknowledgement number above: 16 bits reserved, 48 bits.
const ACK_BYTES: [u8; 8] = [0, 0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6];

/// The options of an Ack packet whose other bytes are as above.
#[track_caller]
fn ack_with(list: Vec<DccpOption>, options: &[u8]) {
    let mut wire = generic(6, 0x07).to_vec();
    wire.extend(ACK_BYTES);
    wire.extend(options);
    wire.resize(wire.len().next_multiple_of(4), 0);
    wire[4] = (wire.len() / 4) as u8;
    same(&with(ack(), list), &wire);
}

fn mp(option: MpOption) -> DccpOption {
    DccpOption::Multipath(option)
}
