//! What is to be read of a packet that leaves, by what its bytes mean: written from the formats (RFC 791, 8200, 9293, 768,
//! 7348, TS 29.281), beside the program's C, with the same bounds. The fuzz target `marker_packets` compiles it too.

use testing::{OfSocket, Outgoing};

/// Words of the C's `struct result`.
pub const WORDS: usize = 21;

/// How a packet ends that is not judged: as the C numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread {
    Malformed = 1,
    NotIp = 2,
    OwnTcp = 3,
    Signalling = 4,
    Bundled = 5,
}

use Unread::{Bundled, Malformed, NotIp, OwnTcp, Signalling};

/// An IP packet: outside, or inside of another.
#[derive(Clone, Copy, Debug, Default)]
struct Ip {
    at: usize,
    version: u32,
    /// The destination, as words of the packet.
    ue: [u32; 4],
    length: usize,
    /// By its header.
    stated: usize,
    ecn: u32,
    protocol: u8,
    is_fragment: bool,
    /// Of the fragments of a packet.
    is_first: bool,
    hop_limit: u8,
    /// Of addresses.
    hash: u32,
    transport: usize,
}

const ETHERNET: usize = 14;
const IPV4: usize = 0x0800;
const IPV6: usize = 0x86dd;
const UDP: u8 = 17;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;
/// DCCP, SCTP and UDP-Lite, whose ports are where UDP's are.
const WITH_PORTS: [u8; 4] = [UDP, 33, 132, 136];
const GTPU: u16 = 2152;
const VXLAN: u16 = 4789;

fn half(bytes: [u8; 2]) -> usize {
    usize::from(u16::from_be_bytes(bytes))
}

fn mixed(hash: u64, a: u32, b: u32) -> u64 {
    let hash = (hash ^ (u64::from(a) << 32 | u64::from(b))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 32
}

fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut all = [0; N];
    for (word, part) in all.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*part);
    }
    all
}

/// What is asked, for a reader.
struct Reader<'a>(&'a Outgoing);

