//! Each shipped scenario has a page in the guide, which is what the program writes of it, with a figure.

use super::{none, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All files below a folder with an ending, from that folder and without the ending.
fn files(folder: &Path, ending: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap_or_else(|e| panic!("{}: {e}", at.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                let name = path.strip_prefix(folder).expect("below the folder");
                found.insert(name.with_extension(""));
            }
        }
    }
    found
}

#[test]
fn each_shipped_scenario_has_a_page_with_a_figure() {
    let (scenarios, pages) = (root().join("scenarios"), root().join("docs/scenarios"));
    let shipped = files(&scenarios, "toml");
    assert!(shipped.len() > 40, "only {}", shipped.len());
    let mut written = files(&pages, "md");
    assert!(
        written.remove(Path::new("index")),
        "no list of the scenarios"
    );
    assert_eq!(shipped, written);
    assert_eq!(shipped, files(&pages, "svg"));
    let scratch = tempfile::tempdir().expect("a folder");
    let mut faults = Vec::new();
    for name in &shipped {
        let file = Path::new("scenarios").join(name.with_extension("toml"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_brimful"));
        let output = program
            .current_dir(root())
            .args(["scenario", "page", "--no-figure", "--out"])
            .args([scratch.path(), &file])
            .output()
            .expect("runs");
        assert!(output.status.success(), "{}: {output:?}", file.display());
        let stem = name.file_name().expect("a name");
        let expected = fs::read_to_string(scratch.path().join(stem).with_extension("md"));
        let page = fs::read_to_string(pages.join(name).with_extension("md"));
        if expected.expect("a page") != page.expect("a page") {
            faults.push(format!("{}: run scripts/scenario-pages", name.display()));
        }
        let figure = fs::read_to_string(pages.join(name).with_extension("svg"));
        let figure = figure.expect("a figure");
        if !figure.starts_with("<svg") || !figure.contains("<polyline") {
            faults.push(format!("{}: its figure shows nothing", name.display()));
        }
    }
    none(&faults);
}
