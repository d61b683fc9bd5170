//! Packets of one flow that follow each other leave as one.
//!
//! Several flows are held at once, so that packets of flows that take turns are put together too.
//! Order within a flow is kept; that between flows is not. Only packets whose checksums are right are
//! put together, as the kernel that takes the whole does not look at the sums of its parts; what the
//! kernel would cut differently stays alone.

use crate::VnetHeader;
use crate::checksum::Sum;
use crate::layout::Layout;
use crate::split::{FIRST_ONLY, LAST_ONLY};
use std::io::IoSlice;

/// ACK, the only bit of segments that can be put together beside [`LAST_ONLY`] and [`FIRST_ONLY`].
const ACK: u8 = 0x10;
/// Maximum bytes of the whole: what IPv4 can express.
const MAX_BYTES: usize = 65_535;
/// Maximum number of packets in one: one writev has room for them.
const MAX_PACKETS: usize = 127;
/// Maximum bytes of all headers: IPv4 with options and TCP with options.
const MAX_HEADERS: usize = 120;
/// Flows held at once.
const MAX_FLOWS: usize = 16;

/// Packets that leave together.
#[derive(Debug)]
struct Group<B> {
    layout: Layout,
    packets: Vec<B>,
    /// Bytes of the whole.
    total: usize,
    /// Payload of all packets but the last.
    size: usize,
    /// Nothing can follow.
    is_closed: bool,
}

/// Puts packets together, and writes them.
#[derive(Debug)]
pub struct Coalescer<B> {
    /// Those in use first, in the order in which they were begun; the others keep their memory.
    groups: Vec<Group<B>>,
    used: usize,
    joins_udp: bool,
}

impl<B: AsRef<[u8]>> Coalescer<B> {
    /// `joins_udp`: the device takes UDP in large pieces too ([`crate::Device::segments_udp`]).
    pub fn new(joins_udp: bool) -> Self {
        Self {
            groups: Vec::new(),
            used: 0,
            joins_udp,
        }
    }

