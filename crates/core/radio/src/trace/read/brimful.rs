//! Brimful's own form: a first line, a header, rows.
//!
//! ```text
//! # brimful-trace 1 duration_s=300 kind=drive-lte seed=1
//! time_s,cqi
//! 0,9
//! 0.4,10
//! ```
//!
//! The first line states the version, 1, and `duration_s`; other `key=value` pairs and further lines
//! that begin with `#` are for people. The columns are one of
//!
//! | columns | content |
//! | --- | --- |
//! | `time_s,cqi`, also `snr_db`, `rsrp_dbm`, `network` (lte, nr, older or empty) | CQI; empty: not known |
//! | `time_s,rate_bps` | rate in whole bit/s |
//! | `time_s,packets` | packets that may leave at that instant |
//! | `packets_per_tick` | one value for each hold time, in order |
//!
//! Times are decimal seconds with up to nine digits after the point, from 0, and increase. Values
//! hold until the next row, the last until `duration_s`.

use super::{Found, Input, MAX_DURATION, MAX_PACKETS_PER_TICK, MAX_RATE};
use crate::moving::Dbm;
use crate::trace::format::BRIMFUL_MAGIC;
use crate::trace::text::{Line, Place, Row, Table, empty, lines};
use crate::trace::{
    Content, Network, Opportunities, Opportunity, PacketsPerTick, Quality, QualitySample, RateStep,
    Rates, TraceError,
};
use units::{BitRate, Cqi, Decibel, Duration, Packets};

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    let mut all = lines(input.text);
    let Some(first) = all.next() else {
        return Err(empty(
            input.file,
            "a first line that begins with # brimful-trace 1",
        ));
    };
    let duration = first_line(input.file, first)?;
    let rows = all.filter(|line| !line.text.starts_with('#'));
    let table = Table::new(input.file, rows)?;
    let content = if table.find("packets_per_tick").is_some() {
        packets_per_tick(table)?
    } else if table.find("cqi").is_some() {
        quality(table, duration)?
    } else if table.find("rate_bps").is_some() {
        rates(table, duration)?
    } else if table.find("packets").is_some() {
        opportunities(table, duration)?
    } else {
        return Err(table.no_column("of values", "cqi, rate_bps, packets or packets_per_tick"));
    };
    input.refuse_series()?;
    Ok(Found::new(content, Vec::new()))
}

/// Checks the first line and returns the duration, where it states it.
fn first_line(file: &str, line: Line<'_>) -> Result<Option<Duration>, TraceError> {
    let place = |column, field| Place {
        file,
        line: line.number,
        column,
        field,
    };
    let Some(rest) = line.text.strip_prefix(BRIMFUL_MAGIC) else {
        return Err(place(1, "first line").not(line.text, "# brimful-trace 1 duration_s=..."));
    };
    let mut words = rest.split_ascii_whitespace();
    let version = words.next().unwrap_or("");
    if version != "1" {
        return Err(place(BRIMFUL_MAGIC.len() + 2, "version").not(version, "1"));
    }
    let Some(text) = words.find_map(|word| word.strip_prefix("duration_s=")) else {
        return Ok(None);
    };
    let column = line.text.find(text).unwrap_or(0) + 1;
    match seconds(text) {
        Some(duration) if !duration.is_zero() && duration <= MAX_DURATION => Ok(Some(duration)),
        _ => {
            let expected = format!("seconds above 0, up to {MAX_DURATION}");
            Err(place(column, "duration_s").not(text, expected))
        }
    }
}

fn quality<'a>(
    mut table: Table<'a, impl Iterator<Item = Line<'a>>>,
    duration: Option<Duration>,
) -> Result<Content, TraceError> {
    let (time, cqi) = (table.column("time_s")?, table.column("cqi")?);
    let (snr, rsrp) = (table.find("snr_db"), table.find("rsrp_dbm"));
    let network = table.find("network");
    let mut clock = Clock::default();
    let mut samples = Vec::new();
    while let Some(row) = table.next_row()? {
        samples.push(QualitySample {
            at: clock.at(&row, time)?,
            cqi: match row.text(cqi) {
                "" | "-" => None,
                _ => Some(Cqi::new(row.whole(cqi, 15)? as u8)),
            },
            snr: known(&row, snr)?.map(Decibel::new),
            rsrp: known(&row, rsrp)?.map(Dbm::new),
            network: match network {
                Some(column) => network_of(&row, column)?,
                None => Network::Unknown,
            },
        });
    }
    let duration = clock.end(table.file, duration, true)?;
    if samples.iter().all(|sample| sample.cqi.is_none()) {
        return Err(TraceError::NothingUsable {
            file: table.file.into(),
            what: "no row has a CQI".into(),
            expected: "at least one".into(),
            help: "".into(),
        });
    }
    Ok(Content::Quality(Quality {
        samples: samples.into(),
        duration,
    }))
}

/// A number of decibel in a column that may be missing, or empty in this row.
fn known(row: &Row<'_, '_>, column: Option<usize>) -> Result<Option<f64>, TraceError> {
    match column {
        Some(column) if !matches!(row.text(column), "" | "-") => {
            row.decimal(column, -200.0, 200.0).map(Some)
        }
        _ => Ok(None),
    }
}

