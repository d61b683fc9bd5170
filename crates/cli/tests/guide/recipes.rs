//! The recipes: each block ```` ```toml recipe=FILE ```` is a whole scenario that runs, and each command beside them
//! names one of them and runs too.

use super::commands::split;
use super::{Page, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn page() -> Page {
    Page::read(&root().join("docs/guide/recipes.md"))
}

/// Names and texts of the recipes.
fn recipes(page: &Page) -> Vec<(String, String)> {
    let blocks = page.blocks().into_iter();
    let named = blocks.filter_map(|(_, info, lines)| {
        let name = info.split_once("recipe=")?.1;
        Some((name.to_owned(), lines.join("\n") + "\n"))
    });
    named.collect()
}

/// A folder as a reader has it: the shipped scenarios and traces, the recipes, and a trace.
fn folder(recipes: &[(String, String)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for shipped in ["scenarios", "traces"] {
        symlink(root().join(shipped), folder.path().join(shipped)).expect("linked");
    }
    for (name, text) in recipes {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let rates = "time_s,rate_mbps\n0,12\n1,20\n2,8\n3,15\n4,25\n5,10\n";
    fs::write(folder.path().join("my-drive.csv"), rates).expect("written");
    folder
}

/// Standard output of the program in that folder.
fn output(folder: &Path, words: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_brimful"));
    let output = program.current_dir(folder).args(words).output();
    let output = output.expect("runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_recipe_extends_a_shipped_scenario_and_runs() {
    let recipes = recipes(&page());
    assert!(recipes.len() >= 8, "only {} recipes", recipes.len());
    let folder = folder(&recipes);
    for (file, text) in &recipes {
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 20, "{file}: {lines} lines are no few");
        let parent = text
            .lines()
            .find_map(|line| line.strip_prefix("extends = "));
        let parent = parent.expect("extends a scenario").trim_matches('"');
        assert!(parent.starts_with("scenarios/"), "{file}: {parent}");
        let run = [
            "run",
            file,
            "--set",
            "duration=6 s",
            "--repeats",
            "1",
            "--json",
            "--out",
            "out",
        ];
        let summary: Value = serde_json::from_str(&output(folder.path(), &run)).expect("JSON");
        let name = file.strip_suffix(".toml").expect("a scenario");
        assert_eq!(summary["scenario"], name);
        let flows = summary["flows"].as_array().expect("flows");
        let flows: BTreeSet<&str> = flows.iter().filter_map(|f| f["name"].as_str()).collect();
        let stated = text.lines().filter_map(|line| line.strip_prefix("[flow."));
        for flow in stated.map(|flow| flow.trim_end_matches(']')) {
            assert!(flows.contains(flow), "{file}: no flow {flow} in {flows:?}");
        }
    }
}

#[test]
fn every_command_of_the_recipes_runs_one() {
    let page = page();
    let recipes = recipes(&page);
    let folder = folder(&recipes);
    let mut unused: BTreeSet<&str> = recipes.iter().map(|(name, _)| name.as_str()).collect();
    let blocks = page
        .blocks()
        .into_iter()
        .filter(|(_, info, _)| *info == "console");
    for command in blocks.flat_map(|(_, _, lines)| lines) {
        let command = command.strip_prefix("$ ").expect("a command");
        let words = split(command);
        let [program, verb, file, options @ ..] = words.as_slice() else {
            panic!("{command}");
        };
        assert_eq!(program, "brimful");
        unused.remove(file.as_str());
        let mut given = vec![verb.as_str(), file];
        given.extend(options.iter().map(String::as_str));
        // a command line takes each option once, and the last value of a key counts
        let repeats = given.iter().position(|word| *word == "--repeats");
        if let Some(at) = repeats {
            given.drain(at..at + 2);
        }
        given.extend(["--repeats", "1", "--set", "duration=6 s", "--out", "out"]);
        assert!(output(folder.path(), &given).len() > 100, "{command}");
    }
    assert!(unused.is_empty(), "no command for {unused:?}");
}
