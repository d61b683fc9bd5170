//! Where the headers of a TCP or UDP packet are, and how they are sealed.

use crate::checksum::Sum;

/// TCP's number (IANA protocol numbers).
pub(crate) const TCP: u8 = 6;
/// UDP's.
pub(crate) const UDP: u8 = 17;
/// Bytes of an IPv6 header.
const IPV6: usize = 40;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// Where the headers of a TCP or UDP packet are. Fragments, and packets with IPv6 extension headers,
/// have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// IPv6, not IPv4.
    pub is_ipv6: bool,
    /// TCP, not UDP.
    pub is_tcp: bool,
    /// Where the TCP or UDP header begins.
    pub transport: usize,
    /// Where the payload begins.
    pub payload: usize,
}

impl Layout {
    /// Of a packet that begins with its IP header. None if it is anything else, or not whole.
    pub fn of(data: &[u8]) -> Option<Self> {
        let (is_ipv6, protocol, transport) = match data.first()? >> 4 {
            4 => {
                let length = usize::from(data[0] & 0x0f) * 4;
                let is_fragment = u16::from_be_bytes([*data.get(6)?, *data.get(7)?]) & 0x3fff != 0;
                if length < 20 || is_fragment {
                    return None;
                }
                (false, *data.get(9)?, length)
            }
            6 => (true, *data.get(6)?, IPV6),
            _ => return None,
        };
        let (is_tcp, payload) = match protocol {
            TCP => {
                let header = usize::from(*data.get(transport + 12)? >> 4) * 4;
                if header < 20 {
                    return None;
                }
                (true, transport + header)
            }
            UDP => (false, transport + UDP_HEADER),
            _ => return None,
        };
        (payload <= data.len()).then_some(Self {
            is_ipv6,
            is_tcp,
            transport,
            payload,
        })
    }

    /// Where TCP or UDP keeps its checksum, from its own beginning.
    pub fn checksum_offset(self) -> usize {
        if self.is_tcp { 16 } else { 6 }
    }

    /// Where that is in the packet.
    pub(crate) fn checksum_at(self) -> usize {
        self.transport + self.checksum_offset()
    }

    /// The sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1) of a packet of `length` bytes in all.
    pub(crate) fn pseudo(self, headers: &[u8], length: usize) -> Sum {
        let addresses = if self.is_ipv6 { 8..40 } else { 12..20 };
        let protocol = if self.is_tcp { TCP } else { UDP };
        Sum::default()
            .with(&headers[addresses])
            .with_word(u16::from(protocol))
            // never above 65,535: the IP headers' own length fields have no more
            .with_word((length - self.transport) as u16)
    }

    /// Makes the lengths in the headers, and IPv4's checksum, those of a packet of `length` bytes.
    pub(crate) fn set_length(self, headers: &mut [u8], length: usize) {
        if self.is_ipv6 {
            headers[4..6].copy_from_slice(&((length - IPV6) as u16).to_be_bytes());
        } else {
            headers[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            headers[10..12].fill(0);
            let checksum = Sum::default().with(&headers[..self.transport]).checksum();
            headers[10..12].copy_from_slice(&checksum);
        }
        if !self.is_tcp {
            let udp = ((length - self.transport) as u16).to_be_bytes();
            headers[self.transport + 4..self.transport + 6].copy_from_slice(&udp);
        }
    }

    /// The length in the IP header is that of the packet.
    pub(crate) fn is_whole(self, data: &[u8]) -> bool {
        let length = if self.is_ipv6 {
            usize::from(u16::from_be_bytes([data[4], data[5]])) + IPV6
        } else {
            usize::from(u16::from_be_bytes([data[2], data[3]]))
        };
        length == data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_have_a_layout_inside_or_none(
            mut data in prop::collection::vec(any::<u8>(), 0..120),
            first in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0x00]),
            protocol in prop::sample::select(vec![TCP, UDP, 1]),
        ) {
            if data.len() > 9 {
                data[0] = first;
                data[if first == 0x60 { 6 } else { 9 }] = protocol;
            }
            if let Some(layout) = Layout::of(&data) {
                prop_assert!(layout.transport < layout.payload && layout.payload <= data.len());
                prop_assert!(layout.checksum_at() + 2 <= layout.payload);
                let _ = layout.is_whole(&data);
            }
        }
    }
}
