//! The built `brimful` command, as people and scripts meet it: exit codes, messages, JSON, files.
#![allow(missing_docs, reason = "tests")]

mod bad_input;
mod cdbe;
mod compare;
mod dash;
mod doctor;
mod figure;
mod folder;
mod gtp;
mod help;
mod init;
mod json;
mod over_traces;
mod pep;
#[path = "../../../live/rnis-server/tests/service/processes.rs"]
mod processes;
mod quic;
#[path = "../../../live/rnis-server/tests/service/recording.rs"]
mod recording;
mod replay;
mod replay_live;
mod reproduce;
mod reproduce_dynamic;
mod rnis;
mod rnis_example;
mod sweep;
mod top;
mod trace;
mod tunnel_keys;
mod ue;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Two flows over a wire; small and quick.
const WIRE: &str = r#"name = "wire"
description = "A download and a call over a wire"
duration = "4 s"
seed = 7

[knobs.rtt]
default = "20 ms"
sets = ["path.rtt"]

[knobs.cc]
default = "cubic"
one-of = ["cubic", "bbr", "newreno"]
sets = ["flow.bulk.cc"]

[path]
loss = 0.0005

[link]
rate = "20 Mbit/s"
buffer = "100 kB"

[flow.bulk.app]
kind = "bulk"
size = "4 MB"

[flow.voip.app]
kind = "voip"
"#;

/// One UE of an LTE cell at a constant MCS.
const CELL: &str = r#"description = "A download over a cell"
duration = "2 s"

[path]
rtt = "40 ms"

[cell]
rat = "lte"
n-prb = 25

[ue.phone.channel]
kind = "constant-mcs"
mcs = 10

[flow.bulk.app]
kind = "continuous"
"#;

/// A working directory of its own for each test.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a scratch folder"),
        }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// With a file in it.
    fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).expect("a scratch file");
        self
    }
    /// Names of what is in it, hidden things too.
    fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brimful"));
        command.current_dir(self.folder.path()).args(arguments);
        command
    }
    fn run(&self, arguments: &[&str]) -> Run {
        let output = self
            .command(arguments)
            .output()
            .expect("the command starts");
        Run::from(output)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// What a finished command left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }
}

impl Run {
    fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// The object without what differs from run to run although the results are the same.
fn without_wall_time(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("wall_s");
            for inner in map.values_mut() {
                *inner = without_wall_time(inner.take());
            }
        }
        Value::Array(items) => {
            for inner in items {
                *inner = without_wall_time(inner.take());
            }
        }
        _ => {}
    }
    value
}
