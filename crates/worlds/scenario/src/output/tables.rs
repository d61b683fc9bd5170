//! Parquet tables: `flows.parquet`, one row for each flow and repeat, and `samples.parquet`, the
//! time series in long form.

use super::applications::application_columns;
use super::decisions::decision_columns;
use super::{OutputError, ResultFolder};
use crate::{Distribution, FlowResult, Labelled, RunResult};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Rows of the samples that are held in memory before they are written.
const BATCH: usize = 65_536;

pub(super) type Columns = Vec<(&'static str, ArrayRef, bool)>;

impl ResultFolder {
    /// Adds `flows.parquet` and `samples.parquet` of all variants (a single one has an empty label),
    /// `applications.parquet` if applications measured anything, and `loss-decisions.parquet` if MELD decided anything.
    ///
    /// # Errors
    /// As [`ResultFolder::write`].
    pub fn tables(&self, variants: &[Labelled<'_>]) -> Result<(), OutputError> {
        self.table(
            "flows.parquet",
            &mut core::iter::once(flow_columns(variants)),
        )?;
        self.table("samples.parquet", &mut sample_batches(variants))?;
        if let Some(columns) = application_columns(variants) {
            self.table("applications.parquet", &mut core::iter::once(columns))?;
        }
        match decision_columns(variants) {
            Some(columns) => self.table("loss-decisions.parquet", &mut core::iter::once(columns)),
            None => Ok(()),
        }
    }

    fn table(
        &self,
        name: &str,
        batches: &mut dyn Iterator<Item = Columns>,
    ) -> Result<(), OutputError> {
        let (file, shown) = self.file(name)?;
        write_table(&file, batches)
            .and_then(|()| file.sync_all().map_err(ParquetError::from))
            .map_err(|error| failed(error, &shown))
    }
}

fn write_table(
    file: &std::fs::File,
    batches: &mut dyn Iterator<Item = Columns>,
) -> Result<(), ParquetError> {
    let mut writer: Option<ArrowWriter<&std::fs::File>> = None;
    for columns in batches {
        let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .build();
                none.insert(ArrowWriter::try_new(
                    file,
                    batch.schema(),
                    Some(properties),
                )?)
            }
        };
        writer.write(&batch)?;
    }
    match writer {
        Some(writer) => writer.close().map(|_| ()),
        None => Ok(()),
    }
}

/// What the system refused, if it was the system.
fn failed(error: ParquetError, path: &Path) -> OutputError {
    let path = path.to_owned();
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => OutputError::Io {
                action: "writing",
                path,
                source: *source,
            },
            Err(inner) => OutputError::Format {
                path,
                problem: inner.to_string(),
            },
        },
        other => OutputError::Format {
            path,
            problem: other.to_string(),
        },
    }
}

/// A column of numbers.
fn numbers(rows: &[Row<'_>], of: impl Fn(&FlowResult) -> f64) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(
        rows.iter().map(|row| of(row.flow)),
    ))
}

/// A column of numbers that may be missing.
fn optional(rows: &[Row<'_>], of: impl Fn(&FlowResult) -> Option<f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(rows.iter().map(|row| of(row.flow))))
}

/// A flow in a repeat of a variant.
struct Row<'a> {
    label: &'a str,
    repeat: u32,
    seed: u64,
    flow: &'a FlowResult,
}

/// A distribution of a flow.
type Of = fn(&FlowResult) -> &Distribution;

