//! The direction in which knowledge flows, and the purity of the cores, as `docs/architecture.md`
//! describes them.
#![allow(missing_docs, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// For each crate, the crates of ours that it may depend on.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("tun", &[]),
    ("rnis", &["units"]),
    ("radio", &["units", "rnis"]),
    ("cc", &["units", "rnis", "radio"]),
    ("queue", &["units"]),
    ("multipath", &["units", "cc"]),
    ("quinn-cc", &["units", "rnis", "cc"]),
    ("rapid", &["units", "rnis", "radio", "cc"]),
    ("ran", &["units", "rnis", "radio", "queue"]),
    (
        "scenario",
        &[
            "units",
            "rnis",
            "radio",
            "cc",
            "multipath",
            "queue",
            "rapid",
            "ran",
        ],
    ),
    (
        "network",
        &["units", "rnis", "queue", "radio", "ran", "scenario"],
    ),
    (
        "sim",
        &[
            "units",
            "rnis",
            "radio",
            "cc",
            "multipath",
            "queue",
            "rapid",
            "ran",
            "scenario",
            "network",
            "quinn-cc",
        ],
    ),
    ("kernel-cc", &["units", "cc"]),
    (
        "pep",
        &[
            "units",
            "rnis",
            "rapid",
            "cc",
            "kernel-cc",
            "config-file",
            "dash",
        ],
    ),
    (
        "lab",
        &[
            "units",
            "tun",
            "rnis",
            "radio",
            "queue",
            "rapid",
            "ran",
            "cc",
            "multipath",
            "kernel-cc",
            "scenario",
            "network",
            "quic",
        ],
    ),
    ("config-file", &["units"]),
    ("dash", &["rnis", "radio", "config-file"]),
    ("report", &["units", "scenario"]),
    ("reproduce", &["units", "rnis", "rapid", "scenario"]),
    ("runner", &["rapid", "report", "scenario", "sim"]),
    (
        "rnis-server",
        &["units", "rnis", "radio", "config-file", "dash"],
    ),
    (
        "quic",
        &[
            "units",
            "rnis",
            "cc",
            "quinn-cc",
            "rnis-server",
            "config-file",
            "dash",
        ],
    ),
    (
        "tunnel",
        &[
            "units",
            "rnis",
            "cc",
            "multipath",
            "rnis-server",
            "config-file",
            "tun",
            "dash",
        ],
    ),
    ("sweep", &["scenario"]),
    (
        "cli",
        &[
            "units",
            "rnis",
            "radio",
            "cc",
            "kernel-cc",
            "queue",
            "rapid",
            "ran",
            "scenario",
            "runner",
            "sweep",
            "lab",
            "pep",
            "report",
            "reproduce",
            "rnis-server",
            "config-file",
            "quic",
            "tunnel",
            "dash",
        ],
    ),
];

const CORES: &[&str] = &[
    "units",
    "rnis",
    "radio",
    "cc",
    "quinn-cc",
    "queue",
    "ran",
    "rapid",
    "multipath",
    "network",
    "sim",
];

/// What no core may name.
const IMPURE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "thread::sleep",
    "std::env",
    "env::var",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "std::fs",
    "File::open",
    "thread_rng",
    "rand::rng",
    "from_os_rng",
    "from_entropy",
    "RandomState",
    "HashMap",
    "HashSet",
];

/// Files that may name one of them after all, and why.
const EXCUSED: &[(&str, &str)] = &[
    // the zero of the simulated axis of `std::time::Instant`, which quinn asks for
    ("sim/src/quic/clock.rs", "Instant::now"),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates/")
        .to_owned()
}

fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|dependency| crates().join(dependency).is_dir() && !dependency.is_empty())
        .map(str::to_owned)
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The part of a file before its tests, without comments.
fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]").next().unwrap_or(text);
    shipped
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_crate_is_in_the_table_and_depends_only_downwards() {
    let mut found = 0;
    for entry in fs::read_dir(crates()).expect("crates/") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        if !crates().join(&name).join("Cargo.toml").exists() {
            continue;
        }
        found += 1;
        let (_, allowed) = MAY_DEPEND
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("crate {name} is not in the table of this test"));
        for dependency in dependencies(&name) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
    assert_eq!(found, MAY_DEPEND.len());
}

#[test]
fn cores_name_no_clock_socket_environment_or_global_randomness() {
    let mut read = 0;
    for core in CORES {
        let mut files = Vec::new();
        sources(&crates().join(core).join("src"), &mut files);
        let root = fs::read_to_string(crates().join(core).join("src/lib.rs")).expect("lib.rs");
        assert!(
            root.contains("#![forbid(unsafe_code)]"),
            "{core} does not forbid unsafe code"
        );
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            if file
                .file_name()
                .is_some_and(|name| name == "tests.rs" || name == "test_support.rs")
            {
                continue;
            }
            read += 1;
            for word in IMPURE {
                let is_excused =
                    |(excused, of): &(&str, &str)| file.ends_with(excused) && word == of;
                if EXCUSED.iter().any(is_excused) {
                    continue;
                }
                assert!(
                    !code(&text).contains(word),
                    "{} names {word}",
                    file.display()
                );
            }
        }
    }
    assert!(read > 30, "only {read} files were read");
}
