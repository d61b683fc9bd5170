//! Reading a table whose columns are of any names: the caller states which column holds what, and in which unit.
//!
//! The [formats](super::Format) are known by what their columns are called. The log of another program has other names,
//! so [`import`] takes a [`Mapping`].
//!
//! * **Time** is exact to the nanosecond and counts from the first row that is taken. It does not decrease; of two rows
//!   at one time the later counts. Without a column of times each row is a second.
//! * **Rows without a value** (an empty field, `-`, `NA`, `NaN`, `null`) are passed over: what the row before states
//!   holds on. They are counted in a note.
//! * **Other rows**: where a column must have a value ([`Mapping::only`]), rows that have another are passed over.
//! * The last row holds as long as the step before it; a single row a second.

use super::read::{MAX_DURATION, MAX_RATE, bit_rate, days_since_1970, text_of, too_long};
use super::text::{Line, Place, Row, Table, empty, lines};
use super::{Content, Format, Network, Quality, QualitySample, RateStep, Rates, Trace, TraceError};
use crate::moving::Dbm;
use core::str::FromStr;
use units::{BitRate, Cqi, Decibel, Duration};

/// What divides the fields of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Separator {
    /// A comma.
    #[default]
    Comma,
    /// A semicolon.
    Semicolon,
    /// A tab.
    Tab,
}

/// What a column of times holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds since any moment, as Unix time.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// A date and a time of day as ISO 8601 has them: `2025-05-01T12:00:00.25Z`, `2025-05-01 12:00:00+02:00`.
    Date,
}

/// The unit of a column of rates: so many bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateUnit(f64);

/// A word that is no unit of times or rates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown unit {found:?}: known are {known}")]
pub struct UnknownUnit {
    /// What was given.
    pub found: String,
    /// All that there are.
    pub known: String,
}

const TIME_UNITS: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::Seconds),
    ("ms", TimeUnit::Milliseconds),
    ("us", TimeUnit::Microseconds),
    ("ns", TimeUnit::Nanoseconds),
    ("date", TimeUnit::Date),
];

const RATE_UNITS: [(&str, f64); 8] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];

