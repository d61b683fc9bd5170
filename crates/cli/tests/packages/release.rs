//! What a release has beside the packages: a bill of materials and checksums.

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
    assert_eq!(text(&check.stdout).lines().count(), 2);

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
    }

    fs::write(folder.path().join("brimful_0.0.1-1_amd64.deb"), "old").expect("written");
    let refused = dist(folder.path());
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("is not of version"),
        "{refused:?}"
    );
}
