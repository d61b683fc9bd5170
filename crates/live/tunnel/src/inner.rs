//! The packets inside the tunnel: what their IP headers contain, and the few things that are changed in
//! them on their way.

use bytes::Bytes;
use multipath::Payload;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tun::Layout;
use tun::checksum::Sum;
use units::Ecn;

/// Minimum MTU of IPv6 (RFC 8200 section 5).
pub(crate) const MIN_MTU: usize = 1_280;
/// SYN.
const SYN: u8 = 0x02;
/// Headers of IPv4 and TCP, of IPv6 and TCP, without options.
const TCP4: usize = 40;
const TCP6: usize = 60;

/// An IP packet on its way through the tunnel, or a piece of several ([`tun::pieces`]); of one that is about to leave, whose.
#[derive(Clone, Debug)]
pub(crate) struct Inner(pub(crate) Bytes, pub(crate) Option<Whole>);

/// What a piece is of.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// IP and TCP or UDP headers.
    pub(crate) headers: Bytes,
    /// Of datagrams: what a piece carries is of use whole.
    pub(crate) is_udp: bool,
    /// Which piece of how many.
    pub(crate) index: usize,
    pub(crate) count: usize,
}

impl Inner {
    /// A packet, or a piece that has come.
    pub(crate) fn packet(bytes: Bytes) -> Self {
        Self(bytes, None)
    }

    /// The pieces of a super-segment of datagrams, at its first: if not all of them can wait for a path, none is to, as what they
    /// carry is of use whole. Of TCP each piece by itself.
    pub(crate) fn all_or_none(&self) -> Option<usize> {
        let whole = self.1.as_ref()?;
        match (whole.is_udp, whole.index) {
            (false, _) => Some(1),
            (true, 0) => Some(whole.count),
            (true, _) => None,
        }
    }

    /// What begins with its IP header; of a piece the headers of the whole.
    pub(crate) fn headers(&self) -> &[u8] {
        self.1.as_ref().map_or(&self.0, |whole| &whole.headers)
    }
}

impl Payload for Inner {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn ecn(&self) -> Ecn {
        tun::pieces::ecn(&self.0).map_or_else(|| ecn(&self.0), Ecn::from_bits)
    }
    fn follows(&self) -> bool {
        self.1
            .as_ref()
            .is_some_and(|whole| whole.is_udp && whole.index > 0)
    }
    fn parity(of: &[Self]) -> Option<Self> {
        // pieces are not latency-sensitive
        let is_whole = of.iter().all(|of| of.1.is_none());
        let bytes = || of.iter().map(|of| &of.0[..]);
        is_whole.then(|| Self::packet(multipath::parity::parity(bytes()).into()))
    }
    fn rebuilt(&self, others: &[Self]) -> Option<Self> {
        let others = others.iter().map(|of| &of.0[..]);
        let packet = multipath::parity::missing(&self.0, others)?;
        Some(Self::packet(packet.into()))
    }
    /// Copies the packet, whose memory others may see: marks are few.
    fn mark(&mut self) {
        let mut data = self.0.to_vec();
        match tun::pieces::is_piece(&data) {
            true => tun::pieces::mark(&mut data),
            false => set_ecn(&mut data, Ecn::Ce),
        }
        self.0 = data.into();
    }
}

impl AsRef<[u8]> for Inner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The ECN codepoint of a packet's header; nothing if it is no IP packet.
pub(crate) fn ecn(data: &[u8]) -> Ecn {
    match data {
        [first, second, ..] if first >> 4 == 4 => Ecn::from_bits(*second),
        [first, second, ..] if first >> 4 == 6 => Ecn::from_bits((first << 4 | second >> 4) & 3),
        _ => Ecn::NotEct,
    }
}

