//! Result folders, whole ones and others.

use super::{request, serve};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use dash::{Access, Dash, Library};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Samples of two variants with two repeats each; values distinguish them.
fn write_samples(path: &Path, labels: &[&str], steps: u32) {
    let mut rows = Vec::new();
    for (variant, label) in labels.iter().enumerate() {
        for repeat in 0..2_u32 {
            for (entity, metric) in [("bulk", "rtt_ms"), ("cell", "capacity_bps")] {
                for step in 0..steps {
                    let peak = if step == steps / 3 { 1e6 } else { 0.0 };
                    let value = peak + (variant as f64) * 10.0 + f64::from(repeat);
                    rows.push((
                        *label,
                        repeat,
                        entity,
                        metric,
                        f64::from(step) * 0.01,
                        value,
                    ));
                }
            }
        }
    }
    let text = |of: fn(&(&'static str, &'static str)) -> &'static str,
                all: &[(&'static str, &'static str)]| {
        Arc::new(StringArray::from_iter_values(all.iter().map(of))) as ArrayRef
    };
    let names: Vec<_> = rows.iter().map(|r| (r.2, r.3)).collect();
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        (
            "variant",
            Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.0))),
            false,
        ),
        (
            "repeat",
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            false,
        ),
        ("entity", text(|n| n.0, &names), false),
        ("metric", text(|n| n.1, &names), false),
        (
            "time_s",
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.4))),
            false,
        ),
        (
            "value",
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.5))),
            false,
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a table");
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    // parts of the file as of several batches
    let part = batch.num_rows().div_ceil(3);
    for begin in (0..batch.num_rows()).step_by(part) {
        let length = part.min(batch.num_rows() - begin);
        writer.write(&batch.slice(begin, length)).expect("written");
        writer.flush().expect("written");
    }
    writer.close().expect("written");
}

fn write_folder(path: &Path, version: &str) {
    fs::create_dir_all(path).expect("a folder");
    let labels = ["pep=none", "pep=default"];
    let points = labels.map(|label| json!({"label": label, "seeds": [7, 8], "resolved": {}}));
    let finding = json!({"variant": "pep=default", "flow": "bulk", "text": "98 % of the goodput"});
    let manifest = json!({
        "scenario": "wire", "file": "wire.toml", "world": "sim", "version": version,
        "command": [], "points": points, "findings": [finding],
    });
    let variants = labels.map(|label| {
        let pep = label.trim_start_matches("pep=");
        json!({"label": label, "settings": {"pep": pep}, "summary": {"pep": pep}})
    });
    let summary = json!({"scenario": "wire", "variants": variants, "comparison": []});
    fs::write(path.join("manifest.json"), manifest.to_string()).expect("written");
    fs::write(path.join("summary.json"), summary.to_string()).expect("written");
    write_samples(&path.join("samples.parquet"), &labels, 5_000);
}

fn library(fill: impl Fn(&Path)) -> (TempDir, SocketAddr) {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    let library = Library::open(folder.path()).expect("results");
    let address = serve(Dash::results(library, Access::new(None, Vec::new())));
    (folder, address)
}

