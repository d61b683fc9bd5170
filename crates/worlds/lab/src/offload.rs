//! Segmentation of what the kernel hands over in one piece, and the reverse.
//!
//! The kernel moves up to 64 kB of a TCP connection through a TUN device as one packet behind a
//! `virtio_net_hdr` (Linux `include/uapi/linux/virtio_net.h`). The lab cuts it into segments, since
//! the radio carries packets of MTU size, and puts neighbouring segments together again where they
//! leave in the same moment. Both save most of the system calls of a fast connection.
//!
//! ```text
//!   TUN -> [hdr | IP TCP payload ... 64 kB] -> split -> packets -> wires, cell -> merge -> TUN
//! ```
//!
//! Checksums of TCP and UDP stay open ("partial"): the field holds the sum of the pseudo-header, and
//! the kernel that reads the packet sees that it never left the machine.

use crate::packet::{Ipv4, Packet, PartialChecksum, TCP, UDP, ones_sum, u16_at, u32_at};
use std::io::IoSlice;
use std::ops::Range;
use tun::VnetHeader;

/// Where TCP keeps its checksum.
const TCP_CHECKSUM: u16 = 16;
/// Where UDP keeps its.
const UDP_CHECKSUM: u16 = 6;
/// Most bytes of a merged packet: what IPv4 can express.
const MAX_BYTES: usize = 65_535;
/// FIN and PSH, which belong to the last segment only.
const LAST_ONLY: u8 = 0x09;
/// CWR, which belongs to the first segment only.
const FIRST_ONLY: u8 = 0x80;
/// ACK, the only other bit of segments that can be merged.
const ACK: u8 = 0x10;

/// Of a packet that is no larger than the MTU.
fn plain(checksum: Option<PartialChecksum>) -> VnetHeader {
    checksum.map_or_else(VnetHeader::default, |open| VnetHeader {
        flags: VnetHeader::NEEDS_CHECKSUM,
        checksum_start: open.start,
        checksum_offset: open.offset,
        ..VnetHeader::default()
    })
}

/// What a header leaves open.
fn open_checksum(header: VnetHeader) -> Option<PartialChecksum> {
    (header.flags & VnetHeader::NEEDS_CHECKSUM != 0).then_some(PartialChecksum {
        start: header.checksum_start,
        offset: header.checksum_offset,
    })
}

/// The checksum of an IPv4 packet of TCP or UDP that was left open, where that is not stated: the sum of the pseudo-header stands
/// in its place. (One that is complete and happens to be that sum is only computed again.)
pub(crate) fn open_checksum_of(data: &[u8]) -> Option<PartialChecksum> {
    let header = Ipv4::read(data)?;
    let offset = match header.protocol {
        TCP => TCP_CHECKSUM,
        UDP => UDP_CHECKSUM,
        _ => return None,
    };
    let is_fragment = u16_at(data, 6)? & 0x3fff != 0;
    let length = u32::try_from(data.len().checked_sub(header.length)?).ok()?;
    let pseudo = ones_sum(&data[12..20], u32::from(header.protocol) + length);
    let sum = u16_at(data, header.length + usize::from(offset))?;
    (!is_fragment && sum == pseudo).then_some(PartialChecksum {
        start: header.length as u16,
        offset,
    })
}

/// Where the headers of a TCP packet are.
#[derive(Clone, Copy, Debug)]
struct Layout {
    is_ipv6: bool,
    tcp: usize,
    payload: usize,
}

impl Layout {
    fn of(data: &[u8]) -> Option<Self> {
        let (is_ipv6, tcp) = match data.first()? >> 4 {
            4 => {
                let ip = Ipv4::read(data)?;
                (false, (ip.protocol == TCP).then_some(ip.length)?)
            }
            6 => (true, (*data.get(6)? == TCP).then_some(40)?),
            _ => return None,
        };
        let payload = tcp + usize::from(*data.get(tcp + 12)? >> 4) * 4;
        (payload >= tcp + 20 && payload <= data.len()).then_some(Self {
            is_ipv6,
            tcp,
            payload,
        })
    }

