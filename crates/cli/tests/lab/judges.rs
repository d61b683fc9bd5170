//! Judges: each that is installed runs and gives its measures. What they measure is not asserted.

use crate::{Running, brimful, has_root, output, scenario, stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testing::{Missing, skip};

/// `brimful lab judge` with options and the folders of programs that `make setup` and `make setup-judges` fill.
fn judge(arguments: &[&str]) -> Command {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folders = ["judges/bin", "aioquic/bin", "playwright/bin"].map(|folder| target.join(folder));
    let mut command = brimful(&["lab", "judge"]);
    command.args(arguments);
    let folders = std::env::join_paths(folders).expect("no colon");
    command.env("BRIMFUL_JUDGES", folders);
    command
}

/// Over a cell of 16 Mbit/s, whose packets that are not split are marked: what waits behind a download is short.
fn over_oai(arguments: &[&str]) -> Command {
    let file = scenario("oai-fast.toml").display().to_string();
    judge(&[&[file.as_str(), "--set", "unsplit=mark"], arguments].concat())
}

fn json(done: &Output) -> Value {
    let text = stdout(done);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{}", stderr(done)))
}

/// What a judge needs and `brimful lab judge` does not find.
fn missing(name: &str) -> Vec<String> {
    let done = output(judge(&["--list", "--json", "--only", name]));
    let judges = &json(&done)["judges"];
    let missing = judges[0]["missing"].as_array().expect("names").iter();
    missing
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

/// Whether a judge can run here as root; the skip is recorded if not. `is_optional` is what `make setup` does not
/// install.
pub(crate) fn can_run(test: &str, name: &str, is_optional: impl Fn(&str) -> bool) -> bool {
    if !has_root(test) {
        return false;
    }
    let missing = missing(name);
    if let Some(program) = missing.first() {
        skip(
            test,
            match is_optional(program) {
                true => Missing::Optional(program),
                false => Missing::Program(program),
            },
        );
    }
    missing.is_empty()
}

/// The Python that drives browsers, and the browser; none, and the skip recorded, if they cannot run here.
pub(crate) fn chromium(test: &str) -> Option<[PathBuf; 2]> {
    if !has_root(test) {
        return None;
    }
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/playwright/bin/python3");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
    let browser = places.find(|place| place.is_file());
    match (python.is_file(), browser) {
        (true, Some(browser)) => Some([python, browser]),
        (has_python, _) => {
            let name = if has_python { "chromium" } else { "playwright" };
            skip(test, Missing::Program(name));
            None
        }
    }
}

/// Runs a judge for a few seconds; it gives these measures in each column of the proxy's modes, all of them numbers.
pub(crate) fn gives(name: &str, modes: &[&str], duration: &str, measures: &[&str]) {
    let columns = format!("pep={}", modes.join(","));
    let varied = if modes.len() > 1 { "--vary" } else { "--set" };
    let options = ["--only", name, "--duration", duration, "--json", varied];
    let done = output(over_oai(&[&options[..], &[&columns]].concat()));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let judges = &json(&done)["judges"];
    assert_eq!(judges[0]["name"], name);
    let given = judges[0]["measures"].as_array().expect("measures");
    let names: Vec<&str> = given
        .iter()
        .map(|measure| measure["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, measures);
    for measure in given {
        for column in 0..modes.len() {
            let mean = &measure["columns"][column]["estimate"]["mean"];
            assert!(mean.is_number(), "{measure}");
        }
    }
}

const MODES: [&str; 2] = ["none", "default"];

/// What irtt gives beside a load.
const ROUND_TRIPS: [&str; 4] = ["rtt-mean", "rtt-p50", "rtt-p99", "loss"];

/// Runs a judge whose programs `make setup` installs.
fn gives_with_round_trips(test: &str, name: &str, duration: &str, measures: &[&str]) {
    if can_run(test, name, |_| false) {
        gives(name, &MODES, duration, &[measures, &ROUND_TRIPS].concat());
    }
}

#[test]
fn irtt_measures_the_idle_path() {
    gives_with_round_trips("irtt_measures_the_idle_path", "irtt", "1 s", &[]);
}

#[test]
fn iperf3_downloads() {
    let measures = ["goodput", "retransmissions"];
    gives_with_round_trips("iperf3_downloads", "iperf3", "1 s", &measures);
}

#[test]
fn iperf3_loads_both_ways() {
    let measures = ["goodput-down", "goodput-up"];
    gives_with_round_trips("iperf3_loads_both_ways", "rrul", "1 s", &measures);
}

#[test]
fn aioquic_downloads() {
    gives_with_round_trips("aioquic_downloads", "quic-aioquic", "8 s", &["goodput"]);
}

#[test]
fn quinn_downloads() {
    gives_with_round_trips("quinn_downloads", "quic-quinn", "4 s", &["goodput"]);
}

/// What becomes of each packet of a stream.
const STREAM: [&str; 8] = [
    "delay-p50",
    "delay-p95",
    "delay-p99",
    "delay-max",
    "loss",
    "twice",
    "freezes",
    "frozen",
];

#[test]
fn a_stream_of_udp_is_measured_beside_a_download() {
    let test = "a_stream_of_udp_is_measured_beside_a_download";
    if can_run(test, "stream-beside-download", |_| false) {
        let measures = [&STREAM[..], &["download-goodput"]].concat();
        gives("stream-beside-download", &["default"], "1 s", &measures);
    }
}

#[test]
fn a_live_stream_by_srt_is_measured() {
    if can_run("a_live_stream_by_srt_is_measured", "srt", |_| false) {
        let of_srt = ["dropped", "retransmitted", "belated", "rtt"];
        let measures = [&STREAM[..], &of_srt].concat();
        gives("srt", &["default"], "1 s", &measures);
    }
}

#[test]
fn mach_measures_responsiveness() {
    let is_optional = |program: &str| ["mach", "nginx"].contains(&program);
    if !can_run("mach_measures_responsiveness", "rpm", is_optional) {
        return;
    }
    let measures = [
        "rpm-down",
        "rpm-up",
        "rtt-idle",
        "rtt-loaded-down",
        "rtt-loaded-up",
        "goodput-down",
        "goodput-up",
    ];
    gives("rpm", &MODES, "6 s", &measures);
}

/// Any client finds the configuration of the responsiveness test, and what it names.
#[test]
fn the_server_answers_clients_of_the_responsiveness_test() {
    if !has_root("the_server_answers_clients_of_the_responsiveness_test") {
        return;
    }
    let script = r#"curl -sS http://server/.well-known/nq; echo
        curl -sS -w '%{size_download}\n' -o /dev/null http://server/.well-known/nq/1
        head -c 300000 /dev/zero | curl -sS -T - http://server/.well-known/nq/upload"#;
    let done = output(crate::shell(&["--quiet"], script));
    let printed = stdout(&done);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 3, "{printed}{}", stderr(&done));
    let configuration: Value = serde_json::from_str(lines[0]).expect("JSON");
    let url = "https://server/.well-known/nq/10G";
    for name in ["large_download_url", "large_https_download_url"] {
        assert_eq!(configuration["urls"][name], url);
    }
    assert_eq!(lines[1..], ["1", "300000 bytes received"]);
}

/// In the place of mach, a client that takes what the judge's server has for it, by HTTP/2.
const CLIENT: &str = r#"set -e
url=https://server/.well-known/nq
get() { curl -sS --fail --insecure --http2 "$@"; }
[ "$(get -o /dev/null -w %{http_version} $url)" = 2 ]
get $url | grep -q '"large_download_url":"https://server/.well-known/nq/10G"'
[ "$(get -o /dev/null -w %{size_download} $url/1)" = 1 ]
[ "$(head -c 300000 /dev/zero | get -T - $url/upload)" = "300000 bytes received" ]
[ "$(get $url/10G 2>/dev/null | head -c 100000 | wc -c)" = 100000 ]
of='{"throughput": 1, "loaded_latency_ms": 1, "rpm": 1}'
echo "{\"unloaded_latency_ms\": 1, \"download\": $of, \"upload\": $of}""#;

#[test]
fn a_client_of_the_responsiveness_test_finds_its_server_by_http2() {
    let test = "a_client_of_the_responsiveness_test_finds_its_server_by_http2";
    if !has_root(test) {
        return;
    }
    if missing("rpm").iter().any(|name| name == "nginx") {
        return skip(test, Missing::Optional("nginx"));
    }
    let (_kept, folder) = instead("mach", CLIENT);
    let mut command = over_oai(&["--only", "rpm", "--duration", "1 s", "--json"]);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/judges/bin");
    let folders = std::env::join_paths([folder, target]).expect("no colon");
    command.env("BRIMFUL_JUDGES", folders);
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let judges = &json(&done)["judges"];
    assert_eq!(judges[0]["measures"].as_array().map(Vec::len), Some(7));
}

/// A folder with a program of this name that runs a script.
fn instead(program: &str, script: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(program);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    let place = folder.path().to_owned();
    (folder, place)
}

#[test]
fn a_judge_that_fails_has_its_reason_in_its_row_and_the_others_run() {
    let test = "a_judge_that_fails_has_its_reason_in_its_row_and_the_others_run";
    if !can_run(test, "irtt", |_| false) {
        return;
    }
    let (_kept, folder) = instead("iperf3", "echo no server >&2; exit 3");
    let place = tempfile::tempdir().expect("a folder");
    let results = place.path().join("results").display().to_string();
    let options = [
        "--only",
        "iperf3,irtt",
        "--duration",
        "1 s",
        "--out",
        &results,
    ];
    let mut command = over_oai(&options);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/judges/bin");
    let folders = std::env::join_paths([folder, target]).expect("no colon");
    command.env("BRIMFUL_JUDGES", folders);
    let done = output(command);
    let printed = stdout(&done);
    assert_eq!(done.status.code(), Some(1), "{printed}{}", stderr(&done));
    let row = |start: &str| {
        let mut lines = printed.lines().map(str::trim);
        lines
            .find(|line| line.starts_with(start))
            .map(str::to_owned)
    };
    let failed = row("iperf3").expect("a row");
    assert!(
        failed.contains("failed") && failed.contains("no server"),
        "{failed}"
    );
    assert!(row("irtt").is_some(), "{printed}");
    // what the programs printed is kept
    let kept = Path::new(&results).join("programs");
    let said = fs::read_to_string(kept.join("iperf3/1/iperf3.err"));
    assert_eq!(said.expect("kept").trim(), "no server");
    assert!(kept.join("irtt/1/irtt.json").exists());
    assert!(Path::new(&results).join("judges.json").exists());
}

#[test]
fn what_is_missing_or_unknown_is_an_error_before_anything_runs() {
    let file = scenario("oai-fast.toml").display().to_string();
    let mut command = judge(&[&file, "--only", "rpm"]);
    let nowhere = tempfile::tempdir().expect("a folder");
    command.env("BRIMFUL_JUDGES", nowhere.path());
    command.env("PATH", nowhere.path());
    let done = output(command);
    let errors = stderr(&done);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("rpm: missing: mach")
            && errors.contains("installed by make setup-judges")
            && errors.lines().count() == 1,
        "{errors}"
    );
    for (arguments, word) in [
        (&[file.as_str(), "--only", "nothing"][..], "iperf3"),
        (&[&file, "--duration", "0 s"], "from 1 s"),
        (&[&file, "--ue", "2"], "phone"),
        (&[], "FILE"),
    ] {
        let done = output(judge(arguments));
        let errors = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: {errors}");
    }
}

#[test]
fn the_list_states_what_is_missing() {
    let mut command = judge(&["--list"]);
    let nowhere = tempfile::tempdir().expect("a folder");
    command.env("BRIMFUL_JUDGES", nowhere.path());
    command.env("PATH", nowhere.path());
    let done = output(command);
    let printed = stdout(&done);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let row = |name: &str| {
        let line = printed.lines().find(|line| line.trim().starts_with(name));
        line.unwrap_or_else(|| panic!("{printed}"))
    };
    assert!(row("rpm").contains("missing: mach"), "{printed}");
    assert!(
        row("quic-aioquic").contains("a Python that has aioquic"),
        "{printed}"
    );
}

#[test]
fn an_interruption_ends_all_and_leaves_nothing() {
    let test = "an_interruption_ends_all_and_leaves_nothing";
    if !can_run(test, "irtt", |_| false) {
        return;
    }
    let running = Running::start(over_oai(&["--only", "irtt", "--duration", "600 s"]));
    let (folder, networks) = (running.folder(), running.networks());
    let printed = folder.join("judge/irtt.out");
    crate::wait_until("irtt runs", || {
        fs::read_to_string(&printed).is_ok_and(|text| text.contains("[Connected]"))
    });
    running.signal(Signal::INT);
    let done = running.wait();
    assert_eq!(done.status.code(), Some(130), "{}", stderr(&done));
    assert_eq!(stdout(&done), "");
    crate::assert_gone(&folder, &networks);
}
