//! IP packets as they pass through the lab, and what is read from their headers.

use crate::split::Pdu;
use crate::{label, names};
use queue::{Ecn, Packet as QueuePacket};
use std::net::{Ipv4Addr, SocketAddrV4};
use units::{Bytes, Duration};

/// TCP (RFC 791, assigned numbers).
pub(crate) const TCP: u8 = 6;
/// UDP.
pub(crate) const UDP: u8 = 17;

/// The kernel has left a checksum to be completed: the sum from `start` on goes to `start + offset`.
/// (Packets stay within this machine, so that is never noticed.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartialChecksum {
    /// Where the sum begins, bytes from the IP header's beginning.
    pub(crate) start: u16,
    /// Where it goes, bytes from `start`.
    pub(crate) offset: u16,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// From the IP header on.
    pub(crate) data: Box<[u8]>,
    /// A checksum left open.
    pub(crate) checksum: Option<PartialChecksum>,
    /// What it belongs to.
    pub(crate) address: Address,
    /// How long it has waited, whole, for what was before it: where the radio delivers in order.
    pub(crate) held: Duration,
    /// What it came over F1-U in, if it did.
    pub(crate) pdu: Option<Pdu>,
}

impl QueuePacket for Packet {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.data.len() as u64)
    }
    fn flow(&self) -> u64 {
        label::flow(&self.data)
    }
    fn ecn(&self) -> Ecn {
        label::ecn(&self.data)
    }
    fn mark(&mut self) {
        label::mark(&mut self.data);
    }
    fn number(&self) -> Option<u64> {
        self.pdu.map(|pdu| pdu.count)
    }
}

impl Packet {
    /// A packet, with what its headers report.
    pub(crate) fn new(data: Box<[u8]>, checksum: Option<PartialChecksum>) -> Self {
        let address = Address::of(&data);
        Self {
            data,
            checksum,
            address,
            held: Duration::ZERO,
            pdu: None,
        }
    }
}

/// Whose a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Address {
    /// The UE that it comes from or goes to.
    pub(crate) ue: Option<usize>,
    /// The flow of the experiment.
    pub(crate) flow: Option<usize>,
    /// The UE's port.
    pub(crate) ue_port: u16,
}

impl Address {
    /// By addresses and ports. Other protocols than TCP and UDP over IPv4 have no ports.
    pub(crate) fn of(data: &[u8]) -> Self {
        let Some(header) = Ipv4::read(data) else {
            return Self::default();
        };
        let (source, destination) = (
            names::ue_of(header.source),
            names::ue_of(header.destination),
        );
        let mut address = Self {
            ue: source.or(destination),
            ..Self::default()
        };
        let (Some(from), Some(to)) = (u16_at(data, header.length), u16_at(data, header.length + 2))
        else {
            return address;
        };
        if !matches!(header.protocol, TCP | UDP) || header.is_later_fragment {
            return address;
        }
        let (server, server_port, ue_port) = match source {
            Some(_) => (header.destination, to, from),
            None => (header.source, from, to),
        };
        address.ue_port = ue_port;
        if server == names::SERVER_ADDRESS {
            address.flow = names::flow_of(server_port);
        }
        address
    }
}

/// A TCP connection of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Connection {
    /// The UE's end.
    pub(crate) client: SocketAddrV4,
    /// The other end.
    pub(crate) server: SocketAddrV4,
}

impl Connection {
    /// That of a packet; none if it carries no TCP, or is none of a UE's.
    pub(crate) fn of(data: &[u8]) -> Option<Self> {
        let header = Ipv4::read(data).filter(|ip| ip.protocol == TCP && !ip.is_later_fragment)?;
        let source = SocketAddrV4::new(header.source, u16_at(data, header.length)?);
        let destination = SocketAddrV4::new(header.destination, u16_at(data, header.length + 2)?);
        let is_up = names::ue_of(header.source).is_some();
        let (client, server) = match is_up {
            true => (source, destination),
            false => (destination, source),
        };
        (is_up || names::ue_of(header.destination).is_some()).then_some(Self { client, server })
    }

    /// Whether a packet of it comes from the UE.
    pub(crate) fn is_up(self, data: &[u8]) -> bool {
        let header = Ipv4::read(data);
        header.is_some_and(|header| {
            header.source == *self.client.ip()
                && u16_at(data, header.length) == Some(self.client.port())
        })
    }
}

/// What is needed of an IPv4 header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4 {
    /// Its own length, bytes.
    pub(crate) length: usize,
    /// What it carries.
    pub(crate) protocol: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    is_later_fragment: bool,
}

impl Ipv4 {
    /// The header at the beginning of a packet, if it is IPv4 and whole.
    pub(crate) fn read(data: &[u8]) -> Option<Self> {
        let first = *data.first()?;
        let length = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || length < 20 || data.len() < length {
            return None;
        }
        let address = |at: usize| Ipv4Addr::new(data[at], data[at + 1], data[at + 2], data[at + 3]);
        Some(Self {
            length,
            protocol: data[9],
            source: address(12),
            destination: address(16),
            is_later_fragment: u16_at(data, 6)? & 0x1fff != 0,
        })
    }
}

