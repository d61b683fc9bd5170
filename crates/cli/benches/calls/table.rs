//! What was measured, as a table.

use scenario::estimate;
use serde_json::Value;
use std::collections::BTreeMap;

/// A row: what runs, and over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    name: String,
    what: String,
}

impl Row {
    pub fn of(name: &str, what: &str) -> Self {
        Self {
            name: name.to_owned(),
            what: what.to_owned(),
        }
    }
}

/// Values of the repeats, by measure.
type Values = BTreeMap<String, Vec<f64>>;

/// All that was measured.
#[derive(Default)]
pub struct Rows {
    rows: Vec<(Row, Values)>,
}

/// The measures of packets, and what they are called in the table. Those of a video call are of frames.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("p50, ms", &["delay-p50", "frame-delay-down-mean"]),
    ("p95, ms", &["delay-p95", "frame-delay-down-p95"]),
    ("p99, ms", &["delay-p99"]),
    ("loss, %", &["loss", "loss-down"]),
    ("freezes a minute", &["freezes", "freezes-down"]),
    ("twice", &["twice"]),
    ("download, Mbit/s", &["download-goodput"]),
];
/// Of those, delays, which are also given beyond the first row.
const DELAYS: usize = 3;

impl Rows {
    /// The measures of one repeat.
    pub fn put(&mut self, row: Row, measures: &Value) {
        let index = self.rows.iter().position(|(known, _)| *known == row);
        let index = index.unwrap_or_else(|| {
            self.rows.push((row, Values::new()));
            self.rows.len() - 1
        });
        for measure in measures.as_array().into_iter().flatten() {
            let name = measure["name"].as_str().unwrap_or_default().to_owned();
            let mean = measure["columns"][0]["estimate"]["mean"].as_f64();
            let values = &mut self.rows[index].1;
            values.entry(name).or_default().extend(mean);
        }
    }

    pub fn text(&self, repeats: u64, seconds: u64) -> String {
        let mut text = format!(
            "Repeats: {repeats}, each of {seconds} s; means with 95 % intervals.\n\n| what | over |"
        );
        for (index, (title, _)) in COLUMNS.iter().enumerate() {
            text += &format!(" {title} |");
            if index < DELAYS {
                let name = title.split(',').next().unwrap_or(title);
                text += &format!(" {name} beyond |");
            }
        }
        text += "\n| --- | --- |";
        text += &" --- |".repeat(COLUMNS.len() + DELAYS);
        text += "\n";
        for (row, values) in &self.rows {
            text += &format!("| {} | {} |", row.name, row.what);
            let first = self.rows.iter().find(|(first, _)| first.name == row.name);
            for (index, (_, names)) in COLUMNS.iter().enumerate() {
                let of = |values: &Values| names.iter().find_map(|name| values.get(*name).cloned());
                let own = of(values);
                text += &format!(" {} |", cell(own.as_deref()));
                if index < DELAYS {
                    let first = first.and_then(|(_, values)| of(values));
                    let beyond = own.zip(first).map(|(own, first)| {
                        let pairs = own.iter().zip(&first);
                        pairs.map(|(own, first)| own - first).collect::<Vec<f64>>()
                    });
                    text += &format!(" {} |", cell(beyond.as_deref()));
                }
            }
            text += "\n";
        }
        text
    }
}

fn cell(values: Option<&[f64]>) -> String {
    let Some(values) = values.filter(|values| !values.is_empty()) else {
        return String::new();
    };
    let of = estimate(values);
    let digits = |value: f64| if value.abs() < 10.0 { 2 } else { 1 };
    match values.len() {
        1 => format!("{:.*}", digits(of.mean), of.mean),
        _ => format!(
            "{:.*} ± {:.*}",
            digits(of.mean),
            of.mean,
            digits(of.ci95),
            of.ci95
        ),
    }
}
