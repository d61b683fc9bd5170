//! Per-slot DCI logs of NR-Scope (CoNEXT 2024): one row for each decoded DCI of a 5G cell.
//!
//! Used: `timestamp` (Unix time, s), `system_frame_index` (0 to 1023), `slot_index`, `rnti`,
//! `dci_format` (1_x downlink, 0_x uplink), `frequency_length` (PRBs), `nof_layers`, `mcs_index`,
//! `transport_block_size` (bits) and `mcs_table`.
//!
//! The slot's time is that of frame and slot number, not of the timestamp, which states when the
//! sniffer's worker wrote the row and is late by up to a second; it serves only to count the frame
//! number's cycles of 10.24 s. Rows are sorted by slot, because several workers write them. A frame
//! has the fewest slots of 10, 20, 40, 80, 160 (15 to 240 kHz) that the slot numbers allow.
//!
//! What such a log does not contain: some DCIs are missed and some are false; one with transport block
//! size 0 is a retransmission or an allocation that could not be decoded; and the UE had the rate
//! that it requested, not that which it could have had.

use super::{Found, Input, MAX_DURATION};
use crate::trace::text::{Row, Table, empty, lines};
use crate::trace::{Content, Dci, DciDirection, DciLog, TraceError};
use rnis::{McsTable, Rnti};
use std::collections::BTreeMap;
use units::{Bits, Duration, Mcs, Prb};

/// Frame numbers of a cycle (TS 38.211 4.3.1).
const FRAMES: i64 = 1024;
/// Duration of a frame (TS 38.211 4.3.1).
const FRAME: Duration = Duration::from_millis(10);
/// Most PRBs of a carrier (TS 38.101-1 Table 5.3.2-1 has 273; a bandwidth part may have 275).
const MAX_PRB: u64 = 275;
/// Above the largest transport block of TS 38.214 (8 layers, 273 PRBs, 256QAM: 2.6 Mbit).
const MAX_TBS: u64 = 10_000_000;

/// The columns.
struct Columns {
    timestamp: usize,
    frame: usize,
    slot: usize,
    rnti: usize,
    format: usize,
    prb: usize,
    layers: usize,
    mcs: usize,
    tbs: usize,
    table: usize,
}

/// When a row states that it was.
struct Stamp {
    seconds: f64,
    frame: i64,
    slot: i64,
}

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    let requested = input
        .series
        .map(|series| wanted_rnti(input, series))
        .transpose()?;
    let mut table = Table::new(input.file, lines(input.text))?;
    let columns = Columns {
        timestamp: table.column("timestamp")?,
        frame: table.column("system_frame_index")?,
        slot: table.column("slot_index")?,
        rnti: table.column("rnti")?,
        format: table.column("dci_format")?,
        prb: table.column("frequency_length")?,
        layers: table.column("nof_layers")?,
        mcs: table.column("mcs_index")?,
        tbs: table.column("transport_block_size")?,
        table: table.column("mcs_table")?,
    };
    let (mut stamps, mut records): (Vec<Stamp>, Vec<Dci>) = (Vec::new(), Vec::new());
    let mut previous = "";
    while let Some(row) = table.next_row()? {
        let seconds = row.decimal(columns.timestamp, 0.0, 1e11)?;
        let text = row.text(columns.timestamp);
        if stamps.last().is_some_and(|last| seconds < last.seconds) {
            return Err(row.place(columns.timestamp).decreases(text, previous));
        }
        previous = text;
        stamps.push(Stamp {
            seconds,
            frame: row.whole(columns.frame, 1023)? as i64,
            slot: row.whole(columns.slot, 159)? as i64,
        });
        records.push(dci(&row, &columns)?);
    }
    let (Some(first), Some(last)) = (stamps.first(), stamps.last()) else {
        return Err(empty(input.file, "rows under the header"));
    };
    let lasted = Duration::from_secs_f64(last.seconds - first.seconds);
    if lasted > MAX_DURATION {
        return Err(super::too_long(input.file, lasted));
    }
    let (slot_duration, slots) = place_in_time(&stamps, &mut records);
    let rnti = choose(input, requested, &records)?;
    let notes = notes(&records);
    let log = DciLog {
        records: records.into(),
        slot_duration,
        slots,
        rnti,
    };
    Ok(Found::new(Content::Dci(log), notes))
}

/// A series is `rnti=25250` or just the number.
fn wanted_rnti(input: &Input<'_>, series: &str) -> Result<Rnti, TraceError> {
    let number = series.strip_prefix("rnti=").unwrap_or(series).trim();
    let rnti = number
        .parse()
        .map_err(|_| input.no_series(series, "rnti=N with N from 0 to 65535"))?;
    Ok(Rnti(rnti))
}

