//! Packets inside: whose they are.
//!
//! On F1-U what is inside is ciphered unless the network ciphers nothing (NEA0), so that bytes that are no packet come as well as
//! packets. They pass for an IPv4 packet only if version, length and header checksum are right, one in 2^36; for an IPv6
//! packet if version and length are, one in 2^20: two of these with the same address are none by chance.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Octets of the headers.
const V4: usize = 20;
const V6: usize = 40;

/// Source and destination of the IP packet of this length that begins with these bytes; none if they are no packet of that length.
pub fn ends(bytes: &[u8], length: usize) -> Option<(IpAddr, IpAddr)> {
    match bytes.first()? >> 4 {
        4 => v4(bytes, length),
        6 => v6(bytes, length),
        _ => None,
    }
}

fn v4(bytes: &[u8], length: usize) -> Option<(IpAddr, IpAddr)> {
    let header = bytes.get(..usize::from(bytes[0] & 15) * 4)?;
    let fixed: &[u8; V4] = header.first_chunk()?;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if total != length || checksum(header) != 0 {
        return None;
    }
    let address =
        |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]).into();
    Some((address(12), address(16)))
}

fn v6(bytes: &[u8], length: usize) -> Option<(IpAddr, IpAddr)> {
    let header: &[u8; V6] = bytes.first_chunk()?;
    if V6 + usize::from(u16::from_be_bytes([header[4], header[5]])) != length {
        return None;
    }
    let address = |at: usize| {
        let octets: [u8; 16] = core::array::from_fn(|i| header[at + i]);
        Ipv6Addr::from(octets).into()
    };
    Some((address(8), address(24)))
}

/// The Internet checksum (RFC 1071) over octets, an even number of them; 0 over a header that contains its right one.
pub(crate) fn checksum(octets: &[u8]) -> u16 {
    let pairs = octets.chunks_exact(2);
    let sum: u32 = pairs.map(|p| u32::from(p[0]) << 8 | u32::from(p[1])).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    !(((folded >> 16) + folded) as u16)
}
