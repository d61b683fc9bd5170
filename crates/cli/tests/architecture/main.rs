//! The layers of the tree, the direction of dependencies, and the purity of the cores, as
//! `docs/architecture.md` describes them.
#![allow(missing_docs, reason = "a test")]

mod fuzzing;
mod source;

use source::{Shipped, names, rust_files, tokens_of};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, and those that a crate of each may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("core", &["core"]),
    ("worlds", &["core", "worlds"]),
    ("live", &["core", "live"]),
    ("study", &["core", "worlds", "study"]),
    // the command and the crate for tests are layers of one crate
    ("cli", &["core", "worlds", "live", "study"]),
    ("testing", &[]),
];

/// Dependencies across layers that are meant: simulator and lab run the same adapters to quinn, to the
/// kernel and to TUN devices as the daemons.
const ACROSS: &[(&str, &str)] = &[
    ("sim", "quinn-cc"),
    ("lab", "kernel-cc"),
    ("lab", "quic"),
    ("lab", "tun"),
    ("lab", "socket-options"),
];

/// For each crate, the crates of ours that it may depend on.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("media", &["units"]),
    ("mobility", &["units"]),
    ("metric", &[]),
    ("suggestion", &[]),
    ("tun", &[]),
    ("socket-options", &[]),
    ("rnis", &["units"]),
    ("gtpu", &[]),
    ("f1u", &["units", "rnis", "gtpu"]),
    ("radio", &["units", "rnis"]),
    ("probe", &["units", "radio"]),
    ("prober", &["units", "daemon", "probe"]),
    ("cc", &["units", "suggestion", "rnis", "radio"]),
    ("queue", &["units"]),
    ("recovery", &["units", "cc"]),
    ("multipath", &["units", "cc", "queue", "recovery"]),
    ("secrecy", &["units"]),
    ("relocation", &[]),
    ("quinn-cc", &["units", "rnis", "cc"]),
    ("rapid", &["units", "rnis", "radio", "cc"]),
    ("edge", &["units", "rnis", "cc", "queue", "rapid"]),
    ("ran", &["units", "rnis", "radio", "queue"]),
    (
        "scenario",
        &[
            "units",
            "media",
            "metric",
            "suggestion",
            "rnis",
            "radio",
            "cc",
            "multipath",
            "recovery",
            "queue",
            "rapid",
            "edge",
            "mobility",
            "ran",
        ],
    ),
    (
        "network",
        &[
            "units", "media", "mobility", "rnis", "queue", "radio", "cc", "edge", "ran", "scenario",
        ],
    ),
    (
        "sim",
        &[
            "units",
            "media",
            "rnis",
            "radio",
            "cc",
            "multipath",
            "recovery",
            "queue",
            "rapid",
            "edge",
            "ran",
            "scenario",
            "network",
            "quinn-cc",
        ],
    ),
    ("kernel-cc", &["units", "cc", "rapid", "edge", "daemon"]),
    ("kernel-marker", &["edge", "kernel-cc", "socket-options"]),
    ("frames", &["units", "queue", "tun"]),
    (
        "ue",
        &[
            "units",
            "edge",
            "frames",
            "kernel-marker",
            "tun",
            "daemon",
            "report-source",
            "dash",
        ],
    ),
    (
        "pep",
        &[
            "units",
            "rnis",
            "rapid",
            "edge",
            "cc",
            "kernel-cc",
            "kernel-marker",
            "frames",
            "queue",
            "tun",
            "daemon",
            "report-source",
            "dash",
            "relocation",
            "secrecy",
            "keys",
            "socket-options",
        ],
    ),
    (
        "lab",
        &[
            "units",
            "f1u",
            "gtpu",
            "tun",
            "rnis",
            "radio",
            "queue",
            "rapid",
            "edge",
            "ran",
            "cc",
            "multipath",
            "recovery",
            "kernel-cc",
            "scenario",
            "network",
            "quic",
            "socket-options",
        ],
    ),
    ("keys", &["secrecy"]),
    ("daemon", &["units", "suggestion"]),
    ("report-source", &["units", "rnis", "daemon"]),
    ("dash", &["rnis", "radio", "metric", "daemon"]),
    ("report", &["units", "metric", "scenario"]),
    (
        "reproduce",
        &["units", "suggestion", "rnis", "cc", "rapid", "scenario"],
    ),
    ("runner", &["edge", "report", "scenario", "sim"]),
    ("playground", &["report", "scenario", "sim"]),
    ("testing", &[]),
    (
        "rnis-server",
        &[
            "units",
            "rnis",
            "radio",
            "f1u",
            "gtpu",
            "tun",
            "daemon",
            "report-source",
            "dash",
        ],
    ),
    (
        "quic",
        &[
            "units",
            "rnis",
            "cc",
            "quinn-cc",
            "daemon",
            "report-source",
            "dash",
            "socket-options",
        ],
    ),
    (
        "tunnel",
        &[
            "units",
            "rnis",
            "cc",
            "multipath",
            "secrecy",
            "keys",
            "daemon",
            "report-source",
            "recovery",
            "tun",
            "dash",
            "socket-options",
        ],
    ),
    ("tunnel-command", &["tunnel", "units"]),
    ("sweep", &["scenario"]),
    ("judge", &["lab", "report", "scenario", "units"]),
    (
        "cli",
        &[
            "metric",
            "units",
            "rnis",
            "radio",
            "cc",
            "kernel-cc",
            "queue",
            "edge",
            "ran",
            "scenario",
            "runner",
            "sweep",
            "lab",
            "judge",
            "keys",
            "pep",
            "probe",
            "prober",
            "report",
            "reproduce",
            "rnis-server",
            "daemon",
            "quic",
            "tunnel",
            "tunnel-command",
            "ue",
            "dash",
        ],
    ),
];

