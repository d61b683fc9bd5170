//! The program as routers have it: tunnels by their names, in a namespace of their own.
#![allow(missing_docs, reason = "a test")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;
use testing::{Namespace, has_root};

struct Place {
    folder: TempDir,
    host: Option<Namespace>,
}

impl Place {
    /// With both ends' configurations and keys.
    fn new(host: Option<Namespace>) -> Self {
        let place = Self {
            folder: tempfile::tempdir().expect("a folder"),
            host,
        };
        let key = place.run(&["key", "end.key"]);
        assert!(key.status.success(), "{key:?}");
        let public = text(&place.run(&["key", "--public", "end.key"]).stdout);
        let public = public.trim();
        place.write(
            "tunnel-server.toml",
            &format!(
                "private-key-file = \"end.key\"\nlisten = [\"127.0.0.1:6511\"]\n\
                 [tun]\nname = \"t0\"\naddresses = [\"10.99.0.1/24\"]\npost-up = [\"echo %i > up\"]\n\
                 pre-down = [\"echo %i > down\"]\n\
                 [admin]\nsocket = \"socket\"\n\
                 [[client]]\nname = \"one\"\npublic-key = \"{public}\"\naddresses = [\"10.99.0.2/32\"]\n"
            ),
        );
        place.write(
            "tunnel-client.toml",
            &format!(
                "private-key-file = \"end.key\"\nserver-key = \"{public}\"\nremote = \"server.example:6511\"\n\
                 [tun]\nname = \"t1\"\naddresses = [\"10.99.0.2/24\"]\nroutes = [\"0.0.0.0/0\"]\n\
                 [admin]\nsocket = \"client-socket\"\n[[path]]\nname = \"a\"\n"
            ),
        );
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let run = || {
            Command::new(env!("CARGO_BIN_EXE_brimful-tunnel"))
                .current_dir(self.path())
                .args(arguments)
                .output()
        };
        let output = match &self.host {
            Some(host) => host.enter(run),
            None => run(),
        };
        output.expect("the command starts")
    }

    /// What it prints, once it has succeeded.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        text(&output.stdout)
    }

    /// What it complains of.
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_would_be_run_is_printed_and_nothing_is() {
    let place = Place::new(None);
    let printed = place.done(&["up", "./tunnel-client.toml", "--dry-run"]);
    for line in [
        "# up: the TUN device t1, then",
        "ip address replace 10.99.0.2/24 dev t1",
        "ip route replace 0.0.0.0/0 dev t1 table 6511",
        "ip -4 rule add priority 32701 not fwmark 6511 table 6511",
        "# down: what does not go with the device",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line:?} in\n{printed}"
        );
    }
    let printed = place.done(&["up", "./tunnel-server.toml", "--dry-run"]);
    assert!(printed.contains("sh -c 'echo t0 > up'"), "{printed}");
    assert!(place.read("up").is_empty());
    let valid = place.done(&["up", "./tunnel-server.toml", "--check"]);
    assert_eq!(valid, "./tunnel-server.toml: valid\n");
}

#[test]
fn what_cannot_be_used_is_refused() {
    let place = Place::new(None);
    let error = place.fails(&["up", "no such"], 2);
    assert!(error.contains("no name of a tunnel"), "{error}");
    let error = place.fails(&["up", "no-such-tunnel"], 2);
    assert!(
        error.contains("/etc/brimful/tunnel-no-such-tunnel.toml"),
        "{error}"
    );
    place.write("bad.toml", "listen = 1\n");
    let error = place.fails(&["up", "./bad.toml"], 2);
    assert!(error.contains("bad.toml:"), "{error}");
    let error = place.fails(&["down", "./tunnel-server.toml"], 1);
    assert!(error.contains("the tunnel server does not run"), "{error}");
    place.fails(&["status", "--socket", "none"], 1);
    place.fails(&["reload", "./tunnel-server.toml"], 1);
    let error = place.fails(&["client", "--remote", "nowhere", "--path", "a"], 2);
    assert!(error.contains("expected a server with its port"), "{error}");
}

#[test]
fn a_tunnel_is_set_up_and_taken_down() {
    if !has_root("a_tunnel_is_set_up_and_taken_down") {
        return;
    }
    let host = Namespace::new();
    host.sh("ip link set lo up");
    let place = Place::new(Some(host));
    let file = "./tunnel-server.toml";
    let devices = || place.host.as_ref().expect("one").sh("ip -o link");
    assert_eq!(place.done(&["up", file]), "server: up, device t0\n");
    assert_eq!(place.read("up"), "t0\n");
    let error = place.fails(&["up", file], 1);
    assert!(error.contains("runs already (process "), "{error}");
    let status: Value =
        serde_json::from_str(&place.done(&["status", file, "--json"])).expect("JSON");
    assert_eq!(status["role"], "server");
    assert!(
        place
            .done(&["status", file])
            .contains("device t0 of MTU 1425")
    );
    assert_eq!(
        place.done(&["reload", file]),
        "configuration reloaded: no change\n"
    );
    let good = place.read("tunnel-server.toml");
    place.write("tunnel-server.toml", &good.replace("t0", "t9"));
    let error = place.fails(&["reload", file], 2);
    assert!(error.contains("[tun] name cannot change"), "{error}");
    place.write("tunnel-server.toml", &good);
    assert!(devices().contains("t0"));
    assert_eq!(place.done(&["down", file]), "server: down\n");
    assert!(!devices().contains("t0"));
    assert_eq!(place.read("down"), "t0\n");
    let error = place.fails(&["down", file], 1);
    assert!(error.contains("does not run"), "{error}");
    // what fails on the way is undone, and stated
    place.write(
        "tunnel-server.toml",
        &good.replace("echo %i > up", "exit 9"),
    );
    let error = place.fails(&["up", file], 1);
    assert!(
        error.contains("sh -c 'exit 9' failed: exit status: 9"),
        "{error}"
    );
    assert!(!devices().contains("t0"));
}