/// What is needed of a TCP segment (RFC 9293 3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSegment<'a> {
    /// Sequence number of the first byte.
    pub(crate) seq: u32,
    /// Acknowledgement number.
    pub(crate) ack: u32,
    /// Control bits.
    pub(crate) flags: u8,
    /// Bytes of payload.
    pub(crate) payload: u32,
    options: &'a [u8],
}

impl<'a> TcpSegment<'a> {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

    /// The segment that a packet carries, if it does.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let ip = Ipv4::read(data).filter(|ip| ip.protocol == TCP && !ip.is_later_fragment)?;
        let tcp = &data[ip.length..];
        let header = usize::from(*tcp.get(12)? >> 4) * 4;
        if header < 20 || tcp.len() < header {
            return None;
        }
        Some(Self {
            seq: u32_at(tcp, 4)?,
            ack: u32_at(tcp, 8)?,
            flags: tcp[13],
            payload: (tcp.len() - header) as u32,
            options: &tcp[20..header],
        })
    }

    /// A connection begins.
    pub(crate) fn is_syn(&self) -> bool {
        self.flags & Self::SYN != 0
    }
    /// No more comes from there.
    pub(crate) fn is_fin(&self) -> bool {
        self.flags & Self::FIN != 0
    }

    /// The connection is over.
    pub(crate) fn is_reset(&self) -> bool {
        self.flags & Self::RST != 0
    }

    /// The acknowledgement is valid.
    pub(crate) fn has_ack(&self) -> bool {
        self.flags & Self::ACK != 0
    }

    /// The blocks of a SACK option (RFC 2018 3).
    pub(crate) fn sack_blocks(&self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let mut rest = self.options;
        let mut blocks: &[u8] = &[];
        while let [kind, after @ ..] = rest {
            rest = match *kind {
                0 => break,
                1 => after,
                kind => {
                    let length = usize::from(after.first().copied().unwrap_or(0));
                    if length < 2 || rest.len() < length {
                        break;
                    }
                    if kind == 5 {
                        blocks = &rest[2..length];
                    }
                    &rest[length..]
                }
            };
        }
        blocks
            .chunks_exact(8)
            .filter_map(|block| Some((u32_at(block, 0)?, u32_at(block, 4)?)))
    }
}

/// Payload of a UDP datagram, if a packet carries one.
pub(crate) fn udp_payload(data: &[u8]) -> Option<&[u8]> {
    let ip = Ipv4::read(data).filter(|ip| ip.protocol == UDP && !ip.is_later_fragment)?;
    data.get(ip.length + 8..)
}

/// A number in network order.
pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// A number in network order.
pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + 4)?;
    Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// The Internet checksum's sum (RFC 1071), folded but not complemented.
pub(crate) fn ones_sum(data: &[u8], initial: u32) -> u16 {
    let mut sum = initial;
    for pair in data.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A TCP segment of flow 3 from its server to UE 1, with timestamps and this payload.
    pub(crate) fn segment(seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let total = (20 + 32 + payload.len()) as u16;
        let mut data = vec![0x45, 0];
        data.extend(total.to_be_bytes());
        data.extend([0, 7, 0x40, 0, 64, TCP, 0, 0]);
        data.extend(names::SERVER_ADDRESS.octets());
        data.extend(names::ue_address(1).octets());
        let sum = !ones_sum(&data, 0);
        data[10..12].copy_from_slice(&sum.to_be_bytes());
        data.extend(names::flow_port(3).to_be_bytes());
        data.extend(40_000u16.to_be_bytes());
        data.extend(seq.to_be_bytes());
        data.extend(77u32.to_be_bytes());
        data.extend([0x80, flags, 1, 0, 0, 0, 0, 0]);
        data.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        data.extend(payload);
        data
    }

    #[test]
    fn rfc_1071_example() {
        // RFC 1071 section 3
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(ones_sum(&data, 0), 0xddf2);
    }

    #[test]
    fn headers_identify_the_flow_of_a_packet() {
        let data = segment(1000, 0x10, b"abc");
        assert_eq!(
            Address::of(&data),
            Address {
                ue: Some(1),
                flow: Some(3),
                ue_port: 40_000
            }
        );
        let tcp = TcpSegment::read(&data).expect("a segment");
        assert_eq!((tcp.seq, tcp.ack, tcp.payload), (1000, 77, 3));
        assert!(tcp.has_ack() && !tcp.is_syn());
        assert_eq!(tcp.sack_blocks().count(), 0);
    }

    #[test]
    fn sack_blocks_behind_other_options() {
        let mut data = segment(1, 0x10, b"");
        // NOP, NOP, SACK of one block in the place of the timestamps
        data[40..52].copy_from_slice(&[1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 1, 0]);
        let tcp = TcpSegment::read(&data).expect("a segment");
        assert_eq!(tcp.sack_blocks().collect::<Vec<_>>(), [(9, 256)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            mut data in prop::collection::vec(any::<u8>(), 0..120),
            is_ip: bool,
        ) {
            if is_ip && data.len() > 9 {
                data[0] = 0x45;
                data[9] = TCP;
            }
            let _ = Address::of(&data);
            let _ = udp_payload(&data);
            let _ = Connection::of(&data);
            if let Some(tcp) = TcpSegment::read(&data) {
                let _ = tcp.sack_blocks().count();
            }
        }
    }
}