fn get(address: SocketAddr, path: &str) -> Value {
    let answer = request(address, "GET", &format!("/dash/api/results{path}"), &[], "");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

fn refused(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = request(address, "GET", &format!("/dash/api/results{path}"), &[], "");
    let error = answer.json()["error"]
        .as_str()
        .expect("a reason")
        .to_owned();
    (answer.status, error)
}

#[test]
fn a_comparison_is_listed_and_its_runs_are_distinguished() {
    let (_folder, address) = library(|root| write_folder(&root.join("first"), "0.1.0"));
    let listed = get(address, "");
    let first = &listed["results"][0];
    assert_eq!(first["id"], "first");
    assert_eq!(first["repeats"], 2);
    assert_eq!(first["points"][1]["axes"], json!({"pep": "default"}));
    assert_eq!(first["findings"][0]["text"], "98 % of the goodput");
    let point = get(address, "/first/points/1");
    assert_eq!(point["label"], "pep=default");
    assert_eq!(point["summary"]["pep"], "default");
    assert_eq!(point["seeds"], json!([7, 8]));
    let value = |path: &str| get(address, path)["series"][0]["v"][0].as_f64();
    assert_eq!(value("/first/points/0/series?seed=7"), Some(0.0));
    assert_eq!(value("/first/points/0/series?seed=8"), Some(1.0));
    assert_eq!(value("/first/points/1/series"), Some(10.0));
    let part = get(address, "/first/points/0/series?metric=capacity_bps");
    let part = part["series"].as_array().expect("series");
    assert!(matches!(&part[..], [one] if one["metric"] == "capacity_bps"));
}

#[test]
fn series_are_decimated_with_their_peaks_and_rates_are_means() {
    let (_folder, address) = library(|root| write_folder(&root.join("first"), "0.1.0"));
    let all = get(address, "/first/points/0/series?width=100");
    assert_eq!(
        (all["from"].as_f64(), all["to"].as_f64()),
        (Some(0.0), Some(49.99))
    );
    for series in all["series"].as_array().expect("series") {
        let numbers = |name: &str| -> Vec<f64> {
            let numbers = series[name].as_array().expect("numbers").iter();
            numbers.filter_map(Value::as_f64).collect()
        };
        let (t, v) = (numbers("t"), numbers("v"));
        assert!(t.len() <= 200 && t.len() == v.len(), "{}", t.len());
        assert!(t.windows(2).all(|pair| pair[0] < pair[1]));
        match series["metric"].as_str() {
            // 5,000 samples are 200 means, of 25 each, one of which has the burst
            Some("capacity_bps") => {
                let greatest = v.iter().copied().fold(0.0, f64::max);
                assert!((3.5e4..4.5e4).contains(&greatest), "{greatest}");
            }
            _ => assert!(v.contains(&1e6), "the peak is there"),
        }
    }
    assert_eq!(all["series"][0]["kind"], "flow");
    assert_eq!(all["series"][1]["kind"], "cell");
    let part = get(address, "/first/points/0/series?from=10&to=10.5&width=1000");
    assert_eq!(part["series"][0]["t"].as_array().map(Vec::len), Some(51));
}

#[test]
fn damaged_newer_and_half_written_folders_are_listed_with_the_reason() {
    let (folder, address) = library(|root| {
        write_folder(&root.join("good"), "0.1.0");
        write_folder(&root.join("newer"), "99.0.0");
        write_folder(&root.join("cut"), "0.1.0");
        fs::write(root.join("cut/manifest.json"), "{\"scenario\": ").expect("written");
        write_folder(&root.join("half"), "0.1.0");
        fs::remove_file(root.join("half/summary.json")).expect("removed");
        write_folder(&root.join(".unfinished.abc"), "0.1.0");
        fs::create_dir(root.join("empty")).expect("a folder");
    });
    let listed = get(address, "");
    let listed = listed["results"].as_array().expect("results");
    let error = |id: &str| {
        let found = listed.iter().find(|result| result["id"] == id);
        found.expect(id)["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(error("good"), "");
    assert!(error("newer").contains("by Brimful 99.0.0, which is newer"));
    assert!(error("cut").contains("manifest.json: is no JSON"));
    assert!(error("half").contains("summary.json: cannot be read"));
    let (status, error) = refused(address, "/newer/points/0");
    assert!(status == 422 && error.contains("newer"), "{status} {error}");

    let samples = folder.path().join("good/samples.parquet");
    let whole = fs::read(&samples).expect("a file");
    let path = "/good/points/0/series";
    for (name, bytes) in [
        ("cut off", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("text", b"no Parquet at all".to_vec()),
    ] {
        fs::write(&samples, bytes).expect("written");
        let (status, error) = refused(address, path);
        assert_eq!(status, 422, "{name}");
        assert!(
            error.contains("samples.parquet: cannot be read"),
            "{name}: {error}"
        );
    }
    // bytes that are wrong here and there: refused or read, and the server goes on
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&samples, bytes).expect("written");
        let answer = request(address, "GET", &format!("/dash/api/results{path}"), &[], "");
        assert!(
            [200, 422].contains(&answer.status),
            "byte {at}: {}",
            answer.status
        );
    }
    fs::remove_file(&samples).expect("removed");
    assert_eq!(refused(address, path).0, 422);
}

/// A part of a sweep's flows: of each point, its axis and two flows.
fn write_part(path: &Path, points: &[u64]) {
    let of_flows = || {
        points
            .iter()
            .flat_map(|point| [(*point, "bulk"), (*point, "web")])
    };
    let text = |text: fn((u64, &str)) -> String| {
        Arc::new(StringArray::from_iter_values(of_flows().map(text))) as ArrayRef
    };
    let number = |number: fn((u64, &str)) -> Option<f64>| {
        Arc::new(of_flows().map(number).collect::<Float64Array>()) as ArrayRef
    };
    let point = |(point, _): (u64, &str)| point;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "point",
            Arc::new(of_flows().map(point).collect::<UInt64Array>()),
        ),
        ("rtt", text(|(point, _)| format!("{point} ms"))),
        ("rtt [ms]", number(|(point, _)| Some(point as f64))),
        (
            "seed",
            Arc::new(of_flows().map(point).collect::<UInt64Array>()),
        ),
        ("flow", text(|(_, flow)| flow.to_owned())),
        ("goodput_bps", number(|(point, _)| Some(1e6 * point as f64))),
        (
            "completion_s",
            number(|(_, flow)| (flow == "web").then_some(2.0)),
        ),
        ("events", number(|_| Some(7.0))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a table");
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

fn write_sweep(path: &Path, points: u64, parts: &[(&str, &[u64])]) {
    let axes = json!([{"name": "rtt", "sets": ["path.rtt"], "values": ["1 ms", "2 ms"],
        "is_number": false, "unit": "ms"}]);
    let description = json!({"format": 1, "version": "0.1.0", "name": "contour", "points": points,
        "axes": axes, "seed": 9, "repeats": 3});
    fs::create_dir_all(path).expect("a folder");
    fs::write(path.join("_sweep.json"), description.to_string()).expect("written");
    fs::write(path.join("failed.jsonl"), "{\"point\": 3}\n\n").expect("written");
    for (part, of) in parts {
        write_part(&path.join("points").join(part), of);
    }
}

#[test]
fn a_sweep_is_listed_and_has_a_table_in_the_order_of_its_points() {
    let (_folder, address) = library(|root| {
        write_folder(&root.join("first"), "0.1.0");
        let parts: [(&str, &[u64]); 2] = [
            ("block=0000/part-00000000.parquet", &[2, 0]),
            ("block=0000/part-00000001.parquet", &[1]),
        ];
        write_sweep(&root.join("plane"), 4, &parts);
    });
    let listed = get(address, "");
    let sweep = &listed["results"][1];
    assert_eq!(
        (&sweep["id"], &sweep["scenario"]),
        (&json!("plane"), &json!("contour"))
    );
    assert_eq!((&sweep["seed"], &sweep["repeats"]), (&json!(9), &json!(3)));
    assert!(sweep["written"].as_u64() > Some(1_700_000_000), "{sweep}");
    let axes = json!([{"name": "rtt", "values": "1 ms, 2 ms"}]);
    assert_eq!(
        sweep["sweep"],
        json!({"points": 4, "failed": 1, "axes": axes})
    );

    let table = get(address, "/plane/sweep");
    let columns = json!(["point", "rtt", "flow", "goodput_bps", "completion_s"]);
    assert_eq!(table["columns"], columns);
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0], json!([0, "0 ms", "bulk", 0.0, null]));
    assert_eq!(rows[3], json!([1, "1 ms", "web", 1e6, 2.0]));
    assert_eq!(
        (&table["points_shown"], &table["is_whole"]),
        (&json!(3), &json!(true))
    );
    let failures = json!([{"point": 3, "axes": {}, "error": ""}]);
    assert_eq!(table["failures"], failures);

    let (status, error) = refused(address, "/plane/points/0");
    assert!(
        status == 404 && error.contains("is a sweep"),
        "{status} {error}"
    );
    assert_eq!(refused(address, "/first/sweep").0, 404);
}

#[test]
fn of_a_long_sweep_the_first_rows_are_given_and_damaged_ones_are_named() {
    let all: Vec<u64> = (0..3_000).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let part = "block=0000/part-00000000.parquet";
    write_sweep(folder.path(), 3_000, &[(part, &all)]);
    let id = folder
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let open = || Library::open(folder.path()).expect("a sweep");
    let address = serve(Dash::results(open(), Access::new(None, Vec::new())));
    let table = get(address, &format!("/{id}/sweep"));
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(2_000));
    assert_eq!(
        (&table["points_shown"], &table["is_whole"]),
        (&json!(1_000), &json!(false))
    );
    assert_eq!(open().problems(), Vec::<String>::new());

    fs::write(folder.path().join("points").join(part), "no Parquet").expect("written");
    let (status, error) = refused(address, &format!("/{id}/sweep"));
    assert!(
        status == 422 && error.contains("part-00000000.parquet: cannot be read"),
        "{error}"
    );
    assert!(open().problems()[0].contains("part-00000000.parquet"));
    fs::write(folder.path().join("_sweep.json"), "{}").expect("written");
    let listed = get(address, "");
    let error = listed["results"][0]["error"].as_str().expect("a reason");
    assert!(error.contains("_sweep.json: has no version"), "{error}");
}

