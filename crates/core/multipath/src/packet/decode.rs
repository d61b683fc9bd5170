//! Bytes to packets (RFC 4340 sections 5.1 to 5.8). Any bytes are read or rejected; nothing panics.
//!
//! What a receiver has to ignore (RFC 4340 5.8) is ignored here: options that the packet's type may
//! not carry, and everything from an option with an impossible length on. An option that is known
//! but whose data are not as they should be becomes [`DccpOption::Unknown`], as an unknown one does,
//! so that [`Options::fault`] finds it behind a Mandatory.

use super::decode_mp::multipath;
use super::options::{DccpOption, Feature, FeatureOption, FeatureOptionKind, MpOption, Options};
use super::wire;
use super::{AckVector, Kind, Packet, ResetCode};
use crate::seq::SeqNo;
use units::Duration;

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Shorter than a header.
    #[error("a DCCP header has at least 16 bytes, these are {bytes}")]
    TooShort {
        /// Bytes that there are.
        bytes: usize,
    },
    /// X = 0: this implementation does not allow them (RFC 4340 7.6.1, the feature's initial value).
    #[error("byte 8: short sequence numbers (X = 0) were not agreed on")]
    ShortSequenceNumbers,
    /// A type that RFC 4340 does not define.
    #[error("byte 8: packet type {code} is reserved, 0 to 9 are in use")]
    ReservedType {
        /// Its number.
        code: u8,
    },
    /// A data offset that leaves no room for the fields of the type.
    #[error("byte 4: the data offset is {offset} bytes, and type {code} has {min} before options")]
    OffsetTooSmall {
        /// The stated value, bytes.
        offset: usize,
        /// The packet's type.
        code: u8,
        /// Bytes before options.
        min: usize,
    },
    /// Of an encrypted packet: neither whole nor compact.
    #[error("byte 0: {first} is no form of a packet, 0 and 128 to 255 are")]
    UnknownForm {
        /// That byte.
        first: u8,
    },
    /// A data offset past the end.
    #[error("byte 4: the data offset is {offset} bytes, and the packet has {bytes}")]
    OffsetPastEnd {
        /// The stated value, bytes.
        offset: usize,
        /// Bytes that there are.
        bytes: usize,
    },
}

/// What is wrong with the options of a packet: the path is to be reset with it (RFC 4340 5.6,
/// 5.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionFault {
    /// `OPTION_ERROR` or `MANDATORY_ERROR`.
    pub code: ResetCode,
    /// The option's type and the first two bytes of its data.
    pub data: [u8; 3],
}

impl Options {
    /// A Mandatory without an option after it, before another one, or before an option that is not
    /// understood. What understood options request is for the endpoint to decide.
    pub fn fault(&self) -> Option<OptionFault> {
        let mut options = self.list.iter();
        while let Some(option) = options.next() {
            if *option != DccpOption::Mandatory {
                continue;
            }
            return match options.next() {
                None | Some(DccpOption::Mandatory) => Some(OptionFault {
                    code: ResetCode::OPTION_ERROR,
                    data: [wire::MANDATORY, 0, 0],
                }),
                Some(DccpOption::Unknown { kind, data }) => Some(OptionFault {
                    code: ResetCode::MANDATORY_ERROR,
                    data: [*kind, at(data, 0), at(data, 1)],
                }),
                Some(DccpOption::Multipath(MpOption::Unknown { kind, data })) => {
                    Some(OptionFault {
                        code: ResetCode::MANDATORY_ERROR,
                        data: [wire::MULTIPATH, *kind, at(data, 0)],
                    })
                }
                Some(_) => continue,
            };
        }
        None
    }
}

fn at(data: &[u8], index: usize) -> u8 {
    data.get(index).copied().unwrap_or(0)
}