impl Reader<'_> {
    /// The type of what an Ethernet frame at an offset holds, and where: at most two VLAN tags are passed over.
    fn ethernet(&self, at: usize) -> (Option<usize>, usize) {
        // four bytes from each type on must be there
        let kind_at = |at: usize| self.0.at::<4>(at).map(|[a, b, ..]| half([a, b]));
        let (mut kind, mut at) = (kind_at(at + 12), at + ETHERNET);
        for _ in 0..2 {
            if kind != Some(0x8100) && kind != Some(0x88a8) {
                break;
            }
            kind = kind_at(at + 2);
            at += 4;
        }
        (kind, at)
    }

    /// The type of an IP packet without a link header.
    fn bare(&self, at: usize) -> Option<usize> {
        let [first, ..] = self.0.at::<4>(at)?;
        match first >> 4 {
            4 => Some(IPV4),
            6 => Some(IPV6),
            _ => None,
        }
    }

    fn ip(&self, kind: Option<usize>, at: usize, end: usize) -> Result<Ip, Unread> {
        match kind {
            Some(IPV4) => self.ipv4(at, end),
            Some(IPV6) => self.ipv6(at, end),
            _ => Err(NotIp),
        }
    }

    fn is_whole(&self) -> bool {
        self.0.gso_size == 0
    }

    fn ipv4(&self, at: usize, end: usize) -> Result<Ip, Unread> {
        let header = self.0.at::<20>(at).ok_or(Malformed)?;
        let size = usize::from(header[0] & 15) * 4;
        let stated = half([header[2], header[3]]);
        if header[0] >> 4 != 4 || size < 20 {
            return Err(Malformed);
        }
        let mut length = end - at;
        if self.is_whole() {
            if stated < size || stated > length {
                return Err(Malformed);
            }
            length = stated;
        }
        if size > length {
            return Err(Malformed);
        }
        let [from, to] = words(&header[12..]);
        Ok(Ip {
            at,
            version: 4,
            ue: [to, 0, 0, 0],
            length,
            stated,
            ecn: u32::from(header[1] & 3),
            protocol: header[9],
            is_fragment: half([header[6], header[7]]) & 0x3fff != 0,
            is_first: half([header[6], header[7]]) & 0x3fff == 0x2000,
            hop_limit: 0,
            hash: from,
            transport: at + size,
        })
    }

    fn ipv6(&self, at: usize, end: usize) -> Result<Ip, Unread> {
        let header = self.0.at::<40>(at).ok_or(Malformed)?;
        let stated = 40 + half([header[4], header[5]]);
        if header[0] >> 4 != 6 {
            return Err(Malformed);
        }
        let mut length = end - at;
        if self.is_whole() {
            if stated > length {
                return Err(Malformed);
            }
            length = stated;
        }
        let [a, b, c, d, ue @ ..]: [u32; 8] = words(&header[8..]);
        let mut ip = Ip {
            at,
            version: 6,
            ue,
            length,
            stated,
            ecn: u32::from(header[1] >> 4 & 3),
            protocol: header[6],
            is_fragment: false,
            is_first: false,
            hop_limit: header[7],
            hash: (mixed(mixed(u64::from(self.0.seed), a, b), c, d) >> 16) as u32,
            transport: at + 40,
        };
        if ip.protocol != TCP && ip.protocol != UDP {
            self.extensions(&mut ip)?;
        }
        Ok(ip)
    }

    /// At most eight are passed over.
    fn extensions(&self, ip: &mut Ip) -> Result<(), Unread> {
        for _ in 0..8 {
            if ![0, 43, 44, 51, 60, 135].contains(&ip.protocol) {
                break;
            }
            let header = self.0.at::<8>(ip.transport).ok_or(Malformed)?;
            let kind = std::mem::replace(&mut ip.protocol, header[0]);
            let length = usize::from(header[1]);
            ip.transport += match kind {
                44 => 8,
                51 => (length + 2) * 4,
                _ => (length + 1) * 8,
            };
            if kind == 44 && half([header[2], header[3]]) & 0xfff9 != 0 {
                ip.is_fragment = true;
                ip.is_first = half([header[2], header[3]]) & 0xfff8 == 0;
                break;
            }
        }
        match ip.transport > ip.at + ip.length {
            true => Err(Malformed),
            false => Ok(()),
        }
    }

    /// Bytes of headers, and the ports as a word of the packet.
    fn transport(&self, ip: &Ip) -> Result<(usize, u32), Unread> {
        let (at, end) = (ip.transport, ip.at + ip.length);
        let own = at - ip.at;
        if ip.is_fragment {
            return Ok((own, 0));
        }
        let ports = || self.0.at(at).map(u32::from_ne_bytes).ok_or(Malformed);
        if ip.protocol == TCP {
            let header = self.0.at::<16>(at).filter(|_| at + 20 <= end);
            let size = usize::from(header.ok_or(Malformed)?[12] >> 4) * 4;
            if size < 20 || at + size > end {
                return Err(Malformed);
            }
            return Ok((own + size, ports()?));
        }
        if WITH_PORTS.contains(&ip.protocol) {
            if at + 8 > end {
                return Err(Malformed);
            }
            return Ok((own + 8, ports()?));
        }
        Ok((own, 0))
    }

    /// Where the packet in a GTP-U message begins, and where the message ends.
    fn gtp_u(&self, at: usize, end: usize) -> Result<(usize, usize), Unread> {
        let header = self.0.at::<8>(at).filter(|_| at + 8 <= end);
        let [flags, kind, length @ .., _, _, _, _] = header.ok_or(Malformed)?;
        let message_end = at + 8 + half(length);
        if flags >> 4 != 3 || message_end > end {
            return Err(Malformed);
        }
        if !self.is_whole() && message_end != end {
            return Err(Bundled);
        }
        if kind != 255 {
            return Err(Signalling);
        }
        let (mut at, end) = (at + 8, message_end);
        if flags & 7 != 0 {
            let options = self.0.at::<4>(at).filter(|_| at + 4 <= end);
            let [_, _, _, mut next] = options.ok_or(Malformed)?;
            at += 4;
            if flags & 4 == 0 {
                next = 0;
            }
            // ten extension headers at most
            for _ in 0..10 {
                if next == 0 {
                    break;
                }
                let [units] = self.0.at(at).ok_or(Malformed)?;
                at += usize::from(units) * 4;
                if units == 0 || at > end {
                    return Err(Malformed);
                }
                [next] = self.0.at(at - 1).ok_or(Malformed)?;
            }
            if next != 0 {
                return Err(Malformed);
            }
        }
        match at < end {
            true => Ok((at, end)),
            false => Err(Signalling),
        }
    }

    fn inside(&self, outer: &Ip, port: u16) -> Result<(Ip, usize, u32), Unread> {
        let udp = outer.transport;
        let header = self.0.at::<8>(udp).ok_or(Malformed)?;
        let there = outer.at + outer.length;
        let mut end = there;
        if self.is_whole() {
            // a datagram ends behind its first fragment
            let length = half([header[4], header[5]]);
            end = udp + length;
            if length < 8 || (end > there) != outer.is_first {
                return Err(Malformed);
            }
        }
        let at = udp + 8;
        let (kind, at) = if port == GTPU {
            let (at, of_message) = self.gtp_u(at, end)?;
            end = of_message;
            (self.bare(at), at)
        } else {
            let flags = self.0.at::<4>(at).filter(|_| at + 8 + ETHERNET <= end);
            if flags.ok_or(Malformed)?[0] & 8 == 0 {
                return Err(Malformed);
            }
            self.ethernet(at + 8)
        };
        if at > end && kind.is_some_and(|kind| kind != 0) {
            return Err(Malformed);
        }
        let ip = self.ip(kind, at, end)?;
        if !self.is_whole() && ip.stated != ip.length {
            return Err(Bundled);
        }
        let is_own = matches!(self.0.socket, OfSocket::Tcp | OfSocket::Request);
        if ip.protocol == TCP && self.0.splits_tcp && is_own {
            return Err(OwnTcp);
        }
        let (own, ports) = self.transport(&ip)?;
        if outer.is_first && ip.at + own > there {
            return Err(Malformed);
        }
        Ok((ip, own, ports))
    }

    /// The port that a datagram is to, of which this is all or the first fragment.
    fn port(&self, ip: &Ip) -> Option<u16> {
        let has_ports = !ip.is_fragment
            || ip.is_first && self.is_whole() && ip.transport + 8 <= ip.at + ip.length;
        let [_, _, a, b] = self.0.at::<4>(ip.transport).filter(|_| has_ports)?;
        (ip.protocol == UDP).then(|| u16::from_be_bytes([a, b]))
    }
}