#[test]
fn names_do_not_lead_out_of_the_folder() {
    let (folder, address) = library(|root| {
        write_folder(&root.join("first"), "0.1.0");
        write_folder(&root.join("deep/inner"), "0.1.0");
    });
    let outside = tempfile::tempdir().expect("a folder");
    write_folder(&outside.path().join("secret"), "0.1.0");
    let name = outside.path().display().to_string();
    let long = format!("..%2f..%2f..{}%2fsecret", name.replace('/', "%2f"));
    for id in [
        "..",
        "%2e%2e",
        ".",
        "deep%2finner",
        "first%2f..%2ffirst",
        &long,
        "first%00",
        "none",
    ] {
        let path = format!("/dash/api/results/{id}/points/0");
        let status = request(address, "GET", &path, &[], "").status;
        assert_eq!(status, 404, "{id}");
    }
    for bad in ["x", "-1", "99999999999999999999999"] {
        assert_eq!(refused(address, &format!("/first/points/{bad}")).0, 400);
    }
    assert_eq!(refused(address, "/first/points/2").0, 404);
    assert_eq!(refused(address, "/first/points/0/series?seed=1").0, 404);
    assert_eq!(refused(address, "/first/points/0/series?width=none").0, 400);
    drop(folder);
}

#[test]
fn a_place_without_results_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let problem = |path: &Path| Library::open(path).expect_err("refused").to_string();
    assert!(problem(folder.path()).contains("holds no results"));
    assert!(problem(&folder.path().join("none")).contains("cannot be read"));
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    assert!(problem(&file).contains("is no folder"));
    // a result folder itself is a library of one
    write_folder(&folder.path().join("only"), "0.1.0");
    assert!(Library::open(&folder.path().join("only")).is_ok());
}

/// Found by fuzzing: on this file the reader of Parquet panics, which must end no server.
#[test]
fn a_damaged_file_of_time_series_is_an_error() {
    let seed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../fuzz/seeds/dash-results/damaged"
    );
    let bytes = fs::read(seed).expect("the seed");
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["manifest.json", "summary.json", "samples.parquet"];
    for (name, part) in files.iter().zip(bytes.splitn(3, |byte| *byte == 0)) {
        fs::write(folder.path().join(name), part).expect("written");
    }
    let library = Library::open(folder.path()).expect("it looks like a result");
    let problems = library.problems();
    assert!(
        matches!(&problems[..], [one] if one.contains("samples.parquet") && one.contains("damaged")),
        "{problems:?}"
    );
}
