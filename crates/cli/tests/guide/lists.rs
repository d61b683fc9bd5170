//! Lists that the guide writes by hand hold what the code's lists do.

use crate::{Page, root};
use cc::{cdbe, meld};
use scenario::Kind;
use std::collections::BTreeSet;

/// The cells of the row of a page's table that begins so.
fn row(page: &str, begin: &str) -> Vec<String> {
    let page = Page::read(&root().join(page));
    let mut rows = page.text.lines();
    let row = rows.find(|line| line.starts_with(begin));
    let row = row.unwrap_or_else(|| panic!("{} has no row {begin}", page.name));
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// What stands in code spans.
fn spans(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The words that a key of scenario files may be.
fn words(section: &str, key: &str) -> Vec<&'static str> {
    let section = scenario::keys().find(|of| of.path == section);
    match section.and_then(|of| of.key(key)).map(|key| key.kind) {
        Some(Kind::Choice(words)) => words.to_vec(),
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn rows_of_keys_name_the_values_that_there_are() {
    let with = |first: &[&'static str], names: &[&'static str]| [first, names].concat();
    let modes = words("pep", "mode").into_iter();
    let modes = modes.filter(|mode| *mode != "none").collect();
    let rows = [
        (
            "quic.md",
            "| `meld` |",
            2,
            with(&["off"], meld::Variant::NAMES),
        ),
        (
            "quic.md",
            "| `[cdbe]` `mode` |",
            2,
            cdbe::Mode::NAMES.to_vec(),
        ),
        ("cdbe.md", "| `mode` |", 3, cdbe::Mode::NAMES.to_vec()),
        ("pep.md", "| `control` |", 3, modes),
        (
            "pep.md",
            "| `[rapid] actuator` |",
            3,
            edge::Actuator::NAMES.to_vec(),
        ),
        (
            "tunnel.md",
            "| `[reorder] mode` |",
            3,
            words("tunnel", "reorder"),
        ),
    ];
    for (page, begin, column, names) in rows {
        let row = row(&format!("docs/operations/{page}"), begin);
        // a sentence behind the values may name other keys
        let values = row[column].split(", of ").next().unwrap_or_default();
        assert_eq!(
            spans(values),
            names.into_iter().collect(),
            "{page}: {begin}"
        );
    }
}

/// The page on judges has a row for each, which names what it needs.
#[test]
fn every_judge_has_a_row() {
    for judge in judge::JUDGES {
        let row = row("docs/judges.md", &format!("| `{}` |", judge.name));
        for need in judge.needs {
            let name = need.name();
            assert!(row[2].contains(name), "{}: {name}", judge.name);
        }
    }
}

/// What a client of QUIC can report is what its help names.
#[test]
fn clients_report_what_needs_no_modem() {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_brimful"));
    let output = program
        .args(["quic", "get", "--help"])
        .output()
        .expect("runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let named = format!("off or {}", cc::Reporter::Cdbe.name());
    assert!(help.contains(&named), "{help}");
}

/// The table behind a line of the page that holds this text: the files of its second column.
fn files(page: &Page, behind: &str) -> Vec<String> {
    let lines = page.text.lines().skip_while(|line| !line.contains(behind));
    let table = lines.skip_while(|line| !line.starts_with("| "));
    let rows = table.take_while(|line| line.starts_with("| ")).skip(2);
    let files = rows.map(|row| {
        let file = row.split('|').nth(2).unwrap_or_default().trim();
        file.trim_matches('`').to_owned()
    });
    files.filter(|file| file.ends_with(".rs")).collect()
}

#[test]
fn a_report_takes_nine_files_to_the_window_in_each_world() {
    let page = Page::read(&root().join("docs/architecture.md"));
    let decide = files(&page, "are the same in all three worlds");
    assert_eq!(decide.len(), 5, "{decide:?}");
    for behind in [
        "In the simulator four more bring it",
        "Live, and in the lab, whose cell",
    ] {
        let world = files(&page, behind);
        let all: BTreeSet<&String> = decide.iter().chain(&world).collect();
        assert_eq!(all.len(), 9, "{all:?}");
    }
}
