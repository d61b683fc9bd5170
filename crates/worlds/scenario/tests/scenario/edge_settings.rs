//! `[pep]` has every value of the proxy's decisions under its key, with its default.

use crate::one_flow::{BULK, CELL, read};
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
