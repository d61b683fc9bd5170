//! What queues read of a packet's headers, and the mark that they set (RFC 3168 section 5).
//!
//! | header | ECN | flow |
//! | --- | --- | --- |
//! | IPv4 (RFC 791) | lowest bits of byte 1; its sum is kept by RFC 1624 | addresses, protocol, ports |
//! | IPv6 (RFC 8200) | bits 4 and 5 of byte 1; no sum | addresses, next header, ports |
//!
//! Ports count for TCP and UDP right behind the header. A fragment has them only in its first part, so
//! no part of a fragmented packet counts them: its parts stay one flow.

use crate::packet::{Ipv4, TCP, UDP, u16_at};
use queue::Ecn;

/// Bits of the ECN field in byte 1 of IPv6, whose traffic class begins in the middle of byte 0.
const IPV6_SHIFT: u32 = 4;
/// Length of IPv6's header.
const IPV6_HEADER: usize = 40;
/// More fragments, and the offset, in IPv4.
const FRAGMENT: u16 = 0x3fff;

/// Which IP a packet is, if it is whole as far as its header goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

fn version(data: &[u8]) -> Option<Version> {
    match data.first()? >> 4 {
        4 => Ipv4::read(data).map(|_| Version::V4),
        6 => (data.len() >= IPV6_HEADER).then_some(Version::V6),
        _ => None,
    }
}

/// The ECN field; not ECN-capable if this is no IP packet.
pub(crate) fn ecn(data: &[u8]) -> Ecn {
    let bits = match version(data) {
        Some(Version::V4) => data[1],
        Some(Version::V6) => data[1] >> IPV6_SHIFT,
        None => 0,
    };
    ecn_of(bits)
}

