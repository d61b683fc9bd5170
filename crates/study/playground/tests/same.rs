//! What the playground gives is what the command's runner gives.
#![allow(missing_docs, reason = "a test")]

use playground::{Files, Request, Variant, run};
use runner::{Engine, Finished, Quiet, Simulator, Stop};
use scenario::{Overrides, Point, World, load};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// All files of a folder of the repository, by their paths within it.
fn files_of(folder: &str, files: &mut Files) {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder");
    for entry in entries {
        let path = Path::new(folder).join(entry.expect("an entry").file_name());
        if let Ok(content) = std::fs::read(root().join(&path)) {
            files.insert(path, content);
        }
    }
}

fn repository() -> Files {
    let mut files = Files::new();
    for folder in ["scenarios/rapid", "scenarios/dynamic-buffer", "traces"] {
        files_of(folder, &mut files);
    }
    files
}

fn request(scenario: &str, set: &[(&str, &str)], repeats: u32) -> Request {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Request {
        scenario: PathBuf::from(scenario),
        variants: vec![Variant {
            label: "with".to_owned(),
            set: set.collect(),
        }],
        seed: Some(5),
        repeats: Some(repeats),
        trace: None,
    }
}

/// The summary as the command's runner makes it of files on the disk.
fn by_runner(request: &Request) -> Value {
    let overrides = Overrides {
        set: request.variants[0].set.clone(),
        seed: request.seed,
        repeats: request.repeats,
        ..Overrides::default()
    };
    let points: Vec<Point> = load(&root().join(&request.scenario), &overrides).expect("a scenario");
    let runner: Arc<dyn runner::Runner> = Arc::new(Simulator::default());
    let runs = Engine::new(None, Stop::default()).run(&runner, &points, &Quiet);
    let runs = runs.expect("runs").into_iter();
    let versions = points.into_iter().zip(runs).collect();
    let finished = Finished::over_traces(String::new(), World::Sim, versions).expect("one");
    untimed(runner::json(&finished.summary).expect("JSON"))
}

/// Without the time that it took, and without the folder that names of traces begin with.
fn untimed(mut summary: Value) -> Value {
    summary["wall_s"] = Value::Null;
    summary["traces"] = Value::Null;
    summary
}

#[test]
fn summaries_are_those_of_the_command() {
    let files = repository();
    for (scenario, set, repeats) in [
        (
            "scenarios/rapid/oai-short.toml",
            &[("pep", "default"), ("duration", "15 s")][..],
            2,
        ),
        (
            "scenarios/rapid/trace-drive.toml",
            &[("pep", "none"), ("duration", "3 s")],
            1,
        ),
    ] {
        let request = request(scenario, set, repeats);
        let result = run(&request, &files).expect("a result");
        let result: Value = serde_json::from_str(&result).expect("JSON");
        let summary = untimed(result["summaries"][0].clone());
        assert_eq!(summary, by_runner(&request), "{scenario}");
    }
}

#[test]
fn two_variants_have_findings_and_figures_with_two_panels() {
    let mut request = request(
        "scenarios/rapid/oai-short.toml",
        &[("pep", "none"), ("duration", "12 s")],
        1,
    );
    request.variants.push(Variant {
        label: "RAPID".to_owned(),
        set: vec![
            ("pep".to_owned(), "default".to_owned()),
            ("duration".to_owned(), "12 s".to_owned()),
        ],
    });
    let result = run(&request, &repository()).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let found = result["found"].as_array().expect("a list");
    let text = found[0][2].as_str().expect("a text");
    assert_eq!(found[0][0], "RAPID");
    assert_eq!(found[0][1], "bulk");
    assert!(text.contains("% of the goodput"), "{text}");
    let figures = result["figures"]["figures"].as_array().expect("a list");
    for id in ["received", "rtt", "queues"] {
        let figure = figures.iter().find(|figure| figure["id"] == id);
        let panels = figure.expect(id)["panels"].as_array().map(Vec::len);
        assert_eq!(panels, Some(2), "{id}");
    }
}