/// The numbers of a distribution that become columns.
type Quantity = (&'static str, fn(&Distribution) -> f64);
const QUANTITIES: [Quantity; 7] = [
    ("min", |d| d.min),
    ("mean", |d| d.mean),
    ("p50", |d| d.p50),
    ("p90", |d| d.p90),
    ("p95", |d| d.p95),
    ("p99", |d| d.p99),
    ("max", |d| d.max),
];
const RTT: [&str; 7] = [
    "rtt_min_ms",
    "rtt_mean_ms",
    "rtt_p50_ms",
    "rtt_p90_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_max_ms",
];
const OWD: [&str; 7] = [
    "owd_min_ms",
    "owd_mean_ms",
    "owd_p50_ms",
    "owd_p90_ms",
    "owd_p95_ms",
    "owd_p99_ms",
    "owd_max_ms",
];
const SEGMENT_DELAY: [&str; 7] = [
    "segment_delay_min_ms",
    "segment_delay_mean_ms",
    "segment_delay_p50_ms",
    "segment_delay_p90_ms",
    "segment_delay_p95_ms",
    "segment_delay_p99_ms",
    "segment_delay_max_ms",
];
const LOAD: [&str; 7] = [
    "load_time_min_ms",
    "load_time_mean_ms",
    "load_time_p50_ms",
    "load_time_p90_ms",
    "load_time_p95_ms",
    "load_time_p99_ms",
    "load_time_max_ms",
];

pub(super) fn flow_columns(variants: &[Labelled<'_>]) -> Columns {
    let rows: Vec<Row<'_>> = variants
        .iter()
        .flat_map(|variant| repeats(variant).map(move |(repeat, run)| (variant.label, repeat, run)))
        .flat_map(|(label, repeat, run)| {
            run.flows.iter().map(move |flow| Row {
                label,
                repeat,
                seed: run.seed,
                flow,
            })
        })
        .collect();
    let text = |of: fn(&Row<'_>) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let mut columns: Columns = vec![
        ("variant", text(|row| row.label.to_owned()), false),
        (
            "repeat",
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.repeat))),
            false,
        ),
        (
            "seed",
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.seed))),
            false,
        ),
        ("flow", text(|row| row.flow.name.clone()), false),
        ("cc", text(|row| row.flow.cc.clone()), false),
        (
            "delivered_bytes",
            numbers(&rows, |f| f.delivered.get() as f64),
            false,
        ),
        (
            "goodput_bps",
            numbers(&rows, |f| f.goodput.as_bps() as f64),
            false,
        ),
        (
            "completion_s",
            optional(&rows, |f| f.completion.map(|t| t.as_secs_f64())),
            true,
        ),
    ];
    let spreads: [(_, Of); 4] = [
        (RTT, |flow| &flow.rtt),
        (OWD, |flow| &flow.owd),
        (SEGMENT_DELAY, |flow| &flow.segment_delay),
        (LOAD, |flow| &flow.load_time),
    ];
    for (names, spread) in spreads {
        for (name, (_, quantity)) in names.into_iter().zip(QUANTITIES) {
            let of = |f: &FlowResult| {
                let d = spread(f);
                (d.count > 0).then(|| quantity(d))
            };
            columns.push((name, optional(&rows, of), true));
        }
    }
    columns.push(("jitter_ms", numbers(&rows, |f| f.jitter_ms), false));
    columns.push((
        "retransmits",
        numbers(&rows, |f| f.retransmits as f64),
        false,
    ));
    columns.push(("lost", numbers(&rows, |f| f.lost as f64), false));
    columns
}

pub(super) fn repeats<'a>(variant: &Labelled<'a>) -> impl Iterator<Item = (u32, &'a RunResult)> {
    variant
        .runs
        .iter()
        .enumerate()
        .map(|(i, run)| (i as u32, run))
}

/// A point of a time series.
struct Sample<'a> {
    label: &'a str,
    repeat: u32,
    entity: &'a str,
    metric: &'static str,
    time_s: f64,
    value: f64,
}

/// The samples in batches; at least one, so that the file always has its columns.
pub(super) fn sample_batches<'a>(
    variants: &'a [Labelled<'a>],
) -> impl Iterator<Item = Columns> + 'a {
    let mut samples = variants
        .iter()
        .flat_map(|variant| repeats(variant).map(move |(repeat, run)| (variant.label, repeat, run)))
        .flat_map(|(label, repeat, run)| run.series.iter().map(move |s| (label, repeat, s)))
        .flat_map(|(label, repeat, series)| {
            series.points.iter().map(move |(at, value)| Sample {
                label,
                repeat,
                entity: &series.entity,
                metric: series.metric.name(),
                time_s: at.as_secs_f64(),
                value: *value,
            })
        });
    let mut is_first = true;
    core::iter::from_fn(move || {
        let batch: Vec<Sample<'_>> = samples.by_ref().take(BATCH).collect();
        let needed = is_first || !batch.is_empty();
        is_first = false;
        needed.then(|| sample_columns(&batch))
    })
}

