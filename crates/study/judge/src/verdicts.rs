//! What all judges gave, as a table and as JSON.

use crate::judge::{Better, Judge, Measure};
use crate::need::Need;
use crate::run::{Column, Plan};
use report::Table;
use scenario::{Estimate, Ratio, estimate, ratio_of_units};
use serde_json::{Value, json};

/// What a judge gave once.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its name.
    pub judge: &'static str,
    /// Label of the column.
    pub column: String,
    /// Seed of the radio.
    pub seed: u64,
    /// Its measures, or why there are none.
    pub outcome: Result<Vec<Measure>, String>,
}

/// All that was given.
#[derive(Debug)]
pub struct Verdicts<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Version of Brimful.
    pub version: &'a str,
    /// What was run.
    pub plan: &'a Plan<'a>,
    /// Judges that were not run, and what they lack.
    pub missing: &'a [(&'static Judge, Vec<Need>)],
    /// What came of it.
    pub records: &'a [Record],
}

/// A measure of a judge's, in all columns.
struct Row<'a> {
    first: &'a Measure,
    /// For each column the values with their seeds.
    columns: Vec<Vec<(u64, f64)>>,
}

impl Row<'_> {
    fn estimate(&self, column: usize) -> Option<Estimate> {
        let values: Vec<f64> = self.columns[column]
            .iter()
            .map(|(_, value)| *value)
            .collect();
        (!values.is_empty()).then(|| estimate(&values))
    }

    /// A column against the first, seed by seed.
    fn ratio(&self, column: usize) -> Option<Ratio> {
        let pairs = self.columns[column].iter().filter_map(|(seed, value)| {
            let base = self.columns[0].iter().find(|(other, _)| other == seed);
            base.map(|(_, base)| (*value, *base))
        });
        let (values, base): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let units: Vec<usize> = (0..values.len()).collect();
        ratio_of_units(&values, &base, &units)
    }
}

