//! What is looked at of a frame, and how it is marked.

use queue::{Ecn, Packet};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tun::{Device, Layout, VnetHeader, cut};
use units::Bytes;

/// Memory that a frame takes beside its bytes.
const OVERHEAD: u64 = 256;
/// Bytes of an Ethernet header; its EtherType is the last two.
const ETHERNET: usize = 14;
/// The longest frame that a device hands over.
pub const MAX_BYTES: usize = Device::MAX_READ_BYTES + ETHERNET + 8;
/// EtherTypes: VLAN tags, at most two of which are followed, and IP.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// IANA protocol number.
const ICMPV6: u8 = 58;

/// What is looked at of a frame: a [`VnetHeader`], a link header if there is one, and an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Where it goes.
    pub ue: IpAddr,
    /// EtherType of the frame.
    pub protocol: u16,
    /// Bytes of the link header.
    pub link: usize,
    /// IP bytes on the wire, those of each segment with its headers.
    pub wire: u64,
    /// Segments that it is on the wire.
    pub segments: u64,
    /// Of neighbour discovery (RFC 4861): without it nothing of the UE could be sent.
    pub is_discovery: bool,
    flow: u64,
    ecn: Ecn,
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]))
}

/// The EtherType of a frame, where its IP header begins, and the version of that.
fn link_of(data: &[u8], is_ethernet: bool) -> Option<(u16, usize)> {
    if !is_ethernet {
        let protocol = match data.first()? >> 4 {
            4 => IPV4,
            6 => IPV6,
            _ => return None,
        };
        return Some((protocol, 0));
    }
    let outer = word(data, ETHERNET - 2)?;
    let (mut kind, mut at) = (outer, ETHERNET);
    for _ in 0..2 {
        if TAGS.contains(&kind) {
            kind = word(data, at + 2)?;
            at += 4;
        }
    }
    let version = data.get(at)? >> 4;
    matches!((kind, version), (IPV4, 4) | (IPV6, 6)).then_some((outer, at))
}

/// Router and neighbour solicitations and advertisements, and redirects.
fn is_discovery(ip: &[u8], kind: u8) -> bool {
    let of_icmp = ip[0] >> 4 == 6 && kind == ICMPV6;
    of_icmp && ip.get(40).is_some_and(|of| (133..=137).contains(of))
}

impl Headers {
    /// Of a frame; none if it is not of IP, or not whole. `hash`: of flows.
    pub fn of(frame: &[u8], is_ethernet: bool, hash: &impl BuildHasher) -> Option<Self> {
        let (header, data) = frame.split_first_chunk()?;
        let header = VnetHeader::read(header);
        let (protocol, link) = link_of(data, is_ethernet)?;
        let ip = data.get(link..)?;
        let (addresses, destination, kind, ecn, stated, own) = if ip[0] >> 4 == 4 {
            let destination: [u8; 4] = *ip.get(16..)?.first_chunk()?;
            let own = usize::from(ip[0] & 15) * 4;
            let stated = usize::from(word(ip, 2)?);
            (
                12..20,
                IpAddr::from(destination),
                ip[9],
                ip[1] & 3,
                stated,
                own,
            )
        } else {
            let destination: [u8; 16] = *ip.get(24..)?.first_chunk()?;
            let stated = usize::from(word(ip, 4)?) + 40;
            let ecn = ip[1] >> 4 & 3;
            (8..40, IpAddr::from(destination), ip[6], ecn, stated, 40)
        };
        let layout = Layout::of(ip);
        let is_whole = header.kind() != VnetHeader::GSO_NONE;
        let length = if is_whole { ip.len() } else { stated };
        if length < own || length > ip.len() {
            return None;
        }
        let own = layout.map_or(own, |layout| layout.payload);
        let payload = length.saturating_sub(own) as u64;
        let segments = match (is_whole, u64::from(header.gso_size)) {
            (false, _) | (true, 0) => 1,
            (true, size) => payload.div_ceil(size).max(1),
        };
        let ports = layout.and_then(|layout| ip.get(layout.transport..layout.transport + 4));
        Some(Self {
            ue: destination,
            protocol,
            link,
            wire: length as u64 + (segments - 1) * own as u64,
            segments,
            is_discovery: is_discovery(ip, kind),
            flow: hash.hash_one((ip.get(addresses)?, kind, ports)),
            ecn: match ecn {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
        })
    }
}

/// Memory of what waits, in all.
#[derive(Debug, Default)]
pub struct Memory {
    used: Arc<AtomicU64>,
}

/// A part of it, until this is dropped.
#[derive(Debug)]
pub struct Charge {
    used: Arc<AtomicU64>,
    bytes: u64,
}

impl Memory {
    /// So many bytes, if no more than `most` is used then.
    pub fn charge(&self, bytes: u64, most: Bytes) -> Option<Charge> {
        // one thread takes, so that it cannot be exceeded meanwhile
        if self.used() + bytes > most.get() {
            return None;
        }
        self.used.fetch_add(bytes, Relaxed);
        let used = Arc::clone(&self.used);
        Some(Charge { used, bytes })
    }

