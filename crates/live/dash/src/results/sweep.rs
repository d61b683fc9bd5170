//! The dataset of a sweep: `_sweep.json`, `failed.jsonl`, and the rows of `points/`.
//!
//! A dataset may have millions of rows: a page gets the first that are found, and is told whether they are all.

use super::manifest::{damaged, is_newer, read_json};
use super::samples::on_reader_thread;
use super::{ResultsError, written_s};
use crate::VERSION;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const DESCRIPTION: &str = "_sweep.json";
const FAILED: &str = "failed.jsonl";
const POINTS: &str = "points";
/// The form of datasets that is read.
const FORMAT: u64 = 1;
/// Maximum number of rows that a page is given.
const MAX_ROWS: usize = 2_000;
/// Bytes of the list of failures that are looked at.
const MAX_FAILED_BYTES: u64 = 16 << 20;
/// Failures that a page is given, and characters of the reason of each.
const MAX_FAILURES: usize = 200;
const MAX_REASON_CHARS: usize = 300;
/// Values of an axis that are written out.
const MAX_VALUES: usize = 6;

/// What is shown of the results, beside the number of the point and its axes.
const SHOWN: [&str; 9] = [
    "flow",
    "cc",
    "goodput_bps",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "completion_s",
    "retransmits",
    "lost",
    "link_utilisation",
];

/// Whether a folder is meant as the dataset of a sweep.
pub(super) fn looks_like_sweep(path: &Path) -> bool {
    path.join(DESCRIPTION).is_file()
}

/// The dataset of a sweep.
#[derive(Debug)]
pub(super) struct Sweep {
    path: PathBuf,
    description: Value,
    points: u64,
}

