//! Sweeps on threads, by the simulator: whole, interrupted, broken, and with points that fail.

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use scenario::{Experiment, Overrides, Plan, RunResult};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use sweep::{
    Dataset, Description, End, Error, Local, Options, Outcome, RunOne, Status, Unfinished, Watch,
    run_local, run_points,
};

const TEXT: &str = "[path]\nrtt = \"20 ms\"\n[link]\nrate = \"20 Mbit/s\"\n\
    [flow.bulk]\napp = { kind = \"bulk\", size = \"50 kB\" }\n\
    [sweep]\n\"path.rtt\" = [\"10 ms\", \"20 ms\", \"40 ms\"]\n\"flow.bulk.cc\" = [\"cubic\", \"bbr\"]\n\
    sample = { points = 25, ranges = { \"link.loss\" = [0.0, 0.02] } }\n";

fn plan_of(text: &str) -> Plan {
    Plan::load_str(text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(experiment: &Experiment, seed: u64) -> Result<RunResult, Unfinished> {
    sim::run(experiment, seed).map_err(|error| Unfinished::Failed(error.to_string()))
}

/// Ends the sweep when so many points are done.
struct Until(u64, u64);

impl Watch for Until {
    fn progress(&mut self, status: Status) {
        self.1 = status.done + status.failed;
    }
    fn is_interrupted(&mut self) -> bool {
        self.1 >= self.0
    }
}

fn run_with(
    plan: &Plan,
    folder: &Path,
    workers: usize,
    until: u64,
    options: Options,
    run: &RunOne<'_>,
) -> (End, Status, Vec<String>) {
    let description = Description::new(plan, "test", "").expect("readable");
    let mut dataset = Dataset::open(folder, &description, options).expect("opened");
    let notes = dataset.notes().to_vec();
    let stop = AtomicBool::new(false);
    let local = Local {
        workers: NonZeroUsize::new(workers).expect("some"),
        version: "test",
        run,
        stop: &stop,
        thread: "run",
    };
    let end = run_local(plan, &mut dataset, &local, &mut Until(until, 0)).expect("written");
    (end, dataset.status(), notes)
}

fn run(plan: &Plan, folder: &Path, workers: usize, until: u64) -> (End, Status, Vec<String>) {
    run_with(plan, folder, workers, until, Options::default(), &simulate)
}

/// The part files of a table.
fn parts(folder: &Path, table: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for block in fs::read_dir(folder.join(table)).expect("a folder") {
        for part in fs::read_dir(block.expect("an entry").path()).expect("a folder") {
            let path = part.expect("an entry").path();
            if path
                .file_name()
                .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All rows of both tables, sorted.
fn content(folder: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for table in ["points", "queues"] {
        for path in parts(folder, table) {
            let file = fs::File::open(path).expect("there");
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("parquet");
            for batch in reader.build().expect("readable") {
                let batch = batch.expect("readable");
                let row = |i| format!("{table} {:?}", batch.slice(i, 1).columns());
                rows.extend((0..batch.num_rows()).map(row));
            }
        }
    }
    rows.sort();
    rows
}

fn refusal(plan: &Plan, folder: &Path) -> String {
    let description = Description::new(plan, "test", "").expect("readable");
    let error = Dataset::open(folder, &description, Options::default()).expect_err("refused");
    assert!(error.is_input());
    error.to_string()
}

#[test]
fn the_content_does_not_depend_on_workers_or_interruptions() {
    let scratch = tempfile::tempdir().expect("a folder");
    let plan = plan_of(TEXT);
    assert_eq!(plan.points(), 150);
    let whole = scratch.path().join("whole");
    let (end, status, _) = run(&plan, &whole, 1, u64::MAX);
    assert_eq!(
        (end, status.done, status.pending()),
        (End::Complete, 150, 0)
    );
    let expected = content(&whole);
    assert_eq!(
        expected
            .iter()
            .filter(|row| row.starts_with("points"))
            .count(),
        150
    );

    let broken = scratch.path().join("broken");
    let mut interruptions = 0;
    for step in 1.. {
        let (end, status, notes) = run(&plan, &broken, 3, step * 40);
        assert!(notes.is_empty(), "{notes:?}");
        if end == End::Complete {
            assert_eq!(status.done, 150);
            break;
        }
        interruptions += 1;
    }
    assert!(interruptions > 0);
    assert_eq!(content(&broken), expected);
    // nothing is left to do, and nothing is done
    let before = parts(&broken, "points");
    let never = |_: &Experiment, _| -> Result<RunResult, Unfinished> { panic!("run again") };
    let (end, status, _) = run_with(&plan, &broken, 2, u64::MAX, Options::default(), &never);
    assert_eq!((end, status.done, status.failed), (End::Complete, 150, 0));
    assert_eq!(parts(&broken, "points"), before);
}

#[test]
fn torn_parts_are_reported_and_their_points_run_again() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (plan, folder) = (plan_of(TEXT), scratch.path().join("s"));
    run(&plan, &folder, 2, u64::MAX);
    let expected = content(&folder);
    for table in ["points", "queues"] {
        let part = parts(&folder, table).remove(0);
        let bytes = fs::read(&part).expect("there");
        fs::write(&part, &bytes[..bytes.len() / 2]).expect("cut");
        // what a process leaves that is killed in the middle of a part
        fs::write(part.with_file_name(".part-00000099.parquet"), b"half").expect("written");
        let orphan = folder.join("queues/block=0000/part-00000098.parquet");
        fs::copy(parts(&folder, "queues").last().expect("one"), orphan).expect("copied");
        let (end, _, notes) = run(&plan, &folder, 2, u64::MAX);
        assert_eq!((end, notes.len()), (End::Complete, 1), "{notes:?}");
        assert!(
            notes[0].contains(table) && notes[0].contains("run again"),
            "{notes:?}"
        );
        assert_eq!(content(&folder), expected);
        assert!(!part.with_file_name(".part-00000099.parquet").exists());
    }
    // a part that is there twice does not count twice
    let part = parts(&folder, "points").remove(0);
    let name = |table: &str| folder.join(table).join("block=0000/part-00000500.parquet");
    fs::copy(&part, name("points")).expect("copied");
    let beside = folder
        .join("queues/block=0000")
        .join(part.file_name().expect("a name"));
    fs::copy(beside, name("queues")).expect("copied");
    let (_, status, notes) = run(&plan, &folder, 2, u64::MAX);
    assert!(status.done == 150 && notes.len() == 1, "{notes:?}");
    assert_eq!(content(&folder), expected);
}

#[test]
fn another_sweep_is_refused_with_what_differs() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (plan, folder) = (plan_of(TEXT), scratch.path().join("s"));
    run(&plan, &folder, 2, 10);
    let before = content(&folder);
    for (from, to, what) in [
        (
            "rtt = \"20 ms\"",
            "rtt = \"20 ms\"\nrate = \"1 Gbit/s\"",
            "path.rate is 10 Gbit/s there, 1 Gbit/s here",
        ),
        (
            "50 kB",
            "51 kB",
            "flow.bulk.app.size is 50 kB there, 51 kB here",
        ),
        (
            "[\"cubic\", \"bbr\"]",
            "[\"cubic\"]",
            "axes.flow.bulk.cc.values has 2 elements there, 1 here",
        ),
        (
            "points = 25",
            "points = 26",
            "points is 150 there, 156 here",
        ),
        (
            "0.02]",
            "0.03]",
            "axes.link.loss.range.most is 0.02 there, 0.03 here",
        ),
    ] {
        let message = refusal(&plan_of(&TEXT.replace(from, to)), &folder);
        assert!(message.contains(what), "{message}");
    }
    let description = Description::new(&plan, "other", "").expect("readable");
    let error = Dataset::open(&folder, &description, Options::default()).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("version is test there, other here"),
        "{error}"
    );
    assert_eq!(content(&folder), before);

    let json = folder.join("_sweep.json");
    let text = fs::read_to_string(&json).expect("there");
    fs::write(&json, text.replace("\"format\": 1", "\"format\": 2")).expect("written");
    assert!(refusal(&plan, &folder).contains("made by a newer version"));
    fs::write(&json, &text[..text.len() / 2]).expect("written");
    assert!(refusal(&plan, &folder).contains("is no description of a sweep"));
    fs::write(&json, text).expect("written");

    let other = scratch.path().join("other");
    fs::create_dir(&other).expect("made");
    fs::write(other.join("thesis.tex"), "x").expect("written");
    let message = refusal(&plan, &other);
    assert!(message.contains("thesis.tex"), "{message}");
    assert_eq!(fs::read_dir(&other).expect("there").count(), 1);

    let description = Description::new(&plan, "test", "").expect("readable");
    let _held = Dataset::open(&folder, &description, Options::default()).expect("opened");
    assert!(refusal(&plan, &folder).contains("another sweep is writing"));
}

#[test]
fn points_that_fail_or_panic_are_recorded_and_the_sweep_goes_on() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("my sweep.toml");
    fs::write(&file, TEXT.replace("points = 25", "points = 2")).expect("written");
    let overrides = Overrides {
        set: vec![("flow.bulk.app.size".to_owned(), "60 kB".to_owned())],
        ..Overrides::default()
    };
    let plan = Plan::load(&file, &overrides).expect("valid");
    let (folder, whole) = (scratch.path().join("s"), scratch.path().join("whole"));
    let rtt = |e: &Experiment| e.path.rtt.as_millis();
    let bad = |e: &Experiment, seed| match (rtt(e), e.flows[0].name.as_str()) {
        (20, _) => Err(Unfinished::Failed(
            "Traceback:\n  ValueError: \"cwnd\" is NaN".to_owned(),
        )),
        (40, _) => panic!("index out of range"),
        _ => simulate(e, seed),
    };
    let (end, status, _) = run_with(&plan, &folder, 2, u64::MAX, Options::default(), &bad);
    let expected = Status {
        points: 12,
        done: 4,
        failed: 8,
    };
    assert_eq!((end, status), (End::Complete, expected));
    let text = fs::read_to_string(folder.join("failed.jsonl")).expect("there");
    assert_eq!(text.lines().count(), 8);
    let line = text.lines().find(|line| line.contains("NaN")).expect("one");
    let failed: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(
        (&failed["seed"], &failed["axes"]["path.rtt"]),
        (&1.into(), &"20 ms".into())
    );
    let repeat = failed["repeat"].as_str().expect("a text");
    let begin = format!(
        "brimful run '{}' --set 'flow.bulk.app.size=60 kB'",
        file.display()
    );
    assert!(repeat.starts_with(&begin), "{repeat}");
    assert!(
        repeat.contains(" --set 'path.rtt=20 ms' --set flow.bulk.cc="),
        "{repeat}"
    );
    assert!(repeat.ends_with(" --seed 1"), "{repeat}");
    assert!(text.contains("panicked: index out of range"));

    // they are not run again unless that is requested
    let (_, status, _) = run(&plan, &folder, 2, u64::MAX);
    assert_eq!(status, expected);
    // a line that was cut short is reported, and its point run again
    fs::write(folder.join("failed.jsonl"), &text[..text.len() - 20]).expect("written");
    let (_, status, notes) = run_with(&plan, &folder, 1, u64::MAX, Options::default(), &bad);
    assert!(
        status == expected && notes[0].contains("failed.jsonl"),
        "{notes:?}"
    );
    let retry = Options { retry_failed: true };
    let (_, status, _) = run_with(&plan, &folder, 2, u64::MAX, retry, &simulate);
    assert_eq!((status.done, status.failed), (12, 0));
    assert_eq!(
        fs::read_to_string(folder.join("failed.jsonl")).expect("there"),
        ""
    );
    run(&plan, &whole, 1, u64::MAX);
    assert_eq!(content(&folder), content(&whole));
}

#[test]
fn outcomes_travel_and_are_taken_once() {
    let scratch = tempfile::tempdir().expect("a folder");
    let plan = plan_of(TEXT);
    let axes = plan.axes();
    let bundle = serde_json::to_string(&plan.bundle().expect("readable")).expect("plain data");
    let there = Plan::of_bundle(serde_json::from_str(&bundle).expect("JSON")).expect("valid");
    let outcome = run_points(&there, &[3, 4, 149], "test", &simulate).expect("not ended");
    let bytes = outcome.encode();
    let decoded = Outcome::decode(&bytes, axes).expect("whole");
    assert_eq!(decoded.encode(), bytes);
    for end in (0..bytes.len()).step_by(7) {
        assert!(matches!(
            Outcome::decode(&bytes[..end], axes),
            Err(Error::Outcome(_))
        ));
    }
    for at in (0..bytes.len()).step_by(11) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x5a;
        assert!(Outcome::decode(&wrong, axes).is_err());
    }
    let other = plan_of(&TEXT.replace("\"path.rtt\" =", "\"path.jitter\" ="));
    assert!(Outcome::decode(&bytes, other.axes()).is_err());

    let folder = scratch.path().join("s");
    let description = Description::new(&plan, "test", "").expect("readable");
    let mut dataset = Dataset::open(&folder, &description, Options::default()).expect("opened");
    dataset.add(&decoded).expect("taken");
    dataset.add(&outcome).expect("passed over");
    dataset.flush().expect("written");
    dataset.add(&outcome).expect("passed over");
    assert_eq!(dataset.status().done, 3);
    assert_eq!(dataset.pending(0, 4), [0, 1, 2, 5]);
    drop(dataset);
    assert_eq!(
        content(&folder)
            .iter()
            .filter(|row| row.starts_with("points"))
            .count(),
        3
    );
    // dropped without a flush, it has written what it had
    let mut dataset = Dataset::open(&folder, &description, Options::default()).expect("opened");
    dataset
        .add(&run_points(&plan, &[7], "test", &simulate).expect("not ended"))
        .expect("taken");
    drop(dataset);
    let dataset = Dataset::open(&folder, &description, Options::default()).expect("opened");
    assert_eq!(dataset.status().done, 4);
}

#[test]
fn a_stop_ends_the_sweep() {
    let scratch = tempfile::tempdir().expect("a folder");
    let plan = plan_of(TEXT);
    let description = Description::new(&plan, "test", "").expect("readable");
    let mut dataset =
        Dataset::open(scratch.path(), &description, Options::default()).expect("opened");
    let stop = AtomicBool::new(false);
    // a run that ends with the stop and not before
    let endless = |_: &Experiment, _| -> Result<RunResult, Unfinished> {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Err(Unfinished::Interrupted)
    };
    let local = Local {
        workers: NonZeroUsize::MIN.saturating_add(1),
        version: "test",
        run: &endless,
        stop: &stop,
        thread: "run",
    };
    let end = run_local(&plan, &mut dataset, &local, &mut Until(0, 0)).expect("nothing to write");
    assert_eq!((end, dataset.status().done), (End::Interrupted, 0));
}