    /// Takes a packet. `write` gets what leaves now, if anything: one call a packet of the device.
    pub fn push(&mut self, packet: B, write: &mut impl FnMut(&[IoSlice<'_>])) {
        let data = packet.as_ref();
        let Some(layout) = Layout::of(data) else {
            return alone(&packet, write);
        };
        let own = (0..self.used).find(|i| self.groups[*i].is_same_flow(data, layout));
        // one that is padded, or cut short, stays alone, and overtakes nothing of its flow
        let may_join = layout.is_whole(data) && self.can_join(data, layout);
        if let Some(index) = own {
            if may_join && self.groups[index].takes(data, layout) {
                return self.groups[index].append(packet);
            }
            self.write_one(index, write);
        }
        if !may_join {
            return alone(&packet, write);
        }
        if self.used == MAX_FLOWS {
            self.write_one(0, write);
        }
        self.begin(packet, layout);
    }

    /// Writes all that is held.
    pub fn flush(&mut self, write: &mut impl FnMut(&[IoSlice<'_>])) {
        for group in &mut self.groups[..self.used] {
            group.write(write);
        }
        self.used = 0;
    }

    /// Payload, nothing special, and right sums.
    fn can_join(&self, data: &[u8], layout: Layout) -> bool {
        let is_plain = if layout.is_tcp {
            data[layout.transport + 13] & !(LAST_ONLY | FIRST_ONLY) == ACK
        } else {
            // a sum of zero means that there is none (RFC 768)
            let at = layout.checksum_at();
            self.joins_udp && data[at..at + 2] != [0, 0]
        };
        let sum = || {
            layout
                .pseudo(data, data.len())
                .with(&data[layout.transport..])
        };
        is_plain
            && data.len() > layout.payload
            && (layout.is_ipv6 || Sum::default().with(&data[..layout.transport]).is_valid())
            && sum().is_valid()
    }

    fn begin(&mut self, packet: B, layout: Layout) {
        let data = packet.as_ref();
        let (total, size) = (data.len(), data.len() - layout.payload);
        let is_closed = layout.is_tcp && data[layout.transport + 13] & LAST_ONLY != 0;
        if self.used == self.groups.len() {
            self.groups.push(Group {
                layout,
                packets: Vec::with_capacity(MAX_PACKETS),
                total: 0,
                size: 0,
                is_closed: false,
            });
        }
        let group = &mut self.groups[self.used];
        (group.layout, group.total, group.size) = (layout, total, size);
        group.is_closed = is_closed;
        group.packets.push(packet);
        self.used += 1;
    }

    fn write_one(&mut self, index: usize, write: &mut impl FnMut(&[IoSlice<'_>])) {
        self.groups[index].write(write);
        self.groups[index..self.used].rotate_left(1);
        self.used -= 1;
    }
}

impl<B: AsRef<[u8]>> Group<B> {
    fn first(&self) -> &[u8] {
        self.packets.first().map_or(&[], AsRef::as_ref)
    }

    /// Addresses and ports are the same.
    fn is_same_flow(&self, data: &[u8], layout: Layout) -> bool {
        let (own, first) = (self.layout, self.first());
        let addresses = if own.is_ipv6 { 8..40 } else { 12..20 };
        let ports = own.transport..own.transport + 4;
        own.is_ipv6 == layout.is_ipv6
            && own.is_tcp == layout.is_tcp
            && own.transport == layout.transport
            && first[ports.clone()] == data[ports]
            && first[addresses.clone()] == data[addresses]
    }

    /// Whether a packet of the same flow is what the kernel's segmentation would make as the next.
    fn takes(&self, data: &[u8], layout: Layout) -> bool {
        let (own, first) = (self.layout, self.first());
        let payload = data.len() - layout.payload;
        let count = self.packets.len();
        if self.is_closed
            || own != layout
            || payload > self.size
            || count == MAX_PACKETS
            || self.total + payload > MAX_BYTES
        {
            return false;
        }
        let same = |from: usize, to: usize| first[from..to] == data[from..to];
        let same_ip = if own.is_ipv6 {
            same(0, 4) && same(6, 8)
        } else {
            let id = |of: &[u8]| u16::from_be_bytes([of[4], of[5]]);
            let follows = id(data) == id(first).wrapping_add(count as u16);
            // an identification means nothing where fragmentation is forbidden (RFC 6864 4.1)
            let is_atomic = first[6] & 0x40 != 0;
            same(0, 2) && same(6, 10) && same(20, own.transport) && (is_atomic || follows)
        };
        same_ip && (!own.is_tcp || self.takes_tcp(data))
    }

    fn takes_tcp(&self, data: &[u8]) -> bool {
        let (first, at) = (self.first(), self.layout.transport);
        let same = |from: usize, to: usize| first[from..to] == data[from..to];
        let seq = |of: &[u8]| u32::from_be_bytes([of[at + 4], of[at + 5], of[at + 6], of[at + 7]]);
        let sent = (self.total - self.layout.payload) as u32;
        seq(data) == seq(first).wrapping_add(sent)
            && data[at + 13] & FIRST_ONLY == 0
            && same(at + 8, at + 13)
            && same(at + 14, at + 16)
            && same(at + 18, self.layout.payload)
    }

    fn append(&mut self, packet: B) {
        let data = packet.as_ref();
        let payload = data.len() - self.layout.payload;
        let ends = self.layout.is_tcp && data[self.layout.transport + 13] & LAST_ONLY != 0;
        self.is_closed = payload < self.size || ends;
        self.total += payload;
        self.packets.push(packet);
    }

    fn write(&mut self, write: &mut impl FnMut(&[IoSlice<'_>])) {
        if let [packet] = &self.packets[..] {
            alone(packet, write);
        } else if self.layout.payload <= MAX_HEADERS {
            self.write_whole(write);
        } else {
            for packet in &self.packets {
                alone(packet, write);
            }
        }
        self.packets.clear();
    }

    fn write_whole(&self, write: &mut impl FnMut(&[IoSlice<'_>])) {
        let (layout, first) = (self.layout, self.first());
        let mut buffer = [0; VnetHeader::BYTES + MAX_HEADERS];
        let (vnet, headers) = buffer.split_at_mut(VnetHeader::BYTES);
        vnet.copy_from_slice(&self.header().bytes());
        let headers = &mut headers[..layout.payload];
        headers.copy_from_slice(&first[..layout.payload]);
        if let (true, Some(last)) = (layout.is_tcp, self.packets.last()) {
            headers[layout.transport + 13] |= last.as_ref()[layout.transport + 13];
        }
        layout.set_length(headers, self.total);
        let at = layout.checksum_at();
        let pseudo = layout.pseudo(headers, self.total).folded();
        headers[at..at + 2].copy_from_slice(&pseudo);
        let mut pieces = [IoSlice::new(&[]); MAX_PACKETS + 1];
        pieces[0] = IoSlice::new(&buffer[..VnetHeader::BYTES + layout.payload]);
        for (piece, packet) in pieces[1..].iter_mut().zip(&self.packets) {
            *piece = IoSlice::new(&packet.as_ref()[layout.payload..]);
        }
        write(&pieces[..=self.packets.len()]);
    }

    fn header(&self) -> VnetHeader {
        let layout = self.layout;
        let gso_type = match (layout.is_tcp, layout.is_ipv6) {
            (true, false) => VnetHeader::GSO_TCP4,
            (true, true) => VnetHeader::GSO_TCP6,
            (false, _) => VnetHeader::GSO_UDP,
        };
        let is_ecn = layout.is_tcp && self.first()[layout.transport + 13] & FIRST_ONLY != 0;
        VnetHeader {
            flags: VnetHeader::NEEDS_CHECKSUM,
            gso_type: gso_type | if is_ecn { VnetHeader::GSO_ECN } else { 0 },
            // none of these exceeds the 65,535 bytes of the whole
            header_length: layout.payload as u16,
            gso_size: self.size as u16,
            checksum_start: layout.transport as u16,
            checksum_offset: layout.checksum_offset() as u16,
        }
    }
}

/// Writes a packet as it is.
fn alone(packet: &impl AsRef<[u8]>, write: &mut impl FnMut(&[IoSlice<'_>])) {
    let vnet = VnetHeader::default().bytes();
    write(&[IoSlice::new(&vnet), IoSlice::new(packet.as_ref())]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split;
    use crate::test_support::{Flow, tcp, udp};
    use proptest::prelude::*;

    /// What the device would be handed for these packets.
    fn written(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut write = |pieces: &[IoSlice<'_>]| {
            all.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect());
        };
        let mut coalescer = Coalescer::new(true);
        for packet in packets {
            coalescer.push(packet.clone(), &mut write);
        }
        coalescer.flush(&mut write);
        all
    }

    /// What the kernel would make of that.
    fn cut(written: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        for whole in written {
            let (header, data) = whole.split_first_chunk().expect("a header");
            let mut room = vec![0; 300_000];
            let mut lengths = Vec::new();
            split(VnetHeader::read(header), data, &mut room, &mut lengths).expect("it can be cut");
            let mut at = 0;
            for length in lengths {
                packets.push(room[at..at + length].to_vec());
                at += length;
            }
        }
        packets
    }

    fn train(flow: Flow, from: u32, count: u32) -> Vec<Vec<u8>> {
        (0..count)
            .map(|i| tcp(flow, from.wrapping_add(i * 1000), ACK, &[i as u8; 1000]))
            .collect()
    }

    #[test]
    fn a_train_leaves_as_one() {
        for flow in Flow::ALL {
            let packets = train(flow, u32::MAX - 2500, 40);
            let all = written(&packets);
            assert_eq!(all.len(), 1);
            let expected: Vec<Vec<u8>> = cut(&all);
            assert_eq!(expected.len(), 40);
            for (i, (cut, sent)) in expected.iter().zip(&packets).enumerate() {
                let differs = (0..cut.len()).filter(|at| cut[*at] != sent[*at]);
                // the identification and with it IPv4's checksum, which mean nothing here
                assert!(
                    differs
                        .clone()
                        .all(|at| flow == Flow::V4 && [4, 5, 10, 11].contains(&at)),
                    "packet {i}: {:?}",
                    differs.collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn flows_that_take_turns_are_put_together() {
        let (a, b) = (train(Flow::V4, 1, 5), train(Flow::V6, 7, 5));
        let mixed: Vec<Vec<u8>> = a
            .iter()
            .zip(&b)
            .flat_map(|(a, b)| [a.clone(), b.clone()])
            .collect();
        let all = written(&mixed);
        assert_eq!(all.len(), 2);
        assert!(all[0].len() > 5_000 && all[1].len() > 5_000);
    }

    #[test]
    fn what_does_not_continue_stays_apart() {
        let first = tcp(Flow::V4, 1, ACK, &[7; 100]);
        let mut broken = tcp(Flow::V4, 101, ACK, &[7; 100]);
        *broken.last_mut().expect("bytes") ^= 1;
        let mut marked = tcp(Flow::V4, 101, ACK, &[7; 100]);
        marked[1] |= 0b11;
        marked[10..12].fill(0);
        let sum = Sum::default().with(&marked[..20]).checksum();
        marked[10..12].copy_from_slice(&sum);
        for (what, next) in [
            ("a gap", tcp(Flow::V4, 102, ACK, &[7; 100])),
            ("a larger one", tcp(Flow::V4, 101, ACK, &[7; 101])),
            ("a SYN", tcp(Flow::V4, 101, ACK | 2, &[7; 100])),
            ("a pure ACK", tcp(Flow::V4, 101, ACK, &[])),
            (
                "a CWR in the middle",
                tcp(Flow::V4, 101, ACK | 0x80, &[7; 100]),
            ),
            ("a wrong checksum", broken),
            ("another mark", marked),
            ("another protocol", udp(Flow::V4, &[7; 100])),
        ] {
            let all = written(&[first.clone(), next.clone()]);
            assert_eq!(all.len(), 2, "{what}");
            let unchanged: Vec<&[u8]> = all.iter().map(|p| &p[VnetHeader::BYTES..]).collect();
            assert_eq!(unchanged, [&first[..], &next[..]], "{what}: in order");
        }
        let last = [
            first,
            tcp(Flow::V4, 101, ACK | 8, &[7; 100]),
            tcp(Flow::V4, 201, ACK, &[7; 100]),
        ];
        assert_eq!(written(&last).len(), 2, "nothing follows a PSH");
    }

    #[test]
    fn datagrams_of_one_size_leave_as_one() {
        let packets = [
            udp(Flow::V6, &[1; 500]),
            udp(Flow::V6, &[2; 500]),
            udp(Flow::V6, &[3; 20]),
        ];
        let all = written(&packets);
        assert_eq!(all.len(), 1);
        assert_eq!(cut(&all), packets);
        let mut without = Coalescer::new(false);
        let mut count = 0;
        for packet in &packets {
            without.push(packet, &mut |_| count += 1);
        }
        without.flush(&mut |_| count += 1);
        assert_eq!(count, 3, "a kernel that does not take them");
    }

    /// Found by fuzzing: a packet with bytes behind its end is the kernel's to trim, and came first.
    #[test]
    fn a_padded_packet_overtakes_nothing_of_its_flow() {
        let first = tcp(Flow::V4, 100, ACK, &[1; 50]);
        let mut padded = tcp(Flow::V4, 150, ACK, &[2; 50]);
        padded.push(0);
        let packets = [first, padded];
        assert_eq!(cut(&written(&packets)), packets);
    }

    proptest! {
        /// The promise of the crate: what the kernel gave is what the other kernel gets.
        #[test]
        fn what_was_cut_is_put_together_to_what_it_was(
            payload in prop::collection::vec(any::<u8>(), 1..40_000),
            size in 600u16..1_500,
            seq: u32,
            is_last: bool,
            is_ipv6: bool,
        ) {
            let flow = if is_ipv6 { Flow::V6 } else { Flow::V4 };
            let data = tcp(flow, seq, ACK | if is_last { 0x09 } else { 0 }, &payload);
            let mut room = vec![0; 100_000];
            let mut lengths = Vec::new();
            split(flow.gso(size), &data, &mut room, &mut lengths).expect("it can be cut");
            let mut at = 0;
            let packets: Vec<Vec<u8>> = lengths.iter().map(|length| {
                at += length;
                room[at - length..at].to_vec()
            }).collect();
            let all = written(&packets);
            prop_assert_eq!(all.len(), 1);
            let layout = Layout::of(&data).expect("TCP");
            let at = layout.checksum_at();
            let mut expected = data.clone();
            if lengths.len() > 1 {
                let pseudo = layout.pseudo(&data, data.len()).folded();
                expected[at..at + 2].copy_from_slice(&pseudo);
            }
            prop_assert_eq!(&all[0][VnetHeader::BYTES..], &expected[..]);
            prop_assert_eq!(cut(&all), packets);
        }

        #[test]
        fn any_packets_come_out_as_many_bytes(
            trains in prop::collection::vec((0u32..3, 0u32..4_000, 1usize..60, 0u8..=255), 0..60),
        ) {
            let packets: Vec<Vec<u8>> = trains.iter().map(|(kind, seq, length, flags)| match kind {
                0 => tcp(Flow::V4, *seq, *flags, &vec![1; *length]),
                1 => tcp(Flow::V6, *seq, *flags, &vec![1; *length]),
                _ => udp(Flow::V4, &vec![1; *length]),
            }).collect();
            let out = cut(&written(&packets));
            prop_assert_eq!(out.len(), packets.len());
            let bytes = |of: &[Vec<u8>]| of.iter().map(Vec::len).sum::<usize>();
            prop_assert_eq!(bytes(&out), bytes(&packets));
        }
    }
}
