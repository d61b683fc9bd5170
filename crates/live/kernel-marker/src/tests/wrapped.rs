//! Packets inside of others, as bytes.

use super::frames::{Frame, UDP, checksum, ecn_of_ip, ip_at};
use super::{CE, ECT_1};

pub(super) const GTPU: u16 = 2152;
pub(super) const VXLAN: u16 = 4789;
/// What follows the first eight octets of a G-PDU, and its flags: nothing; a sequence number; the PDU session container (QFI 1;
/// with paging policy and padding; with a sending time); another before it; NR-U's container (a status, on X2 and Xn); an N-PDU
/// number; all flags, with three containers.
pub(super) const OPTIONS: [(u8, &str); 9] = [
    (0x30, ""),
    (0x32, "00010000"),
    (0x34, "0000008501000100"),
    (0x34, "000000850200ff8000000000"),
    (0x34, "00000085040c9820ffeeddccbbaa998899660100"),
    (0x36, "000100c00100018501000100"),
    (0x34, "00000084041c00000186a0000123000125000000"),
    (0x31, "00000700"),
    (0x37, "0001078402000011223300c00100018501000100"),
];

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0.iter();
    let byte = |digits: &[u8; 2]| {
        let digits = std::str::from_utf8(digits).expect("digits");
        u8::from_str_radix(digits, 16).expect("digits")
    };
    digits.map(byte).collect()
}

/// A frame without its link header.
pub(super) fn packet(frame: &[u8]) -> Vec<u8> {
    frame[ip_at(frame)..].to_vec()
}

pub(super) fn g_pdu((flags, options): (u8, &str), packet: &[u8]) -> Vec<u8> {
    let options = bytes(options);
    let length = u16::try_from(options.len() + packet.len()).unwrap_or(0);
    let mut message = vec![flags, 255];
    message.extend(length.to_be_bytes());
    message.extend([0, 0, 0, 2]);
    message.extend(options);
    message.extend(packet);
    message
}

pub(super) fn vxlan(frame: &[u8]) -> Vec<u8> {
    [&[8, 0, 0, 0, 0, 0, 7, 0], frame].concat()
}

/// The packet around.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub(super) is_v6: bool,
    pub(super) ecn: u8,
    pub(super) has_checksum: bool,
}

pub(super) const OUTER: Outer = Outer {
    is_v6: false,
    ecn: ECT_1,
    has_checksum: false,
};

impl Outer {
    /// To a base station, 10.0.0.200 or 2001:db8::c8.
    pub(super) fn around(self, port: u16, message: &[u8]) -> Vec<u8> {
        let mut frame = Frame {
            tags: vec![7],
            ..Frame::udp(self.ecn, 0)
        };
        frame.payload[2..4].copy_from_slice(&port.to_be_bytes());
        let length = u16::try_from(8 + message.len()).unwrap_or(0);
        frame.payload[4..6].copy_from_slice(&length.to_be_bytes());
        frame.payload.extend(message);
        let mut bytes = match self.is_v6 {
            true => frame.v6(200),
            false => frame.v4(200),
        };
        if self.has_checksum {
            complete(&mut bytes);
        }
        bytes
    }
}

/// The two fragments of a frame of [`Outer`] of which the first has so many octets behind the IP header, a multiple of 8; the frame where it
/// has no more.
pub(super) fn fragments(frame: &[u8], first: usize) -> Vec<Vec<u8>> {
    assert_eq!(first % 8, 0);
    let (header, payload) = frame.split_at(ip_at(frame) + udp_at(&frame[ip_at(frame)..]));
    if payload.len() <= first {
        return vec![frame.to_vec()];
    }
    let (a, b) = payload.split_at(first);
    let units = u16::try_from(first / 8).expect("fits");
    [(a, 0, true), (b, units, false)]
        .map(|(part, offset, has_more)| fragment(header, part, (offset, has_more)))
        .to_vec()
}

