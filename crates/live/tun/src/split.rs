//! Segmentation of what the kernel hands over in one piece.
//!
//! Differences between the segments are those of the kernel's own segmentation
//! (`Documentation/networking/segmentation-offloads.rst`): lengths, IPv4 identification, TCP sequence
//! number, PSH and FIN on the last only, CWR on the first only. Checksums are completed.

use crate::VnetHeader;
use crate::checksum::Sum;
use crate::layout::Layout;

/// FIN and PSH, which belong to the last segment only.
pub(crate) const LAST_ONLY: u8 = 0x09;
/// CWR, which belongs to the first segment only.
pub(crate) const FIRST_ONLY: u8 = 0x80;

/// The reason why a packet of the device cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// Its header describes what is not in it.
    #[error("the header of the device does not fit the packet of {length} bytes")]
    Header {
        /// Bytes of the packet.
        length: usize,
    },
    /// Its segments need more room.
    #[error("segments of {needed} bytes in all do not fit into {room}")]
    Room {
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        room: usize,
    },
}

/// Cuts a packet into segments with complete checksums, one behind the other at the beginning of
/// `room`, and appends their lengths to `lengths`. Gives the bytes of `room` that were used.
///
/// # Errors
/// `header` does not fit the packet, or the segments do not fit into `room`; then nothing was
/// appended.
pub fn split(
    header: VnetHeader,
    data: &[u8],
    room: &mut [u8],
    lengths: &mut Vec<usize>,
) -> Result<usize, SplitError> {
    let bad = SplitError::Header { length: data.len() };
    if header.kind() == VnetHeader::GSO_NONE {
        let packet = take(room, data.len())?;
        packet.copy_from_slice(data);
        if header.flags & VnetHeader::NEEDS_CHECKSUM != 0 {
            complete(header, packet).ok_or(bad)?;
        }
        lengths.push(data.len());
        return Ok(data.len());
    }
    let layout = Layout::of(data).ok_or(bad)?;
    let is_known = match header.kind() {
        VnetHeader::GSO_TCP4 => layout.is_tcp && !layout.is_ipv6,
        VnetHeader::GSO_TCP6 => layout.is_tcp && layout.is_ipv6,
        VnetHeader::GSO_UDP => !layout.is_tcp,
        _ => false,
    };
    let size = usize::from(header.gso_size);
    if !is_known || size == 0 || layout.payload + size > usize::from(u16::MAX) {
        return Err(bad);
    }
    segments(layout, data, size, room, lengths)
}

fn take(room: &mut [u8], needed: usize) -> Result<&mut [u8], SplitError> {
    let has = room.len();
    room.get_mut(..needed)
        .ok_or(SplitError::Room { needed, room: has })
}

/// Completes a checksum that was left open.
fn complete(header: VnetHeader, packet: &mut [u8]) -> Option<()> {
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    let mut checksum = Sum::default().with(packet.get(start..)?).checksum();
    let is_udp = header.checksum_offset == 6;
    if is_udp && checksum == [0, 0] {
        // which would mean that there is none (RFC 768)
        checksum = [0xff, 0xff];
    }
    packet.get_mut(at..at + 2)?.copy_from_slice(&checksum);
    Some(())
}

fn segments(
    layout: Layout,
    data: &[u8],
    size: usize,
    room: &mut [u8],
    lengths: &mut Vec<usize>,
) -> Result<usize, SplitError> {
    let (headers, payload) = data.split_at(layout.payload);
    let count = payload.len().div_ceil(size).max(1);
    let needed = count * headers.len() + payload.len();
    let mut rest = take(room, needed)?;
    for index in 0..count {
        let part = &payload[index * size..payload.len().min((index + 1) * size)];
        let length = headers.len() + part.len();
        let (packet, after) = rest.split_at_mut(length);
        rest = after;
        let (own, body) = packet.split_at_mut(headers.len());
        own.copy_from_slice(headers);
        body.copy_from_slice(part);
        let place = Place {
            before: index * size,
            segments: index,
            is_last: index + 1 == count,
        };
        place.set(layout, own, length);
        let at = layout.checksum_at();
        own[at..at + 2].fill(0);
        let sum = layout
            .pseudo(own, length)
            .with(&own[layout.transport..])
            .with(body);
        let mut checksum = sum.checksum();
        if !layout.is_tcp && checksum == [0, 0] {
            checksum = [0xff, 0xff];
        }
        own[at..at + 2].copy_from_slice(&checksum);
        lengths.push(length);
    }
    Ok(needed)
}

/// Where a part of a packet is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Payload before it, bytes.
    pub(crate) before: usize,
    /// Segments before it.
    pub(crate) segments: usize,
    pub(crate) is_last: bool,
}