fn network_of(row: &Row<'_, '_>, column: usize) -> Result<Network, TraceError> {
    match row.text(column) {
        "lte" => Ok(Network::Lte),
        "nr" => Ok(Network::Nr),
        "older" => Ok(Network::Older),
        "" | "-" => Ok(Network::Unknown),
        other => Err(row.place(column).not(other, "lte, nr, older or nothing")),
    }
}

fn rates<'a>(
    mut table: Table<'a, impl Iterator<Item = Line<'a>>>,
    duration: Option<Duration>,
) -> Result<Content, TraceError> {
    let (time, rate) = (table.column("time_s")?, table.column("rate_bps")?);
    let mut clock = Clock::default();
    let mut steps = Vec::new();
    while let Some(row) = table.next_row()? {
        let at = clock.at(&row, time)?;
        let rate = BitRate::from_bps(row.whole(rate, MAX_RATE.as_bps())?);
        steps.push(RateStep { at, rate });
    }
    let duration = clock.end(table.file, duration, true)?;
    Ok(Content::Rate(Rates {
        steps: steps.into(),
        duration,
    }))
}

fn opportunities<'a>(
    mut table: Table<'a, impl Iterator<Item = Line<'a>>>,
    duration: Option<Duration>,
) -> Result<Content, TraceError> {
    let (time, packets) = (table.column("time_s")?, table.column("packets")?);
    let mut clock = Clock {
        from_zero: false,
        ..Clock::default()
    };
    let mut steps = Vec::new();
    while let Some(row) = table.next_row()? {
        let at = clock.at(&row, time)?;
        match row.whole(packets, MAX_PACKETS_PER_TICK.get())? {
            0 => {}
            n => steps.push(Opportunity {
                at,
                packets: Packets::new(n),
            }),
        }
    }
    let duration = clock.end(table.file, duration, false)?;
    if steps.is_empty() {
        return Err(TraceError::NothingUsable {
            file: table.file.into(),
            what: "no row lets a packet leave".into(),
            expected: "at least one whose packets are not 0".into(),
            help: "".into(),
        });
    }
    Ok(Content::Opportunities(Opportunities {
        steps: steps.into(),
        duration,
    }))
}

fn packets_per_tick<'a>(
    mut table: Table<'a, impl Iterator<Item = Line<'a>>>,
) -> Result<Content, TraceError> {
    let column = table.column("packets_per_tick")?;
    let mut values = Vec::new();
    while let Some(row) = table.next_row()? {
        // the limit is far below 2^32
        values.push(row.whole(column, MAX_PACKETS_PER_TICK.get())? as u32);
    }
    if values.is_empty() {
        return Err(empty(table.file, "rows under the header"));
    }
    if values.iter().all(|&value| value == 0) {
        return Err(TraceError::NothingUsable {
            file: table.file.into(),
            what: "all values are 0".into(),
            expected: "at least one tick in which a packet may leave".into(),
            help: "".into(),
        });
    }
    Ok(Content::PacketsPerTick(PacketsPerTick {
        values: values.into(),
    }))
}

/// The times of the rows.
struct Clock<'a> {
    /// True if the first row must be at 0.
    from_zero: bool,
    last: Option<(Duration, &'a str)>,
    step: Option<Duration>,
}

impl Default for Clock<'_> {
    fn default() -> Self {
        Self {
            from_zero: true,
            last: None,
            step: None,
        }
    }
}

impl<'a> Clock<'a> {
    fn at(&mut self, row: &Row<'_, 'a>, column: usize) -> Result<Duration, TraceError> {
        let (place, text) = (row.place(column), row.text(column));
        let at = seconds(text)
            .filter(|&at| at <= MAX_DURATION)
            .ok_or_else(|| {
                place.not(
                    text,
                    format!("seconds from 0 to {}", MAX_DURATION.as_secs_f64()),
                )
            })?;
        match self.last {
            Some((last, previous)) if at < last => return Err(place.decreases(text, previous)),
            Some((last, _)) if at == last => {
                return Err(place.not(text, "a time after that of the row above"));
            }
            Some((last, _)) => self.step = Some(at - last),
            None if self.from_zero && !at.is_zero() => {
                return Err(place.not(text, "0 in the first row"));
            }
            None => {}
        }
        self.last = Some((at, text));
        Ok(at)
    }

    /// When the trace ends: as its first line states, else one step after the last row. A row that
    /// holds must begin before the end; an instant may coincide with it.
    fn end(
        &self,
        file: &str,
        duration: Option<Duration>,
        holds: bool,
    ) -> Result<Duration, TraceError> {
        let Some((last, text)) = self.last else {
            return Err(empty(file, "rows under the header"));
        };
        let step = self.step.unwrap_or(Duration::from_secs(1));
        let duration = duration.unwrap_or(last + step);
        if duration > MAX_DURATION {
            return Err(super::too_long(file, duration));
        }
        if last > duration || (holds && last == duration) {
            let place = Place {
                file,
                line: 1,
                column: 1,
                field: "duration_s",
            };
            let expected = format!("more than {text}, the time of the last row");
            return Err(place.not(&duration.to_string(), expected));
        }
        Ok(duration)
    }
}

/// Decimal seconds with at most nine digits after the point, exactly.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(1_000_000_000)?
        .checked_add(nanos)
        .map(Duration::from_nanos)
}
