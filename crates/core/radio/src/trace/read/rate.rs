//! CSV files with a measured rate in each row, as in 5Gophers 1.0 (Narayanan et al., WWW 2020).
//!
//! * **Rate**: a column whose name ends in `bps` or `bit/s`, or that with `k`, `M` or `G` before it, in brackets or
//!   behind a space, a `_` or nothing; the first, unless the series names another (`Verizon_throughput_mbps`, or as
//!   much of it as is unique).
//! * **Time**: `seq_num`, `time_s`, `t_s`, `time`, `t`, `seconds` or `second` in seconds, `time_ms` or `t_ms` in
//!   milliseconds, the unit in brackets as well (`time (s)`), counted from the series' first row; without such a
//!   column each row is a second.
//! * **Series**: rows that differ in `protocol`, `carrier`, `operator`, `num_tcp_conn`,
//!   `server_location`, `run_num`, `run` or `direction` belong to different series. The series'
//!   items `column=value` (any column) leave only the rows that have these values, of which the
//!   first row's series is read; rows of the others are passed over, with a note.
//! * A rate holds until the next row, over gaps as well; the last one as long as the step before
//!   it (`seq_num`, or a single row: one second). Of two rows at the same time the later counts.

use super::{Found, Input, MAX_DURATION, MAX_RATE, bit_rate};
use crate::trace::format::{plain, rate_unit};
use crate::trace::text::{Field, Line, Row, Table, empty, lines};
use crate::trace::{Content, RateStep, Rates, TraceError};
use units::Duration;

/// Columns whose value distinguishes series.
const GROUPS: [&str; 8] = [
    "protocol",
    "carrier",
    "operator",
    "num_tcp_conn",
    "server_location",
    "run_num",
    "run",
    "direction",
];

/// Columns of time and their unit in seconds; of several the first of this list.
const TIMES: [(&str, f64); 9] = [
    ("seq_num", 1.0),
    ("time_s", 1.0),
    ("t_s", 1.0),
    ("second", 1.0),
    ("time_ms", 1e-3),
    ("t_ms", 1e-3),
    ("seconds", 1.0),
    ("time", 1.0),
    ("t", 1.0),
];

/// Most values of a column that a message lists.
const LISTED: usize = 8;

/// What to take of the table.
struct Selection<'a> {
    rate: usize,
    unit: f64,
    time: Option<(usize, f64)>,
    groups: Vec<usize>,
    columns: Vec<(usize, &'a str)>,
}

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    let mut table = Table::new(input.file, lines(input.text))?;
    let selection = Selection::new(input, &table)?;
    let mut series = Series::default();
    while let Some(row) = table.next_row()? {
        series.offer(&row, &selection)?;
    }
    let mut notes = series.notes(&table.header, &selection);
    if series.rows == 0 {
        return Err(empty(input.file, "rows under the header"));
    }
    if series.steps.is_empty() {
        return Err(no_match(input, &selection, &table.header)?);
    }
    let others = rate_columns(&table.header).count() - 1;
    if others > 0 {
        notes.push(format!(
            "{} is read, {others} other rate columns are not: choose with --series",
            table.header[selection.rate].text
        ));
    }
    let Series {
        steps, last_step, ..
    } = series;
    let whole_seconds = selection
        .time
        .is_none_or(|(column, _)| table.header[column].text.eq_ignore_ascii_case("seq_num"));
    let hold = if whole_seconds {
        Duration::from_secs(1)
    } else {
        last_step
    };
    let duration = steps[steps.len() - 1].at + hold;
    if duration > MAX_DURATION {
        return Err(super::too_long(input.file, duration));
    }
    Ok(Found::new(
        Content::Rate(Rates {
            steps: steps.into(),
            duration,
        }),
        notes,
    ))
}