/// Crates outside of `crates/core` that are as pure as those in it.
const ALSO_PURE: &[&str] = &["quinn-cc", "network", "sim"];

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
    // the zero of the simulated axis of `std::time::Instant`, which quinn takes
    ("sim/src/quic/clock.rs", "Instant::now"),
];

/// A crate of ours.
struct Crate {
    name: String,
    layer: String,
    folder: PathBuf,
}

fn crates() -> Vec<Crate> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("crates/");
    let mut found = Vec::new();
    for layer in folders(root) {
        let layer_name = name_of(&layer);
        let folders = match layer.join("Cargo.toml").exists() {
            true => vec![layer],
            false => folders(&layer),
        };
        for folder in folders {
            found.push(Crate {
                name: name_of(&folder),
                layer: layer_name.clone(),
                folder,
            });
        }
    }
    found
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("a folder");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_str().expect("UTF-8").to_owned()
}

/// The crates of ours that one depends on, for its tests left out.
fn dependencies(of: &Crate, all: &[Crate]) -> Vec<String> {
    let manifest = fs::read_to_string(of.folder.join("Cargo.toml")).expect("a manifest");
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|dependency| all.iter().any(|c| c.name == *dependency))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_crate_is_in_the_table_and_depends_only_downwards() {
    let all = crates();
    for each in &all {
        let name = each.name.as_str();
        let (_, allowed) = MAY_DEPEND
            .iter()
            .find(|(listed, _)| *listed == name)
            .unwrap_or_else(|| panic!("crate {name} is not in the table of this test"));
        for dependency in dependencies(each, &all) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
    assert_eq!(all.len(), MAY_DEPEND.len());
}

/// The Python package's extension is a crate beside the layers: studies in the simulator, and no daemon and no lab, which it starts
/// as a program.
#[test]
fn the_python_package_depends_on_no_daemon_and_no_lab() {
    let all = crates();
    let python = Crate {
        name: "brimful-python".to_owned(),
        layer: "python".to_owned(),
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python"),
    };
    let ours = dependencies(&python, &all);
    assert!(ours.iter().any(|name| name == "runner"), "{ours:?}");
    for dependency in &ours {
        let each = all.iter().find(|each| each.name == *dependency);
        let layer = each.map_or("", |each| each.layer.as_str());
        assert!(
            ["core", "worlds", "study"].contains(&layer) && dependency != "lab",
            "python must not depend on {dependency}"
        );
    }
}

#[test]
fn layers_depend_only_downwards() {
    let all = crates();
    let mut across = Vec::new();
    for each in &all {
        let (_, allowed) = LAYERS
            .iter()
            .find(|(layer, _)| *layer == each.layer)
            .unwrap_or_else(|| panic!("crates/{} is no layer", each.layer));
        for dependency in dependencies(each, &all) {
            let below = all.iter().find(|c| c.name == dependency).expect("ours");
            if allowed.contains(&below.layer.as_str()) {
                continue;
            }
            let pair = (each.name.as_str(), below.name.as_str());
            let is_meant = ACROSS.iter().find(|across| **across == pair);
            across.push(is_meant.unwrap_or_else(|| {
                panic!(
                    "{} ({}) must not depend on {} ({})",
                    each.name, each.layer, below.name, below.layer
                )
            }));
        }
    }
    assert_eq!(
        across.len(),
        ACROSS.len(),
        "the list has more than there is"
    );
}

#[test]
fn no_shipped_crate_depends_on_the_crate_for_tests() {
    let all = crates();
    let depends = |c: &&Crate| dependencies(c, &all).iter().any(|name| name == "testing");
    let found = all.iter().find(depends).map(|c| &c.name);
    assert_eq!(found, None);
}

#[test]
fn cores_name_no_clock_socket_environment_or_global_randomness() {
    let all = crates();
    let is_core = |c: &&Crate| c.layer == "core" || ALSO_PURE.contains(&c.name.as_str());
    let impure: Vec<_> = IMPURE.iter().map(|word| (word, tokens_of(word))).collect();
    let mut files = 0;
    for core in all.iter().filter(is_core) {
        let name = &core.name;
        let root = fs::read_to_string(core.folder.join("src/lib.rs")).expect("lib.rs");
        assert!(
            root.contains("#![forbid(unsafe_code)]"),
            "{name} does not forbid unsafe code"
        );
        for (file, tokens) in Shipped::read(&core.folder.join("src")).files {
            files += 1;
            for (word, path) in &impure {
                let is_excused =
                    |(excused, of): &(&str, &str)| file.ends_with(excused) && *word == of;
                if EXCUSED.iter().any(is_excused) {
                    continue;
                }
                assert!(!names(&tokens, path), "{} names {word}", file.display());
            }
        }
    }
    assert!(files > 300, "only {files} files were read");
}

/// What reads the system's clock, which an administrator or NTP sets: nothing that measures, waits or expires does
/// (docs/results/faults.md). The log's lines have their own time.
const READS_THE_SYSTEMS_CLOCK: &[&str] = &[
    // MEC 012 has its times since 1970, in answers and in deadlines of subscriptions
    "rnis-server/src/clock.rs",
    // the start of the tokens' time, which goes on by the monotonic clock
    "quic/src/server/time.rs",
    // a name, where the system has no randomness
    "dash/src/feed/state.rs",
    // when a file was written: whether it is the one that was read before
    "dash/src/results/mod.rs",
];

#[test]
fn nothing_waits_or_expires_by_the_systems_clock() {
    const NAMES: &[&str] = &[
        "SystemTime",
        "UNIX_EPOCH",
        "ClockId::Realtime",
        "CLOCK_REALTIME",
        "chrono",
        "OffsetDateTime",
        "UtcDateTime",
    ];
    let paths: Vec<_> = NAMES.iter().map(|word| (word, tokens_of(word))).collect();
    let mut found = Vec::new();
    for each in crates().iter().filter(|c| c.layer != "testing") {
        for (file, tokens) in Shipped::read(&each.folder.join("src")).files {
            let used = paths.iter().find(|(_, path)| names(&tokens, path));
            if let Some((used, _)) = used {
                let mut listed = READS_THE_SYSTEMS_CLOCK.iter();
                let is_listed = listed.any(|listed| file.ends_with(listed));
                assert!(is_listed, "{} uses {used}", file.display());
                found.push(file);
            }
        }
    }
    assert_eq!(found.len(), READS_THE_SYSTEMS_CLOCK.len(), "{found:?}");
}

/// The compiler that the workspace is built and tested with is the oldest that it promises to build with
/// (docs/semver.md): a test run is the test of that promise.
#[test]
fn the_pinned_compiler_is_the_stated_msrv() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let value_of = |file: &str, key: &str| {
        let text = fs::read_to_string(root.join(file)).expect(file);
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        let value = line.unwrap_or_else(|| panic!("no {key} in {file}"));
        value.trim_matches(|c: char| " =\"".contains(c)).to_owned()
    };
    let stated = value_of("Cargo.toml", "rust-version");
    let pinned = value_of("rust-toolchain.toml", "channel");
    assert_eq!(pinned, format!("{stated}.0"));
}

