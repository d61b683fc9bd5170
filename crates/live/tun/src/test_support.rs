//! Packets for tests.

use crate::VnetHeader;
use crate::checksum::Sum;
use crate::layout::Layout;

/// Which addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    V4,
    V6,
}

impl Flow {
    pub(crate) const ALL: [Self; 2] = [Self::V4, Self::V6];

    fn ip(self, protocol: u8, length: usize) -> Vec<u8> {
        match self {
            Self::V4 => {
                let mut data = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0];
                data[2..4].copy_from_slice(&(20 + length as u16).to_be_bytes());
                data.extend([10, 0, 0, 1, 10, 0, 0, 2]);
                let checksum = Sum::default().with(&data).checksum();
                data[10..12].copy_from_slice(&checksum);
                data
            }
            Self::V6 => {
                let mut data = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
                data[4..6].copy_from_slice(&(length as u16).to_be_bytes());
                data.extend([0xfd; 16]);
                data.extend([0xfc; 16]);
                data
            }
        }
    }

    /// As the kernel describes a TCP packet that is to be cut.
    pub(crate) fn gso(self, size: u16) -> VnetHeader {
        let transport = if self == Self::V4 { 20 } else { 40 };
        VnetHeader {
            flags: VnetHeader::NEEDS_CHECKSUM,
            gso_type: if self == Self::V4 {
                VnetHeader::GSO_TCP4
            } else {
                VnetHeader::GSO_TCP6
            },
            header_length: transport + 32,
            gso_size: size,
            checksum_start: transport,
            checksum_offset: 16,
        }
    }
}

fn seal(mut data: Vec<u8>) -> Vec<u8> {
    let layout = Layout::of(&data).expect("TCP or UDP");
    let sum = layout
        .pseudo(&data, data.len())
        .with(&data[layout.transport..]);
    let at = layout.checksum_at();
    data[at..at + 2].copy_from_slice(&sum.checksum());
    data
}

/// A whole TCP segment with timestamps.
pub(crate) fn tcp(flow: Flow, seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut data = flow.ip(6, 32 + payload.len());
    data.extend(443u16.to_be_bytes());
    data.extend(40_000u16.to_be_bytes());
    data.extend(seq.to_be_bytes());
    data.extend(77u32.to_be_bytes());
    data.extend([0x80, flags, 1, 0, 0, 0, 0, 0]);
    data.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    data.extend(payload);
    seal(data)
}

/// A whole UDP datagram.
pub(crate) fn udp(flow: Flow, payload: &[u8]) -> Vec<u8> {
    let mut data = flow.ip(17, 8 + payload.len());
    data.extend(443u16.to_be_bytes());
    data.extend(40_000u16.to_be_bytes());
    data.extend((8 + payload.len() as u16).to_be_bytes());
    data.extend([0, 0]);
    data.extend(payload);
    seal(data)
}

/// All its sums are right.
pub(crate) fn is_sound(data: &[u8]) -> bool {
    let layout = Layout::of(data).expect("TCP or UDP");
    let ip = layout.is_ipv6 || Sum::default().with(&data[..layout.transport]).is_valid();
    let sum = layout
        .pseudo(data, data.len())
        .with(&data[layout.transport..]);
    ip && sum.is_valid()
}