/// Reads a packet; the second value is the length of its header, after which its application data
/// begin.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are no packet: it is to be dropped (RFC 4340 8.5, step 1).
pub fn decode(bytes: &[u8]) -> Result<(Packet, usize), DecodeError> {
    let too_short = DecodeError::TooShort { bytes: bytes.len() };
    let generic: &[u8; wire::GENERIC_LEN] = bytes.first_chunk().ok_or(too_short)?;
    if generic[8] & 1 == 0 {
        return Err(DecodeError::ShortSequenceNumbers);
    }
    let code = generic[8] >> 1 & 0x0F;
    let kind = blank(code).ok_or(DecodeError::ReservedType { code })?;
    let offset = usize::from(generic[4]) * 4;
    let min = wire::fixed_len(kind);
    if offset < min {
        return Err(DecodeError::OffsetTooSmall { offset, code, min });
    }
    if offset > bytes.len() {
        return Err(DecodeError::OffsetPastEnd {
            offset,
            bytes: bytes.len(),
        });
    }
    let (fixed, options) = bytes[..offset].split_at(min);
    let packet = Packet {
        source: u16::from_be_bytes([generic[0], generic[1]]),
        destination: u16::from_be_bytes([generic[2], generic[3]]),
        ccval: generic[5] >> 4,
        seq: SeqNo::new(number(&generic[10..16])),
        kind: fill(kind, &fixed[wire::GENERIC_LEN..]),
        options: read_options(options, kind),
    };
    Ok((packet, offset))
}

/// A number in network order, of up to 8 bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The type of a number, its fields zero.
fn blank(code: u8) -> Option<Kind> {
    let ack = SeqNo::new(0);
    Some(match code {
        0 => Kind::Request { service: 0 },
        1 => Kind::Response { ack, service: 0 },
        2 => Kind::Data,
        3 => Kind::Ack { ack },
        4 => Kind::DataAck { ack },
        5 => Kind::CloseReq { ack },
        6 => Kind::Close { ack },
        7 => Kind::Reset {
            ack,
            code: ResetCode::UNSPECIFIED,
            data: [0; 3],
        },
        8 => Kind::Sync { ack },
        9 => Kind::SyncAck { ack },
        _ => return None,
    })
}

/// The type with its fields, from the bytes between the generic header and the options.
fn fill(kind: Kind, fields: &[u8]) -> Kind {
    let (ack, rest) = if kind.ack().is_some() {
        let (ack, rest) = fields.split_at(8);
        (SeqNo::new(number(&ack[2..])), rest)
    } else {
        (SeqNo::new(0), fields)
    };
    let service = number(rest) as u32;
    match kind {
        Kind::Request { .. } => Kind::Request { service },
        Kind::Response { .. } => Kind::Response { ack, service },
        Kind::Data => Kind::Data,
        Kind::Ack { .. } => Kind::Ack { ack },
        Kind::DataAck { .. } => Kind::DataAck { ack },
        Kind::CloseReq { .. } => Kind::CloseReq { ack },
        Kind::Close { .. } => Kind::Close { ack },
        Kind::Reset { .. } => Kind::Reset {
            ack,
            code: ResetCode(at(rest, 0)),
            data: [at(rest, 1), at(rest, 2), at(rest, 3)],
        },
        Kind::Sync { .. } => Kind::Sync { ack },
        Kind::SyncAck { .. } => Kind::SyncAck { ack },
    }
}

/// True if a packet of that type may carry the option (RFC 4340 table 3, and the options about
/// the acknowledgement number: 11.4, 11.7, 13.2).
fn allowed(option: u8, kind: Kind) -> bool {
    match option {
        wire::ACK_VECTOR_0 | wire::ACK_VECTOR_1 | wire::DATA_DROPPED | wire::ELAPSED_TIME => {
            kind.ack().is_some()
        }
        wire::MANDATORY | wire::CHANGE_L..=wire::INIT_COOKIE => kind != Kind::Data,
        _ => true,
    }
}