impl Place {
    /// Makes headers that are those of the whole packet the ones of a part of `length` bytes, but for the checksum of TCP or UDP.
    pub(crate) fn set(self, layout: Layout, headers: &mut [u8], length: usize) {
        if layout.is_tcp {
            let flags = &mut headers[layout.transport + 13];
            if !self.is_last {
                *flags &= !LAST_ONLY;
            }
            if self.segments > 0 {
                *flags &= !FIRST_ONLY;
            }
            let at = layout.transport + 4..layout.transport + 8;
            let seq = u32::from_be_bytes(headers[at.clone()].try_into().unwrap_or_default());
            let seq = seq.wrapping_add(self.before as u32);
            headers[at].copy_from_slice(&seq.to_be_bytes());
        }
        if !layout.is_ipv6 {
            let id = u16::from_be_bytes([headers[4], headers[5]]);
            let id = id.wrapping_add(self.segments as u16);
            headers[4..6].copy_from_slice(&id.to_be_bytes());
        }
        layout.set_length(headers, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Flow, is_sound, tcp, udp};
    use proptest::prelude::*;

    fn cut(header: VnetHeader, data: &[u8]) -> Vec<Vec<u8>> {
        let mut room = vec![0; 300_000];
        let mut lengths = Vec::new();
        split(header, data, &mut room, &mut lengths).expect("it can be cut");
        let mut at = 0;
        let packets = lengths.iter().map(|length| {
            at += length;
            room[at - length..at].to_vec()
        });
        packets.collect()
    }

    #[test]
    fn a_large_packet_is_cut_at_the_segment_size() {
        for flow in Flow::ALL {
            let payload: Vec<u8> = (0..3000u32).map(|i| i as u8).collect();
            let data = tcp(flow, u32::MAX - 1000, 0x98, &payload);
            let layout = Layout::of(&data).expect("TCP");
            let packets = cut(flow.gso(1448), &data);
            let lengths: Vec<usize> = packets.iter().map(|p| p.len() - layout.payload).collect();
            assert_eq!(lengths, [1448, 1448, 104]);
            for (i, packet) in packets.iter().enumerate() {
                assert!(is_sound(packet), "sums of segment {i}");
                assert!(layout.is_whole(packet));
                let seq = &packet[layout.transport + 4..layout.transport + 8];
                let expected = (u32::MAX - 1000).wrapping_add(1448 * i as u32);
                assert_eq!(seq, expected.to_be_bytes(), "wraps around");
                let flags = packet[layout.transport + 13];
                assert_eq!(flags & 0x08 != 0, i == 2, "PSH on the last only");
                assert_eq!(flags & 0x80 != 0, i == 0, "CWR on the first only");
            }
        }
    }

    #[test]
    fn datagrams_are_cut_too() {
        for flow in Flow::ALL {
            let data = udp(flow, &[7; 2500]);
            let header = VnetHeader {
                gso_type: VnetHeader::GSO_UDP,
                gso_size: 1200,
                ..VnetHeader::default()
            };
            let packets = cut(header, &data);
            let layout = Layout::of(&data).expect("UDP");
            let lengths: Vec<usize> = packets.iter().map(|p| p.len() - layout.payload).collect();
            assert_eq!(lengths, [1200, 1200, 100]);
            assert!(packets.iter().all(|p| is_sound(p)));
        }
    }

    #[test]
    fn an_open_checksum_is_completed() {
        let whole = tcp(Flow::V4, 1, 0x10, b"abc");
        let layout = Layout::of(&whole).expect("TCP");
        let mut open = whole.clone();
        let pseudo = layout.pseudo(&whole, whole.len()).folded();
        open[36..38].copy_from_slice(&pseudo);
        let header = VnetHeader {
            flags: VnetHeader::NEEDS_CHECKSUM,
            checksum_start: 20,
            checksum_offset: 16,
            ..VnetHeader::default()
        };
        assert_eq!(cut(header, &open), [whole]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let data = tcp(Flow::V4, 1, 0x10, &[7; 3000]);
        let mut lengths = Vec::new();
        let error = split(Flow::V4.gso(1000), &data, &mut [0; 3000], &mut lengths);
        let needed = 3000 + 3 * 52;
        assert_eq!(error, Err(SplitError::Room { needed, room: 3000 }));
        for header in [
            Flow::V6.gso(1000),
            Flow::V4.gso(0),
            VnetHeader {
                gso_type: 3,
                ..Flow::V4.gso(1000)
            },
            VnetHeader {
                flags: VnetHeader::NEEDS_CHECKSUM,
                checksum_start: 4000,
                ..VnetHeader::default()
            },
        ] {
            let refused = split(header, &data, &mut [0; 9000], &mut lengths);
            assert_eq!(refused, Err(SplitError::Header { length: 3052 }));
        }
        assert!(lengths.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled(
            mut data in prop::collection::vec(any::<u8>(), 0..400),
            bytes: [u8; VnetHeader::BYTES],
            kind in 0u8..6,
            is_ip: bool,
        ) {
            if is_ip && data.len() > 9 {
                (data[0], data[6], data[7], data[9]) = (0x45, 0, 0, 6);
            }
            let header = VnetHeader { gso_type: kind, ..VnetHeader::read(&bytes) };
            let mut lengths = Vec::new();
            let mut room = vec![0; 10_000];
            match split(header, &data, &mut room, &mut lengths) {
                Ok(used) => prop_assert_eq!(used, lengths.iter().sum::<usize>()),
                Err(_) => prop_assert!(lengths.is_empty()),
            }
        }
    }
}
