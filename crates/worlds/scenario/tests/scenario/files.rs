//! Scenario files on disk: extending, traces, and what is wrong with either.

use scenario::{ChannelSpec, Overrides, Point, ScenarioError, TraceSpec, load};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const BASE: &str = "[path]\nrtt = \"50 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n\
    [ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n\
    [flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

fn one(folder: &TempDir, name: &str) -> Result<Point, ScenarioError> {
    load(&folder.path().join(name), &Overrides::default()).map(|mut points| points.remove(0))
}

fn message(folder: &TempDir, name: &str) -> String {
    match one(folder, name) {
        Ok(_) => panic!("{name} was accepted"),
        // without the folder's name, which is random
        Err(error) => error
            .to_string()
            .replace(&format!("{}/", folder.path().display()), ""),
    }
}

#[test]
fn a_file_is_laid_upon_the_one_that_it_extends() {
    let folder = folder(&[
        ("base/base.inc", BASE),
        (
            "child.toml",
            "extends = \"base/base.inc\"\n[path]\nrtt = \"60 ms\"\n",
        ),
    ]);
    let point = one(&folder, "child.toml").expect("valid");
    assert_eq!(point.experiment.name, "child");
    assert_eq!(point.experiment.path.rtt, units::Duration::from_millis(60));
    assert_eq!(point.experiment.flows.len(), 1);
}

#[test]
fn a_key_stands_above_the_default_of_a_knob_of_the_file_below() {
    let knobs = format!(
        "{BASE}\n[knobs.rtt]\ndefault = \"20 ms\"\nsets = [\"path.rtt\"]\n\
         [knobs.pep]\ndefault = \"none\"\none-of = [\"none\", \"split\"]\nsets = [\"pep.mode\"]\n"
    );
    let knobs = knobs.replace("rtt = \"50 ms\"\n", "");
    let middle = "extends = \"base.inc\"\n[flow.bulk]\nstart = \"1 s\"\n";
    let child = "extends = \"middle.inc\"\n[path]\nrtt = \"60 ms\"\n";
    let folder = folder(&[
        ("base.inc", &knobs),
        ("middle.inc", middle),
        ("child.toml", child),
    ]);
    let path = folder.path().join("child.toml");
    let rtt = |set: &[(&str, &str)]| {
        let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let overrides = Overrides {
            set: set.collect(),
            ..Overrides::default()
        };
        let points = load(&path, &overrides).expect("valid");
        points[0].experiment.path.rtt
    };
    assert_eq!(rtt(&[]), units::Duration::from_millis(60));
    assert_eq!(rtt(&[("rtt", "40 ms")]), units::Duration::from_millis(40));
    // what is listed is what holds
    let listed = scenario::knobs(&path).expect("valid");
    let of = |name: &str| {
        listed
            .iter()
            .find(|k| k.name == name)
            .and_then(|k| k.default.clone())
    };
    assert_eq!(of("rtt").as_deref(), Some("60 ms"));
    assert_eq!(of("pep").as_deref(), Some("none"));
}

#[test]
fn circles_are_refused_with_their_files() {
    let folder = folder(&[
        ("a.toml", "extends = \"b.toml\"\n"),
        ("b.toml", "\nextends = \"c.toml\"\n"),
        ("c.toml", "extends = \"./a.toml\"\n"),
        ("self.toml", "extends = \"self.toml\"\n"),
    ]);
    let text = message(&folder, "a.toml");
    assert!(
        text.starts_with("c.toml:1:12: \"./a.toml\" extends itself"),
        "{text}"
    );
    assert!(text.contains("a.toml, b.toml, c.toml"), "{text}");
    assert!(
        text.ends_with("(extended by b.toml) (extended by a.toml)"),
        "{text}"
    );
    assert!(message(&folder, "self.toml").contains("extends itself"));
}

#[test]
fn a_fault_in_an_extended_file_names_the_chain() {
    let folder = folder(&[
        ("base.inc", &BASE.replace("rtt", "rtx")),
        ("child.toml", "extends = \"base.inc\"\n"),
        ("lost.toml", "extends = \"nowhere.inc\"\n"),
        ("number.toml", "extends = 3\n"),
    ]);
    let text = message(&folder, "child.toml");
    assert!(
        text.starts_with("base.inc:2:1: unknown key \"rtx\""),
        "{text}"
    );
    assert!(text.ends_with("(extended by child.toml)"), "{text}");
    let text = message(&folder, "lost.toml");
    assert!(
        text.starts_with("lost.toml:1:12: the extended file \"nowhere.inc\" cannot be"),
        "{text}"
    );
    assert!(message(&folder, "number.toml").starts_with("number.toml:1:11: \"extends\" is an"));
}

