//! What carries GTP-U: UDP over IPv4 and IPv6.

use crate::inner::checksum;
use core::net::IpAddr;

const UDP: u8 = 17;
const V4: usize = 20;
const V6: usize = 40;
const UDP_HEADER: usize = 8;
/// Next header of a fragment (RFC 8200 4.5).
const FRAGMENT: u8 = 44;

/// A UDP datagram, or the first fragment of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// From where.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// From which port.
    pub source_port: u16,
    /// To which port.
    pub destination_port: u16,
    /// What it carries, as far as it is there.
    pub payload: &'a [u8],
    /// How long that is by the header.
    pub payload_length: usize,
}

impl<'a> Datagram<'a> {
    /// Reads the UDP datagram in the IP packet that begins with these bytes. None of what is no UDP, and of fragments other than the
    /// first, which have no UDP header. IPv6 extension headers other than a fragment's are not passed: GTP-U comes without.
    pub fn read(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::v4(packet),
            6 => Self::v6(packet),
            _ => None,
        }
    }

    fn v4(packet: &'a [u8]) -> Option<Self> {
        let header = packet.get(..usize::from(packet[0] & 15) * 4)?;
        let fixed: &[u8; V4] = header.first_chunk()?;
        let offset = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff;
        if fixed[9] != UDP || offset != 0 {
            return None;
        }
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let end = packet.len().min(total);
        let address = |at: usize| {
            let octets: [u8; 4] = core::array::from_fn(|i| fixed[at + i]);
            IpAddr::from(octets)
        };
        Self::udp(packet.get(header.len()..end)?, address(12), address(16))
    }

    fn v6(packet: &'a [u8]) -> Option<Self> {
        let header: &[u8; V6] = packet.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut body = &packet[V6..packet.len().min(V6 + length)];
        let mut next = header[6];
        if next == FRAGMENT {
            let (fragment, rest) = body.split_at_checked(8)?;
            if u16::from_be_bytes([fragment[2], fragment[3]]) >> 3 != 0 {
                return None;
            }
            (next, body) = (fragment[0], rest);
        }
        let address = |at: usize| {
            let octets: [u8; 16] = core::array::from_fn(|i| header[at + i]);
            IpAddr::from(octets)
        };
        (next == UDP).then(|| Self::udp(body, address(8), address(24)))?
    }

    fn udp(bytes: &'a [u8], source: IpAddr, destination: IpAddr) -> Option<Self> {
        let (header, payload) = bytes.split_at_checked(UDP_HEADER)?;
        let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let payload_length = usize::from(number(4)).checked_sub(UDP_HEADER)?;
        Some(Self {
            source,
            destination,
            source_port: number(0),
            destination_port: number(2),
            payload: &payload[..payload.len().min(payload_length)],
            payload_length,
        })
    }
}

/// An IP packet with a UDP datagram in it, from and to port [`crate::PORT`]; none if the addresses are of two families, or it is too
/// long. IPv4's UDP checksum is left out, as GTP-U may (RFC 768), IPv6's is there.
pub fn packet(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(UDP_HEADER + payload.len()).ok()?;
    let mut udp = Vec::with_capacity(usize::from(length));
    udp.extend_from_slice(&crate::PORT.to_be_bytes());
    udp.extend_from_slice(&crate::PORT.to_be_bytes());
    udp.extend_from_slice(&length.to_be_bytes());
    udp.extend_from_slice(&[0, 0]);
    udp.extend_from_slice(payload);
    let mut packet = Vec::with_capacity(V6 + udp.len());
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total = u16::try_from(V4 + udp.len()).ok()?;
            packet.extend_from_slice(&[0x45, 0]);
            packet.extend_from_slice(&total.to_be_bytes());
            packet.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
            packet.extend_from_slice(&source.octets());
            packet.extend_from_slice(&destination.octets());
            let sum = checksum(&packet).to_be_bytes();
            packet[10..12].copy_from_slice(&sum);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            packet.extend_from_slice(&[0x60, 0, 0, 0]);
            packet.extend_from_slice(&length.to_be_bytes());
            packet.extend_from_slice(&[UDP, 64]);
            packet.extend_from_slice(&source.octets());
            packet.extend_from_slice(&destination.octets());
            // addresses, length and next header stand before the datagram (RFC 8200 8.1)
            let mut covered = packet[8..].to_vec();
            covered.extend_from_slice(&[0, 0]);
            covered.extend_from_slice(&length.to_be_bytes());
            covered.extend_from_slice(&[0, 0, 0, UDP]);
            covered.extend_from_slice(&udp);
            covered.resize(covered.len().next_multiple_of(2), 0);
            let sum = match checksum(&covered) {
                0 => 0xffff_u16,
                sum => sum,
            };
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
        }
        _ => return None,
    }
    packet.extend_from_slice(&udp);
    Some(packet)
}
