//! What is installed beside the program: manual pages, completions, systemd units, and the Debian package
//! as a whole.
#![allow(missing_docs, reason = "tests")]

mod containers;
mod documented;
mod release;
mod upgrade;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use testing::{Missing, has_root, skip};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn brimful(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brimful"));
    let output = command.args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Programs that `scripts/setup` installs without options.
const BY_SETUP: [&str; 3] = ["man", "nft", "unshare"];

/// Whether a program is there; if not, records that the test is skipped.
fn has(program: &str, test: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if !found {
        let missing = match BY_SETUP.contains(&program) {
            true => Missing::Program(program),
            false => Missing::Data(program),
        };
        skip(test, missing);
    }
    found
}

/// Subcommands of a command, as its help lists them.
fn subcommands(words: &[String]) -> Vec<String> {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = text(&brimful(&arguments).stdout);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Names of the pages that there must be: the command's and those of all below it.
fn expected_pages(words: &[String], pages: &mut Vec<String>) {
    let name: Vec<&str> = core::iter::once("brimful")
        .chain(words.iter().map(String::as_str))
        .collect();
    pages.push(format!("{}.1", name.join("-")));
    for inner in subcommands(words) {
        let mut below = words.to_vec();
        below.push(inner);
        expected_pages(&below, pages);
    }
}

#[test]
fn every_command_has_a_page_that_renders_without_a_warning() {
    let folder = TempDir::new().expect("a folder");
    let to = folder.path().join("new").join("man");
    brimful(&["man", to.to_str().expect("text")]);
    let mut expected = vec!["brimful-scenario.5".to_owned()];
    expected_pages(&[], &mut expected);
    assert!(expected.len() > 30, "{expected:?}");
    let entries = fs::read_dir(&to).expect("the folder");
    let mut found: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);

    if !has(
        "man",
        "every_command_has_a_page_that_renders_without_a_warning",
    ) {
        return;
    }
    for page in &found {
        let output = Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-P", "cat", "-l"])
            .arg(to.join(page))
            .env("LC_ALL", "C.UTF-8")
            .env("MANWIDTH", "80")
            .env_remove("MANROFFOPT")
            .output()
            .expect("man starts");
        assert!(output.status.success(), "{page}: {output:?}");
        assert_eq!(text(&output.stderr), "", "{page}");
        assert!(text(&output.stdout).contains("NAME"), "{page}");
    }
    let keys = fs::read_to_string(to.join("brimful-scenario.5")).expect("the page");
    for key in ["n\\-prb", "initial\\-ran\\-window", "report\\-period"] {
        assert!(keys.contains(&format!("\n.B {key}\n")), "{key}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_bad_input() {
    let output = Command::new(env!("CARGO_BIN_EXE_brimful"))
        .args(["man", "/proc/nowhere/man"])
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/proc/nowhere/man"));
}

/// What bash offers for a line whose last word is begun.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let line = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={}; _brimful brimful '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = Command::new("bash").args(["-c", &line]).output();
    let output = output.expect("bash starts");
    assert_eq!(text(&output.stderr), "", "{line}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn completions_load_and_complete() {
    let folder = TempDir::new().expect("a folder");
    for (shell, check) in [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish")] {
        let script = folder.path().join(shell);
        fs::write(&script, brimful(&["completions", shell]).stdout).expect("written");
        if has(check, "completions_load_and_complete") {
            let checked = Command::new(check).arg("-n").arg(&script).output();
            let checked = checked.expect("the shell starts");
            assert!(checked.status.success(), "{shell}: {checked:?}");
        }
    }
    let script = folder.path().join("bash");
    assert_eq!(offered(&script, &["brimful", "pe"]), ["pep"]);
    assert_eq!(offered(&script, &["brimful", "pep", "--che"]), ["--check"]);
    assert_eq!(
        offered(&script, &["brimful", "run", "--world", "l"]),
        ["lab"]
    );
    assert_eq!(offered(&script, &["brimful", "nothing-li"]), [""]);
}

/// Every unit is understood by systemd, exposes little (10 is everything), and names a configuration
/// that is shipped.
#[test]
fn units_are_good() {
    let folder = TempDir::new().expect("a folder");
    let mut units = Vec::new();
    for entry in fs::read_dir(root().join("packaging/systemd")).expect("units") {
        let path = entry.expect("an entry").path();
        let unit = fs::read_to_string(&path).expect("text");
        let name = path.file_name().expect("a name").to_owned();
        for line in unit
            .lines()
            .filter(|l| l.starts_with("ConditionPathExists="))
        {
            let config = line.rsplit('/').next().expect("a file");
            for which in ["client", "server"] {
                let config = config.replace("%i", which);
                assert!(
                    root().join("packaging").join(&config).is_file(),
                    "{config} of {name:?}"
                );
            }
        }
        assert!(unit.contains("ConditionPathExists="), "{name:?}");
        assert!(unit.contains("\nLimitNOFILE="), "{name:?}");
        // where the program is not installed
        let here = unit.replace("/usr/bin/brimful", env!("CARGO_BIN_EXE_brimful"));
        let copy = folder.path().join(name);
        fs::write(&copy, here).expect("written");
        units.push(copy);
    }
    assert_eq!(units.len(), 6, "{units:?}");
    if !has("systemd-analyze", "units_are_good") {
        return;
    }
    for unit in units {
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&unit)
            .output()
            .expect("systemd-analyze starts");
        let stderr = text(&output.stderr);
        let ours: Vec<&str> = stderr.lines().filter(|l| l.contains("brimful")).collect();
        assert!(ours.is_empty(), "{ours:#?}");
        let output = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--threshold=30"])
            .arg(&unit)
            .output()
            .expect("systemd-analyze starts");
        assert!(
            output.status.success(),
            "exposed beyond 3.0: {}",
            text(&output.stdout)
        );
    }
}

#[test]
fn the_package_installs_upgrades_and_purges() {
    let test = "the_package_installs_upgrades_and_purges";
    if !has_root(test) || !has("cargo-deb", test) || !has("dpkg-deb", test) || !has("unshare", test)
    {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let made = Command::new(root().join("scripts/packages"))
        .args([
            "--program",
            env!("CARGO_BIN_EXE_brimful"),
            "--fast",
            "--out",
        ])
        .arg(folder.path())
        .output()
        .expect("scripts/packages starts");
    assert!(made.status.success(), "{made:?}");
    let mut packages = fs::read_dir(folder.path()).expect("the folder");
    let package = packages
        .next()
        .expect("a package")
        .expect("an entry")
        .path();
    let scratch = TempDir::new().expect("a folder");
    let output = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "sh"])
        .arg(root().join("crates/cli/tests/packages/install.sh"))
        .arg(&package)
        .arg(scratch.path())
        .arg(root().join("crates/cli/tests/packages/0.2.0"))
        .output()
        .expect("unshare starts");
    let log = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{log}");
    assert!(log.contains("step: done"), "{log}");
}