/// The entry of this name, or all names that there are.
fn named<T: Copy>(all: &[(&str, T)], text: &str) -> Result<T, UnknownUnit> {
    let found = all.iter().find(|(name, _)| *name == text);
    found.map(|(_, unit)| *unit).ok_or_else(|| UnknownUnit {
        found: text.to_owned(),
        known: all
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

impl RateUnit {
    /// Mbit/s.
    pub(super) const MEGABIT: Self = Self(1e6);
}

impl FromStr for TimeUnit {
    type Err = UnknownUnit;

    /// `s`, `ms`, `us`, `ns` or `date`.
    fn from_str(text: &str) -> Result<Self, UnknownUnit> {
        named(&TIME_UNITS, text)
    }
}

impl FromStr for RateUnit {
    type Err = UnknownUnit;

    /// `bit/s`, `B/s`, or one of them with `k`, `M` or `G` before it (decimal multiples).
    fn from_str(text: &str) -> Result<Self, UnknownUnit> {
        named(&RATE_UNITS, text).map(Self)
    }
}

/// The columns of what is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueColumns {
    /// A rate.
    Rate {
        /// Its column.
        column: String,
        /// Its unit.
        unit: RateUnit,
    },
    /// A CQI, 0 to 15.
    Cqi {
        /// Its column.
        column: String,
        /// The column of the signal-to-noise ratio in dB.
        snr: Option<String>,
        /// The column of the reference signal received power in dBm.
        rsrp: Option<String>,
    },
}

/// Which column holds what.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// What divides fields.
    pub separator: Separator,
    /// The column of times and what it holds; without it each row is a second.
    pub time: Option<(String, TimeUnit)>,
    /// What is recorded.
    pub value: ValueColumns,
    /// Names of columns and the value that each must have.
    pub only: Vec<(String, String)>,
}

/// Fields that state that there is no value.
const MISSING: [&str; 6] = ["", "-", "na", "nan", "null", "none"];

/// Reads a table by a mapping of its columns. `name` stands for the file in messages.
///
/// # Errors
/// See [`TraceError`]: a column that is not there, a field that is not what it has to be, a time that decreases, a table
/// without a row to take. The first defect ends the reading.
pub fn import(name: &str, bytes: &[u8], mapping: &Mapping) -> Result<Trace, TraceError> {
    let separator = match mapping.separator {
        Separator::Comma => b',',
        Separator::Semicolon => b';',
        Separator::Tab => b'\t',
    };
    let text = text_of(name, bytes)?;
    let mut table = Table::divided(name, lines(text), separator)?;
    let rows = Rows::new(mapping, &table)?;
    let (content, notes) = match &mapping.value {
        ValueColumns::Rate { column, unit } => {
            let column = table.column(column)?;
            let max = MAX_RATE.as_bps() as f64 / unit.0;
            let rate = |row: &Row<'_, '_>| -> Result<BitRate, TraceError> {
                Ok(bit_rate(row.decimal(column, 0.0, max)?, unit.0))
            };
            let taken = rows.take(&mut table, column, rate)?;
            rates(taken)
        }
        ValueColumns::Cqi { column, snr, rsrp } => {
            let column = table.column(column)?;
            let find = |name: &Option<String>| name.as_deref().map(|n| table.column(n)).transpose();
            let (snr, rsrp) = (find(snr)?, find(rsrp)?);
            let taken = rows.take(&mut table, column, |row| sample(row, column, snr, rsrp))?;
            quality(taken)
        }
    };
    Ok(Trace {
        source: name.to_owned(),
        format: Format::Brimful,
        networks: content.networks(),
        content,
        notes,
    })
}

/// What was taken of a table.
struct Taken<T> {
    /// Values with the times from which on they hold.
    values: Vec<(Duration, T)>,
    duration: Duration,
    notes: Vec<String>,
}

fn rates(taken: Taken<BitRate>) -> (Content, Vec<String>) {
    let steps = taken.values.into_iter();
    let steps = steps.map(|(at, rate)| RateStep { at, rate }).collect();
    let rates = Rates {
        steps,
        duration: taken.duration,
    };
    (Content::Rate(rates), taken.notes)
}

fn quality(taken: Taken<QualitySample>) -> (Content, Vec<String>) {
    let samples = taken.values.into_iter();
    let samples = samples.map(|(at, sample)| QualitySample { at, ..sample });
    let quality = Quality {
        samples: samples.collect(),
        duration: taken.duration,
    };
    (Content::Quality(quality), taken.notes)
}

/// The CQI of a row, and what else it has of the signal.
fn sample(
    row: &Row<'_, '_>,
    cqi: usize,
    snr: Option<usize>,
    rsrp: Option<usize>,
) -> Result<QualitySample, TraceError> {
    let decimal = |column: Option<usize>, min: f64, max: f64| {
        let column = column.filter(|column| !is_missing(row.text(*column)));
        column
            .map(|column| row.decimal(column, min, max))
            .transpose()
    };
    Ok(QualitySample {
        at: Duration::ZERO,
        cqi: Some(Cqi::new(row.whole(cqi, 15)? as u8)),
        snr: decimal(snr, -200.0, 200.0)?.map(Decibel::new),
        rsrp: decimal(rsrp, -200.0, 0.0)?.map(Dbm::new),
        network: Network::Unknown,
    })
}

fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Which rows are taken, and when they are.
struct Rows<'m> {
    time: Option<(usize, TimeUnit)>,
    only: Vec<(usize, &'m str)>,
}

impl<'m> Rows<'m> {
    fn new<'a, I: Iterator<Item = Line<'a>>>(
        mapping: &'m Mapping,
        table: &Table<'a, I>,
    ) -> Result<Self, TraceError> {
        let time = mapping.time.as_ref();
        let time = time.map(|(name, unit)| Ok((table.column(name)?, *unit)));
        let only = mapping.only.iter();
        let only = only.map(|(name, value)| Ok((table.column(name)?, value.as_str())));
        Ok(Self {
            time: time.transpose()?,
            only: only.collect::<Result<_, TraceError>>()?,
        })
    }

    /// Takes the rows that have a value in a column.
    fn take<'a, I: Iterator<Item = Line<'a>>, T>(
        &self,
        table: &mut Table<'a, I>,
        column: usize,
        value: impl Fn(&Row<'_, '_>) -> Result<T, TraceError>,
    ) -> Result<Taken<T>, TraceError> {
        let file = table.file;
        let mut clock = Clock::default();
        let mut values: Vec<(Duration, T)> = Vec::new();
        let (mut rows, mut missing, mut others) = (0_u64, 0_u64, 0_u64);
        while let Some(row) = table.next_row()? {
            rows += 1;
            if self
                .only
                .iter()
                .any(|&(column, value)| row.text(column) != value)
            {
                others += 1;
                continue;
            }
            let at = clock.at(&row, self.time)?;
            if is_missing(row.text(column)) {
                missing += 1;
                continue;
            }
            let value = value(&row)?;
            match values.last_mut() {
                Some(last) if last.0 == at => last.1 = value,
                _ => values.push((at, value)),
            }
        }
        if rows == 0 {
            return Err(empty(file, "rows under the header"));
        }
        let Some(&(first, _)) = values.first() else {
            let text = format!("of {rows} rows {missing} have no value and {others} are of others");
            return Err(nothing(file, text));
        };
        // what lies before the first value is not of the trace
        for (at, _) in &mut values {
            *at -= first;
        }
        let last = values[values.len() - 1].0;
        let before = values.len().checked_sub(2).map(|i| values[i].0);
        let hold = before.map_or(Duration::from_secs(1), |before| last - before);
        if last + hold > MAX_DURATION {
            return Err(too_long(file, last + hold));
        }
        let counted = |count: u64, what: &str| {
            (count > 0).then(|| format!("{count} of {rows} rows {what} are passed over"))
        };
        let notes = [
            counted(missing, "without a value"),
            counted(others, "of others"),
        ];
        Ok(Taken {
            duration: last + hold,
            notes: notes.into_iter().flatten().collect(),
            values,
        })
    }
}

fn nothing(file: &str, what: String) -> TraceError {
    TraceError::NothingUsable {
        file: file.into(),
        what: what.into(),
        expected: "at least one row".into(),
        help: "".into(),
    }
}

/// The times of rows since the first.
#[derive(Default)]
struct Clock {
    /// The first time and the last one, ns, and the last as it is written.
    first: Option<i128>,
    last: i128,
    previous: String,
    rows: u64,
}

impl Clock {
    fn at(
        &mut self,
        row: &Row<'_, '_>,
        time: Option<(usize, TimeUnit)>,
    ) -> Result<Duration, TraceError> {
        let Some((column, unit)) = time else {
            self.rows += 1;
            let at = Duration::from_secs(self.rows - 1);
            return bounded(row.file, at.as_nanos().into());
        };
        let (text, place) = (row.text(column), row.place(column));
        let now = nanos(&place, text, unit)?;
        let first = *self.first.get_or_insert(now);
        if now < first || now < self.last && self.rows > 0 {
            return Err(place.decreases(text, &self.previous));
        }
        self.rows += 1;
        self.last = now;
        text.clone_into(&mut self.previous);
        bounded(row.file, now - first)
    }
}

/// A time since the beginning, unless the trace would last too long.
fn bounded(file: &str, nanos: i128) -> Result<Duration, TraceError> {
    let at = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    match at > MAX_DURATION {
        true => Err(too_long(file, at)),
        false => Ok(at),
    }
}

/// A time as nanoseconds since any moment.
fn nanos(place: &Place<'_>, text: &str, unit: TimeUnit) -> Result<i128, TraceError> {
    let (factor, expected) = match unit {
        TimeUnit::Seconds => (1_000_000_000, "seconds from 0 on"),
        TimeUnit::Milliseconds => (1_000_000, "milliseconds from 0 on"),
        TimeUnit::Microseconds => (1_000, "microseconds from 0 on"),
        TimeUnit::Nanoseconds => (1, "nanoseconds from 0 on"),
        TimeUnit::Date => {
            let expected = "a date and a time as 2025-05-01T12:00:00.25Z";
            return date(text).ok_or_else(|| place.not(text, expected));
        }
    };
    decimal(text, factor).ok_or_else(|| place.not(text, expected))
}

/// A decimal number of a unit of so many nanoseconds; what is finer than one is cut off.
fn decimal(text: &str, factor: i128) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || !is_plain(whole) || !is_plain(fraction) {
        // with an exponent, as spreadsheets write large numbers
        let value = text.parse::<f64>().ok()?;
        return (0.0..=1e20)
            .contains(&value)
            .then_some((value * factor as f64) as i128);
    }
    let digits = &fraction[..fraction.len().min(12)];
    let below: i128 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    Some(whole.parse::<i128>().ok()? * factor + below * factor / 10_i128.pow(digits.len() as u32))
}

