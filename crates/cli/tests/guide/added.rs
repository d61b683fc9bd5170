//! Adds a discipline, a controller, a scheduler and a metric to a copy of the cores, by the lines that
//! `docs/how-to-add-an-algorithm.md` states and no others, and uses each by its name.

use crate::{Page, root};
use std::fs;
use std::path::Path;
use std::process::Command;

const GUIDE: &str = "docs/how-to-add-an-algorithm.md";

/// What is added: a file, if it has one, with its place, and lines behind those that the guide quotes.
struct Addition {
    /// As the guide's table names it.
    what: &'static str,
    file: Option<(&'static str, &'static str)>,
    /// File, what stands there, and what comes behind.
    lines: &'static [(&'static str, &'static str, &'static str)],
}

const ADDITIONS: [Addition; 4] = [
    Addition {
        what: "a controller",
        file: Some((
            "crates/core/cc/tests/new_algorithm/fast.rs",
            "crates/core/cc/src/fast.rs",
        )),
        lines: &[
            (
                "crates/core/cc/src/lib.rs",
                "pub mod veno;\n",
                "pub mod fast;\n",
            ),
            (
                "crates/core/cc/src/registry.rs",
                "use crate::veno::Veno;\n",
                "use crate::fast::Fast;\n",
            ),
            (
                "crates/core/cc/src/registry.rs",
                "    Controller::new(\"veno\", \"Veno\", |c| {\n        \
                 Box::new(Veno::new(reno::Config::new(c)))\n    })\n    .relative(\"newreno\"),\n",
                "    Controller::new(\"fast\", \"FAST\", |c| Box::new(Fast::new(c))),\n",
            ),
        ],
    },
    Addition {
        what: "a discipline",
        file: Some((
            "crates/cli/tests/guide/added/drop_front.rs",
            "crates/core/queue/src/drop_front.rs",
        )),
        lines: &[
            (
                "crates/core/queue/src/lib.rs",
                "mod codel;\n",
                "mod drop_front;\n",
            ),
            (
                "crates/core/queue/src/lib.rs",
                "pub use codel::{CoDel, CoDelConfig};\n",
                "pub use drop_front::{DropFront, DropFrontConfig};\n",
            ),
            (
                "crates/core/queue/src/config.rs",
                "    /// RFC 8289.\n    CoDel(CoDelConfig, CoDel),\n",
                "    /// Lakshman, Neidhardt and Ott.\n    \
                 DropFront(crate::DropFrontConfig, crate::DropFront),\n",
            ),
            (
                "crates/core/queue/src/registry.rs",
                "    &codel::ALGORITHM,\n",
                "    &crate::drop_front::ALGORITHM,\n",
            ),
        ],
    },
    Addition {
        what: "a scheduler",
        file: Some((
            "crates/cli/tests/guide/added/fewest.rs",
            "crates/core/multipath/src/scheduler/fewest.rs",
        )),
        lines: &[
            (
                "crates/core/multipath/src/scheduler/mod.rs",
                "mod srtt;\n",
                "mod fewest;\n",
            ),
            (
                "crates/core/multipath/src/scheduler/mod.rs",
                "pub use srtt::ShortestRtt;\n",
                "pub use fewest::Fewest;\n",
            ),
            (
                "crates/core/multipath/src/scheduler/mod.rs",
                "    Entry::new(\"srtt\", \"the one with the lowest round-trip time\", || {\n        \
                 Box::new(ShortestRtt)\n    }),\n",
                "    Entry::new(\"fewest\", \"that with the fewest in flight\", || Box::new(Fewest)),\n",
            ),
        ],
    },
    Addition {
        what: "a metric",
        file: None,
        lines: &[(
            "crates/core/metric/src/lib.rs",
            "    /// Mean round-trip time of each step, ms.\n    Rtt = mean(\n        \"rtt_ms\",\n        \
             Unit::Milliseconds,\n        Kind::Flow,\n        \
             lines(\"Round-trip time\", \"RTT\", \"Mean of each step, end to end.\"),\n    ),\n",
            "    /// Time since a UE's last packet, ms.\n    Silence = last(\n        \"silence_ms\",\n        \
             Unit::Milliseconds,\n        Kind::Ue,\n        \
             lines(\"Silence\", \"Silence\", \"Since the last packet.\"),\n    ),\n",
        )],
    },
];

