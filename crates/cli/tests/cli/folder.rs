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
        "id=\"received\"",
        "id=\"rtt-cdf\"",
        "<b>command</b>brimful run s.toml --out a/b --repeats 2<",
        "<th scope=\"row\">base RTT</th>",
        "<th scope=\"row\">duration</th>",
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
pub(super) struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    pub(super) fn new(at: &'a Path, size: &str) -> Self {
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

/// A file system on which nothing more has room but its folders.
fn filled<'a>(at: &'a Path) -> Mount<'a> {
    let mount = Mount::new(at, "4k");
    std::fs::write(at.join("full"), [0; 4_096]).expect("a page");
    mount
}

#[test]
fn a_key_is_whole_or_not_there() {
    if !has_root("a_key_is_whole_or_not_there") {
        return;
    }
    let place = Place::new();
    let disk = place.path("disk");
    let _mount = filled(&disk);
    let run = place.run(&["tunnel", "key", "disk/key"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr.contains("disk/key") && run.stderr.contains("No space"),
        "{run:?}"
    );
    assert_eq!(names(&disk), ["full"]);
    std::fs::remove_file(disk.join("full")).expect("removed");
    place.run(&["tunnel", "key", "disk/key"]).succeeded();
    assert_eq!(names(&disk), ["key"]);
}

#[test]
fn a_sweep_on_a_full_disk_goes_on_when_there_is_room() {
    if !has_root("a_sweep_on_a_full_disk_goes_on_when_there_is_room") {
        return;
    }
    let place = Place::new().with("s.toml", WIRE);
    let disk = place.path("disk");
    let _mount = filled(&disk);
    let arguments = [
        "sweep",
        "s.toml",
        "--out",
        "disk/s",
        "--grid",
        "rtt=10 ms,20 ms",
    ];
    let run = place.run(&arguments);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("disk/s") && run.stderr.contains("No space"),
        "{run:?}"
    );
    let status = Command::new("mount")
        .args(["-o", "remount,size=1m"])
        .arg(&disk)
        .status();
    assert!(status.is_ok_and(|s| s.success()), "remount of a tmpfs");
    let run = place.run(&arguments).succeeded();
    assert_eq!(run.stdout, "wire: 2 of 2 points are in disk/s\n");
}

/// Starts runs that would take days, and waits until they have begun: the hidden folder of the results is made
/// after the handler of signals.
fn endless(place: &Place, out: &str) -> Child {
    let child = place
        .command(&["run", "s.toml", "--repeats", "50", "--out", out])
        .spawn()
        .expect("the command starts");
    let hidden = format!(".{out}.");
    wait_until("the folder of the results", || {
        place.names().iter().any(|name| name.starts_with(&hidden))
    });
    child
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let text = WIRE.replace("4 s", "100000 s");
    let place = Place::new().with("s.toml", &text);
    let mut child = endless(&place, "o");
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), ["s.toml"]);
}

/// A killed run removes nothing; the next run in the same place does, but nothing of one that is alive.
#[test]
fn what_a_killed_run_left_the_next_one_removes() {
    let place = Place::new()
        .with("s.toml", &WIRE.replace("4 s", "100000 s"))
        .with("short.toml", WIRE);
    let mut killed = endless(&place, "o");
    killed.kill().expect("sent");
    killed.wait().expect("an end");
    assert_eq!(place.names().len(), 3, "{:?}", place.names());
    let mut alive = endless(&place, "alive");
    let hidden = |names: &[String]| names.iter().filter(|name| name.starts_with('.')).count();
    assert_eq!(hidden(&place.names()), 1, "{:?}", place.names());
    place.run(&["run", "short.toml", "--out", "o"]).succeeded();
    let names = place.names();
    assert!(names.iter().any(|name| name.starts_with(".alive.")));
    assert_eq!((hidden(&names), names.len()), (1, 4), "{names:?}");
    kill_process(Pid::from_child(&alive), Signal::INT).expect("sent");
    assert_eq!(alive.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), ["o", "s.toml", "short.toml"]);
}

#[test]
fn two_concurrent_interruptions_leave_nothing_either() {
    // as `timeout` sends it: to the process, and to its group
    let text = WIRE.replace("4 s", "100000 s");
    let place = Place::new().with("s.toml", &text);
    let mut child = endless(&place, "o");
    // two different signals, because two equal ones may be merged into one; it is stopped meanwhile, so that
    // they arrive together
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        kill_process(Pid::from_child(&child), signal).expect("sent");
    }
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(place.names(), ["s.toml"]);
}
