//! Capture files of libpcap (the classic format, `pcap-savefile(5)`), as tcpdump and tshark write and read them.
//!
//! *Deviations*: pcapng is refused (`tshark -F pcap` converts it). Of link layers Ethernet with VLAN tags, raw IP and Linux
//! "cooked" captures of both versions are read; frames of others, and what is no IP, are passed over.

use crate::reader::{ReadError, Reader};

/// `LINKTYPE_RAW`: IP packets.
const RAW: u32 = 101;
const ETHERNET: u32 = 1;
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;

/// Longest packet that is read: longer ones are what a file that is damaged has.
const MAX_PACKET: u32 = 262_144;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 2] = [0x8100, 0x88a8];

/// The packets of a capture, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    left: Reader<'a>,
    is_little_endian: bool,
    has_nanoseconds: bool,
    link: u32,
}

/// A packet of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured<'a> {
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The IP packet, as far as it was captured.
    pub packet: &'a [u8],
}

impl<'a> Capture<'a> {
    /// Reads a file's header.
    ///
    /// # Errors
    /// What is no capture file, or of a link layer that is not read.
    pub fn new(file: &'a [u8]) -> Result<Self, ReadError> {
        let mut left = Reader(file);
        let field = "the header of the capture file";
        let magic = left.u32(field)?;
        let (is_little_endian, has_nanoseconds) = match magic {
            0xa1b2_c3d4 => (false, false),
            0xd4c3_b2a1 => (true, false),
            0xa1b2_3c4d => (false, true),
            0x4d3c_b2a1 => (true, true),
            other => {
                return Err(ReadError::Value {
                    field: "the beginning of the capture file (a pcap file has 0xa1b2c3d4, one of pcapng is converted by tshark -F pcap)",
                    value: other.into(),
                });
            }
        };
        left.take(16, field)?;
        let mut capture = Self {
            left,
            is_little_endian,
            has_nanoseconds,
            link: 0,
        };
        // the upper bits are of another field
        capture.link = capture.number(field)? & 0x0fff_ffff;
        match capture.link {
            RAW | ETHERNET | COOKED | COOKED_2 => Ok(capture),
            other => Err(ReadError::Value {
                field: "the link layer of the capture file (1, 101, 113 and 276 are read)",
                value: other.into(),
            }),
        }
    }

    fn number(&mut self, field: &'static str) -> Result<u32, ReadError> {
        let number = self.left.u32(field)?;
        Ok(match self.is_little_endian {
            true => number.swap_bytes(),
            false => number,
        })
    }

    /// The next IP packet; none at the end.
    ///
    /// # Errors
    /// A file that is cut or damaged.
    pub fn next_packet(&mut self) -> Result<Option<Captured<'a>>, ReadError> {
        while !self.left.0.is_empty() {
            let field = "a packet of the capture file";
            let seconds = self.number(field)?;
            let fraction = self.number(field)?;
            let captured = self.number(field)?;
            let _whole = self.number(field)?;
            if captured > MAX_PACKET {
                return Err(ReadError::Value {
                    field: "the length of a packet of the capture file",
                    value: captured.into(),
                });
            }
            let frame = self.left.take(captured as usize, field)?;
            let scale = if self.has_nanoseconds { 1 } else { 1_000 };
            let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * scale;
            if let Some(packet) = self.packet(frame) {
                return Ok(Some(Captured { time_ns, packet }));
            }
        }
        Ok(None)
    }

    /// The IP packet in a frame.
    fn packet(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let (mut protocol, mut packet) = match self.link {
            RAW => return Some(frame),
            ETHERNET => (pair(frame, 12)?, frame.get(14..)?),
            COOKED => (pair(frame, 14)?, frame.get(16..)?),
            _ => (pair(frame, 0)?, frame.get(20..)?),
        };
        while VLAN.contains(&protocol) {
            (protocol, packet) = (pair(packet, 2)?, packet.get(4..)?);
        }
        matches!(protocol, IPV4 | IPV6).then_some(packet)
    }
}

fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Begins a capture file of IP packets.
pub fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(&0xa1b2_3c4d_u32.to_be_bytes());
    out.extend_from_slice(&[0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&MAX_PACKET.to_be_bytes());
    out.extend_from_slice(&RAW.to_be_bytes());
}

/// Appends a packet to a capture file; of one that is longer than any IP packet the beginning.
pub fn write_packet(time_ns: u64, packet: &[u8], out: &mut Vec<u8>) {
    let packet = &packet[..packet.len().min(MAX_PACKET as usize)];
    let length = packet.len() as u32;
    let times = [time_ns / 1_000_000_000, time_ns % 1_000_000_000];
    let head = times.map(|part| part as u32);
    for number in [head[0], head[1], length, length] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(packet);
}