    /// Makes the lengths and sums of the headers those of `length` bytes in all.
    fn seal(self, headers: &mut [u8], length: usize) {
        let tcp_length = (length - self.tcp) as u32;
        let addresses = if self.is_ipv6 {
            headers[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            8..40
        } else {
            headers[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            headers[10..12].fill(0);
            let sum = !ones_sum(&headers[..self.tcp], 0);
            headers[10..12].copy_from_slice(&sum.to_be_bytes());
            12..20
        };
        let pseudo = ones_sum(&headers[addresses], u32::from(TCP) + tcp_length);
        let at = self.tcp + usize::from(TCP_CHECKSUM);
        headers[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
    }

    fn open_checksum(self) -> PartialChecksum {
        PartialChecksum {
            start: self.tcp as u16,
            offset: TCP_CHECKSUM,
        }
    }
}

/// Cuts what the kernel handed over into packets.
pub(crate) fn split(header: VnetHeader, data: &[u8], packets: &mut Vec<Packet>) {
    let is_tcp = matches!(header.kind(), VnetHeader::GSO_TCP4 | VnetHeader::GSO_TCP6);
    let layout = Layout::of(data).filter(|_| is_tcp && header.gso_size > 0);
    let Some(layout) = layout else {
        packets.push(Packet::new(data.into(), open_checksum(header)));
        return;
    };
    let (headers, payload) = data.split_at(layout.payload);
    let seq = u32_at(data, layout.tcp + 4).unwrap_or(0);
    let id = u16_at(data, 4).unwrap_or(0);
    let flags = data[layout.tcp + 13];
    let size = usize::from(header.gso_size);
    let count = payload.len().div_ceil(size).max(1);
    for index in 0..count {
        let part = &payload[index * size..payload.len().min((index + 1) * size)];
        let mut packet = Vec::with_capacity(headers.len() + part.len());
        packet.extend_from_slice(headers);
        packet.extend_from_slice(part);
        let mut own_flags = flags;
        if index + 1 < count {
            own_flags &= !LAST_ONLY;
        }
        if index > 0 {
            own_flags &= !FIRST_ONLY;
        }
        packet[layout.tcp + 13] = own_flags;
        let own_seq = seq.wrapping_add((index * size) as u32);
        packet[layout.tcp + 4..layout.tcp + 8].copy_from_slice(&own_seq.to_be_bytes());
        if !layout.is_ipv6 {
            let own_id = id.wrapping_add(index as u16);
            packet[4..6].copy_from_slice(&own_id.to_be_bytes());
        }
        let length = packet.len();
        layout.seal(&mut packet[..layout.payload], length);
        packets.push(Packet::new(packet.into(), Some(layout.open_checksum())));
    }
}

/// Packets that leave together as one.
pub(crate) struct Merged {
    /// Which of them.
    pub(crate) range: Range<usize>,
    /// The `virtio_net_hdr` and the headers of the whole.
    headers: Vec<u8>,
    /// Where the payload begins in each.
    payload: usize,
}

impl Merged {
    /// All its pieces in order.
    pub(crate) fn slices<'a>(&'a self, packets: &'a [Packet]) -> Vec<IoSlice<'a>> {
        let payloads = packets[self.range.clone()]
            .iter()
            .map(|packet| IoSlice::new(&packet.data[self.payload..]));
        core::iter::once(IoSlice::new(&self.headers))
            .chain(payloads)
            .collect()
    }
}

/// The packets from `first` on that can leave as one: at least that one.
pub(crate) fn merge(packets: &[Packet], first: usize) -> Merged {
    let packet = &packets[first];
    let alone = || Merged {
        range: first..first + 1,
        headers: plain(packet.checksum).bytes().into(),
        payload: 0,
    };
    let Some(layout) = Layout::of(&packet.data).filter(|l| is_mergeable(packet, *l)) else {
        return alone();
    };
    let size = packet.data.len() - layout.payload;
    let mut total = packet.data.len();
    let mut end = first + 1;
    while let Some(next) = packets.get(end)
        && packets[end - 1].data.len() == packet.data.len()
        && packets[end - 1].data[layout.tcp + 13] & LAST_ONLY == 0
        && total + next.data.len() - layout.payload.min(next.data.len()) <= MAX_BYTES
        && continues(&packet.data, next, layout, total - layout.payload, size)
    {
        total += next.data.len() - layout.payload;
        end += 1;
    }
    if end == first + 1 {
        return alone();
    }
    let mut headers = Vec::with_capacity(VnetHeader::BYTES + layout.payload);
    let is_ecn = packet.data[layout.tcp + 13] & FIRST_ONLY != 0;
    let gso = if layout.is_ipv6 {
        VnetHeader::GSO_TCP6
    } else {
        VnetHeader::GSO_TCP4
    };
    let vnet = VnetHeader {
        gso_type: gso
            | if is_ecn {
                VnetHeader::GSO_ECN
            } else {
                VnetHeader::GSO_NONE
            },
        header_length: layout.payload as u16,
        gso_size: size as u16,
        ..plain(Some(layout.open_checksum()))
    };
    headers.extend_from_slice(&vnet.bytes());
    headers.extend_from_slice(&packet.data[..layout.payload]);
    let whole = &mut headers[VnetHeader::BYTES..];
    whole[layout.tcp + 13] |= packets[end - 1].data[layout.tcp + 13];
    layout.seal(whole, total);
    Merged {
        range: first..end,
        headers,
        payload: layout.payload,
    }
}

/// A segment with payload, nothing special, and its checksum open.
fn is_mergeable(packet: &Packet, layout: Layout) -> bool {
    let flags = packet.data[layout.tcp + 13];
    packet.checksum == Some(layout.open_checksum())
        && packet.data.len() > layout.payload
        && flags & !(LAST_ONLY | FIRST_ONLY) == ACK
}

/// Whether `next` is what follows in the same connection after `sent` bytes of payload: the same
/// headers but for lengths, sums, identification and sequence number, and no more payload.
fn continues(first: &[u8], next: &Packet, layout: Layout, sent: usize, size: usize) -> bool {
    let other = &next.data;
    let Some(own) = Layout::of(other) else {
        return false;
    };
    let same = |range: Range<usize>| first[range.clone()] == other[range];
    let same_ip = if layout.is_ipv6 {
        same(0..4) && same(6..40)
    } else {
        same(0..2) && same(6..10) && same(12..layout.tcp)
    };
    let expected = u32_at(first, layout.tcp + 4).map(|seq| seq.wrapping_add(sent as u32));
    own.tcp == layout.tcp
        && own.payload == layout.payload
        && is_mergeable(next, layout)
        && other.len() - layout.payload <= size
        && other[layout.tcp + 13] & FIRST_ONLY == 0
        && same_ip
        && same(layout.tcp..layout.tcp + 4)
        && u32_at(other, layout.tcp + 4) == expected
        && same(layout.tcp + 8..layout.tcp + 13)
        && same(layout.tcp + 14..layout.tcp + 16)
        && same(layout.tcp + 18..layout.payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::segment;
    use proptest::prelude::*;

    fn gso(size: u16) -> VnetHeader {
        VnetHeader {
            gso_type: VnetHeader::GSO_TCP4,
            gso_size: size,
            header_length: 52,
            ..plain(Some(PartialChecksum {
                start: 20,
                offset: TCP_CHECKSUM,
            }))
        }
    }

    /// What the kernel would be handed.
    fn whole(merged: &Merged, packets: &[Packet]) -> Vec<u8> {
        let slices = merged.slices(packets);
        slices.iter().flat_map(|slice| slice.to_vec()).collect()
    }

    /// A mark belongs to one segment: the kernel must see neither fewer nor more of them.
    #[test]
    fn an_open_checksum_is_found_without_being_stated() {
        let mut packets = Vec::new();
        split(gso(1_000), &segment(7, 0x10, &[5; 2_500]), &mut packets);
        for packet in &packets {
            assert!(packet.checksum.is_some());
            assert_eq!(open_checksum_of(&packet.data), packet.checksum);
            // completed, as the kernel would
            let mut whole = packet.data.clone();
            let sum = !ones_sum(&whole[20..], 0);
            whole[36..38].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(open_checksum_of(&whole), None);
            let fragment = [&packet.data[..6], &[0x20], &packet.data[7..]].concat();
            assert_eq!(open_checksum_of(&fragment), None);
            for length in 0..40 {
                assert_eq!(open_checksum_of(&packet.data[..length]), None);
            }
        }
        let mut datagram = segment(7, 0x10, &[5; 20])[..20].to_vec();
        datagram[9] = UDP;
        let sum = ones_sum(&datagram[12..20], u32::from(UDP) + 12);
        datagram.extend([0, 1, 0, 2, 0, 12]);
        datagram.extend(sum.to_be_bytes());
        datagram.extend([9; 4]);
        let open = PartialChecksum {
            start: 20,
            offset: UDP_CHECKSUM,
        };
        assert_eq!(open_checksum_of(&datagram), Some(open));
    }

    #[test]
    fn marked_segments_are_not_merged_with_others() {
        use queue::{Ecn, Packet as _};
        let mut data = segment(1, ACK, &[7; 5 * 1448]);
        data[1] |= 0b10;
        let mut packets = Vec::new();
        split(gso(1448), &data, &mut packets);
        assert!(packets.iter().all(|packet| packet.ecn() == Ecn::Ect0));
        packets[1].mark();
        packets[2].mark();
        let mut leaving = Vec::new();
        let mut first = 0;
        while first < packets.len() {
            let merged = merge(&packets, first);
            let bytes = whole(&merged, &packets);
            let ip = &bytes[VnetHeader::BYTES..];
            assert_eq!(ones_sum(&ip[..20], 0), 0xffff, "IP sum");
            leaving.push((merged.range.len(), ip[1] & 0b11));
            first = merged.range.end;
        }
        assert_eq!(leaving, [(1, 0b10), (2, 0b11), (2, 0b10)]);
    }

    #[test]
    fn a_large_packet_is_cut_at_the_segment_size() {
        let payload: Vec<u8> = (0..3000u32).map(|i| i as u8).collect();
        let data = segment(u32::MAX - 1000, ACK | 0x08, &payload);
        let mut packets = Vec::new();
        split(gso(1448), &data, &mut packets);
        let lengths: Vec<usize> = packets.iter().map(|p| p.data.len() - 52).collect();
        assert_eq!(lengths, [1448, 1448, 104]);
        for (i, packet) in packets.iter().enumerate() {
            let tcp = crate::packet::TcpSegment::read(&packet.data).expect("a segment");
            let expected = (u32::MAX - 1000).wrapping_add(1448 * i as u32);
            assert_eq!(tcp.seq, expected, "wraps around");
            assert_eq!(tcp.flags & 0x08 != 0, i == 2, "PSH on the last only");
            assert_eq!(ones_sum(&packet.data[..20], 0), 0xffff, "IP sum");
            assert_eq!(u16_at(&packet.data, 2), Some(packet.data.len() as u16));
        }
    }

    #[test]
    fn segments_of_different_connections_stay_apart() {
        let open = Some(PartialChecksum {
            start: 20,
            offset: TCP_CHECKSUM,
        });
        let first = Packet::new(segment(1, ACK, &[7; 100]).into(), open);
        let mut other = segment(101, ACK, &[7; 100]);
        other[23] ^= 1; // another port
        let cases = [
            ("another port", Packet::new(other.into(), open)),
            (
                "a gap",
                Packet::new(segment(102, ACK, &[7; 100]).into(), open),
            ),
            (
                "a larger one",
                Packet::new(segment(101, ACK, &[7; 101]).into(), open),
            ),
            (
                "a SYN",
                Packet::new(segment(101, ACK | 2, &[7; 100]).into(), open),
            ),
            (
                "a whole checksum",
                Packet::new(segment(101, ACK, &[7; 100]).into(), None),
            ),
        ];
        for (what, next) in cases {
            let packets = [first.clone(), next];
            assert_eq!(merge(&packets, 0).range, 0..1, "{what}");
        }
        let next = Packet::new(segment(101, ACK | 1, &[7; 100]).into(), open);
        let after = Packet::new(segment(201, ACK, &[7; 100]).into(), open);
        assert_eq!(
            merge(&[first, next, after], 0).range,
            0..2,
            "nothing follows a FIN"
        );
    }

    proptest! {
        #[test]
        fn what_was_cut_merges_to_what_it_was(
            payload in prop::collection::vec(any::<u8>(), 1..20_000),
            size in 100u16..1_500,
            seq: u32,
            is_last: bool,
        ) {
            let flags = ACK | if is_last { 0x09 } else { 0 };
            let mut data = segment(seq, flags, &payload);
            let layout = Layout::of(&data).expect("TCP");
            let length = data.len();
            layout.seal(&mut data[..layout.payload], length);
            let mut packets = Vec::new();
            split(gso(size), &data, &mut packets);
            let merged = merge(&packets, 0);
            prop_assert_eq!(merged.range.clone(), 0..packets.len());
            let bytes = whole(&merged, &packets);
            prop_assert_eq!(&bytes[VnetHeader::BYTES..], &data[..]);
        }

        #[test]
        fn any_bytes_are_handled(
            mut data in prop::collection::vec(any::<u8>(), 0..200),
            header: [u8; VnetHeader::BYTES],
            is_ip: bool,
        ) {
            if is_ip && data.len() > 9 {
                data[0] = 0x45;
                data[9] = TCP;
            }
            let mut packets = Vec::new();
            split(VnetHeader::read(&header), &data, &mut packets);
            let payload: usize = packets.iter().map(|p| p.data.len()).sum();
            prop_assert!(payload >= data.len());
            let mut at = 0;
            while at < packets.len() {
                let merged = merge(&packets, at);
                prop_assert!(merged.range.start == at && merged.range.end > at);
                at = merged.range.end;
            }
        }
    }
}
