//! What a release has beside the packages: the sources, a bill of materials and checksums.

use super::{root, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn dist(folder: &Path) -> Output {
    let script = root().join("scripts/dist");
    let run = Command::new(script).arg(folder).output();
    run.expect("the script runs")
}

/// The sources are an archive of the commit, where there is git.
fn assert_is_whole(folder: &Path, version: &str) {
    let archive = folder.join(format!("brimful-{version}.tar.gz"));
    let is_clone = Command::new("git")
        .args(["rev-parse", "--git-dir"])
        .current_dir(root())
        .output()
        .is_ok_and(|output| output.status.success());
    assert_eq!(archive.is_file(), is_clone);
    if !is_clone {
        return;
    }
    let list = Command::new("tar").arg("-tzf").arg(&archive).output();
    let list = text(&list.expect("tar runs").stdout);
    for file in ["Cargo.lock", "Makefile", "crates/cli/src/main.rs"] {
        let name = format!("brimful-{version}/{file}");
        assert!(list.lines().any(|line| line == name), "{name}");
    }
}

/// Whatever is said to depend, or to be depended on, is a component or the program, each once.
fn assert_depends(bill: &Value) {
    let components = bill["components"].as_array().expect("components");
    let reference = |component: &Value| component["bom-ref"].as_str().map(str::to_owned);
    let mut known: BTreeSet<String> = components.iter().filter_map(reference).collect();
    assert_eq!(known.len(), components.len(), "a reference stands twice");
    known.extend(reference(&bill["metadata"]["component"]));
    let entries = bill["dependencies"].as_array().expect("dependencies");
    let mut begun = BTreeSet::new();
    for entry in entries {
        let from = entry["ref"].as_str().expect("a reference");
        assert!(begun.insert(from), "{from} stands twice");
        let to = entry["dependsOn"].as_array().expect("a list");
        for of in to.iter().map(|to| to.as_str().expect("a reference")) {
            assert!(known.contains(of), "{from}: {of}");
        }
    }
    assert_eq!(begun.len(), known.len());
}

#[test]
fn a_release_has_checksums_and_a_bill_of_materials() {
    let folder = tempfile::tempdir().expect("a folder");
    let version = env!("CARGO_PKG_VERSION");
    let refused = dist(folder.path());
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let package = folder.path().join(format!("brimful_{version}-1_amd64.deb"));
    fs::write(&package, "a package").expect("written");
    let run = dist(folder.path());
    assert!(run.status.success(), "{}", text(&run.stderr));

    let check = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(folder.path())
        .output()
        .expect("sha256sum runs");
    assert!(check.status.success(), "{}", text(&check.stderr));
    let listed: BTreeSet<String> = text(&check.stdout)
        .lines()
        .filter_map(|line| line.strip_suffix(": OK").map(str::to_owned))
        .collect();
    let mut files: BTreeSet<String> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("text")
        })
        .collect();
    assert!(files.remove("SHA256SUMS"));
    assert_eq!(listed, files);
    let bill_name = format!("brimful-{version}.cdx.json");
    assert!(files.contains(&bill_name), "{files:?}");
    assert_is_whole(folder.path(), version);

    let bill = folder.path().join(format!("brimful-{version}.cdx.json"));
    let bill: Value = serde_json::from_slice(&fs::read(bill).expect("a bill")).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["metadata"]["component"]["version"], version);
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("a lock file");
    let locked: BTreeSet<(String, String)> = lock
        .split("[[package]]")
        .filter_map(|package| {
            let value = |key: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(key))?;
                Some(line.trim_matches('"').to_owned())
            };
            Some((value("name = ")?, value("version = ")?))
        })
        .collect();
    let components = bill["components"].as_array().expect("components");
    assert!(components.len() > 100, "only {}", components.len());
    for component in components {
        let of = |key: &str| component[key].as_str().unwrap_or_default().to_owned();
        assert!(locked.contains(&(of("name"), of("version"))), "{component}");
        assert_eq!(
            of("purl"),
            format!("pkg:cargo/{}@{}", of("name"), of("version"))
        );
        // SHA-256, by 64 digits
        let sum = component["hashes"][0]["content"].as_str();
        assert_eq!(sum.map(str::len), Some(64), "{component}");
    }
    assert_depends(&bill);

    let old = folder.path().join("brimful-tunnel-0.0.1-aarch64");
    fs::write(&old, "old").expect("written");
    assert_eq!(dist(folder.path()).status.code(), Some(1));
    fs::remove_file(old).expect("removed");
    fs::write(folder.path().join("brimful_0.0.1-1_amd64.deb"), "old").expect("written");
    let refused = dist(folder.path());
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("is not of version"),
        "{refused:?}"
    );
}

/// Every place that states the version states that of `Cargo.toml`.
#[test]
fn the_version_is_one() {
    let version = env!("CARGO_PKG_VERSION");
    let read = |file: &str| {
        let text = fs::read_to_string(root().join(file));
        text.unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    for (file, line) in [
        (
            "packaging/helm/brimful/Chart.yaml",
            format!("version: {version}"),
        ),
        (
            "packaging/helm/brimful/Chart.yaml",
            format!("appVersion: \"{version}\""),
        ),
        ("web/package.json", format!("  \"version\": \"{version}\",")),
        (
            "web/package-lock.json",
            format!("  \"version\": \"{version}\","),
        ),
    ] {
        assert!(read(file).lines().any(|l| l == line), "{file}: {line}");
    }
    let fuzzed = read("fuzz/Cargo.lock");
    let dash = format!("name = \"dash\"\nversion = \"{version}\"\n");
    assert!(fuzzed.contains(&dash), "fuzz/Cargo.lock: {dash}");
    for (file, mark) in [
        ("Makefile", "cc@"),
        ("CONTRIBUTING.md", "cc@"),
        ("docs/development.md", "cc@"),
        ("docs/how-to-add-an-algorithm.md", "cc@"),
        ("docs/algorithms/congestion-control.md", "cc@"),
        ("docs/semver.md", "tag = \"v"),
        ("docs/radio-state.md", "tag = \"v"),
        ("docs/guide/developer.md", "tag = \"v"),
    ] {
        let page = read(file);
        let stated: Vec<&str> = page.split(mark).skip(1).collect();
        assert!(!stated.is_empty(), "{file}: no {mark}");
        for rest in stated {
            assert!(rest.starts_with(version), "{file}: {mark}{rest:.10}");
        }
    }
    let heading = format!("\n## [{version}] - ");
    assert!(read("CHANGELOG.md").contains(&heading), "{heading}");
}