/// The C's `struct result`.
pub fn read(packet: &Outgoing) -> [u32; WORDS] {
    taken_apart(packet).unwrap_or_else(|unread| {
        let mut result = [0; WORDS];
        result[0] = unread as u32;
        result
    })
}

fn taken_apart(packet: &Outgoing) -> Result<[u32; WORDS], Unread> {
    let reader = Reader(packet);
    let (kind, at) = match packet.link_header {
        true => reader.ethernet(0),
        false => (reader.bare(0), 0),
    };
    let outer = reader.ip(kind, at, packet.bytes.len())?;
    if outer.protocol == TCP && packet.splits_tcp && packet.socket != OfSocket::None {
        return Err(OwnTcp);
    }
    let (own, ports) = reader.transport(&outer)?;
    let port = reader
        .port(&outer)
        .filter(|port| *port == GTPU && packet.gtp_u || *port == VXLAN && packet.vxlan);
    if let Some(port) = port {
        let (ip, own, ports) = reader.inside(&outer, port)?;
        let udp = outer.transport;
        let checksum: [u8; 2] = packet.at(udp + 6).ok_or(Malformed)?;
        let of_outer = [
            outer.version,
            outer.at as u32,
            outer.ecn,
            udp as u32,
            u32::from(u16::from_ne_bytes(checksum)),
        ];
        return Ok(result(packet, &ip, own, ports, of_outer));
    }
    Ok(result(packet, &outer, own, ports, [0; 5]))
}

fn result(packet: &Outgoing, ip: &Ip, own: usize, ports: u32, outer: [u32; 5]) -> [u32; WORDS] {
    let hash = mixed(u64::from(packet.seed), ip.hash, ip.ue[0]);
    let flow = (mixed(hash, ports, u32::from(ip.protocol)) >> 32) as u32;
    let payload = ip.length.saturating_sub(own) as u32;
    let segments = match (packet.gso_segs, packet.gso_size) {
        (0, 0) => 1,
        (0, size) => payload.div_ceil(size),
        (segments, _) => segments,
    };
    let segments = segments.clamp(1, 65_535);
    let more = (own as u64 * u64::from(segments - 1)).min(u64::from(u32::MAX));
    let bytes = (more + ip.length as u64).min(u64::from(u32::MAX));
    let is_discovery = ip.version == 6 && ip.protocol == ICMPV6 && ip.hop_limit == 255;
    let mut all = [0; WORDS];
    all[1] = ip.version;
    all[2..6].copy_from_slice(&ip.ue);
    all[6..17].copy_from_slice(&[
        ip.at as u32,
        ip.length as u32,
        own as u32,
        u32::from(ip.protocol),
        u32::from(ip.is_fragment),
        ip.ecn,
        flow,
        segments,
        bytes as u32,
        u32::from(is_discovery),
        outer[0],
    ]);
    all[17..21].copy_from_slice(&outer[1..]);
    all
}