/// Writes what is not there yet: what stays as it is needs no new compilation.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Copies a folder, with the additions to its files.
fn copy(folder: &str, tree: &Path) {
    for entry in fs::read_dir(root().join(folder)).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root()).expect("within the project");
        let name = name.to_str().expect("a name in ASCII").to_owned();
        if path.is_dir() {
            copy(&name, tree);
            continue;
        }
        let to = tree.join(&name);
        let lines = ADDITIONS.iter().flat_map(|addition| addition.lines);
        let mut lines = lines.filter(|line| line.0 == name).peekable();
        if lines.peek().is_none() {
            write(&to, &fs::read(&path).expect("readable"));
            continue;
        }
        let mut text = read(&path);
        for (_, there, added) in lines {
            assert_eq!(text.matches(there).count(), 1, "{name}: {there}");
            text = text.replace(there, &format!("{there}{added}"));
        }
        write(&to, text.as_bytes());
    }
}

/// Removes files of an earlier copy that the project has no more.
fn remove_former(folder: &str, tree: &Path) {
    for entry in fs::read_dir(tree.join(folder)).expect("a copy") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(tree).expect("within the copy");
        let original = root().join(name);
        let name = name.to_str().expect("a name in ASCII");
        let mut added = ADDITIONS.iter().filter_map(|addition| addition.file);
        if path.is_dir() && original.is_dir() {
            remove_former(name, tree);
        } else if path.is_dir() {
            fs::remove_dir_all(&path).expect("removed");
        } else if !original.is_file() && added.all(|(_, to)| to != name) {
            fs::remove_file(&path).expect("removed");
        }
    }
}

#[test]
fn what_is_added_by_the_guides_lines_can_be_used() {
    let tree = root().join("target/guide/tree");
    for folder in ["crates/core", "crates/worlds/scenario", "crates/testing"] {
        copy(folder, &tree);
        remove_former(folder, &tree);
    }
    for (from, to) in ADDITIONS.iter().filter_map(|addition| addition.file) {
        // as the guide has it for a file that was written outside of the crate
        let text = read(&root().join(from)).replace("use cc::", "use crate::");
        write(&tree.join(to), text.as_bytes());
    }
    let workspace = read(&root().join("Cargo.toml"));
    let (workspace, _) = workspace.split_once("\n[profile.").expect("profiles");
    let members =
        "members = [\"crates/core/*\", \"crates/worlds/scenario\", \"crates/testing\", \"user\"]";
    let lines = workspace
        .lines()
        .map(|line| match line.starts_with("members = ") {
            true => members,
            false => line,
        });
    let mut manifest: String = lines.flat_map(|line| [line, "\n"]).collect();
    manifest += "[profile.dev]\nopt-level = 0\ndebug = false\n";
    write(&tree.join("Cargo.toml"), manifest.as_bytes());
    // cargo leaves out of its own copy what the cores do not need
    let lock = read(&root().join("Cargo.lock"));
    if fs::read_to_string(tree.join("project.lock")).ok().as_ref() != Some(&lock) {
        write(&tree.join("Cargo.lock"), lock.as_bytes());
        write(&tree.join("project.lock"), lock.as_bytes());
    }
    let user = "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition.workspace = true\n[dependencies]\n\
        cc.workspace = true\nmetric.workspace = true\nmultipath.workspace = true\n\
        queue.workspace = true\nscenario.workspace = true\nunits.workspace = true\n";
    write(&tree.join("user/Cargo.toml"), user.as_bytes());
    let program = root().join("crates/cli/tests/guide/added/user.rs");
    write(&tree.join("user/src/main.rs"), read(&program).as_bytes());

    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--package", "user"])
        .current_dir(&tree)
        .env("CARGO_TARGET_DIR", root().join("target/guide/target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .expect("cargo");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    // no warning either: what is public has documentation, and nothing is unused
    assert_eq!(errors, "");
}

#[test]
fn the_guide_quotes_these_lines_and_counts_them() {
    let page = Page::read(&root().join(GUIDE));
    for addition in &ADDITIONS {
        for (file, there, _) in addition.lines {
            let blocks = page.blocks();
            let mut blocks = blocks.iter().filter(|(_, info, _)| info.ends_with(file));
            let is_quoted = blocks.any(|(_, _, lines)| {
                let quoted: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
                quoted.contains(there)
            });
            assert!(is_quoted, "{GUIDE} does not quote {there:?} of {file}");
        }
        let files = usize::from(addition.file.is_some());
        let lines = addition.lines.iter().map(|line| line.2.lines().count());
        let lines: usize = lines.sum();
        let mut changed: Vec<&str> = addition.lines.iter().map(|line| line.0).collect();
        changed.dedup();
        let row = format!(
            "| {} | {files} | {lines} | {} |",
            addition.what,
            changed.len()
        );
        assert!(page.text.contains(&row), "{GUIDE} has no row {row:?}");
    }
}
