//! Data packets in six bytes instead of 28, where no host on the way reads them: in datagrams that are encrypted. Ours, no RFC's.
//!
//! ```text
//!   whole     0 | DCCP header (RFC 4340) | application data
//!   compact   1 u | sequence number, lowest 22 bits | MP_SEQ, lowest 24 bits | application data
//! ```
//!
//! The bit `u` stands for the option of packets that are delivered as they come. The first byte of a whole packet is 0, so
//! that neither form can be taken for the other; one that begins with 1 to 127 is none. What has another type, an
//! acknowledgement or other options is written whole.
//!
//! Ports are those of the path, and numbers are the nearest ones to a [`Reference`]: valid sequence numbers are at most 2^20
//! from the greatest received (RFC 4340 7.5.1, with the largest window that this implementation takes), and of numbers of the
//! connection fewer than 2^23 are under way.

use super::options::{DccpOption, MpOption, Options};
use super::{DecodeError, Kind, Packet, decode};
use crate::seq::{MpSeq, SeqNo};

/// First byte of a packet that is written whole, before it.
pub const WHOLE: u8 = 0;
/// Bytes before the application data of a compact one.
pub const COMPACT_LEN: usize = 6;
/// Ours (RFC 9897 3.2.12 leaves `MP_EXP` to implementations): the packet is delivered as it comes.
pub(crate) const UNORDERED: [u8; 3] = [0x42, 0x46, 6];

const COMPACT: u32 = 1 << 23;
const IS_UNORDERED: u32 = 1 << 22;
const SEQ_BITS: u32 = 22;
const MP_SEQ_BITS: u32 = 24;

/// A data packet whose header is the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact {
    /// The lowest bits of its number on the path.
    seq: u32,
    /// Those of its number in the connection.
    mp_seq: u32,
    is_unordered: bool,
}

/// What a compact packet is read against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Source and destination port of the peer's packets.
    pub ports: (u16, u16),
    /// The greatest number received on the path.
    pub seq: SeqNo,
    /// The greatest one received in the connection.
    pub mp_seq: MpSeq,
}

/// A packet in either form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// With its header.
    Whole(Packet),
    /// To be expanded.
    Compact(Compact),
}

impl Compact {
    /// The compact form of a packet; none if it has to be written whole.
    pub fn of(packet: &Packet) -> Option<Self> {
        let Options {
            mp_seq,
            list,
            ack_vector: None,
            elapsed: None,
        } = &packet.options
        else {
            return None;
        };
        if packet.kind != Kind::Data || packet.ccval != 0 {
            return None;
        }
        let is_unordered = match &list[..] {
            [] => false,
            [option] if is_unordered_mark(option) => true,
            _ => return None,
        };
        Some(Self {
            seq: low(packet.seq.get(), SEQ_BITS),
            mp_seq: low((*mp_seq)?.get(), MP_SEQ_BITS),
            is_unordered,
        })
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; COMPACT_LEN] {
        let mark = if self.is_unordered { IS_UNORDERED } else { 0 };
        let [_, a, b, c] = (COMPACT | mark | self.seq).to_be_bytes();
        let [_, d, e, f] = self.mp_seq.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// The packet that it stands for.
    pub fn expand(self, reference: &Reference) -> Packet {
        let seq = nearest(reference.seq.get(), self.seq, SEQ_BITS);
        let mp_seq = nearest(reference.mp_seq.get(), self.mp_seq, MP_SEQ_BITS);
        let list = match self.is_unordered {
            true => vec![unordered_mark()],
            false => Vec::new(),
        };
        Packet {
            source: reference.ports.0,
            destination: reference.ports.1,
            ccval: 0,
            seq: SeqNo::new(seq),
            kind: Kind::Data,
            options: Options {
                mp_seq: Some(MpSeq::new(mp_seq)),
                list,
                ack_vector: None,
                elapsed: None,
            },
        }
    }
}

/// Reads a packet in either form; the second value is where its application data begin.
///
/// # Errors
/// [`DecodeError`] if the bytes are no packet.
pub fn decode_form(bytes: &[u8]) -> Result<(Form, usize), DecodeError> {
    let too_short = DecodeError::TooShort { bytes: bytes.len() };
    match *bytes {
        [WHOLE, ref packet @ ..] => {
            let (packet, header) = decode(packet)?;
            Ok((Form::Whole(packet), header + 1))
        }
        [a @ 0x80..=0xff, b, c, d, e, f, ..] => {
            let first = u32::from_be_bytes([0, a, b, c]);
            let compact = Compact {
                seq: low(u64::from(first), SEQ_BITS),
                mp_seq: u32::from_be_bytes([0, d, e, f]),
                is_unordered: first & IS_UNORDERED != 0,
            };
            Ok((Form::Compact(compact), COMPACT_LEN))
        }
        [1..0x80, ..] => Err(DecodeError::UnknownForm { first: bytes[0] }),
        _ => Err(too_short),
    }
}

/// True for the option of packets that are delivered as they come.
pub(crate) fn is_unordered_mark(option: &DccpOption) -> bool {
    match option {
        DccpOption::Multipath(MpOption::Experimental(data)) => data[..] == UNORDERED,
        _ => false,
    }
}

/// That option.
pub(crate) fn unordered_mark() -> DccpOption {
    DccpOption::Multipath(MpOption::Experimental(UNORDERED.to_vec()))
}

fn low(number: u64, bits: u32) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

/// The number with these lowest bits that is nearest to the reference, modulo 2^48; of two the one before.
fn nearest(reference: u64, low_bits: u32, bits: u32) -> u64 {
    let modulus = 1u64 << bits;
    let ahead = u64::from(low_bits).wrapping_sub(reference) & (modulus - 1);
    match ahead < modulus / 2 {
        true => reference.wrapping_add(ahead),
        false => reference.wrapping_add(ahead).wrapping_sub(modulus),
    }
}