/// A date and a time of day, UTC where no offset is stated, as nanoseconds since 1970.
fn date(text: &str) -> Option<i128> {
    let (day, time) = text.split_once(['T', ' '])?;
    let [year, month, date] = numbers(day.split('-'))?;
    let (time, offset) = zone(time)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time.split(':'))?;
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&date)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    let days = days_since_1970(year, month, date);
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let below = decimal(&format!("0.{fraction}"), 1_000_000_000)?;
    Some(i128::from(seconds) * 1_000_000_000 + below)
}

/// A time of day, and the seconds that its zone is before UTC.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, zone) = time.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let is_plain = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let part =
        |range: core::ops::Range<usize>| digits.get(range).unwrap_or("0").parse::<i64>().ok();
    let (hours, minutes) = (part(0..2)?, part(2..4)?);
    (is_plain && hours < 24 && minutes < 60)
        .then_some((time, sign * (hours * 3_600 + minutes * 60)))
}

/// Three whole numbers of at most four digits.
fn numbers<'t>(mut parts: impl Iterator<Item = &'t str>) -> Option<[i64; 3]> {
    let mut next = || {
        let part = parts.next()?;
        let is_plain = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if is_plain { part.parse().ok() } else { None }
    };
    let numbers = [next()?, next()?, next()?];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests;