    /// Bytes that are taken.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Relaxed);
    }
}

/// A frame that waits.
#[derive(Debug)]
pub struct Frame {
    /// Its [`VnetHeader`], its link header, its packet.
    pub bytes: Vec<u8>,
    /// What is looked at of it.
    pub headers: Headers,
    /// It was marked here.
    pub is_marked: bool,
    _charge: Charge,
}

impl Frame {
    /// None if there is no room in the memory for it.
    pub fn new(bytes: Vec<u8>, headers: Headers, memory: &Memory, most: Bytes) -> Option<Self> {
        let charge = memory.charge(bytes.capacity() as u64 + OVERHEAD, most)?;
        Some(Self {
            bytes,
            headers,
            is_marked: false,
            _charge: charge,
        })
    }
}

impl Packet for Frame {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.headers.wire)
    }

    fn flow(&self) -> u64 {
        self.headers.flow
    }

    fn ecn(&self) -> Ecn {
        self.headers.ecn
    }

    /// CE, with IPv4's checksum (RFC 1624, equation 3). TCP's and UDP's do not cover the field. One that is not ECN-capable
    /// stays as it is.
    fn mark(&mut self) {
        if self.headers.ecn == Ecn::NotEct {
            return;
        }
        self.headers.ecn = Ecn::Ce;
        self.is_marked = true;
        let Some(ip) = self.bytes.get_mut(VnetHeader::BYTES + self.headers.link..) else {
            return;
        };
        if ip[0] >> 4 == 6 {
            ip[1] |= 0x30;
            return;
        }
        let was = u16::from_be_bytes([ip[0], ip[1]]);
        ip[1] |= 3;
        let is = u16::from_be_bytes([ip[0], ip[1]]);
        let sum = u16::from_be_bytes([ip[10], ip[11]]);
        let mut sum = u32::from(!sum) + u32::from(!was) + u32::from(is);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

/// A frame as it is; or cut into pieces of so many segments, where it is a super-packet that can be.
pub fn pieces(frame: &[u8], headers: &Headers, segments: Option<usize>) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let is_cut = segments.is_some_and(|segments| {
        cut(frame, headers.link, segments, &mut |piece| {
            pieces.push(piece);
        })
    });
    if !is_cut {
        pieces = vec![frame.to_vec()];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::{BuildHasherDefault, DefaultHasher};
    use tun::checksum::Sum;

    const HASH: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::new();

    fn ipv4(ecn: u8, payload: usize) -> Vec<u8> {
        let mut data = vec![0x45, ecn, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0];
        data[2..4].copy_from_slice(&(28 + payload as u16).to_be_bytes());
        data.extend([10, 0, 0, 1, 10, 45, 0, 2]);
        let checksum = Sum::default().with(&data).checksum();
        data[10..12].copy_from_slice(&checksum);
        udp(data, payload)
    }

    fn ipv6(ecn: u8, payload: usize) -> Vec<u8> {
        let mut data = vec![0x60, ecn << 4, 0, 0, 0, 0, 17, 64];
        data[4..6].copy_from_slice(&(8 + payload as u16).to_be_bytes());
        data.extend([0xfd; 16]);
        data.extend([0xfc; 16]);
        udp(data, payload)
    }

    fn udp(mut data: Vec<u8>, payload: usize) -> Vec<u8> {
        data.extend([0x01, 0xbb, 0x9c, 0x40]);
        data.extend((8 + payload as u16).to_be_bytes());
        data.extend([0, 0]);
        data.extend(vec![5; payload]);
        data
    }

    fn framed(header: VnetHeader, tags: usize, ip: &[u8]) -> Vec<u8> {
        let kind = if ip[0] >> 4 == 4 { IPV4 } else { IPV6 };
        let mut frame = header.bytes().to_vec();
        frame.extend([2; 12]);
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend(kind.to_be_bytes());
        frame.extend(ip);
        frame
    }

    fn frame(bytes: Vec<u8>) -> Frame {
        let headers = Headers::of(&bytes, true, &HASH).expect("of IP");
        Frame::new(bytes, headers, &Memory::default(), Bytes::MAX).expect("room")
    }

    #[test]
    fn a_frame_has_its_ue_and_its_bytes_behind_tags_too() {
        let plain = VnetHeader::default();
        for tags in 0..3 {
            let bytes = framed(plain, tags, &ipv4(2, 100));
            let headers = Headers::of(&bytes, true, &HASH).expect("of IP");
            assert_eq!(headers.ue, IpAddr::from([10, 45, 0, 2]));
            assert_eq!((headers.wire, headers.segments), (128, 1));
            assert_eq!((headers.link, headers.ecn), (14 + 4 * tags, Ecn::Ect0));
            let headers = Headers::of(&framed(plain, tags, &ipv6(1, 100)), true, &HASH);
            let headers = headers.expect("of IP");
            assert_eq!(headers.ue, IpAddr::from([0xfc; 16]));
            assert_eq!((headers.wire, headers.ecn), (148, Ecn::Ect1));
        }
        let bare = [&plain.bytes()[..], &ipv4(0, 10)].concat();
        let headers = Headers::of(&bare, false, &HASH).expect("of IP");
        assert_eq!((headers.link, headers.protocol), (0, IPV4));
        // padded to the least of Ethernet
        let padded = [&framed(plain, 0, &ipv4(0, 1))[..], &[0; 17]].concat();
        let headers = Headers::of(&padded, true, &HASH).expect("of IP");
        assert_eq!(headers.wire, 29);
    }

    #[test]
    fn each_segment_of_a_super_packet_counts_with_its_headers() {
        let header = VnetHeader {
            gso_type: VnetHeader::GSO_UDP,
            gso_size: 1_200,
            ..VnetHeader::default()
        };
        let bytes = framed(header, 0, &ipv4(0, 3_000));
        let headers = Headers::of(&bytes, true, &HASH).expect("of IP");
        assert_eq!((headers.segments, headers.wire), (3, 3_000 + 3 * 28));
    }

    #[test]
    fn flows_are_told_apart_by_addresses_and_ports() {
        let plain = VnetHeader::default();
        let flow = |ip: &[u8]| frame(framed(plain, 0, ip)).flow();
        let one = ipv4(0, 10);
        assert_eq!(flow(&one), flow(&ipv4(3, 900)));
        for at in [15, 21, 23, 9] {
            let mut other = one.clone();
            other[at] ^= 1;
            assert_ne!(flow(&other), flow(&one), "byte {at}");
        }
    }

    #[test]
    fn neighbour_discovery_is_recognised() {
        let plain = VnetHeader::default();
        let mut ip = ipv6(0, 20);
        let is_discovery = |ip: &[u8]| {
            let headers = Headers::of(&framed(plain, 0, ip), true, &HASH);
            headers.expect("of IP").is_discovery
        };
        ip[6] = ICMPV6;
        for (kind, expected) in [
            (128, false),
            (133, true),
            (135, true),
            (137, true),
            (138, false),
        ] {
            ip[40] = kind;
            assert_eq!(is_discovery(&ip), expected, "{kind}");
        }
        ip[6] = 17;
        ip[40] = 135;
        assert!(!is_discovery(&ip));
    }

    #[test]
    fn memory_is_given_back() {
        let memory = Memory::default();
        let charge = memory.charge(700, Bytes::new(1_000)).expect("room");
        assert!(memory.charge(301, Bytes::new(1_000)).is_none());
        drop(charge);
        assert!(memory.charge(1_000, Bytes::new(1_000)).is_some());
        assert_eq!(memory.used(), 0);
    }

    proptest! {
        #[test]
        fn a_mark_keeps_ipv4s_checksum_right(ecn in 1u8..4, id: u16, ttl: u8) {
            let mut ip = ipv4(ecn, 20);
            ip[4..6].copy_from_slice(&id.to_be_bytes());
            ip[8] = ttl;
            ip[10..12].fill(0);
            let checksum = Sum::default().with(&ip[..20]).checksum();
            ip[10..12].copy_from_slice(&checksum);
            let mut marked = frame(framed(VnetHeader::default(), 1, &ip));
            marked.mark();
            let after = &marked.bytes[VnetHeader::BYTES + 18..];
            prop_assert_eq!(after[1], 3);
            prop_assert!(Sum::default().with(&after[..20]).is_valid());
            let mut marked = frame(framed(VnetHeader::default(), 0, &ipv6(ecn, 20)));
            marked.mark();
            prop_assert_eq!(marked.bytes[VnetHeader::BYTES + 15], 0x30);
        }

        #[test]
        fn what_is_not_ecn_capable_is_never_marked(payload in 0usize..100, is_ipv6: bool) {
            let ip = if is_ipv6 { ipv6(0, payload) } else { ipv4(0, payload) };
            let bytes = framed(VnetHeader::default(), 0, &ip);
            let mut same = frame(bytes.clone());
            same.mark();
            prop_assert_eq!(same.bytes, bytes);
            prop_assert!(!same.is_marked);
        }

        #[test]
        fn any_bytes_are_handled(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200),
            is_ethernet: bool,
            is_ip: bool,
        ) {
            if is_ip && bytes.len() > 30 {
                bytes[22..24].copy_from_slice(&IPV4.to_be_bytes());
                bytes[24] = 0x45;
            }
            if let Some(headers) = Headers::of(&bytes, is_ethernet, &HASH) {
                prop_assert!(headers.segments > 0);
                let room = Frame::new(bytes, headers, &Memory::default(), Bytes::MAX);
                room.expect("room").mark();
            }
        }
    }
}