impl Sweep {
    pub(super) fn read(path: &Path) -> Result<Self, ResultsError> {
        let description = read_json(path, DESCRIPTION)?;
        let version = description.get("version").and_then(Value::as_str);
        let format = description.get("format").and_then(Value::as_u64);
        let points = description.get("points").and_then(Value::as_u64);
        let (Some(version), Some(format), Some(points)) = (version, format, points) else {
            return Err(damaged(DESCRIPTION, "has no version, format or points"));
        };
        if is_newer(version, VERSION) || format > FORMAT {
            return Err(ResultsError::Newer {
                theirs: version.to_owned(),
                ours: VERSION,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            points,
            description,
        })
    }

    /// What a list of results shows of it.
    pub(super) fn listed(&self) -> Map<String, Value> {
        let of = |name: &str| self.description.get(name).cloned().unwrap_or_default();
        let mut listed = Map::new();
        listed.insert("scenario".into(), of("name"));
        // the lab makes no datasets
        listed.insert("world".into(), "sim".into());
        listed.insert("seed".into(), of("seed"));
        listed.insert("repeats".into(), of("repeats"));
        listed.insert("version".into(), of("version"));
        listed.insert(
            "written".into(),
            written_s(&self.path.join(DESCRIPTION)).into(),
        );
        listed.insert(
            "sweep".into(),
            json!({ "points": self.points, "failed": self.failed(), "axes": self.axes() }),
        );
        listed
    }

    /// Names of the axes, each with its values or its range in words.
    fn axes(&self) -> Vec<Value> {
        let axes = self.description.get("axes").and_then(Value::as_array);
        let name = |axis: &Value| axis.get("name").and_then(Value::as_str).map(str::to_owned);
        let axes = axes.into_iter().flatten();
        axes.filter_map(|axis| Some(json!({ "name": name(axis)?, "values": extent(axis) })))
            .collect()
    }

    /// The lines of the list of failures, one a point.
    fn failures(&self) -> impl Iterator<Item = String> {
        let file = File::open(self.path.join(FAILED)).ok();
        let lines = file.map(|file| BufReader::new(file.take(MAX_FAILED_BYTES)).lines());
        let lines = lines.into_iter().flatten().map_while(Result::ok);
        lines.filter(|line| !line.trim().is_empty())
    }

    /// How many points failed.
    fn failed(&self) -> usize {
        self.failures().count()
    }

    /// The first rows of the flows, by the numbers of their points: names of columns and rows of values, how many
    /// points they are of, and whether there are others.
    pub(super) fn table(&self) -> Result<Value, ResultsError> {
        let mut rows = Rows::default();
        let mut is_whole = true;
        for part in self.parts()? {
            if rows.rows.len() >= MAX_ROWS {
                is_whole = false;
                break;
            }
            on_reader_thread(&part, || rows.read(&part))?;
        }
        is_whole &= rows.rows.len() <= MAX_ROWS;
        // stable: the flows of a point stay in the scenario's order
        rows.rows.sort_by_key(|(point, _)| *point);
        rows.rows.truncate(MAX_ROWS);
        let points: BTreeSet<u64> = rows.rows.iter().map(|(point, _)| *point).collect();
        let values: Vec<Value> = rows.rows.into_iter().map(|(_, row)| row.into()).collect();
        let mut table = self.listed();
        table.insert("columns".into(), rows.columns.into());
        table.insert("rows".into(), values.into());
        table.insert("points_shown".into(), points.len().into());
        table.insert("is_whole".into(), is_whole.into());
        let failures = self.failures().filter_map(|line| failure(&line));
        let failures: Vec<Value> = failures.take(MAX_FAILURES).collect();
        table.insert("failures".into(), failures.into());
        Ok(Value::Object(table))
    }

    /// The part files of the flows, in order.
    fn parts(&self) -> Result<Vec<PathBuf>, ResultsError> {
        let folder = self.path.join(POINTS);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let unreadable = |error: std::io::Error| ResultsError::File {
            file: POINTS.to_owned(),
            problem: format!("cannot be read: {error}"),
        };
        let mut parts = Vec::new();
        for block in fs::read_dir(&folder).map_err(unreadable)? {
            let block = block.map_err(unreadable)?;
            if !begins(&block, "block=") {
                continue;
            }
            for part in fs::read_dir(block.path()).map_err(unreadable)? {
                let part = part.map_err(unreadable)?;
                if begins(&part, "part-") {
                    parts.push(part.path());
                }
            }
        }
        parts.sort();
        Ok(parts)
    }
}

/// A line of the list of failures: the point, the values of its axes, and the reason. None if it was cut off.
fn failure(line: &str) -> Option<Value> {
    let failed: Value = serde_json::from_str(line).ok()?;
    let point = failed.get("point").and_then(Value::as_u64)?;
    let axes = failed.get("axes").filter(|axes| axes.is_object()).cloned();
    let error = failed.get("error").and_then(Value::as_str);
    let error = error.unwrap_or_default().chars().take(MAX_REASON_CHARS);
    let error: String = error.collect();
    let axes = axes.unwrap_or_else(|| json!({}));
    Some(json!({ "point": point, "axes": axes, "error": error }))
}

fn begins(entry: &fs::DirEntry, with: &str) -> bool {
    entry.file_name().to_string_lossy().starts_with(with)
}

/// The values of an axis, or its range, in words.
fn extent(axis: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(values) = axis.get("values").and_then(Value::as_array) {
        let first = values.iter().take(MAX_VALUES).map(text);
        let first = first.collect::<Vec<_>>().join(", ");
        return match values.len().checked_sub(MAX_VALUES) {
            None | Some(0) => first,
            Some(more) => format!("{first} and {more} more"),
        };
    }
    let range = axis.get("range");
    let of = |name: &str| range.and_then(|range| range.get(name)).map(text);
    match (of("least"), of("most"), of("unit")) {
        (Some(least), Some(most), unit) => {
            let unit = unit.filter(|unit| !unit.is_empty());
            let unit = unit.map_or(String::new(), |unit| format!(" {unit}"));
            format!("{least} to {most}{unit}")
        }
        _ => String::new(),
    }
}

/// Rows out of part files, each with the number of its point.
#[derive(Debug, Default)]
struct Rows {
    columns: Vec<String>,
    rows: Vec<(u64, Vec<Value>)>,
}

impl Rows {
    fn read(&mut self, part: &Path) -> Result<(), ResultsError> {
        let wrong = |problem: String| ResultsError::File {
            file: part
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            problem: format!("{problem}; the dataset is damaged"),
        };
        let unreadable = |error: &dyn std::error::Error| wrong(format!("cannot be read: {error}"));
        let file = File::open(part).map_err(|error| unreadable(&error))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(&error))?;
        let reader = builder.build().map_err(|error| unreadable(&error))?;
        for batch in reader {
            let batch = batch.map_err(|error| unreadable(&error))?;
            self.take(&batch).map_err(wrong)?;
            if self.rows.len() > MAX_ROWS {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let points = batch.column_by_name("point");
        let points = points.and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let points = points.ok_or("has no column point as it should be")?;
        if self.columns.is_empty() {
            self.columns = columns(batch);
        }
        let of = |name: &String| batch.column_by_name(name).map(AsRef::as_ref);
        let values: Vec<Option<&dyn Array>> = self.columns.iter().map(of).collect();
        for row in 0..batch.num_rows() {
            let cells = values
                .iter()
                .map(|column| column.map_or(Value::Null, |column| cell(column, row)));
            self.rows.push((points.value(row), cells.collect()));
        }
        Ok(())
    }
}

/// The columns that are shown: the point, its axes, and some of the results. Of an axis that stands there as text
/// and as a number of a unit, the text.
fn columns(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema_ref();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let axes = names.iter().position(|name| *name == "seed").unwrap_or(1);
    let is_twice = |name: &str| {
        let text = name
            .strip_suffix(']')
            .and_then(|name| name.rsplit_once(" ["));
        text.is_some_and(|(text, _)| names.contains(&text))
    };
    let axes = names[..axes].iter().filter(|name| !is_twice(name));
    let results = SHOWN.iter().filter(|name| names.contains(name));
    axes.chain(results).map(|name| (*name).to_owned()).collect()
}

/// A value of a column.
fn cell(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        // what is no number becomes null
        return numbers.value(row).into();
    }
    if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
        return numbers.value(row).into();
    }
    if let Some(numbers) = column.as_primitive_opt::<UInt32Type>() {
        return numbers.value(row).into();
    }
    let texts = column.as_string_opt::<i32>();
    texts.map_or(Value::Null, |texts| texts.value(row).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_its_point_and_the_reason() {
        let line = r#"{"point": 3, "axes": {"rtt": "1 ms"}, "error": "no rate", "repeat": "x"}"#;
        let expected = json!({"point": 3, "axes": {"rtt": "1 ms"}, "error": "no rate"});
        assert_eq!(failure(line), Some(expected));
        assert_eq!(failure(&line[..20]), None);
        let bare = json!({"point": 3, "axes": {}, "error": ""});
        assert_eq!(failure(r#"{"point": 3, "axes": 7}"#), Some(bare));
    }

    #[test]
    fn an_axis_is_described_in_few_words() {
        let values = |count: usize| {
            let values: Vec<String> = (0..count).map(|i| format!("{i} ms")).collect();
            extent(&json!({ "name": "rtt", "values": values }))
        };
        assert_eq!(values(2), "0 ms, 1 ms");
        assert_eq!(values(6), "0 ms, 1 ms, 2 ms, 3 ms, 4 ms, 5 ms");
        assert!(values(9).ends_with("5 ms and 3 more"));
        let range = |unit: &str| json!({"range": {"least": 1.5, "most": 4.0, "unit": unit}});
        assert_eq!(extent(&range("ms")), "1.5 to 4.0 ms");
        assert_eq!(extent(&range("")), "1.5 to 4.0");
        assert_eq!(extent(&json!({})), "");
    }
}
