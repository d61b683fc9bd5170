//! `samples.parquet`: the time series of one run out of many.

use super::{Range, ResultsError};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// Maximum number of samples of a run that are read: 128 MB.
const MAX_VALUES: usize = 8 << 20;
/// Maximum number of series.
const MAX_SERIES: usize = 50_000;

/// A series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeriesPoints {
    pub(super) entity: String,
    pub(super) metric: String,
    /// Seconds, not falling.
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// Name of the threads that read time series. A panic in one ends its request only: a program that aborts at
/// panics excludes these threads.
pub const READER_THREAD: &str = "dash-reader";

/// Reads a file on a thread of its own: the reader of Parquet panics on some damaged files.
pub(super) fn on_reader_thread<T: Send>(
    path: &Path,
    read: impl FnOnce() -> Result<T, ResultsError> + Send,
) -> Result<T, ResultsError> {
    let failed = |problem: &str| ResultsError::File {
        file: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        problem: problem.to_owned(),
    };
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name(READER_THREAD.to_owned());
        let reader = reader.spawn_scoped(scope, read);
        let reader = reader.map_err(|error| failed(&format!("cannot be read: {error}")))?;
        let panicked = |_| failed("cannot be read as Parquet; the folder is damaged");
        reader.join().map_err(panicked)?
    })
}

/// The time series of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    series: Vec<SeriesPoints>,
    len: usize,
}

impl Samples {
    /// Those of a repeat of the point with this label.
    pub(super) fn read(
        path: &Path,
        label: &str,
        repeat: u32,
        range: Range,
    ) -> Result<Self, ResultsError> {
        on_reader_thread(path, || Self::read_here(path, label, repeat, range))
    }

    fn read_here(
        path: &Path,
        label: &str,
        repeat: u32,
        range: Range,
    ) -> Result<Self, ResultsError> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let wrong = |problem: String| ResultsError::File {
            file: name.clone(),
            problem: format!("{problem}; the folder is damaged"),
        };
        let unreadable = |error: &dyn std::error::Error| wrong(format!("cannot be read: {error}"));
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(&error))?;
        let groups = builder.metadata().row_groups().iter().enumerate();
        let groups = groups.filter(|(_, group)| may_hold(group, label, repeat));
        let groups: Vec<usize> = groups.map(|(index, _)| index).collect();
        let reader = builder
            .with_row_groups(groups)
            .build()
            .map_err(|error| unreadable(&error))?;
        let mut collector = Collector {
            label,
            repeat,
            from: range.from.unwrap_or(f64::NEG_INFINITY),
            to: range.to.unwrap_or(f64::INFINITY),
            samples: Self::default(),
            index: HashMap::new(),
        };
        for batch in reader {
            let batch = batch.map_err(|error| unreadable(&error))?;
            collector.take(&batch).map_err(wrong)?;
            if collector.samples.len > MAX_VALUES {
                return Err(ResultsError::TooMany {
                    file: name,
                    max: MAX_VALUES,
                });
            }
        }
        Ok(collector.samples)
    }

    pub(super) fn series(&self) -> &[SeriesPoints] {
        &self.series
    }

    /// How many samples there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first and the last time, in seconds; zeros if there is none.
    pub(super) fn range(&self) -> (f64, f64) {
        let first = self.series.iter().filter_map(|s| s.times.first().copied());
        let last = self.series.iter().filter_map(|s| s.times.last().copied());
        (
            first.reduce(f64::min).unwrap_or(0.0),
            last.reduce(f64::max).unwrap_or(0.0),
        )
    }
}

/// Whether a part of the file may hold samples of this run, by its own statistics.
fn may_hold(group: &RowGroupMetaData, label: &str, repeat: u32) -> bool {
    group.columns().iter().all(|column| {
        let name = column.column_path().string();
        match (name.as_str(), column.statistics()) {
            ("variant", Some(Statistics::ByteArray(found))) => {
                // a bound may have been cut off: then it is no bound
                let low = found.min_opt().filter(|_| found.min_is_exact());
                let high = found.max_opt().filter(|_| found.max_is_exact());
                low.is_none_or(|low| low.data() <= label.as_bytes())
                    && high.is_none_or(|high| label.as_bytes() <= high.data())
            }
            ("repeat", Some(Statistics::Int32(found))) => {
                let repeat = repeat.cast_signed();
                found.min_opt().is_none_or(|low| *low <= repeat)
                    && found.max_opt().is_none_or(|high| repeat <= *high)
            }
            _ => true,
        }
    })
}

struct Collector<'a> {
    label: &'a str,
    repeat: u32,
    from: f64,
    to: f64,
    samples: Samples,
    /// Where a series is, by entity and metric.
    index: HashMap<String, HashMap<String, usize>>,
}

impl Collector<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let variants = column(batch, "variant", |c| c.as_string_opt::<i32>())?;
        let repeats = column(batch, "repeat", |c| c.as_primitive_opt::<UInt32Type>())?;
        let entities = column(batch, "entity", |c| c.as_string_opt::<i32>())?;
        let metrics = column(batch, "metric", |c| c.as_string_opt::<i32>())?;
        let times = column(batch, "time_s", |c| c.as_primitive_opt::<Float64Type>())?;
        let values = column(batch, "value", |c| c.as_primitive_opt::<Float64Type>())?;
        // samples of a series follow one another
        let mut last: Option<usize> = None;
        for row in 0..batch.num_rows() {
            let is_ours = variants.value(row) == self.label && repeats.value(row) == self.repeat;
            let (time, value) = (times.value(row), values.value(row));
            let is_wanted = time >= self.from && time <= self.to && value.is_finite();
            if !is_ours || !is_wanted {
                continue;
            }
            let (entity, metric) = (entities.value(row), metrics.value(row));
            let is_it = |at: &usize| {
                let series = &self.samples.series[*at];
                series.metric == metric && series.entity == entity
            };
            let at = match last.filter(is_it) {
                Some(at) => at,
                None => self.find_or_add(entity, metric)?,
            };
            last = Some(at);
            let series = &mut self.samples.series[at];
            // what goes back in time cannot be drawn
            if series.times.last().is_none_or(|before| *before <= time) {
                series.times.push(time);
                series.values.push(value);
                self.samples.len += 1;
            }
        }
        Ok(())
    }

    fn find_or_add(&mut self, entity: &str, metric: &str) -> Result<usize, String> {
        let known = self.index.get(entity).and_then(|of| of.get(metric));
        if let Some(at) = known {
            return Ok(*at);
        }
        if self.samples.series.len() >= MAX_SERIES {
            return Err(format!("has more than {MAX_SERIES} series"));
        }
        let at = self.samples.series.len();
        let of = self.index.entry(entity.to_owned()).or_default();
        of.insert(metric.to_owned(), at);
        self.samples.series.push(SeriesPoints {
            entity: entity.to_owned(),
            metric: metric.to_owned(),
            times: Vec::new(),
            values: Vec::new(),
        });
        Ok(at)
    }
}

/// A column by its name, in its type, without gaps.
fn column<'a, T: Array>(
    batch: &'a RecordBatch,
    name: &str,
    of: impl Fn(&'a dyn Array) -> Option<&'a T>,
) -> Result<&'a T, String> {
    let found = batch.column_by_name(name).and_then(|c| of(c.as_ref()));
    let found = found.ok_or_else(|| format!("has no column {name} as it should be"))?;
    match found.null_count() {
        0 => Ok(found),
        _ => Err(format!("its column {name} has gaps")),
    }
}
