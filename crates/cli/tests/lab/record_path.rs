//! A path through the cell, recorded between the UE and a server: the trace holds the bytes that the cell has delivered.

use crate::capture::{inside, namespace_of};
use crate::{Running, brimful, has_root, output, scenario, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// Records downlink and uplink once the server is there, between two looks at the counters of the UE's device.
const SCRIPT: &str = "until [ -e go ]; do sleep 0.05; done
    ip -j -s link show radio0 >before
    $BRIMFUL trace record --client 10.46.0.1:6512 --key-file key --duration '4 s' --light '1 s' --heavy '3 s' \
        --rate '60 Mbit/s' --uplink-rate '30 Mbit/s' --interval '200 ms' \
        --out down --uplink-out up --light-out light --json >found || exit 9
    ip -j -s link show radio0 >after";

fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_recorded_trace_has_the_bytes_that_the_cell_has_delivered() {
    if !has_root("a_recorded_trace_has_the_bytes_that_the_cell_has_delivered") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let key = folder.join("key").display().to_string();
    let made = output(brimful(&["tunnel", "key", "--shared", &key]));
    assert!(made.status.success(), "{}", stderr(&made));

    let mut shell = brimful(&["lab", "shell"]);
    shell.arg(scenario("oai-fast.toml"));
    shell.args(["--", "sh", "-c", SCRIPT]);
    shell.current_dir(folder);
    shell.env("BRIMFUL", env!("CARGO_BIN_EXE_brimful"));
    let running = Running::start(shell);
    let networks = running.networks();
    let namespace = namespace_of(&running, &networks, "10.46.0.1/32");
    let program = env!("CARGO_BIN_EXE_brimful");
    let serve = [program, "trace", "record", "--server", "--key-file", &key];
    let mut server = inside(&namespace, &serve);
    server.stderr(Stdio::piped());
    let mut server = Server(server.spawn().expect("nsenter"));
    let mut printed = BufReader::new(server.0.stderr.take().expect("piped"));
    let mut line = String::new();
    printed.read_line(&mut line).expect("text");
    assert!(line.starts_with("listening on"), "{line}");
    fs::write(folder.join("go"), "").expect("written");
    let done = running.wait();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{} {}",
        stdout(&done),
        stderr(&done)
    );
    drop(server);

    let found = json(&folder.join("found"));
    let bytes = |name: &str| number(&json(&folder.join(name))[0]["stats64"]["rx"]["bytes"]);
    let delivered = bytes("after") - bytes("before");
    let received = number(&found["received_bytes"]);
    // but for what a machine that stands still for seconds does not take off the socket in time
    assert!(received <= delivered, "{received} of {delivered}: {found}");
    assert!(
        received * 100 >= delivered * 98,
        "{received} of {delivered}: {found}"
    );
    for way in ["down", "up"] {
        let direction = &found[way];
        let recorded = number(&direction["recorded_bytes"]);
        let all = recorded + number(&direction["outside_bytes"]);
        assert_eq!(all, 1_400 * number(&direction["packets"]), "{found}");
        // what is played of it in the simulator is what was recorded
        let trace = folder.join(way).display().to_string();
        let info = output(brimful(&["trace", "info", &trace, "--json"]));
        let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
        let mean = info["rate_bps"]["mean"].as_f64().expect("a rate");
        let seconds = direction["duration_s"].as_f64().expect("a number");
        let played = mean * seconds / 8.0;
        assert!(
            (played - recorded as f64).abs() < 1_600.0,
            "{played}: {found}"
        );
    }
    let light = fs::read_to_string(folder.join("light")).expect("a table");
    assert!(light.lines().count() > 1, "{light}");
}
