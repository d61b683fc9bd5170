//! `loss-decisions.parquet`: what MELD decided of each loss, with what it was decided from.

use super::tables::{Columns, repeats};
use crate::Labelled;
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt32Array, UInt64Array};
use cc::RadioState;
use cc::meld::LossDecision;
use std::sync::Arc;
use units::Instant;

/// A decision of a flow in a repeat of a variant.
struct Row<'a> {
    label: &'a str,
    repeat: u32,
    flow: &'a str,
    at: Instant,
    decision: &'a LossDecision,
}

/// All decisions; none if there are none.
pub(super) fn decision_columns(variants: &[Labelled<'_>]) -> Option<Columns> {
    let rows: Vec<Row<'_>> = variants
        .iter()
        .flat_map(|variant| repeats(variant).map(move |(repeat, run)| (variant.label, repeat, run)))
        .flat_map(|(label, repeat, run)| run.flows.iter().map(move |flow| (label, repeat, flow)))
        .flat_map(|(label, repeat, flow)| {
            flow.loss_decisions.iter().map(move |(at, decision)| Row {
                label,
                repeat,
                flow: &flow.name,
                at: *at,
                decision,
            })
        })
        .collect();
    (!rows.is_empty()).then(|| columns(&rows))
}

fn columns(rows: &[Row<'_>]) -> Columns {
    let text = |of: for<'a> fn(&Row<'a>) -> &'a str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let bytes = |of: fn(&LossDecision) -> u64| -> ArrayRef {
        let values = rows.iter().map(|row| of(row.decision));
        Arc::new(UInt64Array::from_iter_values(values))
    };
    let radio = |of: fn(&RadioState) -> Option<u64>| -> ArrayRef {
        let values = rows
            .iter()
            .map(|row| row.decision.radio.as_ref().and_then(of));
        Arc::new(UInt64Array::from_iter(values))
    };
    let repeat = UInt32Array::from_iter_values(rows.iter().map(|row| row.repeat));
    let time = rows.iter().map(|row| row.at.as_secs_f64());
    let age = |row: &Row<'_>| row.decision.age.map(|age| age.as_secs_f64() * 1e3);
    let ages = Float64Array::from_iter(rows.iter().map(age));
    vec![
        ("variant", text(|row| row.label), false),
        ("repeat", Arc::new(repeat), false),
        ("flow", text(|row| row.flow), false),
        (
            "time_s",
            Arc::new(Float64Array::from_iter_values(time)),
            false,
        ),
        ("meld", text(|row| row.decision.variant.name()), false),
        ("reason", text(|row| row.decision.reason.name()), false),
        ("lost_bytes", bytes(|d| d.lost.get()), false),
        ("bytes_in_flight", bytes(|d| d.bytes_in_flight.get()), false),
        ("most_in_flight", bytes(|d| d.max_in_flight.get()), false),
        ("tbs_threshold", bytes(|d| d.tbs_threshold.get()), false),
        ("queue_threshold", bytes(|d| d.queue_threshold.get()), false),
        ("report_age_ms", Arc::new(ages), true),
        ("tbs", radio(|r| Some(r.tbs.get())), true),
        ("queue", radio(|r| Some(r.queue.get())), true),
        (
            "lost_packets",
            radio(|r| r.lost_packets.map(u64::from)),
            true,
        ),
        ("harq_retx", radio(|r| Some(r.harq_retx.into())), true),
    ]
}