fn fragment(header: &[u8], part: &[u8], (offset, has_more): (u16, bool)) -> Vec<u8> {
    let ip = ip_at(header);
    let mut bytes = header.to_vec();
    if bytes[ip] >> 4 == 4 {
        let total = u16::try_from(20 + part.len()).expect("fits");
        bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
        let field = offset | if has_more { 0x2000 } else { 0 };
        bytes[ip + 6..ip + 8].copy_from_slice(&field.to_be_bytes());
        bytes[ip + 10..ip + 12].fill(0);
        let sum = checksum(&bytes[ip..ip + 20]);
        bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let length = u16::try_from(8 + part.len()).expect("fits");
        bytes[ip + 4..ip + 6].copy_from_slice(&length.to_be_bytes());
        let next = std::mem::replace(&mut bytes[ip + 6], 44);
        let field = offset << 3 | u16::from(has_more);
        bytes.extend([next, 0]);
        bytes.extend(field.to_be_bytes());
        bytes.extend([0, 0, 0, 7]);
    }
    bytes.extend(part);
    bytes
}

/// The frame of which these are the fragments, in order; its outer ECN field is CE if that of one is (RFC 3168 5.3).
pub(super) fn reassembled(before: &[u8], fragments: &[Vec<u8>]) -> Vec<u8> {
    let ip = ip_at(before);
    let mut whole = before[..ip + udp_at(&before[ip..])].to_vec();
    for of in fragments {
        let extension = match of[ip] >> 4 {
            4 => 0,
            _ => 8,
        };
        whole.extend(&of[ip + udp_at(&of[ip..]) + extension..]);
        if ecn_of_ip(&of[ip..]) == CE {
            whole[ip + 1] |= [0x03, 0x30][usize::from(whole[ip] >> 4 == 6)];
        }
    }
    if whole[ip] >> 4 == 4 {
        whole[ip + 10..ip + 12].fill(0);
        let sum = checksum(&whole[ip..ip + 20]);
        whole[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    }
    whole
}

/// Where the UDP header begins of an IP packet without options.
pub(super) fn udp_at(packet: &[u8]) -> usize {
    match packet[0] >> 4 {
        4 => 20,
        _ => 40,
    }
}

/// Where the inner packet begins in a frame of [`Outer`].
pub(super) fn inner_at(frame: &[u8], packet: usize) -> usize {
    frame.len() - packet
}

/// What UDP's checksum of a packet begins with: addresses, protocol and length.
pub(super) fn pseudo(packet: &[u8]) -> Vec<u8> {
    let addresses = match packet[0] >> 4 {
        4 => &packet[12..20],
        _ => &packet[8..40],
    };
    let length = &packet[udp_at(packet)..][4..6];
    [addresses, &[0, UDP], length].concat()
}

/// 0 if UDP's checksum of a packet is right.
pub(super) fn sum_of_udp(packet: &[u8]) -> u16 {
    let mut covered = pseudo(packet);
    covered.extend(&packet[udp_at(packet)..]);
    covered.resize(covered.len().next_multiple_of(2), 0);
    checksum(&covered)
}

/// Gives a frame's UDP header its checksum.
pub(super) fn complete(frame: &mut [u8]) {
    let ip = ip_at(frame);
    let at = ip + udp_at(&frame[ip..]) + 6;
    frame[at..at + 2].fill(0);
    let sum = match sum_of_udp(&frame[ip..]) {
        0 => 0xffff_u16,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Fails unless the packet at `inner` is marked and its outer one has this field, all checksums are right, and nothing else has
/// changed.
pub(super) fn assert_marked_inside(before: &[u8], after: &[u8], inner: usize, outer_ecn: u8) {
    assert_eq!(before.len(), after.len());
    let ip = ip_at(before);
    let udp = ip + udp_at(&before[ip..]);
    assert_eq!(ecn_of_ip(&after[inner..]), CE, "inside");
    assert_eq!(ecn_of_ip(&after[ip..]), outer_ecn, "outside");
    let mut may_differ = Vec::new();
    for at in [ip, inner] {
        may_differ.push(at + 1);
        if before[at] >> 4 == 4 {
            may_differ.extend([at + 10, at + 11]);
        }
        // of the traffic class the field only
        let field = match before[at] >> 4 {
            4 => 0x03,
            _ => 0x30,
        };
        assert_eq!(before[at + 1] & !field, after[at + 1] & !field);
    }
    if before[udp + 6..udp + 8] != [0, 0] {
        assert_ne!(after[udp + 6..udp + 8], [0, 0]);
        assert_eq!(sum_of_udp(&after[ip..]), 0, "UDP's checksum");
        if before[inner] >> 4 == 6 {
            may_differ.extend([udp + 6, udp + 7]);
        }
    }
    for (at, (was, is)) in before.iter().zip(after).enumerate() {
        assert!(
            was == is || may_differ.contains(&at),
            "byte {at}: {was:x} {is:x}"
        );
    }
}