fn read_options(mut bytes: &[u8], kind: Kind) -> Options {
    let mut options = Options::default();
    while let [option, rest @ ..] = bytes {
        let option = *option;
        if option < wire::FIRST_WITH_LENGTH {
            bytes = rest;
            if allowed(option, kind) {
                single(&mut options, option);
            }
            continue;
        }
        let Some((length, rest)) = rest.split_first() else {
            break;
        };
        let Some(len) = usize::from(*length).checked_sub(2) else {
            break;
        };
        let Some((data, rest)) = rest.split_at_checked(len) else {
            break;
        };
        bytes = rest;
        if allowed(option, kind) {
            with_length(&mut options, option, data);
        } else {
            unmark(&mut options);
        }
    }
    options
}

/// Takes back a Mandatory whose option is one to ignore here.
fn unmark(options: &mut Options) {
    if options.list.last() == Some(&DccpOption::Mandatory) {
        options.list.pop();
    }
}

fn single(options: &mut Options, kind: u8) {
    match kind {
        // "Mandatory Padding" is twice nothing
        wire::PADDING => unmark(options),
        wire::MANDATORY => options.list.push(DccpOption::Mandatory),
        wire::SLOW_RECEIVER => options.list.push(DccpOption::SlowReceiver),
        _ => options.list.push(DccpOption::Unknown {
            kind,
            data: Vec::new(),
        }),
    }
}

fn with_length(options: &mut Options, kind: u8, data: &[u8]) {
    // those that have fields of their own; a Mandatory before them is satisfied
    match (kind, data.len()) {
        (wire::MULTIPATH, 7) if options.mp_seq.is_none() && data[0] == wire::mp_opt::SEQ => {
            unmark(options);
            options.mp_seq = Some(crate::seq::MpSeq::new(number(&data[1..])));
            return;
        }
        (wire::ACK_VECTOR_0 | wire::ACK_VECTOR_1, _) => {
            unmark(options);
            options
                .ack_vector
                .get_or_insert_with(AckVector::default)
                .append_wire(data);
            return;
        }
        (wire::ELAPSED_TIME, 2 | 4) => {
            unmark(options);
            options.elapsed = Some(Duration::from_micros(number(data) * 10));
            return;
        }
        _ => {}
    }
    let option = known(kind, data).unwrap_or_else(|| DccpOption::Unknown {
        kind,
        data: data.to_vec(),
    });
    options.list.push(option);
}

/// The option, if its type is known and its data are what the type has.
fn known(kind: u8, data: &[u8]) -> Option<DccpOption> {
    let step = |kind| {
        let (feature, value) = data.split_first()?;
        Some(DccpOption::Feature(FeatureOption {
            kind,
            feature: Feature(*feature),
            value: value.to_vec(),
        }))
    };
    match (kind, data.len()) {
        (wire::CHANGE_L, _) => step(FeatureOptionKind::ChangeL),
        (wire::CONFIRM_L, _) => step(FeatureOptionKind::ConfirmL),
        (wire::CHANGE_R, _) => step(FeatureOptionKind::ChangeR),
        (wire::CONFIRM_R, _) => step(FeatureOptionKind::ConfirmR),
        (wire::INIT_COOKIE, 1..) => Some(DccpOption::InitCookie(data.to_vec())),
        (wire::NDP_COUNT, 1..=6) => Some(DccpOption::NdpCount(number(data))),
        (wire::DATA_DROPPED, _) => Some(DccpOption::DataDropped(data.to_vec())),
        (wire::TIMESTAMP, 4) => Some(DccpOption::Timestamp(number(data) as u32)),
        (wire::TIMESTAMP_ECHO, 4 | 6 | 8) => {
            let (timestamp, elapsed) = data.split_at(4);
            Some(DccpOption::TimestampEcho {
                timestamp: number(timestamp) as u32,
                elapsed: (!elapsed.is_empty()).then(|| number(elapsed) as u32),
            })
        }
        (wire::MULTIPATH, 1..) => Some(DccpOption::Multipath(multipath(data[0], &data[1..]))),
        _ => None,
    }
}
