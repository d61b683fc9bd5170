//! The compact binary form of a radio report, version 3.
//!
//! ```text
//!   version u8 = 3
//!   cell:  id n_prb scs_hz slot_ns  share (f64, 8 bytes, little-endian)  slot slots background
//!   count of UEs, then for each:
//!     rnti  ip (0 | 4 + 4 bytes | 6 + 16 bytes)  prb_dl
//!     quality (0..4 table: mcs layers data_re | 255: full_band_millibytes)
//!     cqi tbs_bytes served_bytes rlc_queue_bytes
//!     count of bearers, then for each: id u8, queue_bytes (version 2 has neither)
//!     harq_processes harq_retx
//!     lost_packets (0: not counted; otherwise one more than the count)  seq
//!     timestamp_ns, as the zigzag difference from the UE before (from 0 for the first)
//! ```
//! Every number not stated otherwise is an unsigned LEB128 of at most 64 bits. Version 2 is read as well.

use super::{DecodeError, limit};
use crate::{BearerReport, CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

/// The first byte of a binary report.
pub const BINARY_VERSION: u8 = 3;

/// The version before, which is read as well: a UE has no bearers there.
const VERSION_WITHOUT_BEARERS: u8 = 2;

/// The quality byte of [`LinkQuality::Measured`].
const MEASURED: u8 = 255;

/// The fewest bytes that one UE takes.
const MIN_UE_BYTES: usize = 13;
/// The fewest that one bearer takes.
const MIN_BEARER_BYTES: usize = 2;

const TABLES: [McsTable; 5] = [
    McsTable::LteQam64,
    McsTable::LteQam256,
    McsTable::NrQam64,
    McsTable::NrQam256,
    McsTable::NrLowSe,
];

/// A report in the binary form.
pub fn encode_binary(report: &RadioReport) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + 40 * report.ues.len());
    let cell = &report.cell;
    out.push(BINARY_VERSION);
    number(&mut out, cell.id.0.into());
    number(&mut out, cell.n_prb.get().into());
    number(&mut out, cell.scs.get());
    number(&mut out, cell.slot_duration.as_nanos());
    out.extend_from_slice(&cell.downlink_share.to_le_bytes());
    number(&mut out, cell.slot.get());
    number(&mut out, cell.slots.into());
    number(&mut out, cell.prb_background.get().into());
    number(&mut out, report.ues.len() as u64);
    let mut before = 0;
    for ue in &report.ues {
        encode_ue(&mut out, ue, before);
        before = ue.timestamp.as_nanos();
    }
    out
}

