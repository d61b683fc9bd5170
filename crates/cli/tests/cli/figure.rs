//! `brimful figure`: what is refused before anything draws. What it draws is tested with the Python package.

use super::{Place, Run, WIRE};

fn refused(place: &Place, arguments: &[&str], word: &str) {
    let before = place.names();
    let run = place.run(&[&["figure"], arguments].concat());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains(word), "no {word:?} in: {}", run.stderr);
    assert_eq!(place.names(), before, "nothing may be written");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let place = Place::new().with("s.toml", WIRE).with("file", "");
    let made = place.run(&["run", "s.toml", "--out", "results"]);
    made.succeeded();
    let cdf = ["--kind", "cdf", "--out"];
    let with = |folder: &'static str, out: &'static str| [&[folder], &cdf[..], &[out]].concat();
    refused(&place, &with("file", "f.pdf"), "no samples.parquet");
    refused(
        &place,
        &with("missing", "f.pdf"),
        "missing: no results there",
    );
    refused(&place, &with("results", "f.gif"), ".pdf, .svg or .png");
    refused(
        &place,
        &with("results", "nowhere/f.pdf"),
        "there is no folder nowhere",
    );
    let pie = ["results", "--kind", "pie", "--out", "f.pdf"];
    refused(&place, &pie, "[possible values: cdf, timeline, frontier]");
}

#[test]
fn without_the_python_package_it_is_stated_how_to_get_it() {
    let place = Place::new().with("s.toml", WIRE);
    place
        .run(&["run", "s.toml", "--out", "results"])
        .succeeded();
    let arguments = ["figure", "results", "--kind", "cdf", "--out", "f.pdf"];
    let mut command = place.command(&arguments);
    command.env("BRIMFUL_PYTHON", "/no/python");
    let run = Run::from(command.output().expect("the command starts"));
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("make python"), "{}", run.stderr);
}
