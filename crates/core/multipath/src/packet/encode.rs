//! Packets to bytes (RFC 4340 sections 5.1 to 5.8; RFC 9897 section 3.2).
//!
//! ```text
//!  0-1 source port      4 data offset, words    8 reserved 3, type 4, X = 1 1
//!  2-3 destination port 5 CCVal 4, CsCov 4      9 reserved
//!                       6-7 checksum           10-15 sequence number
//!  then, by type: acknowledgement (2 reserved, 6), service code (4) or reset code and data (4)
//!  then options: MP_SEQ, the list, Ack Vector, Elapsed Time, Padding up to a multiple of 4 bytes
//! ```
//!
//! The DCCP checksum is zero and its coverage the whole packet: UDP's checksum stands for it
//! (RFC 6773 3.3).

use super::options::{DccpOption, FeatureOption, KeyData, MpOption, Options, PathRtt, RttKind};
use super::wire::{self, mp_opt};
use super::{AckVector, Kind, Packet};
use crate::seq::MpSeq;
use core::net::IpAddr;
use units::Duration;

/// Longest header, with options: the data offset counts words of 4 bytes in 8 bits (RFC 4340 5.1).
pub const MAX_HEADER_LEN: usize = 255 * 4;
/// Longest option: its length is one byte (RFC 4340 5.8).
const MAX_OPTION_LEN: usize = 255;
/// Type and length of an option.
const OPTION_HEAD: usize = 2;
/// Type, length and `MP_OPT` of a multipath option.
const MP_HEAD: usize = 3;
/// Elapsed times below half a second take two bytes (RFC 4340 13.2), in steps of 10 us.
const SHORT_ELAPSED: u32 = 50_000;

/// Why a packet has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An option with more data than its length field can state.
    #[error("option {kind} would take {bytes} bytes, and an option has at most 255")]
    OptionTooLong {
        /// Option type.
        kind: u8,
        /// Bytes that it would take.
        bytes: usize,
    },
    /// More options than the data offset can state.
    #[error("the header would take {bytes} bytes, and a DCCP header has at most 1020")]
    HeaderTooLong {
        /// Bytes that it would take.
        bytes: usize,
    },
}

/// Bytes of the header that [`encode`] writes, options and padding included.
///
/// Of an Ack Vector only what fits into [`MAX_HEADER_LEN`] counts, as it is only that much which is
/// written.
pub fn encoded_len(packet: &Packet) -> usize {
    let rest = wire::fixed_len(packet.kind) + options_len(&packet.options);
    let vector = packet
        .options
        .ack_vector
        .as_ref()
        .map_or(0, |vector| vector_len(vector_room(vector, rest)));
    (rest + vector).next_multiple_of(4)
}

/// Writes a packet's header to the end of `out` and returns its length; application data comes
/// right after it.
///
/// An Ack Vector that is too long for the header loses its oldest runs, which RFC 4340 11.4 allows.
///
/// # Errors
///
/// [`EncodeError`] if options are too long for their length or too many for the header; `out` is
/// then as it was.
pub fn encode(packet: &Packet, out: &mut Vec<u8>) -> Result<usize, EncodeError> {
    let start = out.len();
    let written = write(packet, out, start);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn write(packet: &Packet, out: &mut Vec<u8>, start: usize) -> Result<usize, EncodeError> {
    let kind = packet.kind;
    out.extend_from_slice(&packet.source.to_be_bytes());
    out.extend_from_slice(&packet.destination.to_be_bytes());
    // the data offset is known at the end; coverage and checksum are zero
    out.extend_from_slice(&[0, packet.ccval << 4, 0, 0, kind.code() << 1 | 1, 0]);
    put_48(out, packet.seq.get());
    if let Some(ack) = kind.ack() {
        out.extend_from_slice(&[0, 0]);
        put_48(out, ack.get());
    }
    match kind {
        Kind::Request { service } | Kind::Response { service, .. } => {
            out.extend_from_slice(&service.to_be_bytes());
        }
        Kind::Reset { code, data, .. } => {
            out.push(code.0);
            out.extend_from_slice(&data);
        }
        _ => {}
    }
    let options = &packet.options;
    if let Some(seq) = options.mp_seq {
        put_mp_seq(out, seq);
    }
    for option in &options.list {
        put_option(out, option)?;
    }
    if let Some(vector) = &options.ack_vector {
        let rest = out.len() - start + options.elapsed.map_or(0, elapsed_len);
        put_vector(out, vector, vector_room(vector, rest));
    }
    if let Some(elapsed) = options.elapsed {
        put_elapsed(out, elapsed);
    }
    let padded = (out.len() - start).next_multiple_of(4);
    if padded > MAX_HEADER_LEN {
        return Err(EncodeError::HeaderTooLong { bytes: padded });
    }
    out.resize(start + padded, wire::PADDING);
    out[start + 4] = (padded / 4) as u8;
    Ok(padded)
}

fn put_48(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_be_bytes()[2..]);
}

