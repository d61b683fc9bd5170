//! `brimful sweep` on the threads of this machine.

use super::{Place, WIRE, names};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::Stdio;
use testing::wait_until;

const GRID: [&str; 8] = [
    "sweep",
    "wire.toml",
    "--out",
    "s",
    "--grid",
    "rtt=10 ms,20 ms,40 ms",
    "--grid",
    "cc=cubic,bbr",
];

fn parts(folder: &Path) -> usize {
    let blocks = std::fs::read_dir(folder.join("points"));
    let files = blocks.into_iter().flatten().flatten().map(|block| {
        let names = names(&block.path());
        names
            .iter()
            .filter(|name| name.starts_with("part-"))
            .count()
    });
    files.sum()
}

#[test]
fn a_sweep_is_done_once_and_refuses_another_in_its_folder() {
    let place = Place::new().with("wire.toml", WIRE);
    let with = |more: &[&str]| place.run(&[GRID.as_slice(), more].concat());
    let done = with(&["--json"]).succeeded().json();
    assert_eq!(
        (&done["points"], &done["done"], &done["failed"]),
        (&6.into(), &6.into(), &0.into())
    );
    assert_eq!(
        names(&place.path("s")),
        [".lock", "_sweep.json", "points", "queues"]
    );
    let again = with(&[]).succeeded();
    assert_eq!(again.stdout, "wire: 6 of 6 points are in s\n");
    assert_eq!(parts(&place.path("s")), 1);
    let other = with(&["--set", "flow.bulk.app.size=5 MB"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(
        other
            .stderr
            .contains("flow.bulk.app.size is 4 MB there, 5 MB here"),
        "{other:?}"
    );
    for (option, what) in [
        ("--grid=rttt=1 ms", "unknown knob or key"),
        ("--grid=rtt", "expected KEY=A,B,..."),
        ("--grid=link.rate=1 Mbit/s,-2 Mbit/s", "rate"),
    ] {
        let place = Place::new().with("wire.toml", WIRE);
        let refused = place.run(&["sweep", "wire.toml", "--out", "s", option]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(what), "{refused:?}");
        assert_eq!(place.names(), ["wire.toml"]);
    }
}

#[test]
fn an_interrupted_sweep_prints_how_it_is_continued() {
    let place = Place::new().with("wire.toml", WIRE);
    let seeds: Vec<String> = (1..=400).map(|seed| seed.to_string()).collect();
    let seeds = format!("seed={}", seeds.join(","));
    let arguments = ["sweep", "wire.toml", "--out", "s", "--grid", &seeds];
    let mut child = place
        .command(&arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_until("the first part", || {
        assert!(
            child.try_wait().expect("ours").is_none(),
            "it ended by itself"
        );
        parts(&place.path("s")) > 0
    });
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("sent");
    let ended = child.wait_with_output().expect("ours");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("the same command goes on with the rest"),
        "{stderr}"
    );
    let before = parts(&place.path("s"));
    let finished = place.run(&arguments).succeeded();
    assert!(
        finished.stdout.contains("400 of 400 points"),
        "{finished:?}"
    );
    assert!(parts(&place.path("s")) > before);
}

#[test]
fn an_address_without_a_cluster_and_a_python_without_the_package_are_bad_usage() {
    let place = Place::new().with("wire.toml", WIRE);
    for (arguments, python, what) in [
        (
            &["--engine", "ray"][..],
            "/nonexistent/python",
            "BRIMFUL_PYTHON names another",
        ),
        (&["--engine", "ray"], "/bin/false", "by BRIMFUL_PYTHON"),
        (
            &["--address", "head:6379"],
            "/bin/false",
            "add --engine ray",
        ),
    ] {
        let mut command = place.command(&["sweep", "wire.toml"]);
        let ended = command
            .args(arguments)
            .env("BRIMFUL_PYTHON", python)
            .output()
            .expect("starts");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(what), "{stderr}");
        assert_eq!(place.names(), ["wire.toml"]);
    }
}