impl Verdicts<'_> {
    /// Whether any judge failed.
    pub fn has_failures(&self) -> bool {
        self.records.iter().any(|record| record.outcome.is_err())
    }

    fn columns(&self) -> &[Column] {
        self.plan.columns
    }

    /// The measures of a judge, in the order in which they first came.
    fn rows<'a>(&'a self, judge: &Judge) -> Vec<Row<'a>> {
        let mut rows: Vec<Row<'a>> = Vec::new();
        for record in self
            .records
            .iter()
            .filter(|record| record.judge == judge.name)
        {
            let position = |column: &Column| column.label == record.column;
            let Some(column) = self.columns().iter().position(position) else {
                continue;
            };
            for measure in record.outcome.iter().flatten() {
                let index = rows.iter().position(|row| row.first.name == measure.name);
                let index = index.unwrap_or_else(|| {
                    rows.push(Row {
                        first: measure,
                        columns: vec![Vec::new(); self.columns().len()],
                    });
                    rows.len() - 1
                });
                rows[index].columns[column].push((record.seed, measure.value));
            }
        }
        rows
    }

    fn failures(&self, judge: &Judge) -> impl Iterator<Item = (&Record, &str)> {
        let records = self.records.iter();
        let name = judge.name;
        records
            .filter(move |record| record.judge == name)
            .filter_map(|record| Some((record, record.outcome.as_ref().err()?.as_str())))
    }

    /// The table: a row for each measure, a column for each variant, and its ratio to the first.
    pub fn table(&self) -> Table {
        let text = |title: &str| report::Column {
            title: title.to_owned(),
            unit: "",
            numeric: false,
            joined: false,
        };
        let number = |title: &str, joined: bool| report::Column {
            numeric: true,
            joined,
            ..text(title)
        };
        let mut columns = vec![text("judge"), text("measure"), text("better")];
        for (index, column) in self.columns().iter().enumerate() {
            let label = match column.label.as_str() {
                "" => "value",
                label => label,
            };
            columns.push(number(label, false));
            if index > 0 {
                columns.push(number("ratio", true));
            }
        }
        let mut rows = Vec::new();
        for judge in self.plan.judges {
            rows.extend(self.rows(judge).iter().map(|row| self.cells(judge, row)));
            for (record, reason) in self.failures(judge) {
                let of = match record.column.as_str() {
                    "" => String::new(),
                    label => format!(" with {label}"),
                };
                let reason = format!("failed{of}, seed {}: {reason}", record.seed);
                rows.push(padded(vec![judge.name.to_owned(), reason], columns.len()));
            }
        }
        for (judge, needs) in self.missing {
            let reason = format!("not run: {}", missing(needs));
            rows.push(padded(vec![judge.name.to_owned(), reason], columns.len()));
        }
        Table {
            title: format!(
                "{}: what programs on the UE measure, {} s each",
                self.scenario,
                self.plan.duration.as_secs_f64()
            ),
            columns,
            rows,
        }
    }

    fn cells(&self, judge: &Judge, row: &Row<'_>) -> Vec<String> {
        let first = row.first;
        let name = match first.unit {
            "" => first.name.to_owned(),
            unit => format!("{} ({unit})", first.name),
        };
        let better = match first.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let mut cells = vec![judge.name.to_owned(), name, better.to_owned()];
        for column in 0..self.columns().len() {
            cells.push(row.estimate(column).map_or_else(String::new, value_cell));
            if column > 0 {
                cells.push(row.ratio(column).map_or_else(String::new, ratio_cell));
            }
        }
        cells
    }

    /// What `--json` prints.
    pub fn json(&self) -> Value {
        let columns = self.columns().iter();
        let settings = |column: &Column| -> Value {
            let pairs = column.settings.iter();
            pairs
                .map(|(key, value)| (key.clone(), value.clone().into()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let columns: Vec<Value> = columns
            .map(|column| json!({ "label": column.label, "settings": settings(column) }))
            .collect();
        let judges = self.plan.judges.iter().map(|judge| self.judge_json(judge));
        let absent = self.missing.iter().map(|(judge, needs)| {
            let names: Vec<&str> = needs.iter().map(|need| need.name()).collect();
            json!({
                "name": judge.name, "about": judge.about, "missing": names, "measures": [], "failures": [],
            })
        });
        let judges: Vec<Value> = judges.chain(absent).collect();
        json!({
            "scenario": self.scenario,
            "world": "lab",
            "seed": self.plan.seed,
            "repeats": self.plan.repeats,
            "version": self.version,
            "duration_s": self.plan.duration.as_secs_f64(),
            "columns": columns,
            "judges": judges,
        })
    }

    fn judge_json(&self, judge: &Judge) -> Value {
        let rows = self.rows(judge);
        let measures = rows.iter().map(|row| {
            let columns = self.columns().iter().enumerate().map(|(index, column)| {
                let values = row.columns[index].iter();
                let values: Vec<Value> = values
                    .map(|(seed, value)| json!({ "seed": seed, "value": value }))
                    .collect();
                json!({
                    "label": column.label,
                    "values": values,
                    "estimate": row.estimate(index),
                    "ratio": row.ratio(index).filter(|_| index > 0),
                })
            });
            json!({
                "name": row.first.name,
                "unit": row.first.unit,
                "better": row.first.better,
                "columns": columns.collect::<Vec<_>>(),
            })
        });
        let failures = self.failures(judge).map(|(record, reason)| {
            json!({ "column": record.column, "seed": record.seed, "reason": reason })
        });
        json!({
            "name": judge.name,
            "about": judge.about,
            "missing": [],
            "measures": measures.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
        })
    }
}

/// What is not here, in words.
pub(crate) fn missing(needs: &[Need]) -> String {
    let names: Vec<String> = needs.iter().map(Need::to_string).collect();
    format!(
        "missing: {}, installed by make setup-judges",
        names.join(", ")
    )
}

fn padded(mut cells: Vec<String>, columns: usize) -> Vec<String> {
    cells.resize(columns, String::new());
    cells
}

fn value_cell(of: Estimate) -> String {
    match of.ci95 > 0.0 {
        true => format!("{} ±{}", rounded(of.mean), rounded(of.ci95)),
        false => rounded(of.mean),
    }
}

fn ratio_cell(of: Ratio) -> String {
    match of.pairs > 1 {
        true => format!("×{:.2} [{:.2}, {:.2}]", of.mean, of.low, of.high),
        false => format!("×{:.2}", of.mean),
    }
}

/// Three digits, or as many as a whole number has.
fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ if value == 0.0 => 0,
        _ => 2,
    };
    format!("{value:.digits$}")
}