/// Writes a packet's field of ECN, and IPv4's checksum with it.
pub(crate) fn set_ecn(data: &mut [u8], ecn: Ecn) {
    match data.first().map(|first| first >> 4) {
        Some(4) if data.len() >= 20 => {
            let old = [data[0], data[1]];
            data[1] = data[1] & !3 | ecn.bits();
            let sum = u16::from_be_bytes([data[10], data[11]]);
            let sum = adjusted(
                sum,
                u16::from_be_bytes(old),
                u16::from_be_bytes([data[0], data[1]]),
            );
            data[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if data.len() >= 40 => data[1] = data[1] & !0x30 | ecn.bits() << 4,
        _ => {}
    }
}

/// A checksum after one of its words has changed (RFC 1624, equation 3).
fn adjusted(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A packet's source and destination, if it is a whole IP header.
pub(crate) fn addresses(data: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| {
        let octets: [u8; 4] = data.get(at..at + 4)?.try_into().ok()?;
        Some(IpAddr::from(Ipv4Addr::from(octets)))
    };
    let v6 = |at: usize| {
        let octets: [u8; 16] = data.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(octets)))
    };
    match data.first()? >> 4 {
        4 if data.len() >= 20 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

/// A TCP segment that opens a connection.
pub(crate) fn is_syn(data: &[u8]) -> bool {
    Layout::of(data).is_some_and(|layout| layout.is_tcp && data[layout.transport + 13] & SYN != 0)
}

/// Lowers the segment size that a SYN announces to what the tunnel carries (RFC 9293 3.7.1: an end
/// beyond a smaller link cannot detect it). `mtu` is that of packets inside. True if it was lowered.
pub(crate) fn clamp_mss(data: &mut [u8], mtu: usize) -> bool {
    let Some(layout) = Layout::of(data).filter(|l| l.is_tcp) else {
        return false;
    };
    if data[layout.transport + 13] & SYN == 0 {
        return false;
    }
    let headers = if layout.is_ipv6 { TCP6 } else { TCP4 };
    let max = u16::try_from(mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
    let mut at = layout.transport + 20;
    while at + 1 < layout.payload {
        let length = usize::from(data[at + 1]);
        match data[at] {
            0 => return false,
            1 => at += 1,
            2 if length == 4 && at + 4 <= layout.payload => {
                let mss = u16::from_be_bytes([data[at + 2], data[at + 3]]);
                if mss <= max {
                    return false;
                }
                data[at + 2..at + 4].copy_from_slice(&max.to_be_bytes());
                seal_tcp(data, layout);
                return true;
            }
            _ if length < 2 => return false,
            _ => at += length,
        }
    }
    false
}

fn seal_tcp(data: &mut [u8], layout: Layout) {
    let at = layout.transport + layout.checksum_offset();
    data[at..at + 2].fill(0);
    let addresses = if layout.is_ipv6 { 8..40 } else { 12..20 };
    let length = data.len() - layout.transport;
    let sum = Sum::default()
        .with(&data[addresses])
        .with_word(6)
        // a packet of the device is no longer than 65,535 bytes
        .with_word(length as u16)
        .with(&data[layout.transport..]);
    data[at..at + 2].copy_from_slice(&sum.checksum());
}

/// What is sent to the sender of a packet that is too large: ICMP "fragmentation needed" (RFC 1191
/// section 4) or ICMPv6 "packet too big" (RFC 4443 3.2), from `own`. None where nothing may be sent
/// (RFC 1122 3.2.2, RFC 4443 2.4 e), and for IPv4 packets that may be fragmented.
pub(crate) fn too_big(data: &[u8], mtu: usize, own: IpAddr) -> Option<Vec<u8>> {
    let (source, _) = addresses(data)?;
    if source.is_unspecified() || source.is_multicast() {
        return None;
    }
    match (source, own) {
        (IpAddr::V4(to), IpAddr::V4(from)) => too_big_v4(data, mtu, from, to),
        (IpAddr::V6(to), IpAddr::V6(from)) => too_big_v6(data, mtu, from, to),
        _ => None,
    }
}

fn too_big_v4(data: &[u8], mtu: usize, from: Ipv4Addr, to: Ipv4Addr) -> Option<Vec<u8>> {
    /// Bytes of the packet that are sent back (RFC 1812 4.3.2.3: as much as fits into 576 bytes).
    const QUOTED: usize = 548;
    let flags = u16::from_be_bytes([data[6], data[7]]);
    let (may_fragment, is_later) = (flags & 0x4000 == 0, flags & 0x1fff != 0);
    let header = usize::from(data[0] & 0x0f) * 4;
    let is_error = data[9] == 1 && !matches!(data.get(header), Some(0 | 8));
    if may_fragment || is_later || is_error {
        return None;
    }
    let quoted = &data[..data.len().min(QUOTED)];
    let total = (28 + quoted.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = Sum::default().with(&packet).checksum();
    packet[10..12].copy_from_slice(&sum);
    packet.extend([3, 4, 0, 0, 0, 0]);
    packet.extend(u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes());
    packet.extend(quoted);
    let sum = Sum::default().with(&packet[20..]).checksum();
    packet[22..24].copy_from_slice(&sum);
    Some(packet)
}

fn too_big_v6(data: &[u8], mtu: usize, from: Ipv6Addr, to: Ipv6Addr) -> Option<Vec<u8>> {
    const ICMPV6: u8 = 58;
    // errors have types below 128
    if data[6] == ICMPV6 && data.get(40).is_none_or(|kind| *kind < 128) {
        return None;
    }
    let quoted = &data[..data.len().min(MIN_MTU - 48)];
    let length = (8 + quoted.len()) as u16;
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([ICMPV6, 64]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend([2, 0, 0, 0]);
    packet.extend(u32::try_from(mtu).unwrap_or(u32::MAX).to_be_bytes());
    packet.extend(quoted);
    let sum = Sum::default()
        .with(&packet[8..40])
        .with_word(u16::from(ICMPV6))
        .with_word(length)
        .with(&packet[40..]);
    packet[42..44].copy_from_slice(&sum.checksum());
    Some(packet)
}

/// Does with any bytes what is done with a packet inside: reads its addresses and mark, marks it, lowers a
/// SYN's segment size for this MTU, and answers that it is too large. For fuzzing.
///
/// # Panics
/// If that breaks what is promised.
pub fn check_inner(data: &[u8], mtu: usize) {
    let mut packet = data.to_vec();
    let before = (ecn(&packet), addresses(&packet));
    let was_valid = has_valid_header(&packet);
    set_ecn(&mut packet, Ecn::Ce);
    let after = ecn(&packet);
    assert!(after == Ecn::Ce || (after == before.0 && packet == data));
    assert_eq!(
        has_valid_header(&packet),
        was_valid,
        "marking keeps the sum"
    );
    assert_eq!(addresses(&packet), before.1);
    let was_syn = is_syn(&packet);
    if clamp_mss(&mut packet, mtu) {
        assert!(was_syn && is_syn(&packet));
        assert!(!clamp_mss(&mut packet, mtu), "once is enough");
    }
    assert_eq!((packet.len(), addresses(&packet)), (data.len(), before.1));
    let owns = [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    for own in owns {
        let Some(answer) = too_big(data, mtu, own) else {
            continue;
        };
        let (source, _) = before.1.expect("a packet with a source is answered");
        assert_eq!(addresses(&answer), Some((own, source)));
        assert!(answer.len() <= MIN_MTU);
        assert_eq!(too_big(&answer, mtu, own), None, "no error about an error");
    }
}

/// IPv4's checksum is right.
fn has_valid_header(data: &[u8]) -> bool {
    let Some(first) = data.first().filter(|first| **first >> 4 == 4) else {
        return false;
    };
    let header = data.get(..usize::from(first & 0x0f) * 4);
    header.is_some_and(|header| header.len() >= 20 && Sum::default().with(header).is_valid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4(protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut data = vec![0x45, 0];
        data.extend((20 + body.len() as u16).to_be_bytes());
        data.extend([0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = Sum::default().with(&data).checksum();
        data[10..12].copy_from_slice(&sum);
        data.extend(body);
        data
    }

    fn v6(protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut data = vec![0x60, 0, 0, 0];
        data.extend((body.len() as u16).to_be_bytes());
        data.extend([protocol, 64]);
        data.extend([0xfd; 16]);
        data.extend([0xfc; 16]);
        data.extend(body);
        data
    }

    /// A SYN that announces this segment size behind two NOPs.
    fn syn(packet: fn(u8, &[u8]) -> Vec<u8>, mss: u16) -> Vec<u8> {
        let mut tcp = vec![
            0, 80, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x70, SYN, 1, 0, 0, 0, 0, 0,
        ];
        tcp.extend([1, 1, 2, 4]);
        tcp.extend(mss.to_be_bytes());
        tcp.extend([0, 0]);
        let mut data = packet(6, &tcp);
        let layout = Layout::of(&data).expect("TCP");
        seal_tcp(&mut data, layout);
        data
    }

    fn is_sound(data: &[u8]) -> bool {
        let layout = Layout::of(data).expect("TCP");
        let mut again = data.to_vec();
        seal_tcp(&mut again, layout);
        again == data
    }

    #[test]
    fn a_syn_announces_what_fits() {
        for (packet, headers) in [(v4 as fn(u8, &[u8]) -> Vec<u8>, 40), (v6, 60)] {
            let mut data = syn(packet, 1_460);
            assert!(is_sound(&data));
            assert!(clamp_mss(&mut data, 1_400));
            assert_eq!(data, syn(packet, 1_400 - headers));
            assert!(!clamp_mss(&mut data, 1_400), "once is enough");
            let mut small = syn(packet, 536);
            assert!(!clamp_mss(&mut small, 1_400));
            let mut plain = syn(packet, 1_460);
            let flags = if headers == 40 { 33 } else { 53 };
            plain[flags] = 0x10;
            assert!(!clamp_mss(&mut plain, 1_400), "no SYN");
        }
    }

    #[test]
    fn marks_are_written_where_they_are_read() {
        for mut data in [v4(17, &[0; 8]), v6(17, &[0; 8])] {
            for mark in [Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::NotEct] {
                set_ecn(&mut data, mark);
                assert_eq!(ecn(&data), mark);
                if data[0] >> 4 == 4 {
                    assert!(Sum::default().with(&data[..20]).is_valid(), "IP sum");
                }
            }
        }
    }

    #[test]
    fn senders_of_large_packets_are_notified() {
        let own4: IpAddr = "192.0.2.1".parse().expect("an address");
        let own6: IpAddr = "fd00::1".parse().expect("an address");
        let icmp = too_big(&v4(17, &[0; 1_400]), 1_300, own4).expect("DF is set");
        assert!(Sum::default().with(&icmp[..20]).is_valid());
        assert!(Sum::default().with(&icmp[20..]).is_valid());
        assert_eq!(icmp[20..22], [3, 4]);
        assert_eq!(icmp[26..28], 1_300u16.to_be_bytes());
        assert_eq!(icmp.len(), 576);
        assert_eq!(addresses(&icmp).expect("IP").1.to_string(), "10.0.0.1");
        let icmp = too_big(&v6(17, &[0; 1_400]), 1_300, own6).expect("no fragments in IPv6");
        assert_eq!(icmp[40..42], [2, 0]);
        assert_eq!(icmp[44..48], 1_300u32.to_be_bytes());
        assert_eq!(icmp.len(), MIN_MTU);
        let mut fragments = v4(17, &[0; 1_400]);
        fragments[6] = 0;
        assert_eq!(too_big(&fragments, 1_300, own4), None);
        let answer = too_big(&v4(17, &[0; 1_400]), 1_300, own4).expect("as above");
        assert_eq!(too_big(&answer, 500, own4), None, "no error about an error");
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled(mut data in prop::collection::vec(any::<u8>(), 0..200), first in 0u8..8) {
            if let Some(byte) = data.first_mut() {
                *byte = first << 4 | *byte & 0x0f;
            }
            check_inner(&data, 100);
            check_inner(&data, 1_000);
        }
    }

    #[test]
    fn a_packet_is_rebuilt_from_the_others_and_their_parity() {
        let packet = |length: usize| Inner::packet((0..length).map(|n| n as u8).collect());
        let packets = [packet(1_200), packet(60), packet(700)];
        let parity = Inner::parity(&packets).expect("whole packets");
        for lost in 0..3 {
            let mut others = packets.to_vec();
            let lost = others.remove(lost);
            let rebuilt = parity.rebuilt(&others).expect("one is missing");
            assert_eq!(rebuilt.0, lost.0);
        }
        assert!(parity.rebuilt(&packets[..1]).is_none());
        let whole = Whole {
            headers: Bytes::new(),
            is_udp: true,
            index: 0,
            count: 1,
        };
        let piece = Inner(packets[0].0.clone(), Some(whole));
        assert!(Inner::parity(&[piece]).is_none());
    }
}
