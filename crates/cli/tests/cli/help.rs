//! Help, version and pipes.

use super::{Place, WIRE};
use std::io::Read;
use std::process::Stdio;

#[test]
fn help_and_version_go_to_stdout() {
    let place = Place::new();
    let help = place.run(&["--help"]).succeeded();
    for command in [
        "run",
        "compare",
        "reproduce",
        "pep",
        "cdbe",
        "quic",
        "tunnel",
        "rnis",
        "ue",
        "trace",
        "list",
        "scenario",
    ] {
        assert!(help.stdout.contains(command), "{}", help.stdout);
    }
    let version = place.run(&["--version"]).succeeded();
    assert_eq!(
        version.stdout,
        format!("brimful {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(
        place
            .run(&["run", "--help"])
            .succeeded()
            .stdout
            .contains("Exit codes")
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    let mut child = place
        .command(&["scenario", "keys"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut stderr)
        .expect("text");
    assert!(child.wait().expect("an end").success());
    assert_eq!(stderr, "");
}

#[test]
fn a_pipe_gets_plain_text_and_no_progress_bar() {
    let place = Place::new().with("s.toml", WIRE);
    let arguments = ["run", "s.toml", "--repeats", "3", "--wide"];
    let run = place.run(&arguments).succeeded();
    assert!(
        !run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'),
        "{run:?}"
    );
    for word in [
        "bulk",
        "voip",
        "goodput",
        "RTT p99",
        "completion",
        "sojourn",
        "utilisation",
        "±",
    ] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.stdout);
    }
}

#[test]
fn the_tables_of_a_first_look_are_narrow() {
    let place = Place::new().with("s.toml", WIRE);
    let arguments = [
        "compare",
        "s.toml",
        "--vary",
        "cc=cubic,bbr",
        "--repeats",
        "3",
    ];
    let run = place.run(&arguments).succeeded();
    let widest = run.stdout.lines().max_by_key(|line| line.chars().count());
    assert!(
        widest.is_some_and(|line| line.chars().count() <= 100),
        "{widest:?}"
    );
    for word in ["Found: cc=bbr beside cc=cubic", "goodput", "RTT p95", "±"] {
        assert!(run.stdout.contains(word), "no {word}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("RTT p99"), "{}", run.stdout);
    assert!(run.stderr.contains("--wide"), "{}", run.stderr);
}

#[test]
fn keys_and_resolved_scenarios_are_printed() {
    let place = Place::new().with("s.toml", WIRE);
    let keys = place.run(&["scenario", "keys"]).succeeded();
    assert!(keys.stdout.contains("uplink-rate"));
    let shown = place
        .run(&["scenario", "show", "s.toml", "--set", "rtt=1 ms"])
        .succeeded()
        .json();
    assert_eq!(shown["path"]["rtt"], "1 ms");
    assert_eq!(shown["flow"]["bulk"]["cc"], "cubic");
    let list = place.run(&["list", "."]).succeeded();
    for word in [
        "s.toml",
        "A download and a call over a wire",
        "rtt",
        "20 ms",
    ] {
        assert!(list.stdout.contains(word), "{}", list.stdout);
    }
}
