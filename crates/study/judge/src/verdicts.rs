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
    /// What its programs wrote, each file with its name.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Record {
    /// Where its files belong in a result folder, e.g. `pep=none/rpm/1`.
    pub fn folder(&self) -> String {
        format!("{}/{}/{}", file_name(&self.column), self.judge, self.seed)
    }
}

/// A text as a name of a folder.
fn file_name(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | '_' | '-' | '.');
    let name: String = text
        .chars()
        .map(|c| if is_safe(c) { c } else { '-' })
        .collect();
    match name.trim_start_matches('.') {
        "" => "programs".to_owned(),
        name => name.to_owned(),
    }
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
    /// How many runs of judges failed.
    pub fn failed(&self) -> usize {
        let records = self.records.iter();
        records.filter(|record| record.outcome.is_err()).count()
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
                .map(|(key, value)| (key.clone(), Value::from(value.clone())))
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
pub fn missing(needs: &[Need]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::better;
    use crate::need::Toolbox;
    use lab::Options;
    use scenario::Observers;
    use std::time::Duration;

    static FAST: Judge = Judge {
        name: "fast",
        about: "a judge",
        needs: &[],
        run: |_| Ok(Vec::new()),
    };
    static ABSENT: Judge = Judge {
        name: "absent",
        about: "another",
        needs: &[Need::Program("nothing")],
        run: |_| Ok(Vec::new()),
    };

    fn column(label: &str) -> Column {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../scenarios/dumbbell.toml"
        );
        let points = scenario::load(file.as_ref(), &scenario::Overrides::default());
        let experiment = points.expect("a scenario").remove(0).experiment;
        let (key, value) = label.split_once('=').expect("a setting");
        Column {
            label: label.to_owned(),
            settings: vec![(key.to_owned(), value.to_owned())],
            experiment,
        }
    }

    fn record(column: &str, seed: u64, outcome: Result<f64, &str>) -> Record {
        Record {
            judge: FAST.name,
            column: column.to_owned(),
            seed,
            outcome: outcome
                .map(|value| vec![better::higher("rate", "Mbit/s", value)])
                .map_err(str::to_owned),
            files: Vec::new(),
        }
    }

    /// Two columns, three seeds; one run failed.
    fn with_verdicts(check: impl FnOnce(&Verdicts<'_>)) {
        let columns = [column("pep=none"), column("pep=default")];
        let options = Options {
            program: "brimful".into(),
            stop: std::sync::Arc::default(),
            record: None,
            scale: None,
            observers: Observers::default(),
        };
        let plan = Plan {
            columns: &columns,
            judges: &[&FAST],
            repeats: 3,
            seed: 1,
            duration: Duration::from_secs(10),
            ue: 0,
            options: &options,
            toolbox: &Toolbox::of_environment(),
        };
        let records = [
            record("pep=none", 1, Ok(10.0)),
            record("pep=default", 1, Ok(20.0)),
            record("pep=none", 2, Err("it ended")),
            record("pep=default", 2, Ok(1000.0)),
            record("pep=none", 3, Ok(20.0)),
            record("pep=default", 3, Ok(40.0)),
        ];
        check(&Verdicts {
            scenario: "dumbbell",
            version: "1.2.3",
            plan: &plan,
            missing: &[(&ABSENT, ABSENT.needs.to_vec())],
            records: &records,
        });
    }

    #[test]
    fn ratios_are_of_runs_with_the_same_seed() {
        with_verdicts(|verdicts| {
            let json = verdicts.json();
            let measure = &json["judges"][0]["measures"][0];
            assert_eq!(measure["name"], "rate");
            assert_eq!(measure["better"], "higher");
            let [none, default] = [0, 1].map(|column| &measure["columns"][column]);
            assert_eq!(none["estimate"]["mean"], 15.0);
            assert!(none["ratio"].is_null());
            // the pair of seed 2 is not there
            let ratio = default["ratio"]["mean"].as_f64().expect("a ratio");
            assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
            assert_eq!(default["ratio"]["pairs"], 2);
            assert_eq!(default["values"][1]["seed"], 2);
            assert_eq!(json["columns"][1]["settings"]["pep"], "default");
        });
    }

    #[test]
    fn failures_and_what_is_missing_have_rows_with_their_reasons() {
        with_verdicts(|verdicts| {
            assert_eq!(verdicts.failed(), 1);
            let table = verdicts.table();
            let widths = table.rows.iter().map(Vec::len);
            assert!(widths.clone().all(|width| width == table.columns.len()));
            let texts: Vec<String> = table.rows.iter().map(|row| row.join("|")).collect();
            assert_eq!(texts.len(), 3, "{texts:?}");
            assert!(
                texts[0].starts_with("fast|rate (Mbit/s)|higher|15.0 ±"),
                "{}",
                texts[0]
            );
            assert!(
                texts[1].contains("failed with pep=none, seed 2: it ended"),
                "{}",
                texts[1]
            );
            assert!(
                texts[2].contains("missing: nothing, installed by make setup-judges"),
                "{}",
                texts[2]
            );
            let json = verdicts.json();
            assert_eq!(json["judges"][0]["failures"][0]["reason"], "it ended");
            assert_eq!(json["judges"][1]["missing"][0], "nothing");
        });
    }

    #[test]
    fn files_have_a_folder_by_column_judge_and_seed() {
        let of = |column: &str| record(column, 7, Ok(1.0)).folder();
        assert_eq!(of("pep=default, rtt=1 ms"), "pep=default--rtt=1-ms/fast/7");
        assert_eq!(of(""), "programs/fast/7");
        assert_eq!(of("../x"), "-x/fast/7");
    }

    #[test]
    fn three_digits_or_whole() {
        for (value, text) in [
            (0.0, "0"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (1234.5, "1234"),
        ] {
            assert_eq!(rounded(value), text);
        }
    }
}