fn sample_columns(batch: &[Sample<'_>]) -> Columns {
    let text = |of: for<'a> fn(&Sample<'a>) -> &'a str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(batch.iter().map(of)))
    };
    let number = |of: fn(&Sample<'_>) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(batch.iter().map(of)))
    };
    vec![
        ("variant", text(|s| s.label), false),
        (
            "repeat",
            Arc::new(UInt32Array::from_iter_values(
                batch.iter().map(|s| s.repeat),
            )),
            false,
        ),
        ("entity", text(|s| s.entity), false),
        ("metric", text(|s| s.metric), false),
        ("time_s", number(|s| s.time_s), false),
        ("value", number(|s| s.value), false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metric, Series};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::fs::File;
    use units::{BitRate, Duration, Instant};

    fn run(seed: u64, n: u64) -> RunResult {
        let flow = FlowResult {
            name: "bulk".into(),
            cc: "cubic".into(),
            goodput: BitRate::from_mbps(seed),
            completion: (seed == 1).then_some(Duration::from_secs(2)),
            ..FlowResult::default()
        };
        let points = (0..n)
            .map(|i| (Instant::from_nanos(i * 1_000_000_000), i as f64))
            .collect();
        let series = Series {
            entity: "bulk".into(),
            metric: Metric::Goodput,
            points,
        };
        RunResult {
            seed,
            flows: vec![flow],
            series: vec![series],
            ..RunResult::default()
        }
    }

    fn read(path: &Path) -> Vec<RecordBatch> {
        let file = File::open(path).expect("written");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|b| b.build());
        reader
            .expect("parquet")
            .map(|batch| batch.expect("a batch"))
            .collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("result");
        let folder = ResultFolder::create(&target).expect("writable");
        let runs = [run(1, 3), run(2, BATCH as u64)];
        folder
            .tables(&[Labelled {
                label: "pep=none",
                runs: &runs,
            }])
            .expect("written");
        folder.finish().expect("moved");

        let flows = read(&target.join("flows.parquet"));
        assert_eq!(flows[0].num_rows(), 2);
        let column = |name: &str| flows[0].column_by_name(name).expect("a column").clone();
        assert_eq!(column("variant").as_string::<i32>().value(0), "pep=none");
        assert_eq!(
            column("goodput_bps").as_primitive::<Float64Type>().values(),
            &[1e6, 2e6]
        );
        let completion = column("completion_s");
        let completion = completion.as_primitive::<Float64Type>();
        assert_eq!(completion.iter().collect::<Vec<_>>(), [Some(2.0), None]);
        // without samples a distribution is missing, not zero
        assert!(
            column("rtt_mean_ms")
                .as_primitive::<Float64Type>()
                .iter()
                .all(|v| v.is_none())
        );

        let samples = read(&target.join("samples.parquet"));
        let rows: usize = samples.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 3 + BATCH);
        let sum: f64 = samples
            .iter()
            .map(|b| b.column_by_name("value").expect("a column").clone())
            .map(|c| c.as_primitive::<Float64Type>().values().iter().sum::<f64>())
            .sum();
        let expected = 3.0 + (BATCH as f64 - 1.0) * BATCH as f64 / 2.0;
        assert_eq!(sum, expected);
    }

    #[test]
    fn without_samples_the_file_still_has_its_columns() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("result");
        let folder = ResultFolder::create(&target).expect("writable");
        folder.tables(&[]).expect("written");
        folder.finish().expect("moved");
        let file = File::open(target.join("samples.parquet")).expect("written");
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("parquet");
        assert_eq!(builder.schema().fields().len(), 6);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = ResultFolder::create(&place.path().join("result")).expect("writable");
        let full = folder.temporary.path().join("flows.parquet");
        std::os::unix::fs::symlink("/dev/full", full).expect("linked");
        let runs = [run(1, 3)];
        let error = folder
            .tables(&[Labelled {
                label: "",
                runs: &runs,
            }])
            .unwrap_err()
            .to_string();
        assert!(error.contains("flows.parquet: writing failed"), "{error}");
        assert!(error.contains("free some space"), "{error}");
    }
}