fn encode_ue(out: &mut Vec<u8>, ue: &UeReport, before: u64) {
    number(out, ue.rnti.0.into());
    match ue.ip {
        None => out.push(0),
        Some(IpAddr::V4(ip)) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        Some(IpAddr::V6(ip)) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
    number(out, ue.prb_dl.get().into());
    encode_quality(out, ue.quality);
    out.push(ue.cqi.get());
    number(out, ue.tbs_bytes.get());
    number(out, ue.served_bytes.get());
    number(out, ue.rlc_queue_bytes.get());
    number(out, ue.bearers.len() as u64);
    for bearer in &ue.bearers {
        out.push(bearer.id);
        number(out, bearer.queue_bytes.get());
    }
    out.push(ue.harq_processes);
    number(out, ue.harq_retx.into());
    number(out, ue.lost_packets.map_or(0, |lost| u64::from(lost) + 1));
    number(out, ue.seq);
    number(out, zigzag(ue.timestamp.as_nanos().wrapping_sub(before)));
}

fn encode_quality(out: &mut Vec<u8>, quality: LinkQuality) {
    match quality {
        LinkQuality::Mcs {
            mcs,
            table,
            layers,
            data_re_per_prb,
        } => {
            out.push(table_byte(table));
            out.push(mcs.get());
            out.push(layers);
            number(out, data_re_per_prb.into());
        }
        LinkQuality::Measured {
            full_band_millibytes,
        } => {
            out.push(MEASURED);
            number(out, full_band_millibytes);
        }
    }
}

fn decode_lost(input: &mut Input<'_>) -> Result<Option<u32>, DecodeError> {
    let field = "lost_packets";
    let number = input.number(field)?;
    let lost = number.checked_sub(1).map(u32::try_from).transpose();
    lost.map_err(|_| input.wrong(field, "is larger than its type allows"))
}

fn table_byte(table: McsTable) -> u8 {
    match table {
        McsTable::LteQam64 => 0,
        McsTable::LteQam256 => 1,
        McsTable::NrQam64 => 2,
        McsTable::NrQam256 => 3,
        McsTable::NrLowSe => 4,
    }
}

/// A report from the binary form.
///
/// # Errors
/// What is not a report of version 2 or 3 from its first byte to its last, and a report whose values
/// cannot be true.
pub fn decode_binary(bytes: &[u8]) -> Result<RadioReport, DecodeError> {
    limit(bytes)?;
    let mut input = Input {
        bytes,
        at: 0,
        has_bearers: true,
    };
    let version = input.byte("version")?;
    input.has_bearers = version != VERSION_WITHOUT_BEARERS;
    if ![VERSION_WITHOUT_BEARERS, BINARY_VERSION].contains(&version) {
        return Err(DecodeError::Version { version });
    }
    let cell = decode_cell(&mut input)?;
    let count: usize = input.integer("count of UEs")?;
    if count > (bytes.len() - input.at) / MIN_UE_BYTES {
        return Err(input.wrong("count of UEs", "is more than the message can hold"));
    }
    let mut ues = Vec::with_capacity(count);
    let mut before = 0;
    for _ in 0..count {
        let ue = decode_ue(&mut input, before)?;
        before = ue.timestamp.as_nanos();
        ues.push(ue);
    }
    if input.at != bytes.len() {
        return Err(input.wrong("end", "is followed by more bytes"));
    }
    let report = RadioReport { cell, ues };
    report.check()?;
    Ok(report)
}

fn decode_cell(input: &mut Input<'_>) -> Result<CellReport, DecodeError> {
    Ok(CellReport {
        id: CellId(input.integer("cell id")?),
        n_prb: Prb::new(input.integer("n_prb")?),
        scs: Hertz::new(input.number("scs")?),
        slot_duration: Duration::from_nanos(input.number("slot_duration")?),
        downlink_share: f64::from_le_bytes(input.array("downlink_share")?),
        slot: Slot::new(input.number("slot")?),
        slots: input.integer("slots")?,
        prb_background: Prb::new(input.integer("prb_background")?),
    })
}

fn decode_ue(input: &mut Input<'_>, before: u64) -> Result<UeReport, DecodeError> {
    Ok(UeReport {
        rnti: Rnti(input.integer("rnti")?),
        ip: decode_ip(input)?,
        prb_dl: Prb::new(input.integer("prb_dl")?),
        quality: decode_quality(input)?,
        cqi: Cqi::new(input.byte("cqi")?),
        tbs_bytes: Bytes::new(input.number("tbs_bytes")?),
        served_bytes: Bytes::new(input.number("served_bytes")?),
        rlc_queue_bytes: Bytes::new(input.number("rlc_queue_bytes")?),
        bearers: decode_bearers(input)?,
        harq_processes: input.byte("harq_processes")?,
        harq_retx: input.integer("harq_retx")?,
        lost_packets: decode_lost(input)?,
        seq: input.number("seq")?,
        timestamp: Instant::from_nanos(before.wrapping_add(unzigzag(input.number("timestamp")?))),
    })
}

fn decode_bearers(input: &mut Input<'_>) -> Result<Vec<BearerReport>, DecodeError> {
    if !input.has_bearers {
        return Ok(Vec::new());
    }
    let count: usize = input.integer("count of bearers")?;
    if count > (input.bytes.len() - input.at) / MIN_BEARER_BYTES {
        return Err(input.wrong("count of bearers", "is more than the message can hold"));
    }
    let mut bearers = Vec::with_capacity(count);
    for _ in 0..count {
        bearers.push(BearerReport {
            id: input.byte("bearer id")?,
            queue_bytes: Bytes::new(input.number("queue_bytes")?),
        });
    }
    Ok(bearers)
}

fn decode_ip(input: &mut Input<'_>) -> Result<Option<IpAddr>, DecodeError> {
    match input.byte("ip")? {
        0 => Ok(None),
        4 => Ok(Some(Ipv4Addr::from(input.array::<4>("ip")?).into())),
        6 => Ok(Some(Ipv6Addr::from(input.array::<16>("ip")?).into())),
        _ => Err(input.wrong("ip", "is of no known family (0, 4 or 6)")),
    }
}

fn decode_quality(input: &mut Input<'_>) -> Result<LinkQuality, DecodeError> {
    let kind = input.byte("quality")?;
    if kind == MEASURED {
        return Ok(LinkQuality::Measured {
            full_band_millibytes: input.number("full_band_millibytes")?,
        });
    }
    let Some(&table) = TABLES.get(usize::from(kind)) else {
        return Err(input.wrong("quality", "names no known MCS table"));
    };
    Ok(LinkQuality::Mcs {
        table,
        mcs: Mcs::new(input.byte("mcs")?),
        layers: input.byte("layers")?,
        data_re_per_prb: input.integer("data_re_per_prb")?,
    })
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// As of its version.
    has_bearers: bool,
}

impl Input<'_> {
    fn wrong(&self, field: &'static str, problem: &'static str) -> DecodeError {
        DecodeError::Binary {
            field,
            at: self.at,
            problem,
        }
    }

    fn byte(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(self.wrong(field, "is missing: the message ends"));
        };
        self.at += 1;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let Some(array) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.wrong(field, "is missing: the message ends"));
        };
        self.at += N;
        Ok(*array)
    }

    fn number(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(field)?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.wrong(field, "has more than 64 bits"))
    }

    fn integer<T: TryFrom<u64>>(&mut self, field: &'static str) -> Result<T, DecodeError> {
        let value = self.number(field)?;
        T::try_from(value).map_err(|_| self.wrong(field, "is larger than its type allows"))
    }
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small differences of either sign as small numbers.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (((difference as i64) >> 63) as u64)
}

fn unzigzag(code: u64) -> u64 {
    (code >> 1) ^ (code & 1).wrapping_neg()
}