/// What `rustdoc` compiles of documentation comments: the blocks whose language is none, or Rust.
fn examples(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or(line.strip_prefix("///"));
        let Some(language) = comment.and_then(|text| text.trim().strip_prefix("```")) else {
            continue;
        };
        is_inside = !is_inside;
        let first = language.split([',', ' ']).next().unwrap_or_default();
        let is_rust = ["", "rust", "no_run", "should_panic", "compile_fail"];
        if is_inside && is_rust.contains(&first) {
            found.push(line.to_owned());
        }
    }
    found
}

/// `make test` runs the examples of the crates that do not set `doctest = false`, and skips the others.
#[test]
fn examples_of_the_documentation_are_run() {
    assert_eq!(
        examples("//! ```text\n//! ```\n/// ```no_run\n/// ```"),
        ["/// ```no_run"]
    );
    for each in crates() {
        let manifest = fs::read_to_string(each.folder.join("Cargo.toml")).expect("a manifest");
        if !manifest.lines().any(|line| line == "doctest = false") {
            continue;
        }
        for file in rust_files(&each.folder.join("src")) {
            let text = fs::read_to_string(&file).expect("a source file");
            let found = examples(&text);
            assert!(
                found.is_empty(),
                "{}: {found:?} is not run: `doctest = false` in the crate's manifest",
                file.display()
            );
        }
    }
}