#[test]
fn files_that_are_no_text() {
    let folder = folder(&[("child.toml", "extends = \"bytes.inc\"\n")]);
    fs::write(folder.path().join("bytes.inc"), b"a = 1\nb = \xff\n").expect("written");
    assert!(message(&folder, "bytes.inc").starts_with("bytes.inc:2:5: the byte 0xff"));
    let text = message(&folder, "child.toml");
    assert!(text.starts_with("bytes.inc:2:5: the byte 0xff"), "{text}");
    assert!(text.ends_with("(extended by child.toml)"), "{text}");
    let missing = message(&folder, "missing.toml");
    assert!(
        missing.starts_with("missing.toml: the scenario file cannot be read"),
        "{missing}"
    );
    fs::write(folder.path().join("huge.toml"), vec![b'#'; 1_000_001]).expect("written");
    assert!(message(&folder, "huge.toml").contains("larger than 1 MB"));
}

/// A second of Mahimahi: one packet each millisecond.
fn mahimahi() -> String {
    (1..=1000).map(|ms| format!("{ms}\n")).collect()
}

fn trace_driven() -> String {
    BASE.replace(
        "{ kind = \"constant-cqi\", cqi = 14 }",
        "{ kind = \"trace\", file = \"traces/one\" }",
    )
}

#[test]
fn traces_are_relative_to_the_file_that_names_them() {
    let folder = folder(&[
        ("base/base.inc", &trace_driven()),
        ("base/traces/one", &mahimahi()),
        ("child.toml", "extends = \"base/base.inc\"\n"),
    ]);
    let point = one(&folder, "child.toml").expect("valid");
    let ChannelSpec::Trace(TraceSpec { path, trace, .. }) = &point.experiment.ues[0].channel else {
        panic!("a trace")
    };
    assert_eq!(*path, folder.path().join("base/traces/one"));
    assert_eq!(trace.duration(), units::Duration::from_secs(1));
}

#[test]
fn the_command_lines_trace_replaces_it_and_its_format() {
    let text = trace_driven().replace(
        "file = \"traces/one\"",
        "file = \"gone\", format = \"ucc\", series = \"x\"",
    );
    let folder = folder(&[("a.toml", &text), ("mine", &mahimahi())]);
    assert!(message(&folder, "a.toml").contains("the trace \"gone\" cannot be read"));
    let overrides = Overrides {
        trace: Some(folder.path().join("mine")),
        ..Overrides::default()
    };
    let points = load(&folder.path().join("a.toml"), &overrides).expect("valid");
    let ChannelSpec::Trace(TraceSpec { path, .. }) = &points[0].experiment.ues[0].channel else {
        panic!("a trace")
    };
    assert!(path.ends_with("mine"));
}

#[test]
fn a_bad_trace_is_reported_with_its_line_and_the_key_that_names_it() {
    let folder = folder(&[
        ("a.toml", &trace_driven()),
        ("traces/one", "1\n2\nthree\n"),
        ("empty", ""),
        ("pcap", "\u{1}\u{2}what is this\n"),
    ]);
    let text = message(&folder, "a.toml");
    assert!(text.starts_with("traces/one:3:"), "{text}");
    assert!(text.contains("(the trace that a.toml:7:"), "{text}");
    for (name, part) in [
        ("empty", "the trace is empty"),
        ("pcap", "no known trace format"),
    ] {
        let overrides = Overrides {
            trace: Some(folder.path().join(name)),
            ..Overrides::default()
        };
        let error = load(&folder.path().join("a.toml"), &overrides)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part) && error.contains("--trace"), "{error}");
    }
}

#[test]
fn a_sweep_reads_a_trace_once() {
    let text = format!("{}[sweep]\nseed = [1, 2, 3]\n", trace_driven());
    let folder = folder(&[("a.toml", &text), ("traces/one", &mahimahi())]);
    let points = load(&folder.path().join("a.toml"), &Overrides::default()).expect("valid");
    let traces: Vec<_> = points
        .iter()
        .filter_map(|point| match &point.experiment.ues[0].channel {
            ChannelSpec::Trace(TraceSpec { trace, .. }) => Some(std::sync::Arc::as_ptr(trace)),
            _ => None,
        })
        .collect();
    assert_eq!(traces.len(), 3);
    assert!(traces.iter().all(|t| *t == traces[0]));
}

#[test]
fn reading_writes_nothing() {
    let folder = folder(&[("a.toml", BASE), ("b.toml", "nonsense")]);
    let count = |path: &Path| fs::read_dir(path).expect("a folder").count();
    one(&folder, "a.toml").expect("valid");
    message(&folder, "b.toml");
    assert_eq!(count(folder.path()), 2);
}
