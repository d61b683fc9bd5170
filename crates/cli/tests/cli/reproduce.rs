//! `brimful reproduce`.

use super::{Place, names};
use serde_json::Value;

/// The least that still runs something: both the 4G downloads of figure 9 in three modes.
const SHORT_RUN: [&str; 6] = ["reproduce", "rapid", "--only", "fig9", "--repeats", "1"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = SHORT_RUN.to_vec();
    arguments.extend_from_slice(more);
    arguments
}

fn refused(arguments: &[&str], words: &[&str]) {
    let place = Place::new();
    let run = place.run(arguments);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert_eq!(run.stdout, "", "{run:?}");
    for word in words {
        assert!(run.stderr.contains(word), "no {word:?} in: {}", run.stderr);
    }
    assert!(place.names().is_empty(), "nothing may be written");
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    refused(&["reproduce", "rapit", "--out", "o"], &["rapit", "rapid"]);
    refused(&["reproduce"], &["SYSTEM"]);
    refused(
        &["reproduce", "rapid", "--only", "fig44", "--out", "o"],
        &["fig44", "fig4-los", "fig12", "did you mean \"fig4\"?"],
    );
    refused(
        &["reproduce", "rapid", "--only", "", "--out", "o"],
        &["fig4"],
    );
    refused(
        &["reproduce", "rapid", "--repeats", "0"],
        &["from 1 to 10000"],
    );
    refused(&["reproduce", "rapid", "--seed", "-1"], &["--seed"]);
    refused(
        &["reproduce", "rapid", "--world", "lab", "--only", "fig7"],
        &["is for the lab", "fig9, fig10"],
    );
    refused(
        &["reproduce", "rapid", "--world", "sim,sim"],
        &["expected sim, lab, or sim,lab"],
    );
}

#[test]
fn claims_go_to_stdout_and_without_out_nothing_is_written() {
    let place = Place::new();
    let run = place.run(&SHORT_RUN).succeeded();
    assert!(place.names().is_empty(), "{:?}", place.names());
    let rows: Vec<&str> = run
        .stdout
        .lines()
        .filter(|l| l.starts_with("| figure 9"))
        .collect();
    assert!(rows.len() >= 3, "{}", run.stdout);
    for row in &rows {
        // where, claim, stated, three modes, two verdicts, note
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 9, "{row}");
        let known = ["", "holds", "better", "does not hold"];
        assert!(cells[6..8].iter().all(|v| known.contains(v)), "{row}");
        assert_ne!(cells[6], "", "{row}");
    }
    // the mode judged by each question: the published does not reach what ours does
    let p90 = rows.iter().find(|row| row.contains("p90"));
    let p90 = p90.unwrap_or_else(|| panic!("no p90: {rows:?}"));
    assert!(p90.contains("| does not hold | holds |"), "{p90}");
    for word in ["1 repeat, ", "only fig9", "± "] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.stdout);
    }
    for word in ["oai-fast none", "oai-fast default"] {
        assert!(run.stderr.contains(word), "no {word}: {}", run.stderr);
    }
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'));
}

#[test]
fn a_folder_gets_page_and_numbers_and_they_are_the_same_for_a_seed() {
    let place = Place::new();
    let first = place.run(&with(&["--out", "a/b", "--json"])).succeeded();
    let again = place
        .run(&with(&["--out", "c", "--json", "--threads", "1"]))
        .succeeded();
    assert_eq!(first.stdout, again.stdout);
    assert_eq!(first.stdout.lines().count(), 1);
    assert_eq!(
        names(&place.path("a/b")),
        ["rapid", "rapid.json", "rapid.md"]
    );
    let figures = names(&place.path("a/b/rapid"));
    assert!(!figures.is_empty() && figures == names(&place.path("c/rapid")));
    let read = |name: &str| std::fs::read_to_string(place.path(name)).expect("a file");
    assert_eq!(read("a/b/rapid.md"), read("c/rapid.md"));
    assert_eq!(read("a/b/rapid.json"), read("c/rapid.json"));
    let written: Value = serde_json::from_str(&read("c/rapid.json")).expect("JSON");
    assert_eq!(written, first.json());
    // the columns of a claim, and the seeds of the experiments
    let json = first.json();
    let claim = &json["claims"][0];
    assert_eq!(claim["section"], "fig9");
    assert!(claim["ours"]["none"][0]["mean"].is_number(), "{claim}");
    let experiments = json["experiments"].as_array().expect("a list");
    // three modes, and eight orders in which flows begin
    assert_eq!(experiments.len(), 3 + 8);
    assert!(experiments.iter().all(|e| e["summary"]["seed"] == 1));
    let other = place.run(&with(&["--json", "--seed", "2"])).succeeded();
    assert_ne!(other.json()["claims"], json["claims"]);
}

#[test]
fn figures_stand_beside_the_page_that_shows_them() {
    let place = Place::new();
    let arguments = [
        "reproduce",
        "rapid",
        "--quick",
        "--only",
        "fig7",
        "--repeats",
        "1",
        "--out",
        "o",
    ];
    place.run(&arguments).succeeded();
    let page = std::fs::read_to_string(place.path("o/rapid.md")).expect("a page");
    assert!(page.contains("](rapid/fig7.svg)"), "{page}");
    assert!(page.contains("quick: "), "{page}");
    let figure = std::fs::read_to_string(place.path("o/rapid/fig7.svg")).expect("a figure");
    assert!(figure.starts_with("<svg") && figure.contains("</svg>"));
    // six panels with their axes, three names in the legend
    assert_eq!(figure.matches("time (s)").count(), 6);
    for word in ["newreno", "vegas", "westwood", "bytes in flight (kB)"] {
        assert!(figure.contains(word), "no {word}");
    }
}

/// That they are drawn is tested where the Python package is: `python/tests/test_figures.py`.
#[test]
fn matplotlib_is_looked_for_before_anything_runs() {
    let drawn = ["--figures", "matplotlib", "--out", "o"];
    let place = Place::new();
    let mut command = place.command(&with(&drawn));
    let output = command.env("BRIMFUL_PYTHON", "no-such-python").output();
    let output = output.expect("the command starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for word in ["--figures matplotlib", "no-such-python", "BRIMFUL_PYTHON"] {
        assert!(stderr.contains(word), "no {word}: {stderr}");
    }
    assert!(output.stdout.is_empty() && place.names().is_empty());
    refused(&with(&["--figures", "matplotlib"]), &["--out"]);
    refused(
        &with(&["--figures", "gnuplot", "--out", "o"]),
        &["plain, matplotlib"],
    );
    refused(
        &with(&[
            "--world",
            "sim,lab",
            "--figures",
            "matplotlib",
            "--out",
            "o",
        ]),
        &["page of both worlds"],
    );
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_before_anything_runs() {
    let place = Place::new().with("file", "mine");
    // the whole reproduction would take minutes
    let run = place.run(&["reproduce", "rapid", "--out", "file/below"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("file/below") || run.stderr.contains("file"),
        "{run:?}"
    );
    assert_eq!(run.stdout, "");
    assert!(!run.stderr.contains("runs"), "nothing has run: {run:?}");
    assert_eq!(place.names(), ["file"]);
}
