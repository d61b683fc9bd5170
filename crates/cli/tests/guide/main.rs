//! The guide (`docs/`, and the README) held against itself and against the program: its contents, its
//! links, the paths and code that it quotes, its commands, and the counts of its results.
#![allow(missing_docs, reason = "a test")]

mod added;
mod code;
mod commands;
mod links;
mod lists;
mod recipes;
mod results;
mod scenarios;
mod tunnel;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};

/// The project's folder.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = crate_folder.ancestors().nth(2).expect("crates/cli");
    folder.to_owned()
}

/// A page of the guide.
struct Page {
    /// From the project's folder, with `/`.
    name: String,
    text: String,
}

impl Page {
    fn read(path: &Path) -> Self {
        let name = path.strip_prefix(root()).expect("within the project");
        Self {
            name: name.to_string_lossy().into_owned(),
            text: fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        }
    }

    /// Blocks of code: number of the first line, what stands behind the ticks, the lines.
    fn blocks(&self) -> Vec<(usize, &str, Vec<&str>)> {
        let mut blocks: Vec<(usize, &str, Vec<&str>)> = Vec::new();
        let mut is_open = false;
        for (number, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), is_open) {
                (Some(info), false) => {
                    blocks.push((number + 2, info, Vec::new()));
                    is_open = true;
                }
                (Some(_), true) => is_open = false,
                (None, true) => blocks.last_mut().expect("open").2.push(line),
                (None, false) => {}
            }
        }
        assert!(!is_open, "{}: a block of code has no end", self.name);
        blocks
    }

    /// The lines that are no code.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_open = false;
        let mut lines = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_open = !is_open;
            } else if !is_open {
                lines.push((number + 1, line));
            }
        }
        lines
    }
}

/// All pages of the guide, and the README.
fn pages() -> Vec<Page> {
    let mut pages = vec![Page::read(&root().join("README.md"))];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                pages.push(Page::read(&path));
            }
        }
    }
    assert!(pages.len() > 30, "{} pages", pages.len());
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}

/// Fails with all faults at once.
fn none(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
