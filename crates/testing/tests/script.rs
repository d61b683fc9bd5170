//! What `scripts/test` returns: no failure of a stage may be lost.
#![allow(missing_docs, reason = "a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A project with the script and programs in the place of those that it calls. The ones named fail.
struct Project(PathBuf);

impl Project {
    fn new(name: &str, failing: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // left by an earlier run
        let _ = fs::remove_dir_all(&root);
        let scripts = root.join("scripts");
        fs::create_dir_all(&scripts).expect("made");
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test");
        fs::copy(&ours, scripts.join("test")).expect("copied");
        let project = Self(root);
        for (file, calls) in [
            (
                "home/.cargo/bin/cargo",
                &["nextest", "--doc", "--all-targets"][..],
            ),
            ("scripts/python", &["test-built"]),
            ("scripts/web", &["test", "browser"]),
            ("scripts/playground", &["present"]),
            ("scripts/slowest-tests", &[]),
        ] {
            let fails = calls.iter().filter(|call| failing.contains(call));
            let fails: String = fails
                .map(|call| format!("*\" {call} \"*) exit 1;; "))
                .collect();
            let text = format!("#!/bin/sh\ncase \" $* \" in {fails}*) exit 0;; esac\n");
            project.program(file, &text);
        }
        project
    }

    fn program(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    }

    fn test(&self) -> Output {
        let mut command = Command::new("bash");
        command.arg(self.0.join("scripts/test"));
        command.env("HOME", self.0.join("home"));
        command.env("RUSTC_WORKSPACE_WRAPPER", "");
        command.output().expect("bash")
    }
}

#[test]
fn a_stage_that_fails_fails_the_whole() {
    for failing in [
        None,
        Some("--all-targets"),
        Some("nextest"),
        Some("--doc"),
        Some("test-built"),
        Some("test"),
        Some("browser"),
        Some("present"),
    ] {
        let name = format!("script-{}", failing.unwrap_or("none"));
        let failing: Vec<&str> = failing.into_iter().collect();
        let output = Project::new(&name, &failing).test();
        let code = output.status.code().expect("it ends by itself");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            code == 0,
            failing.is_empty(),
            "{failing:?}: {code} {errors}"
        );
    }
}