/// The ECN field in the lowest bits of an octet.
pub(crate) fn ecn_of(octet: u8) -> Ecn {
    match octet & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// As it stands there.
pub(crate) fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

/// Sets congestion experienced in a packet that is ECN-capable; leaves others as they are.
pub(crate) fn mark(data: &mut [u8]) {
    if ecn(data) != Ecn::NotEct {
        set_ecn(data, Ecn::Ce);
    }
}

/// Sets the ECN field; leaves what is no IP packet as it is.
pub(crate) fn set_ecn(data: &mut [u8], ecn: Ecn) {
    let bits = bits(ecn);
    match version(data) {
        Some(Version::V4) => {
            let before = u16::from_be_bytes([data[0], data[1]]);
            data[1] = data[1] & !0b11 | bits;
            let after = u16::from_be_bytes([data[0], data[1]]);
            let sum = u16::from_be_bytes([data[10], data[11]]);
            data[10..12].copy_from_slice(&updated_sum(sum, before, after).to_be_bytes());
        }
        Some(Version::V6) => {
            data[1] = data[1] & !(0b11 << IPV6_SHIFT) | bits << IPV6_SHIFT;
        }
        None => {}
    }
}

/// RFC 1624 equation 3: HC' = ~(~HC + ~m + m'), the header's sum after a word has changed.
fn updated_sum(sum: u16, before: u16, after: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A number of the packet's 5-tuple; 0 if this is no IP packet.
pub(crate) fn flow(data: &[u8]) -> u64 {
    let (addresses, protocol, ports) = match version(data) {
        Some(Version::V4) => {
            let length = usize::from(data[0] & 0x0f) * 4;
            let is_part = u16_at(data, 6).is_none_or(|word| word & FRAGMENT != 0);
            (12..20, data[9], (!is_part).then_some(length))
        }
        Some(Version::V6) => (8..40, data[6], Some(IPV6_HEADER)),
        None => return 0,
    };
    let has_ports = matches!(protocol, TCP | UDP);
    let ports = ports
        .filter(|_| has_ports)
        .and_then(|at| data.get(at..at + 4));
    let parts = [&data[addresses], &[protocol], ports.unwrap_or(&[])];
    hash(parts.into_iter().flatten())
}

/// FNV-1a of 64 bits (RFC 9923): the same in every run. What a sender could choose to collide hurts
/// only its own flows within a lab.
fn hash<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.fold(BASIS, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ones_sum;
    use crate::packet::tests::segment;
    use proptest::prelude::*;

    /// A UDP datagram over IPv6 with this traffic class.
    fn ipv6(class: u8, ports: [u8; 4]) -> Vec<u8> {
        let mut data = vec![0x60 | class >> 4, class << 4, 0, 0, 0, 12, UDP, 64];
        data.extend([0xfd; 16]);
        data.extend([0xfe; 16]);
        data.extend(ports);
        data.extend([0, 12, 0, 0, 1, 2, 3, 4]);
        data
    }

    #[test]
    fn fields_lead_back() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(ecn_of(bits(ecn) | 0xfc), ecn);
            let mut packet = segment(1, 0x10, b"x");
            for before in 0..4 {
                set_ecn(&mut packet, ecn_of(before));
                set_ecn(&mut packet, ecn);
                assert_eq!(super::ecn(&packet), ecn);
                assert_eq!(ones_sum(&packet[..20], 0), 0xffff);
                let mut other = ipv6(before, [0; 4]);
                set_ecn(&mut other, ecn);
                assert_eq!(other, ipv6(bits(ecn), [0; 4]));
            }
        }
    }

    #[test]
    fn rfc_1624_4_the_example() {
        // section 4: HC = 0xDD2F, m = 0x5555 becomes m' = 0x3285: HC' = 0x0000
        assert_eq!(updated_sum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn rfc_3168_5_the_four_codepoints() {
        let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (bits, expected) in (0u8..).zip(codepoints) {
            let mut data = segment(1, 0x10, b"x");
            data[1] = 0xb8 | bits; // with a DSCP above
            assert_eq!(ecn(&data), expected);
            let mut data = ipv6(0xb8 | bits, [1; 4]);
            assert_eq!(ecn(&data), expected);
            let before = data.clone();
            mark(&mut data);
            if expected == Ecn::NotEct {
                assert_eq!(data, before);
            } else {
                assert_eq!((ecn(&data), data[0], data[1]), (Ecn::Ce, 0x6b, 0xb0));
                assert_eq!(data[2..], before[2..]);
            }
        }
    }

    #[test]
    fn the_flow_is_the_five_tuple() {
        let own = segment(1, 0x10, b"x");
        let number = flow(&own);
        assert_eq!(flow(&segment(77, 0x18, b"another")), number);
        for at in [12, 19, 21, 23] {
            let mut other = own.clone();
            other[at] ^= 1;
            assert_ne!(flow(&other), number, "byte {at}");
        }
        let mut udp = own.clone();
        udp[9] = UDP;
        assert_ne!(flow(&udp), number);
        // the parts of a fragmented packet, of which only the first has ports
        let (mut first, mut second) = (own.clone(), own);
        first[6] = 0x20;
        second[6..8].copy_from_slice(&[0x00, 0xb9]);
        second[20..24].fill(0xaa);
        assert_eq!(flow(&first), flow(&second));
        assert_ne!(flow(&first), number);
        let number = flow(&ipv6(0, [0, 1, 0, 2]));
        assert_eq!(flow(&ipv6(3, [0, 1, 0, 2])), number);
        assert_ne!(flow(&ipv6(0, [0, 1, 0, 3])), number);
    }

    proptest! {
        /// RFC 1624 against RFC 1071: a marked header's sum is what it would be if computed afresh.
        #[test]
        fn the_sum_of_a_marked_header_is_right(
            fields in prop::collection::vec(any::<u8>(), 60),
            words in 5usize..=15,
            ect in 1u8..=3,
        ) {
            let mut data = fields;
            data[0] = 0x40 | words as u8;
            data[1] = data[1] & !0b11 | ect;
            let seal = |data: &mut [u8]| {
                data[10..12].fill(0);
                let sum = !ones_sum(&data[..words * 4], 0);
                data[10..12].copy_from_slice(&sum.to_be_bytes());
            };
            seal(&mut data);
            let mut expected = data.clone();
            expected[1] |= 0b11;
            seal(&mut expected);
            mark(&mut data);
            prop_assert_eq!(&data, &expected);
            // and a second queue changes nothing
            mark(&mut data);
            prop_assert_eq!(data, expected);
        }

        #[test]
        fn any_bytes_are_read_and_marked_without_panic(
            mut data in prop::collection::vec(any::<u8>(), 0..80),
            version in prop::option::of(prop_oneof![Just(4u8), Just(6)]),
        ) {
            if let (Some(version), Some(first)) = (version, data.first_mut()) {
                *first = *first & 0x0f | version << 4;
            }
            let (before, number) = (ecn(&data), flow(&data));
            let original = data.clone();
            mark(&mut data);
            prop_assert_eq!(data.len(), original.len());
            prop_assert_eq!(flow(&data), number);
            if before == Ecn::NotEct {
                prop_assert_eq!(data, original);
            } else {
                prop_assert_eq!(ecn(&data), Ecn::Ce);
            }
        }
    }
}
