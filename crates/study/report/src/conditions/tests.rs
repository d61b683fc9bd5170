use super::*;
use crate::sample::{run, summary};

fn cells(report: &Report<'_>) -> Vec<(String, String)> {
    let rows = conditions_table(report).rows.into_iter();
    rows.map(|row| (row[0].clone(), row[1].clone())).collect()
}

fn cell(rows: &[(String, String)], name: &str) -> String {
    let found = rows.iter().find(|(of, _)| of == name);
    found.map_or_else(|| panic!("no {name}: {rows:?}"), |(_, value)| value.clone())
}

/// Calls `check` with a report of these variants.
fn with(summaries: &[(&str, Summary)], check: impl FnOnce(&Report<'_>)) {
    let variants = summaries.iter().map(|(label, summary)| Variant {
        label: (*label).to_owned(),
        summary,
        runs: &[],
    });
    check(&Report {
        title: "t",
        description: "",
        world: "sim",
        version: "0.1.0",
        command: &[],
        seed: 1,
        repeats: 1,
        settings: Vec::new(),
        variants: variants.collect(),
    });
}

fn trace(offsets: &[f64], covered: f64) -> TraceSummary {
    TraceSummary {
        cell: None,
        ue: "phone".to_owned(),
        direction: "down",
        file: "drive.csv".to_owned(),
        recorded_on: "5G 58.1 %, LTE 41.9 %".to_owned(),
        networks: None,
        duration_s: 2597.0,
        used_s: 60.0,
        offsets_s: offsets.to_vec(),
        covered_s: covered,
    }
}

#[test]
fn one_run_states_radio_span_seed_and_that_it_has_no_interval() {
    let mut one = summary(&[run(7, 2.0, 10)]);
    one.radio = Some("LTE, 100 PRBs".to_owned());
    one.seed = 7;
    one.traces = vec![trace(&[17.25], 60.0)];
    one.drawn = vec!["block errors"];
    one.notes = vec!["a note".to_owned()];
    with(&[("", one)], |report| {
        let rows = cells(report);
        assert_eq!(cell(&rows, "radio"), "LTE, 100 PRBs");
        assert_eq!(
            cell(&rows, "trace"),
            "drive.csv, recorded on: 5G 58.1 %, LTE 41.9 %"
        );
        assert_eq!(cell(&rows, "span"), "60 of 2597 s used, from 17.25 s");
        assert_eq!(cell(&rows, "seeds"), "7");
        assert_eq!(cell(&rows, "each seed draws"), "block errors");
        assert!(cell(&rows, "intervals").starts_with("none: one repeat"));
        assert_eq!(cell(&rows, "note"), "a note");
    });
}

/// The uplink's trace has rows of its own, beside each trace of a folder too.
#[test]
fn an_uplink_trace_is_stated_beside_the_downlinks() {
    let mut one = summary(&[run(7, 2.0, 10)]);
    let up = TraceSummary {
        direction: "up",
        file: "drive.up".to_owned(),
        ..trace(&[40.5], 60.0)
    };
    one.traces = vec![trace(&[17.25], 60.0), up.clone()];
    with(&[("", one.clone())], |report| {
        let rows = cells(report);
        assert!(cell(&rows, "trace").starts_with("drive.csv, "));
        assert!(cell(&rows, "uplink trace").starts_with("drive.up, "));
        assert_eq!(cell(&rows, "span"), "60 of 2597 s used, from 17.25 s");
        assert_eq!(cell(&rows, "uplink span"), "60 of 2597 s used, from 40.5 s");
    });
    one.unit = "trace";
    one.traces = vec![trace(&[0.0], 60.0), up.clone(), trace(&[0.0], 60.0), up];
    with(&[("", one)], |report| {
        let rows = cells(report);
        for name in ["trace 1", "uplink trace 1", "trace 2", "uplink span 2"] {
            assert!(!cell(&rows, name).is_empty());
        }
    });
}

#[test]
fn spans_that_differ_are_listed_and_the_share_of_the_trace_is_stated() {
    let mut runs = [run(1, 2.0, 10), run(2, 2.5, 10)];
    runs[1].flows[0].lost = 77;
    let mut two = summary(&runs);
    two.traces = vec![trace(&[17.25, 1204.0], 120.0)];
    with(&[("", two.clone())], |report| {
        let rows = cells(report);
        assert_eq!(
            cell(&rows, "span"),
            "60 of 2597 s used in each of 2 repeats, from 17.25, 1204 s; 120 s in all"
        );
        assert_eq!(cell(&rows, "seeds"), "1 to 2");
        let intervals = cell(&rows, "intervals");
        assert!(intervals.contains("over 2 repeats"), "{intervals}");
        assert!(intervals.contains("4.621 %"), "{intervals}");
    });
    two.traces = vec![trace(&[0.0, 0.0], 60.0)];
    with(&[("", two)], |report| {
        let span = cell(&cells(report), "span");
        assert!(
            span.ends_with("from 0 s, the same in every repeat"),
            "{span}"
        );
    });
}

#[test]
fn repeats_that_are_alike_have_no_interval_that_means_something() {
    let mut twin = run(1, 2.0, 10);
    twin.seed = 2;
    let alike = summary(&[run(1, 2.0, 10), twin]);
    with(&[("", alike)], |report| {
        let rows = cells(report);
        assert_eq!(
            cell(&rows, "intervals"),
            "of no meaning: all 2 repeats are alike"
        );
        assert_eq!(cell(&rows, "each seed draws"), "nothing");
        assert!(cell(&rows, "note").contains("--trace-offset random"));
    });
}

#[test]
fn what_variants_share_is_printed_once() {
    let mut summaries = [summary(&[run(1, 2.0, 10)]), summary(&[run(1, 2.0, 10)])];
    summaries[0].radio = Some("LTE, 100 PRBs".to_owned());
    summaries[1].radio = Some("LTE, 50 PRBs".to_owned());
    let [wide, narrow] = summaries;
    with(&[("20 MHz", wide), ("10 MHz", narrow)], |report| {
        let rows = cells(report);
        assert_eq!(cell(&rows, "radio, 20 MHz"), "LTE, 100 PRBs");
        assert_eq!(cell(&rows, "radio, 10 MHz"), "LTE, 50 PRBs");
        assert_eq!(rows.iter().filter(|(name, _)| name == "seeds").count(), 1);
    });
}

#[test]
fn over_a_folder_the_traces_are_what_the_intervals_are_of() {
    let of = |seed, unit| {
        let mut run = run(seed, seed as f64, 10);
        run.unit = Some(unit);
        run
    };
    let mut over = summary(&[of(1, 0), of(2, 0), of(1, 1), of(2, 1)]);
    assert_eq!((over.unit, over.units, over.repeats), ("trace", 2, 4));
    over.traces = vec![trace(&[1.0, 2.0], 61.0), trace(&[3.0, 4.0], 61.0)];
    with(&[("", over)], |report| {
        let rows = cells(report);
        assert!(cell(&rows, "trace 2").starts_with("drive.csv"));
        assert!(cell(&rows, "span 2").contains("from 3, 4 s"));
        assert_eq!(cell(&rows, "seeds"), "1 to 2, for each trace");
        assert_eq!(
            cell(&rows, "intervals"),
            "95 %, Student's t over 2 traces, each the mean of 2 repeats; they hold for traces like these"
        );
    });
}

#[test]
fn traces_of_several_cells_are_named_after_them() {
    let of = |cell: &str, ue: &str| TraceSummary {
        cell: Some(cell.to_owned()),
        ue: ue.to_owned(),
        file: format!("{cell}.csv"),
        ..trace(&[17.25], 60.0)
    };
    let mut one = summary(&[run(7, 2.0, 10)]);
    one.traces = vec![of("west", "phone"), of("east", "phone")];
    with(&[("", one.clone())], |report| {
        let rows = cells(report);
        assert!(cell(&rows, "trace of west").starts_with("west.csv, "));
        assert!(cell(&rows, "trace of east").starts_with("east.csv, "));
        assert!(!cell(&rows, "span of east").is_empty());
    });
    one.traces.push(of("east", "tablet"));
    with(&[("", one)], |report| {
        let rows = cells(report);
        assert!(cell(&rows, "trace of tablet in east").starts_with("east.csv, "));
    });
}

#[test]
fn a_path_reads_without_detours() {
    for (path, tidied) in [
        ("scenarios/rapid/../../traces/drive.csv", "traces/drive.csv"),
        ("../a/../b.csv", "../b.csv"),
        ("/../a.csv", "/../a.csv"),
        ("./../a.csv", "./../a.csv"),
        ("drive.csv", "drive.csv"),
    ] {
        assert_eq!(tidy(path), tidied);
    }
}