fn put_mp_seq(out: &mut Vec<u8>, seq: MpSeq) {
    out.extend_from_slice(&[wire::MULTIPATH, 9, mp_opt::SEQ]);
    put_48(out, seq.get());
}

/// An elapsed time in steps of 10 us, rounded down, the greatest for all that is more.
fn elapsed_steps(elapsed: Duration) -> u32 {
    u32::try_from(elapsed.as_micros() / 10).unwrap_or(u32::MAX)
}

fn elapsed_len(elapsed: Duration) -> usize {
    if elapsed_steps(elapsed) < SHORT_ELAPSED {
        4
    } else {
        6
    }
}

fn put_elapsed(out: &mut Vec<u8>, elapsed: Duration) {
    let steps = elapsed_steps(elapsed);
    if steps < SHORT_ELAPSED {
        out.extend_from_slice(&[wire::ELAPSED_TIME, 4]);
        out.extend_from_slice(&(steps as u16).to_be_bytes());
    } else {
        out.extend_from_slice(&[wire::ELAPSED_TIME, 6]);
        out.extend_from_slice(&steps.to_be_bytes());
    }
}

/// How many runs of a vector fit beside `rest` bytes of header.
fn vector_room(vector: &AckVector, rest: usize) -> usize {
    let room = MAX_HEADER_LEN.saturating_sub(rest);
    if vector_len(vector.len()) <= room {
        return vector.len();
    }
    room.saturating_sub(room.div_ceil(MAX_OPTION_LEN) * OPTION_HEAD)
}

/// Bytes of the options that hold so many runs; one without runs is an empty option.
fn vector_len(runs: usize) -> usize {
    let options = runs.div_ceil(MAX_OPTION_LEN - OPTION_HEAD).max(1);
    runs + options * OPTION_HEAD
}

fn put_vector(out: &mut Vec<u8>, vector: &AckVector, runs: usize) {
    let mut left = &vector.as_wire()[..runs];
    loop {
        let (now, later) = left.split_at(left.len().min(MAX_OPTION_LEN - OPTION_HEAD));
        out.extend_from_slice(&[wire::ACK_VECTOR_0, (now.len() + OPTION_HEAD) as u8]);
        out.extend_from_slice(now);
        left = later;
        if left.is_empty() {
            return;
        }
    }
}

/// Bytes of all options but the Ack Vector and padding.
fn options_len(options: &Options) -> usize {
    options.mp_seq.map_or(0, |_| 9)
        + options.list.iter().map(option_len).sum::<usize>()
        + options.elapsed.map_or(0, elapsed_len)
}

/// The fewest bytes, 1 to 6, that hold a number (RFC 4340 7.7).
fn ndp_bytes(count: u64) -> usize {
    (8 - count.leading_zeros() as usize / 8).clamp(1, 6)
}

