//! `brimful init`: what it writes can be run, and what it cannot write is refused.

use super::{Place, Run};
use std::io::Write;
use std::process::Stdio;

/// Runs it with these lines as answers.
fn asked(place: &Place, arguments: &[&str], answers: &str) -> Run {
    let mut command = place.command(&[&["init", "--ask"], arguments].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(answers.as_bytes())
        .expect("answers are read");
    drop(stdin);
    Run::from(child.wait_with_output().expect("an end"))
}

#[test]
fn every_choice_can_be_run() {
    let place = Place::new().with("rates", "time_s,rate_mbps\n0,10\n1,20\n2,15\n3,20\n4,10\n");
    let radios = [["--radio", "4g"], ["--radio", "5g"], ["--trace", "rates"]];
    let traffic = "download,pages,call,video,quic";
    let varied = [
        "pep=none,default",
        "unsplit=off,mark",
        "queue=drop-tail,default",
        "cc=cubic,bbr",
    ];
    for (place_of_radio, radio) in radios.iter().enumerate() {
        for (question, vary) in ["proxy", "unsplit", "queue", "cc"].into_iter().zip(varied) {
            let file = format!("{place_of_radio}-{question}.toml");
            let given = ["init", &file, "--traffic", traffic, "--question", question];
            let run = place.run(&[&given[..], radio].concat()).succeeded();
            let next = format!(" compare {file} --vary ");
            assert!(run.stderr.contains(&next), "{run:?}");
            let about = "one user with download, pages, call, video, quic. Next:";
            assert!(run.stderr.contains(about), "{run:?}");
            let next = [
                "compare",
                &file,
                "--set",
                "duration=3 s",
                "--vary",
                vary,
                "--json",
            ];
            let compared = place.run(&next).succeeded().json();
            let flows = compared["variants"][1]["summary"]["flows"].as_array();
            assert_eq!(flows.map(Vec::len), Some(5), "{compared}");
        }
    }
}

#[test]
fn answers_and_defaults_are_taken() {
    let place = Place::new();
    let run = asked(&place, &[], "5g\ncall, quic\ncc\n").succeeded();
    assert!(run.stderr.contains("--vary cc=cubic,bbr"), "{run:?}");
    let text = std::fs::read_to_string(place.path("scenario.toml")).expect("written");
    assert!(
        text.contains("[flow.call]") && text.contains("[flow.quic]"),
        "{text}"
    );
    assert!(
        !text.contains("[flow.download]") && text.contains("rat = \"nr\""),
        "{text}"
    );
    let silent = asked(&place, &["other.toml"], "\n\n\n").succeeded();
    assert!(
        silent.stderr.contains("--vary pep=none,default"),
        "{silent:?}"
    );
    let text = std::fs::read_to_string(place.path("other.toml")).expect("written");
    assert!(
        text.contains("[flow.download]") && text.contains("rat = \"lte\""),
        "{text}"
    );
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let place = Place::new()
        .with("there.toml", "name = \"mine\"\n")
        .with("bad", "no trace\n");
    let before = place.names();
    let refused = |run: Run, word: &str| {
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(word), "no {word:?} in {}", run.stderr);
        assert_eq!(place.names(), before);
    };
    refused(place.run(&["init", "there.toml"]), "is there already");
    refused(
        place.run(&["init", "no/where.toml"]),
        "there is no folder no",
    );
    refused(place.run(&["init", "--trace", "missing"]), "missing: ");
    refused(place.run(&["init", "--trace", "bad"]), "bad");
    refused(
        asked(&place, &[], "4g\nsongs\n\n"),
        "expected one of download, pages",
    );
    refused(
        asked(&place, &[], "4g\n\nwhy\n"),
        "expected one of proxy, unsplit",
    );
}
