//! The data path between three network namespaces: plain forwarding, HAProxy as installed, HAProxy
//! tuned, and ours with its control running, in turns of one run.
//!
//! `cargo bench -p pep --bench relay` prints a table; `-- --record` also writes
//! `docs/results/pep.md`. Needs root; without haproxy its columns are left out, aloud.
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod support;

#[path = "relay/connections.rs"]
mod connections;
#[path = "relay/deciding.rs"]
mod deciding;
#[path = "relay/relays.rs"]
mod relays;
#[path = "relay/soak.rs"]
mod soak;
#[path = "relay/streams.rs"]
mod streams;

use relays::Kind;
use std::fmt::Write as _;
use std::process::ExitCode;
use support::Hosts;

/// One measured number of every kind of relay.
type Row = (String, Vec<Option<f64>>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|a| a == word);
    if has("daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    let Some(hosts) = Hosts::try_new("the relay bench") else {
        return ExitCode::SUCCESS;
    };
    if has("--soak") {
        return soak::run(&hosts);
    }
    let kinds = Kind::available();
    let mut table = Table::new(&kinds);
    if !has("--only-connections") && !has("--only-deciding") {
        streams::measure(&hosts, &kinds, &mut table);
    }
    if !has("--only-streams") && !has("--only-deciding") {
        connections::measure(&hosts, &kinds, &mut table);
    }
    if !has("--only-streams") && !has("--only-connections") {
        deciding::measure(&hosts, &mut table);
    }
    if has("--record") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/pep.md");
        std::fs::write(path, table.page()).expect("the page can be written");
    }
    ExitCode::SUCCESS
}

/// The results, printed as they come.
pub struct Table {
    kinds: Vec<&'static str>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Table {
    fn new(kinds: &[Kind]) -> Self {
        let kinds: Vec<&'static str> = kinds.iter().map(|k| k.name()).collect();
        println!("| what | {} |", kinds.join(" | "));
        Self {
            kinds,
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A row.
    pub fn row(&mut self, what: impl Into<String>, values: Vec<Option<f64>>) {
        let row = (what.into(), values);
        println!("{}", line(&row));
        self.rows.push(row);
    }

    /// A sentence below the table.
    pub fn note(&mut self, note: String) {
        println!("{note}");
        self.notes.push(note);
    }

    fn page(&self) -> String {
        let mut page = String::from(PAGE_HEAD);
        let _ = writeln!(page, "| what | {} |", self.kinds.join(" | "));
        let _ = writeln!(page, "| --- |{}", " --- |".repeat(self.kinds.len()));
        for row in &self.rows {
            let _ = writeln!(page, "{}", line(row));
        }
        let _ = writeln!(page);
        for note in &self.notes {
            let _ = writeln!(page, "- {note}");
        }
        page
    }
}

const PAGE_HEAD: &str = "\
# The proxy's data path

Written by `make bench-pep`. One run on one machine between three network namespaces: client, proxy, \
server; medians. All relays carry the same traffic in turns; ours runs transparently with its \
control, on radio reports of 1 ms that leave the radio wide open. CPU is the relay's own process \
(user and system).

";

fn line((what, values): &Row) -> String {
    let cells: Vec<String> = values
        .iter()
        .map(|value| match value {
            None => "-".to_owned(),
            Some(v) if *v >= 1_000.0 => format!("{v:.0}"),
            Some(v) if *v >= 10.0 => format!("{v:.1}"),
            Some(v) => format!("{v:.3}"),
        })
        .collect();
    format!("| {what} | {} |", cells.join(" | "))
}

/// The middle of some numbers.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
