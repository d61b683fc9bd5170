//! Configurations of version 0.2.0, as its package had them (`0.2.0/`), under the daemons of today: `docs/releases/0.3.0.md` states
//! which are taken as they are, and what the others need.

use crate::{root, text};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn before(name: &str) -> String {
    let file = root().join("crates/cli/tests/packages/0.2.0").join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn check(command: &[&str], config: &PathBuf) -> Output {
    let mut brimful = Command::new(env!("CARGO_BIN_EXE_brimful"));
    let brimful = brimful.args(command).arg("--config").arg(config);
    let output = brimful.arg("--check").stdin(Stdio::null()).output();
    output.expect("the command starts")
}

#[test]
fn configurations_without_the_tunnel_are_taken_as_they_are() {
    for (name, command) in [
        ("pep.toml", &["pep"][..]),
        ("rnis.toml", &["rnis"]),
        ("quic.toml", &["quic", "serve"]),
        ("cdbe.toml", &["cdbe", "attach"]),
    ] {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join(name);
        fs::write(&file, before(name)).expect("written");
        let output = check(command, &file);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    }
}

#[test]
fn a_tunnel_of_before_is_refused_with_what_to_do_and_goes_on_unencrypted() {
    let folder = TempDir::new().expect("a folder");
    let shared = folder.path().join("shared.key");
    let made = Command::new(env!("CARGO_BIN_EXE_brimful"))
        .args(["tunnel", "key", "--shared"])
        .arg(&shared)
        .output()
        .expect("the command starts");
    assert!(made.status.success(), "{}", text(&made.stderr));
    for (end, key) in [
        ("client", "/etc/brimful/tunnel.key"),
        ("server", "/etc/brimful/car.key"),
    ] {
        let name = format!("tunnel-{end}.toml");
        let file = folder.path().join(&name);
        let old = before(&name);
        assert!(old.contains(key), "{old}");
        let old = old.replace(key, shared.to_str().expect("text"));
        fs::write(&file, &old).expect("written");
        let refused = check(&["tunnel", end], &file);
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{name}: {stderr}");
        for part in [
            "private-key-file",
            "encryption = \"none\"",
            "brimful tunnel key FILE",
        ] {
            assert!(stderr.contains(part), "{name}: {part}: {stderr}");
        }
        fs::write(&file, format!("encryption = \"none\"\n{old}")).expect("written");
        let taken = check(&["tunnel", end], &file);
        assert!(taken.status.success(), "{name}: {}", text(&taken.stderr));
    }
}

/// The page lists what an operator has to do for each file that is not taken as it is.
#[test]
fn the_notes_state_what_the_tunnel_needs() {
    let page = root().join("docs/releases/0.3.0.md");
    let page = fs::read_to_string(page).expect("the notes");
    for part in [
        "brimful tunnel key",
        "private-key-file",
        "encryption = \"none\"",
        "scheduler-queue = \"drop-tail\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