fn dci(row: &Row<'_, '_>, columns: &Columns) -> Result<Dci, TraceError> {
    let direction = match row.text(columns.format) {
        format if format.starts_with("1_") => DciDirection::Downlink,
        format if format.starts_with("0_") => DciDirection::Uplink,
        _ => DciDirection::Unknown,
    };
    let table_name = row.text(columns.table);
    let table = match table_name.to_ascii_lowercase().as_str() {
        "64qam" | "qam64" => McsTable::NrQam64,
        "256qam" | "qam256" => McsTable::NrQam256,
        "64qamlowse" | "qam64lowse" => McsTable::NrLowSe,
        _ => {
            return Err(row
                .place(columns.table)
                .not(table_name, "64qam, 256qam or 64qamLowSE"));
        }
    };
    Ok(Dci {
        slot: 0,
        rnti: Rnti(row.whole(columns.rnti, 65_535)? as u16),
        direction,
        prb: Prb::new(row.whole(columns.prb, MAX_PRB)? as u16),
        mcs: Mcs::new(row.whole(columns.mcs, 31)? as u8),
        layers: row.whole(columns.layers, 8)? as u8,
        tbs: Bits::new(row.whole(columns.tbs, MAX_TBS)?),
        table,
    })
}

/// Gives each record its slot, sorts them, and returns the slots' duration and number.
fn place_in_time(stamps: &[Stamp], records: &mut [Dci]) -> (Duration, u64) {
    let highest = stamps.iter().map(|stamp| stamp.slot).max().unwrap_or(0);
    let per_frame = [10, 20, 40, 80]
        .into_iter()
        .find(|&n| highest < n)
        .unwrap_or(160);
    let cycle = FRAMES * per_frame;
    let per_second = per_frame as f64 * 100.0;
    let mut slots = Vec::with_capacity(stamps.len());
    let (mut slot, mut before) = (0i64, &stamps[0]);
    for stamp in stamps {
        let number = |s: &Stamp| s.frame * per_frame + s.slot;
        let step = number(stamp) - number(before);
        let elapsed = (stamp.seconds - before.seconds) * per_second;
        // the number of whole cycles that brings the step nearest to the time elapsed
        let cycles = ((elapsed - step as f64) / cycle as f64).round() as i64;
        slot += step + cycles * cycle;
        slots.push(slot);
        before = stamp;
    }
    let first = slots.iter().copied().min().unwrap_or(0);
    for (record, slot) in records.iter_mut().zip(&slots) {
        record.slot = u64::try_from(slot - first).unwrap_or(0);
    }
    records.sort_by_key(|record| record.slot);
    let last = records.last().map_or(0, |record| record.slot);
    (FRAME / per_frame as u64, last + 1)
}

/// The UE to play: the one that was requested, else the one with most downlink blocks.
fn choose(input: &Input<'_>, requested: Option<Rnti>, records: &[Dci]) -> Result<Rnti, TraceError> {
    let mut blocks: BTreeMap<u16, usize> = BTreeMap::new();
    for dci in records.iter().filter(|dci| dci.carries_new_downlink_data()) {
        *blocks.entry(dci.rnti.0).or_default() += 1;
    }
    let mut busiest: Vec<_> = blocks.iter().map(|(&rnti, &count)| (count, rnti)).collect();
    busiest.sort_by_key(|&(count, rnti)| (core::cmp::Reverse(count), rnti));
    let Some(&(_, first)) = busiest.first() else {
        return Err(TraceError::NothingUsable {
            file: input.file.into(),
            what: "no downlink DCI has a transport block size".into(),
            expected: "at least one row of format 1_0 or 1_1 whose size is not 0".into(),
            help: "".into(),
        });
    };
    match requested {
        None => Ok(Rnti(first)),
        Some(rnti) if blocks.contains_key(&rnti.0) => Ok(rnti),
        Some(rnti) => {
            let some: Vec<_> = busiest
                .iter()
                .take(8)
                .map(|(count, rnti)| format!("{rnti} ({count})"))
                .collect();
            let available = format!(
                "an RNTI with downlink blocks, such as (blocks) {}",
                some.join(", ")
            );
            Err(input.no_series(&format!("rnti={}", rnti.0), available))
        }
    }
}

fn notes(records: &[Dci]) -> Vec<String> {
    let undecoded = records.iter().filter(|dci| dci.tbs.is_zero()).count();
    if undecoded == 0 {
        return Vec::new();
    }
    vec![format!(
        "{undecoded} of {} DCIs have no transport block size (retransmission or not decoded): \
         they do not set the MCS",
        records.len()
    )]
}
