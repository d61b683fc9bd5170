//! Packets that the kernel will segment, in smaller pieces that it will segment.

use crate::VnetHeader;
use crate::layout::Layout;
use crate::split::Place;

/// Cuts a packet that is to be segmented into pieces of `segments` segments, each behind its header, for [`crate::FrameSocket`]
/// or a device: `frame` is a [`VnetHeader`], a link header of `link` bytes and an IP packet. Their checksums are left to the
/// kernel. False, and nothing is given, if the packet is not to be segmented, is no longer than one piece, or its header does
/// not fit it.
pub fn cut(frame: &[u8], link: usize, segments: usize, give: &mut impl FnMut(Vec<u8>)) -> bool {
    let Some((header, data)) = frame.split_first_chunk() else {
        return false;
    };
    let header = VnetHeader::read(header);
    let (Some(ip), size) = (data.get(link..), usize::from(header.gso_size)) else {
        return false;
    };
    let Some(layout) = Layout::of(ip) else {
        return false;
    };
    let is_known = match header.kind() {
        VnetHeader::GSO_TCP4 => layout.is_tcp && !layout.is_ipv6,
        VnetHeader::GSO_TCP6 => layout.is_tcp && layout.is_ipv6,
        VnetHeader::GSO_UDP => !layout.is_tcp,
        _ => false,
    };
    let (headers, payload) = data.split_at(link + layout.payload);
    let step = size.saturating_mul(segments.max(1));
    let is_open = header.flags & VnetHeader::NEEDS_CHECKSUM != 0;
    if !is_known || !is_open || size == 0 || payload.len() <= step || data.len() > 65_535 + link {
        return false;
    }
    let count = payload.len().div_ceil(step);
    for (index, part) in payload.chunks(step).enumerate() {
        let piece = VnetHeader {
            gso_type: match (part.len() > size, index) {
                (false, _) => VnetHeader::GSO_NONE,
                // that it has CWR
                (true, 0) => header.gso_type,
                (true, _) => header.kind(),
            },
            gso_size: if part.len() > size {
                header.gso_size
            } else {
                0
            },
            header_length: headers.len() as u16,
            checksum_start: (link + layout.transport) as u16,
            checksum_offset: layout.checksum_offset() as u16,
            ..header
        };
        let mut bytes = Vec::with_capacity(VnetHeader::BYTES + headers.len() + part.len());
        bytes.extend(piece.bytes());
        bytes.extend(headers);
        bytes.extend(part);
        let own = &mut bytes[VnetHeader::BYTES + link..][..layout.payload];
        let length = layout.payload + part.len();
        let place = Place {
            before: index * step,
            segments: index * segments.max(1),
            is_last: index + 1 == count,
        };
        place.set(layout, own, length);
        let at = layout.checksum_at();
        let pseudo = layout.pseudo(own, length).folded();
        own[at..at + 2].copy_from_slice(&pseudo);
        give(bytes);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split;
    use crate::test_support::{Flow, is_sound, tcp, udp};
    use proptest::prelude::*;

    const LINK: usize = 14;

    /// As the kernel hands it over: the checksum is open.
    fn frame(header: VnetHeader, mut data: Vec<u8>) -> Vec<u8> {
        let layout = Layout::of(&data).expect("TCP or UDP");
        let pseudo = layout.pseudo(&data, data.len()).folded();
        let at = layout.checksum_at();
        data[at..at + 2].copy_from_slice(&pseudo);
        let header = VnetHeader {
            flags: VnetHeader::NEEDS_CHECKSUM,
            checksum_start: (LINK + layout.transport) as u16,
            checksum_offset: layout.checksum_offset() as u16,
            ..header
        };
        let mut frame = header.bytes().to_vec();
        frame.extend([7; LINK]);
        frame.extend(data);
        frame
    }

    /// What the kernel makes of it.
    fn segments(frame: &[u8]) -> Vec<Vec<u8>> {
        let (header, data) = frame.split_first_chunk().expect("a header");
        let mut header = VnetHeader::read(header);
        header.checksum_start -= LINK as u16;
        let (mut room, mut lengths) = (vec![0; 300_000], Vec::new());
        split(header, &data[LINK..], &mut room, &mut lengths).expect("it can be cut");
        let mut rest = &room[..];
        let mut packets = Vec::new();
        for length in lengths {
            let (packet, after) = rest.split_at(length);
            packets.push(packet.to_vec());
            rest = after;
        }
        packets
    }

    fn pieces(frame: &[u8], segments: usize) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        cut(frame, LINK, segments, &mut |piece| pieces.push(piece));
        pieces
    }

    proptest! {
        /// The segments of the pieces are those of the whole.
        #[test]
        fn pieces_are_segmented_as_the_whole_is(
            payload in prop::collection::vec(any::<u8>(), 1..9_000),
            size in 100u16..1_500,
            at_once in 1usize..8,
            is_ipv6: bool,
            is_tcp: bool,
        ) {
            let flow = if is_ipv6 { Flow::V6 } else { Flow::V4 };
            let (data, header) = match is_tcp {
                // CWR, PSH, ACK
                true => (tcp(flow, u32::MAX - 3_000, 0x98, &payload), flow.gso(size)),
                false => (udp(flow, &payload), VnetHeader {
                    gso_type: VnetHeader::GSO_UDP,
                    gso_size: size,
                    ..VnetHeader::default()
                }),
            };
            let whole = frame(header, data);
            let pieces = pieces(&whole, at_once);
            let is_longer = payload.len() > usize::from(size) * at_once;
            prop_assert_eq!(pieces.is_empty(), !is_longer);
            let of_pieces: Vec<_> = pieces.iter().flat_map(|piece| segments(piece)).collect();
            if is_longer {
                prop_assert!(of_pieces.iter().all(|packet| is_sound(packet)));
                prop_assert_eq!(of_pieces, segments(&whole));
                prop_assert!(pieces.iter().all(|piece| piece[VnetHeader::BYTES..][..LINK] == [7; LINK]));
            }
        }

        #[test]
        fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..300), link in 0usize..40) {
            let mut total = 0;
            let has_cut = cut(&bytes, link, 1, &mut |piece| total += piece.len());
            prop_assert_eq!(has_cut, total > 0);
        }
    }
}
