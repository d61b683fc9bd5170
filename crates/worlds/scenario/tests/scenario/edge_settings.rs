//! `[pep]` has every value of the proxy's decisions under its key, with its default.

use crate::one_flow::{BULK, CELL, LINK, read, refused};
use edge::marker::MarkerConfig;
use edge::{EdgeConfig, Setting};
use rapid::Mode;
use scenario::PepMode;

fn decided(mode: &str, line: &str) -> EdgeConfig {
    let rest = format!("[pep]\nmode = \"{mode}\"\n{line}\n");
    let experiment = read(CELL, BULK, &rest).unwrap_or_else(|error| panic!("{line}: {error}"));
    match experiment.pep.mode {
        PepMode::Rapid(config) => *config,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_setting_of_the_edge_is_a_key_with_its_default() {
    for (name, mode) in [("default", Mode::Default), ("paper", Mode::Paper)] {
        assert_eq!(decided(name, ""), EdgeConfig::new(mode));
        let keys = EdgeConfig::new(mode).settings().map(|(key, _)| key);
        for changed in keys {
            let mut config = EdgeConfig::new(mode);
            let mut line = String::new();
            for (key, mut setting) in config.settings() {
                let is_ignored = match setting {
                    Setting::Parts(_) => mode == Mode::Paper,
                    Setting::Readings(_) => mode == Mode::Default,
                    _ => false,
                };
                if key == changed && !is_ignored {
                    setting.alter(key);
                    line = format!("{key} = {}", setting.toml());
                }
            }
            assert_eq!(decided(name, &line), config, "{line}");
        }
    }
}

fn unsplit(lines: &str) -> Result<Option<MarkerConfig>, String> {
    let rest = format!("[pep]\nunsplit = \"mark\"\n{lines}\n");
    read(CELL, BULK, &rest).map(|experiment| experiment.pep.unsplit)
}

#[test]
fn every_time_of_the_marker_is_a_key_with_its_default() {
    assert_eq!(unsplit(""), Ok(Some(MarkerConfig::default())));
    let off = read(CELL, BULK, "").expect("a scenario");
    assert_eq!(off.pep.unsplit, None);
    let keys = MarkerConfig::default().times().map(|(key, _)| key);
    for changed in keys {
        let mut config = MarkerConfig::default();
        let mut line = String::new();
        for (key, time) in config.times() {
            if key == changed {
                *time += units::Duration::from_micros(10);
                line = format!("{key} = \"{time}\"");
            }
        }
        assert_eq!(unsplit(&line), Ok(Some(config)), "{line}");
    }
    let fraction = unsplit("unsplit-rate-fraction = 0.9").expect("in range");
    assert_eq!(fraction.map(|config| config.rate_fraction), Some(0.9));
}

#[test]
fn packets_are_marked_or_wait_at_the_edge_and_not_both() {
    let chosen = |how: &str| {
        let rest = format!("[pep]\nunsplit = \"{how}\"\nunsplit-transit = \"2 ms\"\n");
        let pep = read(CELL, BULK, &rest).expect("a scenario").pep;
        (pep.unsplit.is_some(), pep.held.map(|held| held.transit))
    };
    assert_eq!(chosen("off"), (false, None));
    assert_eq!(chosen("mark"), (true, None));
    let transit = units::Duration::from_millis(2);
    assert_eq!(chosen("queue"), (false, Some(transit)));
}

#[test]
fn packets_are_marked_on_n3_by_what_splits_nothing() {
    let on_n3 = CELL.replacen("[cell]\n", "[cell]\nn3 = true\n", 1);
    assert_ne!(on_n3, CELL);
    let on_n3 = on_n3.as_str();
    let pep = |lines: &str| format!("[pep]\nunsplit-inside = \"gtp-u\"\n{lines}");
    let marks = "unsplit = \"mark\"\n";
    let spec = read(on_n3, BULK, &pep(marks)).expect("a scenario").pep;
    assert!(spec.marks_on_n3 && spec.unsplit.is_some());
    let at_edge = read(on_n3, BULK, "[pep]\nunsplit = \"mark\"\n").expect("a scenario");
    assert!(!at_edge.pep.marks_on_n3);
    for (access, lines, missing) in [
        (CELL, marks, "n3 = true of the cell"),
        (LINK, "", "n3 = true of the cell"),
        (on_n3, "", "it needs unsplit = \"mark\""),
        (
            on_n3,
            "unsplit = \"queue\"\n",
            "it needs unsplit = \"mark\"",
        ),
        (
            on_n3,
            "unsplit = \"mark\"\nmode = \"split\"\n",
            "it needs mode = \"none\"",
        ),
    ] {
        refused(access, BULK, &pep(lines), &[missing, "unsplit-inside"]);
    }
}

#[test]
fn what_the_marker_cannot_be_is_refused() {
    let ramp = unsplit("unsplit-ramp-from = \"17 ms\"").expect_err("a ramp that ends first");
    assert!(ramp.contains("unsplit-ramp-from is 17 ms"), "{ramp}");
    for how in ["mark", "queue"] {
        let pep = format!("[pep]\nunsplit = \"{how}\"\n");
        refused(
            LINK,
            BULK,
            &pep,
            &[&format!("\"{how}\" needs a radio cell")],
        );
    }
}
