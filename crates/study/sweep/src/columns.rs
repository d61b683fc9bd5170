//! The columns of the dataset: one row for each flow, and one for each queue, of a point.

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use scenario::{FlowSummary, QueueSummary, Spread, Summary, SweepAxis};
use std::sync::Arc;

/// A point that has run.
#[derive(Clone, Debug)]
pub(crate) struct PointRow {
    pub(crate) point: u64,
    pub(crate) axes: Vec<(String, String)>,
    pub(crate) summary: Summary,
}

/// A column: its name, its values, and whether they may be missing.
type Column = (String, ArrayRef, bool);

/// The numbers of a distribution that become columns.
type Quantity = (&'static str, fn(&Spread) -> f64);
const QUANTITIES: [Quantity; 7] = [
    ("min", |d| d.min),
    ("mean", |d| d.mean),
    ("p50", |d| d.p50),
    ("p90", |d| d.p90),
    ("p95", |d| d.p95),
    ("p99", |d| d.p99),
    ("max", |d| d.max),
];

/// A point with one of its flows, or of its queues.
type Of<'a, T> = (&'a PointRow, &'a T);

fn numbers<T>(rows: &[Of<'_, T>], name: &str, of: impl Fn(&Of<'_, T>) -> f64) -> Column {
    let values = Float64Array::from_iter_values(rows.iter().map(of));
    (name.to_owned(), Arc::new(values), false)
}

fn optional<T>(rows: &[Of<'_, T>], name: &str, of: impl Fn(&T) -> Option<f64>) -> Column {
    let values = Float64Array::from_iter(rows.iter().map(|(_, part)| of(part)));
    (name.to_owned(), Arc::new(values), true)
}

fn texts<T>(rows: &[Of<'_, T>], name: &str, of: impl Fn(&T) -> String) -> Column {
    let values = StringArray::from_iter_values(rows.iter().map(|(_, part)| of(part)));
    (name.to_owned(), Arc::new(values), false)
}

/// Columns of a distribution: without samples they have no value.
fn spread<T>(rows: &[Of<'_, T>], name: &str, of: fn(&T) -> &Spread, columns: &mut Vec<Column>) {
    for (quantity, value) in QUANTITIES {
        columns.push(optional(rows, &format!("{name}_{quantity}_ms"), |part| {
            let spread = of(part);
            (!spread.is_empty()).then(|| value(spread))
        }));
    }
    columns.push(numbers(rows, &format!("{name}_samples"), |(_, part)| {
        of(part).samples
    }));
}

/// What all rows begin with: the point, its axes as columns, and its seed.
fn beginning<T>(rows: &[Of<'_, T>], axes: &[SweepAxis], names: &[String]) -> Vec<Column> {
    let point = UInt64Array::from_iter_values(rows.iter().map(|(row, _)| row.point));
    let mut columns: Vec<Column> = vec![("point".to_owned(), Arc::new(point), false)];
    for (i, (axis, name)) in axes.iter().zip(names).enumerate() {
        let text = |row: &PointRow| {
            row.axes
                .get(i)
                .map_or("", |(_, value)| value.as_str())
                .to_owned()
        };
        let values: ArrayRef = if axis.is_number {
            let number = |row: &PointRow| text(row).parse().unwrap_or(f64::NAN);
            Arc::new(Float64Array::from_iter_values(
                rows.iter().map(|(row, _)| number(row)),
            ))
        } else {
            Arc::new(StringArray::from_iter_values(
                rows.iter().map(|(row, _)| text(row)),
            ))
        };
        columns.push((name.clone(), values, false));
        if let Some(unit) = &axis.unit {
            let number = |row: &PointRow| {
                let text = text(row);
                let number = text.split_whitespace().next().unwrap_or_default();
                number.parse().unwrap_or(f64::NAN)
            };
            let values = Float64Array::from_iter_values(rows.iter().map(|(row, _)| number(row)));
            columns.push((format!("{name} [{unit}]"), Arc::new(values), false));
        }
    }
    let seed = UInt64Array::from_iter_values(rows.iter().map(|(row, _)| row.summary.seed));
    let repeats = rows
        .iter()
        .map(|(row, _)| u32::try_from(row.summary.repeats).unwrap_or(u32::MAX));
    let repeats = UInt32Array::from_iter_values(repeats);
    columns.push(("seed".to_owned(), Arc::new(seed), false));
    columns.push(("repeats".to_owned(), Arc::new(repeats), false));
    columns
}

/// The names of the axes' columns: their own, unless a column of the results has that.
fn axis_names(axes: &[SweepAxis], taken: &[&str]) -> Vec<String> {
    let name = |axis: &SweepAxis| match axis.name.as_str() {
        name if taken.contains(&name) => format!("axis_{name}"),
        name => name.to_owned(),
    };
    axes.iter().map(name).collect()
}

fn batch(columns: Vec<Column>) -> RecordBatch {
    let field = |(name, values, nullable): &Column| {
        Field::new(name.clone(), values.data_type().clone(), *nullable)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let values = columns.into_iter().map(|(_, values, _)| values).collect();
    RecordBatch::try_new(Arc::new(schema), values)
        .expect("columns of equal length and stated types")
}

/// The rows of the flows.
pub(crate) fn flows(points: &[PointRow], axes: &[SweepAxis]) -> RecordBatch {
    let rows: Vec<Of<'_, FlowSummary>> = points
        .iter()
        .flat_map(|row| row.summary.flows.iter().map(move |flow| (row, flow)))
        .collect();
    let rows = rows.as_slice();
    let mut own = vec![
        texts(rows, "flow", |f| f.name.clone()),
        texts(rows, "cc", |f| f.cc.clone()),
        numbers(rows, "goodput_bps", |(_, f)| f.goodput_bps.mean),
        numbers(rows, "goodput_ci95_bps", |(_, f)| f.goodput_bps.ci95),
    ];
    spread(rows, "rtt", |f| &f.rtt_ms, &mut own);
    spread(rows, "owd", |f| &f.owd_ms, &mut own);
    spread(rows, "segment_delay", |f| &f.segment_delay_ms, &mut own);
    spread(rows, "load_time", |f| &f.load_time_ms, &mut own);
    let bursts = |name, of: fn(&scenario::BurstSummary) -> f64| {
        optional(rows, name, move |f: &FlowSummary| {
            f.loss_bursts.as_ref().map(of)
        })
    };
    own.extend([
        optional(rows, "completion_s", |f| f.completion_s.map(|e| e.mean)),
        optional(rows, "completion_ci95_s", |f| {
            f.completion_s.map(|e| e.ci95)
        }),
        numbers(rows, "finished", |(_, f)| f.finished as f64),
        numbers(rows, "jitter_ms", |(_, f)| f.jitter_ms),
        numbers(rows, "delivered_bytes", |(_, f)| f.delivered_bytes),
        numbers(rows, "retransmits", |(_, f)| f.retransmits),
        numbers(rows, "lost", |(_, f)| f.lost),
        bursts("loss_rate", |b| b.loss_rate),
        bursts("loss_bursts", |b| b.bursts),
        bursts("loss_burst_mean_length", |b| b.mean_length),
        texts(rows, "loss_decisions", |f| {
            serde_json::to_string(&f.loss_decisions).expect("names and numbers")
        }),
        texts(rows, "application", |f| {
            serde_json::to_string(&f.application).expect("names and numbers")
        }),
        numbers(rows, "link_utilisation", |(row, _)| {
            row.summary.link.utilisation
        }),
        numbers(rows, "link_capacity_bps", |(row, _)| {
            row.summary.link.capacity_bps
        }),
        numbers(rows, "elapsed_s", |(row, _)| row.summary.elapsed_s),
        numbers(rows, "events", |(row, _)| row.summary.events),
        numbers(rows, "packet_hops", |(row, _)| row.summary.packet_hops),
    ]);
    joined(rows, axes, own)
}

/// The rows of the queues.
pub(crate) fn queues(points: &[PointRow], axes: &[SweepAxis]) -> RecordBatch {
    let rows: Vec<Of<'_, QueueSummary>> = points
        .iter()
        .flat_map(|row| row.summary.queues.iter().map(move |queue| (row, queue)))
        .collect();
    let rows = rows.as_slice();
    let mut own = vec![
        texts(rows, "queue", |q| q.name.clone()),
        numbers(rows, "mean_bytes", |(_, q)| q.bytes.mean),
        numbers(rows, "p99_bytes", |(_, q)| q.bytes.p99),
        numbers(rows, "max_bytes", |(_, q)| q.bytes.max),
        numbers(rows, "drops", |(_, q)| q.drops),
    ];
    spread(rows, "sojourn", |q| &q.sojourn_ms, &mut own);
    joined(rows, axes, own)
}

fn joined<T>(rows: &[Of<'_, T>], axes: &[SweepAxis], own: Vec<Column>) -> RecordBatch {
    let mut taken: Vec<&str> = own.iter().map(|(name, _, _)| name.as_str()).collect();
    taken.extend(["point", "seed", "repeats", "block"]);
    let names = axis_names(axes, &taken);
    let mut columns = beginning(rows, axes, &names);
    columns.extend(own);
    batch(columns)
}

/// The forms of both tables.
pub(crate) fn schemas(axes: &[SweepAxis]) -> (SchemaRef, SchemaRef) {
    (flows(&[], axes).schema(), queues(&[], axes).schema())
}

/// The points of a batch, which are its first column.
pub(crate) fn points(batch: &RecordBatch) -> Option<&[u64]> {
    let column = batch.columns().first()?;
    if *column.data_type() != DataType::UInt64 || batch.schema_ref().field(0).name() != "point" {
        return None;
    }
    let column = column.as_any().downcast_ref::<UInt64Array>()?;
    Some(column.values())
}