fn option_len(option: &DccpOption) -> usize {
    match option {
        DccpOption::Mandatory | DccpOption::SlowReceiver => 1,
        DccpOption::Feature(feature) => 3 + feature.value.len(),
        DccpOption::InitCookie(data) | DccpOption::DataDropped(data) => OPTION_HEAD + data.len(),
        DccpOption::NdpCount(count) => OPTION_HEAD + ndp_bytes(*count),
        DccpOption::Timestamp(_) => 6,
        DccpOption::TimestampEcho { elapsed, .. } => match elapsed {
            None => 6,
            Some(steps) if *steps < SHORT_ELAPSED => 8,
            Some(_) => 10,
        },
        DccpOption::Multipath(option) => mp_len(option),
        DccpOption::Unknown { kind, .. } if *kind < wire::FIRST_WITH_LENGTH => 1,
        DccpOption::Unknown { data, .. } => OPTION_HEAD + data.len(),
    }
}

fn mp_len(option: &MpOption) -> usize {
    MP_HEAD
        + match option {
            MpOption::Confirm(confirmed) => confirm_len(confirmed),
            MpOption::Join { .. } | MpOption::Rtt(_) => 9,
            MpOption::FastClose(key) | MpOption::Close(key) => key.data.len(),
            MpOption::Key { keys, .. } => 5 + keys.iter().map(|k| 1 + k.data.len()).sum::<usize>(),
            MpOption::Seq(_) => 6,
            MpOption::Hmac(hmac) => hmac.0.len(),
            MpOption::AddAddress { address, port, .. } => {
                5 + if address.is_ipv4() { 4 } else { 16 } + port.map_or(0, |_| 2)
            }
            MpOption::RemoveAddress { .. } => 5,
            MpOption::Priority(_) => 1,
            MpOption::Experimental(data) | MpOption::Unknown { data, .. } => data.len(),
        }
}

/// Options that came with the same number follow it together (RFC 9897 3.2.1).
fn confirm_len(confirmed: &[(MpOption, MpSeq)]) -> usize {
    let mut last = None;
    let mut len = 0;
    for (option, seq) in confirmed {
        len += mp_len(option);
        if last.replace(*seq) != Some(*seq) {
            len += 9;
        }
    }
    len
}

/// Type and length of an option of `bytes` bytes in all.
fn put_head(out: &mut Vec<u8>, kind: u8, bytes: usize) -> Result<(), EncodeError> {
    let length = u8::try_from(bytes).map_err(|_| EncodeError::OptionTooLong { kind, bytes })?;
    out.extend_from_slice(&[kind, length]);
    Ok(())
}

fn put_option(out: &mut Vec<u8>, option: &DccpOption) -> Result<(), EncodeError> {
    let bytes = option_len(option);
    match option {
        DccpOption::Mandatory => out.push(wire::MANDATORY),
        DccpOption::SlowReceiver => out.push(wire::SLOW_RECEIVER),
        DccpOption::Feature(FeatureOption {
            kind,
            feature,
            value,
        }) => {
            put_head(out, kind.code(), bytes)?;
            out.push(feature.0);
            out.extend_from_slice(value);
        }
        DccpOption::InitCookie(data) => {
            put_head(out, wire::INIT_COOKIE, bytes)?;
            out.extend_from_slice(data);
        }
        DccpOption::NdpCount(count) => {
            put_head(out, wire::NDP_COUNT, bytes)?;
            out.extend_from_slice(&count.to_be_bytes()[8 - (bytes - OPTION_HEAD)..]);
        }
        DccpOption::Timestamp(timestamp) => {
            put_head(out, wire::TIMESTAMP, bytes)?;
            out.extend_from_slice(&timestamp.to_be_bytes());
        }
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            put_head(out, wire::TIMESTAMP_ECHO, bytes)?;
            out.extend_from_slice(&timestamp.to_be_bytes());
            match elapsed {
                None => {}
                Some(steps) if *steps < SHORT_ELAPSED => {
                    out.extend_from_slice(&(*steps as u16).to_be_bytes());
                }
                Some(steps) => out.extend_from_slice(&steps.to_be_bytes()),
            }
        }
        DccpOption::DataDropped(data) => {
            put_head(out, wire::DATA_DROPPED, bytes)?;
            out.extend_from_slice(data);
        }
        DccpOption::Multipath(option) => put_mp(out, option)?,
        DccpOption::Unknown { kind, .. } if *kind < wire::FIRST_WITH_LENGTH => out.push(*kind),
        DccpOption::Unknown { kind, data } => {
            put_head(out, *kind, bytes)?;
            out.extend_from_slice(data);
        }
    }
    Ok(())
}

