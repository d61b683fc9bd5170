//! Code that the guide quotes, and paths that it names.

use super::{none, pages, root};
use std::fs;

/// ```` ```rust from=FILE ````: the block stands in the file, line by line.
#[test]
fn quoted_code_is_the_code() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for (line, info, block) in page.blocks() {
            let Some(file) = info
                .split_whitespace()
                .find_map(|w| w.strip_prefix("from="))
            else {
                continue;
            };
            seen += 1;
            let held = fs::read_to_string(root().join(file)).unwrap_or_default();
            let lines: Vec<&str> = held.lines().collect();
            if block.is_empty() || !lines.windows(block.len()).any(|w| w == block) {
                faults.push(format!("{}:{line}: {file} differs", page.name));
            }
        }
    }
    assert!(seen >= 10, "only {seen} quotations");
    none(&faults);
}

/// The chapter on adding an algorithm shows the whole of its example.
#[test]
fn the_example_is_shown_whole() {
    let chapter =
        fs::read_to_string(root().join("docs/how-to-add-an-algorithm.md")).expect("there");
    let example = fs::read_to_string(root().join("crates/core/cc/tests/new_algorithm/fast.rs"))
        .expect("there");
    assert!(
        chapter.contains(&example),
        "crates/core/cc/tests/new_algorithm/fast.rs is not shown whole"
    );
}

#[test]
fn paths_in_code_spans_exist() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for (line, text) in page.prose() {
            for span in text.split('`').skip(1).step_by(2) {
                let folders = [
                    "crates/",
                    "scenarios/",
                    "packaging/",
                    "scripts/",
                    "traces/",
                    "fuzz/",
                ];
                let is_path = folders.iter().any(|f| span.starts_with(f))
                    && span
                        .chars()
                        .all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
                if is_path {
                    seen += 1;
                    if !root().join(span).exists() {
                        faults.push(format!("{}:{line}: {span} is not there", page.name));
                    }
                }
            }
        }
    }
    assert!(seen > 60, "only {seen} paths");
    none(&faults);
}
