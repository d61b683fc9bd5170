//! `applications.parquet`: what applications measured, in long form.

use super::tables::{Columns, repeats};
use crate::{Labelled, Measure};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt32Array};
use std::sync::Arc;

/// A measure of a flow in a repeat of a variant.
struct Row<'a> {
    label: &'a str,
    repeat: u32,
    flow: &'a str,
    application: &'static str,
    measure: Measure,
}

/// All measures; none if no application has any.
pub(super) fn application_columns(variants: &[Labelled<'_>]) -> Option<Columns> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for variant in variants {
        for (repeat, run) in repeats(variant) {
            for flow in &run.flows {
                let Some(application) = &flow.application else {
                    continue;
                };
                rows.extend(application.measures().into_iter().map(|measure| Row {
                    label: variant.label,
                    repeat,
                    flow: &flow.name,
                    application: application.kind(),
                    measure,
                }));
            }
        }
    }
    (!rows.is_empty()).then(|| columns(&rows))
}

fn columns(rows: &[Row<'_>]) -> Columns {
    let text = |of: for<'a> fn(&Row<'a>) -> &'a str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let repeat = UInt32Array::from_iter_values(rows.iter().map(|row| row.repeat));
    let values = Float64Array::from_iter(rows.iter().map(|row| row.measure.value));
    vec![
        ("variant", text(|row| row.label), false),
        ("repeat", Arc::new(repeat), false),
        ("flow", text(|row| row.flow), false),
        ("application", text(|row| row.application), false),
        ("measure", text(|row| row.measure.name), false),
        ("value", Arc::new(values), true),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApplicationResult, FlowResult, RunResult, VideoResult};
    use arrow_array::RecordBatch;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;

    #[test]
    fn each_measure_has_a_row() {
        let run = |application| RunResult {
            flows: vec![FlowResult {
                application,
                ..FlowResult::default()
            }],
            ..RunResult::default()
        };
        let none = [run(None)];
        let of = |runs| {
            application_columns(&[Labelled {
                label: "rule=bola",
                runs,
            }])
        };
        assert!(of(&none).is_none());
        let video = VideoResult {
            stalls: 3,
            ..VideoResult::default()
        };
        let some = [run(Some(ApplicationResult::Video(video)))];
        let columns = of(&some).expect("it measured");
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("one table");
        let names = batch.column_by_name("measure").expect("names");
        let names: Vec<&str> = names.as_string::<i32>().iter().flatten().collect();
        let values = batch.column_by_name("value").expect("values");
        let values: Vec<Option<f64>> = values.as_primitive::<Float64Type>().iter().collect();
        assert_eq!((names[0], values[0]), ("startup_delay_s", None));
        assert_eq!((names[1], values[1]), ("stalls", Some(3.0)));
    }
}