const fn mp_kind(option: &MpOption) -> u8 {
    match option {
        MpOption::Confirm(_) => mp_opt::CONFIRM,
        MpOption::Join { .. } => mp_opt::JOIN,
        MpOption::FastClose(_) => mp_opt::FAST_CLOSE,
        MpOption::Key { .. } => mp_opt::KEY,
        MpOption::Seq(_) => mp_opt::SEQ,
        MpOption::Hmac(_) => mp_opt::HMAC,
        MpOption::Rtt(_) => mp_opt::RTT,
        MpOption::AddAddress { .. } => mp_opt::ADD_ADDRESS,
        MpOption::RemoveAddress { .. } => mp_opt::REMOVE_ADDRESS,
        MpOption::Priority(_) => mp_opt::PRIORITY,
        MpOption::Close(_) => mp_opt::CLOSE,
        MpOption::Experimental(_) => mp_opt::EXPERIMENTAL,
        MpOption::Unknown { kind, .. } => *kind,
    }
}

fn put_mp(out: &mut Vec<u8>, option: &MpOption) -> Result<(), EncodeError> {
    put_head(out, wire::MULTIPATH, mp_len(option))?;
    out.push(mp_kind(option));
    match option {
        MpOption::Confirm(confirmed) => {
            let mut last = None;
            for (option, seq) in confirmed {
                if last.replace(*seq) != Some(*seq) {
                    put_mp_seq(out, *seq);
                }
                put_mp(out, option)?;
            }
        }
        MpOption::Join {
            address,
            connection,
            nonce,
        } => {
            out.push(address.0);
            out.extend_from_slice(&connection.0.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MpOption::FastClose(key) | MpOption::Close(key) => out.extend_from_slice(&key.data),
        MpOption::Key { connection, keys } => {
            out.push(0);
            out.extend_from_slice(&connection.0.to_be_bytes());
            for KeyData { kind, data } in keys {
                out.push(*kind);
                out.extend_from_slice(data);
            }
        }
        MpOption::Seq(seq) => put_48(out, seq.get()),
        MpOption::Hmac(hmac) => out.extend_from_slice(&hmac.0),
        MpOption::Rtt(PathRtt { kind, rtt, age }) => {
            out.push(match kind {
                RttKind::Raw => 0,
                RttKind::Min => 1,
                RttKind::Max => 2,
                RttKind::Smooth => 3,
            });
            for time in [rtt, age] {
                let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
                out.extend_from_slice(&millis.to_be_bytes());
            }
        }
        MpOption::AddAddress {
            id,
            nonce,
            address,
            port,
        } => {
            out.push(id.0);
            out.extend_from_slice(&nonce.to_be_bytes());
            match address {
                IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
                IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
            }
            if let Some(port) = port {
                out.extend_from_slice(&port.to_be_bytes());
            }
        }
        MpOption::RemoveAddress { id, nonce } => {
            out.push(id.0);
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MpOption::Priority(priority) => out.push(priority.get()),
        MpOption::Experimental(data) | MpOption::Unknown { data, .. } => {
            out.extend_from_slice(data);
        }
    }
    Ok(())
}