/// The mean of the values of a line.
fn mean(line: &Value) -> f64 {
    let values = line["y"].as_array().expect("values").iter();
    let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_delay_of_a_call_is_a_line_of_what_its_sentence_states() {
    let mut request = request(
        "scenarios/rapid/trace-drive.toml",
        &[("pep", "none"), ("duration", "12 s")],
        1,
    );
    let mut with = request.variants[0].clone();
    request.variants[0].label = "without".to_owned();
    with.set[0].1 = "default".to_owned();
    request.variants.push(with);
    let result = run(&request, &repository()).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let found = result["found"].as_array().expect("a list");
    let of_call = found.iter().find(|row| row[1] == "voip").expect("a call");
    let sentence = of_call[2].as_str().expect("a text");
    let stated = sentence.split("one-way delay ").nth(1).expect("its delay");
    let stated: Vec<f64> = stated
        .split([' ', ','])
        .filter_map(|word| word.parse().ok())
        .collect();
    let figures = result["figures"]["figures"].as_array().expect("a list");
    let figure = figures.iter().find(|figure| figure["id"] == "rtt");
    let figure = figure.expect("delays");
    assert_eq!(figure["title"], "Round-trip time and one-way delay");
    assert_eq!(figure["y"]["unit"], "ms");
    let panels = figure["panels"].as_array().expect("panels");
    assert_eq!((panels.len(), stated.len()), (2, 2), "{sentence}");
    for (panel, stated) in panels.iter().zip(stated) {
        let mut lines = panel["lines"].as_array().expect("lines").iter();
        let call = lines.find(|line| line["name"] == "voip (one-way)");
        // a packet every 20 ms: parts of the run that are as long have as many, but for what is late or lost
        let drawn = mean(call.expect("its line"));
        assert!(
            (drawn - stated).abs() < 0.1 * stated,
            "{drawn} is drawn, {stated} is stated"
        );
    }
}

#[test]
fn what_is_wrong_is_worded_as_the_command_words_it() {
    let mut files = repository();
    let missing = run(&request("scenarios/rapid/none.toml", &[], 1), &files);
    let missing = missing.expect_err("no such file");
    assert!(
        missing.starts_with("scenarios/rapid/none.toml: the scenario file cannot be read: "),
        "{missing}"
    );
    let trace = [("ue.phone.channel.file", "../../traces/none.csv")];
    let missing = run(
        &request("scenarios/rapid/trace-drive.toml", &trace, 1),
        &files,
    );
    let missing = missing.expect_err("no such trace");
    assert!(
        missing.contains("traces/none.csv\" cannot be read: "),
        "{missing}"
    );
    let swept = [("sweep.pep", r#"["none", "default"]"#)];
    let swept = run(
        &request("scenarios/rapid/oai-short.toml", &swept, 1),
        &files,
    );
    let swept = swept.expect_err("two points");
    assert!(swept.contains("a sweep of 2 points"), "{swept}");
    let wrong = b"\xff".to_vec();
    files.insert(PathBuf::from("a.toml"), wrong);
    let wrong = run(&request("a.toml", &[], 1), &files).expect_err("no text");
    assert_eq!(
        wrong,
        "a.toml:1:1: the byte 0xff is no UTF-8 text: no scenario file"
    );
}

/// Nothing but what is at hand is read, were it on the disk.
#[test]
fn no_file_of_the_machine_is_read() {
    let path = root().join("traces/static.csv");
    let path = path.canonicalize().expect("a file");
    let trace = [("ue.phone.channel.file", path.to_str().expect("UTF-8"))];
    let refused = run(
        &request("scenarios/rapid/trace-drive.toml", &trace, 1),
        &repository(),
    );
    let refused = refused.expect_err("not at hand");
    assert!(refused.contains("cannot be read: "), "{refused}");
}
