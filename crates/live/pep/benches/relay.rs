//! The data path between three network namespaces: plain forwarding, HAProxy as installed, HAProxy
//! tuned, and ours with its control running, in turns of one run.
//!
//! `cargo bench -p pep --bench relay` prints a table; `-- --record` also writes
//! `docs/results/proxy.md`. `--only streams`, `objects`, `connections`, `deciding`, `following`
//! or `alternatives` measures that alone.
//! Needs root; without haproxy its columns are left out, with a note.
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod support;

#[path = "relay/alternatives.rs"]
mod alternatives;
#[path = "relay/connections.rs"]
mod connections;
#[path = "relay/deciding.rs"]
mod deciding;
#[path = "relay/following.rs"]
mod following;
#[path = "relay/minimal/mod.rs"]
mod minimal;
#[path = "relay/objects.rs"]
mod objects;
#[path = "relay/relays.rs"]
mod relays;
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
    if has("relay") {
        return minimal::run(&arguments[1..]);
    }
    let Some(hosts) = Hosts::try_new("the relay bench") else {
        return ExitCode::SUCCESS;
    };
    // before anything is measured: what is recorded is of a quiet machine
    let machine = match testing::Machine::for_bench(has("--record")) {
        Ok(machine) => machine,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let only = arguments.iter().position(|a| a == "--only");
    let only = only.and_then(|at| arguments.get(at + 1));
    for (name, title, measure) in PARTS {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let kinds = Kind::available(name);
        let mut table = Table::new(title, &kinds);
        measure(&hosts, &kinds, &mut table);
        table.note(format!("{machine}."));
        if has("--record") {
            table.record();
        }
    }
    ExitCode::SUCCESS
}

/// Fills a table.
type Measure = fn(&Hosts, &[Kind], &mut Table);

/// Name on the command line, title on the page.
const PARTS: [(&str, &str, Measure); 6] = [
    ("streams", "Bulk transfer", streams::measure),
    ("objects", "Small objects", objects::measure),
    ("connections", "Connections", connections::measure),
    ("deciding", "Deciding", deciding::measure),
    (
        "following",
        "From the report to the wire",
        following::measure,
    ),
    (
        "alternatives",
        "Ways for payload in the kernel",
        alternatives::measure,
    ),
];

/// The results of a part, printed as they come.
pub struct Table {
    title: &'static str,
    kinds: Vec<&'static str>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Table {
    fn new(title: &'static str, kinds: &[Kind]) -> Self {
        println!("\n{title}");
        Self {
            title,
            kinds: kinds.iter().map(|k| k.name()).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Other columns than the relays that are compared.
    pub fn columns(&mut self, names: Vec<&'static str>) {
        self.kinds = names;
    }

    /// A row.
    pub fn row(&mut self, what: impl Into<String>, values: Vec<Option<f64>>) {
        if self.rows.is_empty() {
            println!("| what | {} |", self.kinds.join(" | "));
        }
        let row = (what.into(), values);
        println!("{}", line(&row));
        self.rows.push(row);
    }

    /// A sentence below the table.
    pub fn note(&mut self, note: String) {
        println!("{note}");
        self.notes.push(note);
    }

    fn section(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        // writing to a text cannot fail
        if !self.rows.is_empty() {
            let _ = writeln!(text, "| what | {} |", self.kinds.join(" | "));
            let _ = writeln!(text, "| --- |{}", " --- |".repeat(self.kinds.len()));
            for row in &self.rows {
                let _ = writeln!(text, "{}", line(row));
            }
            let _ = writeln!(text);
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text
    }

    /// Puts it on the page, in the place of what was measured before.
    fn record(&self) {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../docs/results/proxy.md"
        );
        let before = std::fs::read_to_string(path).unwrap_or_default();
        let mut page = PAGE_HEAD.to_owned();
        for (_, title, _) in PARTS {
            let old = before.split("\n## ").find(|s| s.starts_with(title));
            let section = match old {
                _ if title == self.title => self.section(),
                Some(old) => format!("## {}\n", old.trim_end()),
                None => continue,
            };
            let _ = write!(page, "\n{section}");
        }
        // what people have written about it
        let remarks = before.split("\n## ").find(|s| s.starts_with(REMARKS));
        if let Some(remarks) = remarks {
            let _ = write!(page, "\n## {}\n", remarks.trim_end());
        }
        std::fs::write(path, page).expect("the page can be written");
    }
}

/// The section of the page that is not measured.
const REMARKS: &str = "Beside the aims";

const PAGE_HEAD: &str = "\
# The proxy's data path

Written by `make bench`. One run on one machine of two cores between three network namespaces: client,
proxy, server; medians of three. All relays carry the same traffic in turns. Ours runs transparently with
its control, on radio reports of 1 ms that leave the radio wide open; HAProxy *tuned* has `tune.pipesize
1048576`, `option splice-request` and `option splice-response`; *as the client* it connects from the client's address and
port too (`source 0.0.0.0 usesrc client`), as ours does. CPU is the relay's own process, user and
system. Nothing is recorded above a load average of 0.5. Each part states its machine and commit: parts may be of different runs.
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