fn rate_columns<'h>(header: &'h [Field<'_>]) -> impl Iterator<Item = (usize, f64)> + 'h {
    header
        .iter()
        .enumerate()
        .filter_map(|(i, field)| rate_unit(field.text).map(|unit| (i, unit)))
}

impl<'a> Selection<'a> {
    fn new<'t, I: Iterator<Item = Line<'t>>>(
        input: &Input<'a>,
        table: &Table<'t, I>,
    ) -> Result<Self, TraceError> {
        let header = &table.header;
        let Some((mut rate, mut unit)) = rate_columns(header).next() else {
            return Err(table.no_column(
                "of a rate",
                "one whose name ends in a unit of rates, such as _mbps or Mbit/s",
            ));
        };
        let mut columns = Vec::new();
        let items = input.series.unwrap_or("").split(',').map(str::trim);
        for item in items.filter(|item| !item.is_empty()) {
            if let Some((name, value)) = item.split_once('=') {
                let column = table.find(name.trim()).ok_or_else(|| {
                    input.no_series(item, format!("a column of {}", names(header.iter())))
                })?;
                columns.push((column, value.trim()));
            } else {
                (rate, unit) = rate_named(header, item).ok_or_else(|| {
                    let rates = rate_columns(header).map(|(i, _)| &header[i]);
                    input.no_series(item, format!("a rate column of {}", names(rates)))
                })?;
            }
        }
        let time = TIMES.iter().find_map(|&(name, unit)| {
            let found = header.iter().position(|field| plain(field.text) == name);
            found.map(|i| (i, unit))
        });
        let groups = GROUPS.iter().filter_map(|name| table.find(name)).collect();
        Ok(Self {
            rate,
            unit,
            time,
            groups,
            columns,
        })
    }
}

/// The rate column of this name, or the only one whose name begins so.
fn rate_named(header: &[Field<'_>], name: &str) -> Option<(usize, f64)> {
    let begins = |text: &str| {
        text.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let exact = rate_columns(header).find(|&(i, _)| header[i].text.eq_ignore_ascii_case(name));
    exact.or_else(|| {
        let mut beginning = rate_columns(header).filter(|&(i, _)| begins(header[i].text));
        let only = beginning.next()?;
        beginning.next().is_none().then_some(only)
    })
}

fn names<'f, 'a: 'f>(fields: impl Iterator<Item = &'f Field<'a>>) -> String {
    fields
        .map(|field| field.text)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The rows of one series.
struct Series<'a> {
    steps: Vec<RateStep>,
    /// The values of the group columns.
    group: Option<Vec<&'a str>>,
    /// The first row's time in seconds, and the last one's as written.
    first: f64,
    previous: &'a str,
    last_step: Duration,
    /// All rows of the file.
    rows: usize,
    /// Rows of other series.
    passed_over: usize,
}

impl Default for Series<'_> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            group: None,
            first: 0.0,
            previous: "",
            last_step: Duration::from_secs(1),
            rows: 0,
            passed_over: 0,
        }
    }
}

impl<'a> Series<'a> {
    fn offer(&mut self, row: &Row<'_, 'a>, selection: &Selection<'_>) -> Result<(), TraceError> {
        self.rows += 1;
        if selection
            .columns
            .iter()
            .any(|&(column, value)| row.text(column) != value)
        {
            return Ok(());
        }
        let values = selection.groups.iter().map(|&column| row.text(column));
        let group = self.group.get_or_insert_with(|| values.clone().collect());
        if !values.eq(group.iter().copied()) {
            self.passed_over += 1;
            return Ok(());
        }
        let max = MAX_RATE.as_bps() as f64 / selection.unit;
        let rate = bit_rate(row.decimal(selection.rate, 0.0, max)?, selection.unit);
        let at = self.time(row, selection)?;
        match self.steps.last_mut() {
            Some(last) if last.at == at => last.rate = rate,
            Some(last) => {
                self.last_step = at - last.at;
                self.steps.push(RateStep { at, rate });
            }
            None => self.steps.push(RateStep { at, rate }),
        }
        Ok(())
    }

    /// The row's time since the series' first row.
    fn time(
        &mut self,
        row: &Row<'_, 'a>,
        selection: &Selection<'_>,
    ) -> Result<Duration, TraceError> {
        let Some((column, unit)) = selection.time else {
            return Ok(Duration::from_secs(self.steps.len() as u64));
        };
        let text = row.text(column);
        let seconds = row.decimal(column, 0.0, 1e12 / unit)? * unit;
        let Some(last) = self.steps.last() else {
            (self.first, self.previous) = (seconds, text);
            return Ok(Duration::ZERO);
        };
        let since = seconds - self.first;
        let at = Duration::from_secs_f64(since);
        if since < 0.0 || at < last.at {
            return Err(row
                .place(column)
                .decreases(text, self.previous)
                .with_help("if a new series begins here, choose one with --series column=value"));
        }
        if at > MAX_DURATION {
            return Err(super::too_long(row.file, at));
        }
        self.previous = text;
        Ok(at)
    }

    fn notes(&self, header: &[Field<'_>], selection: &Selection<'_>) -> Vec<String> {
        let (Some(group), true) = (&self.group, self.passed_over > 0) else {
            return Vec::new();
        };
        let columns = selection.groups.iter().map(|&column| header[column].text);
        let this: Vec<_> = columns
            .zip(group)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        vec![format!(
            "the series {} is read, {} rows of others are not: choose with --series",
            this.join(","),
            self.passed_over
        )]
    }
}

/// The error for a series that no row belongs to, with the values that there are.
fn no_match(
    input: &Input<'_>,
    selection: &Selection<'_>,
    header: &[Field<'_>],
) -> Result<TraceError, TraceError> {
    let mut table = Table::new(input.file, lines(input.text))?;
    let mut values: Vec<Vec<&str>> = vec![Vec::new(); selection.columns.len()];
    while let Some(row) = table.next_row()? {
        for (seen, &(column, _)) in values.iter_mut().zip(&selection.columns) {
            let value = row.text(column);
            if seen.len() <= LISTED && !seen.contains(&value) {
                seen.push(value);
            }
        }
    }
    let listed: Vec<_> = selection
        .columns
        .iter()
        .zip(&values)
        .map(|(&(column, _), seen)| {
            let more = if seen.len() > LISTED { " ..." } else { "" };
            let some: Vec<_> = seen.iter().take(LISTED).copied().collect();
            format!("{} of {}{more}", header[column].text, some.join(", "))
        })
        .collect();
    Ok(input.no_series(input.series.unwrap_or(""), listed.join("; ")))
}
