//! The tables of results in memory: those of the Parquet files, and the queues.

use super::OutputError;
use super::applications::application_columns;
use super::decisions::decision_columns;
use super::tables::{Columns, flow_columns, repeats, sample_batches};
use crate::{Distribution, Labelled, QueueResult};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use std::sync::Arc;

/// One row for each flow and repeat: what `flows.parquet` holds.
///
/// # Errors
/// [`OutputError::Format`], if columns do not fit together (which would be a defect).
pub fn flow_table(variants: &[Labelled<'_>]) -> Result<RecordBatch, OutputError> {
    batch("flows", flow_columns(variants))
}

/// One row for each queue and repeat.
///
/// # Errors
/// As [`flow_table`].
pub fn queue_table(variants: &[Labelled<'_>]) -> Result<RecordBatch, OutputError> {
    batch("queues", queue_columns(variants))
}

/// The time series in long form: what `samples.parquet` holds. At least one batch.
///
/// # Errors
/// As [`flow_table`].
pub fn sample_table(variants: &[Labelled<'_>]) -> Result<Vec<RecordBatch>, OutputError> {
    let batches = sample_batches(variants).map(|columns| batch("samples", columns));
    batches.collect()
}

/// MELD's decisions: what `loss-decisions.parquet` holds; none if there are none.
///
/// # Errors
/// As [`flow_table`].
pub fn decision_table(variants: &[Labelled<'_>]) -> Result<Option<RecordBatch>, OutputError> {
    let columns = decision_columns(variants);
    columns
        .map(|columns| batch("loss-decisions", columns))
        .transpose()
}

/// What applications measured: what `applications.parquet` holds; none if none measured anything.
///
/// # Errors
/// As [`flow_table`].
pub fn application_table(variants: &[Labelled<'_>]) -> Result<Option<RecordBatch>, OutputError> {
    let columns = application_columns(variants);
    columns
        .map(|columns| batch("applications", columns))
        .transpose()
}

fn batch(name: &str, columns: Columns) -> Result<RecordBatch, OutputError> {
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| OutputError::Format {
        path: name.into(),
        problem: error.to_string(),
    })
}

/// A queue in a repeat of a variant.
struct Row<'a> {
    label: &'a str,
    repeat: u32,
    seed: u64,
    queue: &'a QueueResult,
}

fn queue_columns(variants: &[Labelled<'_>]) -> Columns {
    let rows: Vec<Row<'_>> = variants
        .iter()
        .flat_map(|variant| repeats(variant).map(move |(repeat, run)| (variant.label, repeat, run)))
        .flat_map(|(label, repeat, run)| {
            run.queues.iter().map(move |queue| Row {
                label,
                repeat,
                seed: run.seed,
                queue,
            })
        })
        .collect();
    let text = |of: for<'a> fn(&Row<'a>) -> &'a str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let number = |of: fn(&QueueResult) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(
            rows.iter().map(|row| of(row.queue)),
        ))
    };
    let sojourn = |of: fn(&Distribution) -> f64| -> ArrayRef {
        let measured = |row: &Row<'_>| {
            let d = &row.queue.sojourn;
            (d.count > 0).then(|| of(d))
        };
        Arc::new(Float64Array::from_iter(rows.iter().map(measured)))
    };
    let repeat = UInt32Array::from_iter_values(rows.iter().map(|row| row.repeat));
    let seed = UInt64Array::from_iter_values(rows.iter().map(|row| row.seed));
    vec![
        ("variant", text(|row| row.label), false),
        ("repeat", Arc::new(repeat), false),
        ("seed", Arc::new(seed), false),
        ("queue", text(|row| &row.queue.name), false),
        ("mean_bytes", number(|q| q.mean_bytes), false),
        ("p99_bytes", number(|q| q.p99_bytes), false),
        ("max_bytes", number(|q| q.max_bytes), false),
        ("sojourn_mean_ms", sojourn(|d| d.mean), true),
        ("sojourn_p50_ms", sojourn(|d| d.p50), true),
        ("sojourn_p95_ms", sojourn(|d| d.p95), true),
        ("sojourn_p99_ms", sojourn(|d| d.p99), true),
        ("sojourn_max_ms", sojourn(|d| d.max), true),
        ("drops", number(|q| q.drops as f64), false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunResult;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;

    #[test]
    fn a_queue_without_sojourn_times_has_none_instead_of_zero() {
        let queue = |name: &str, count, mean| QueueResult {
            name: name.to_owned(),
            max_bytes: 9.0,
            sojourn: Distribution {
                count,
                mean,
                ..Distribution::default()
            },
            ..QueueResult::default()
        };
        let run = RunResult {
            seed: 7,
            queues: vec![queue("a", 2, 1.5), queue("b", 0, 0.0)],
            ..RunResult::default()
        };
        let variants = [Labelled {
            label: "x",
            runs: &[run],
        }];
        let table = queue_table(&variants).expect("fits");
        let column = |name: &str| {
            let column = table.column_by_name(name).expect("a column").clone();
            column
                .as_primitive::<Float64Type>()
                .iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(column("sojourn_mean_ms"), [Some(1.5), None]);
        assert_eq!(column("max_bytes"), [Some(9.0), Some(9.0)]);
        assert_eq!(decision_table(&variants).expect("fits"), None);
        assert_eq!(sample_table(&variants).expect("fits")[0].num_rows(), 0);
    }
}
