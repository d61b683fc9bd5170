//! Result folders: what is in them, and that none is ever half-written.

use super::{Place, WIRE, names};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command};
use testing::{has_root, wait_until};

pub(super) const CONTENTS: [&str; 5] = [
    "flows.parquet",
    "manifest.json",
    "report.html",
    "samples.parquet",
    "summary.json",
];

#[test]
fn a_folder_holds_all_files_of_the_design() {
    let place = Place::new().with("s.toml", WIRE);
    place
        .run(&["run", "s.toml", "--out", "a/b", "--repeats", "2"])
        .succeeded();
    assert_eq!(names(&place.path("a/b")), CONTENTS);
    let read = |name: &str| std::fs::read_to_string(place.path("a/b").join(name)).expect(name);
    let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("JSON");
    assert!(manifest.to_string().contains("20 Mbit/s"), "{manifest}");
    assert!(
        manifest.to_string().contains(env!("CARGO_PKG_VERSION")),
        "{manifest}"
    );
    let page = read("report.html");
    for word in [
        "<h1>wire</h1>",
        "A download and a call over a wire",
        "id=\"goodput\"",
        "id=\"rtt-cdf\"",
    ] {
        assert!(page.contains(word), "{word}");
    }
    assert!(page.len() < 1_500_000);
}

#[test]
fn without_options_the_folder_has_the_name_of_the_scenario() {
    let place = Place::new().with("s.toml", &WIRE.replace("\"wire\"", "\"a wire/../x\""));
    place.run(&["run", "s.toml"]).succeeded();
    assert_eq!(place.names(), ["results", "s.toml"]);
    let results = names(&place.path("results"));
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(names(&place.path("results").join(&results[0])), CONTENTS);
}

#[test]
fn older_results_are_replaced_and_other_files_stay() {
    let place = Place::new().with("s.toml", WIRE);
    let run = || {
        place
            .run(&["run", "s.toml", "--set", "rtt=5 ms", "--out", "o"])
            .succeeded()
    };
    run();
    let read = |name: &str| std::fs::read(place.path("o").join(name)).expect(name);
    let page = read("report.html");
    std::fs::write(place.path("o/report.html"), "old").expect("written");
    std::fs::write(place.path("o/thesis.tex"), "years of work").expect("written");
    run();
    assert!(
        read("report.html") == page,
        "the same results give the same page"
    );
    assert_eq!(read("thesis.tex"), b"years of work");
    assert_eq!(place.names(), ["o", "s.toml"], "nothing hidden stays");
}

#[test]
fn a_folder_that_cannot_be_made_ends_in_an_error() {
    let place = Place::new().with("s.toml", WIRE).with("file", "text");
    for (out, named) in [
        ("file", "file:"),
        ("file/below", "file"),
        ("/proc/brimful/o", "/proc/brimful"),
    ] {
        let run = place.run(&["run", "s.toml", "--out", out]);
        assert_eq!(run.code, Some(1), "{out}: {run:?}");
        assert!(
            run.stderr.starts_with(&format!("error: {named}")),
            "{out}: {run:?}"
        );
        assert!(
            run.stderr.matches("os error").count() <= 1,
            "printed twice: {run:?}"
        );
    }
    assert_eq!(place.names(), ["file", "s.toml"]);
}

/// A file system of this size, unmounted in the end.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn new(at: &'a Path, size: &str) -> Self {
        std::fs::create_dir(at).expect("a folder");
        let options = format!("size={size}");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "brimful-test"])
            .arg(at)
            .status();
        assert!(status.is_ok_and(|s| s.success()), "mount of a tmpfs");
        Self(at)
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_ends_in_an_error_and_leaves_nothing() {
    if !has_root("a_full_disk_ends_in_an_error_and_leaves_nothing") {
        return;
    }
    let place = Place::new().with("s.toml", WIRE);
    let disk = place.path("disk");
    let _mount = Mount::new(&disk, "16k");
    for command in [
        &["run", "s.toml"] as &[&str],
        &["compare", "s.toml", "--vary", "cc=bbr,cubic"],
    ] {
        let mut arguments = command.to_vec();
        arguments.extend(["--out", "disk/results"]);
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("disk/results"), "{run:?}");
        assert!(run.stderr.contains("No space left"), "{run:?}");
        assert_eq!(names(&disk), [] as [&str; 0], "nothing may be left");
    }
}

#[test]
fn a_trace_is_whole_or_not_there() {
    if !has_root("a_trace_is_whole_or_not_there") {
        return;
    }
    let place = Place::new();
    let disk = place.path("disk");
    let _mount = Mount::new(&disk, "8k");
    let run = place.run(&super::trace::generate("disk/t.trace", "600 s"));
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("disk/t.trace") && run.stderr.contains("No space"),
        "{run:?}"
    );
    assert_eq!(names(&disk), [] as [&str; 0]);
}

/// Starts runs that would take days, and waits until they have begun: the hidden folder of the results is made
/// after the handler of signals.
fn endless(place: &Place) -> Child {
    let child = place
        .command(&["run", "s.toml", "--repeats", "50", "--out", "o"])
        .spawn()
        .expect("the command starts");
    wait_until("the folder of the results", || place.names().len() > 1);
    child
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let text = WIRE.replace("4 s", "100000 s");
    let place = Place::new().with("s.toml", &text);
    let mut child = endless(&place);
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), ["s.toml"]);
}

#[test]
fn two_concurrent_interruptions_leave_nothing_either() {
    // as `timeout` sends it: to the process, and to its group
    let text = WIRE.replace("4 s", "100000 s");
    let place = Place::new().with("s.toml", &text);
    let mut child = endless(&place);
    // two different signals, because two equal ones may be merged into one; it is stopped meanwhile, so that
    // they arrive together
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        kill_process(Pid::from_child(&child), signal).expect("sent");
    }
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), ["s.toml"]);
}
