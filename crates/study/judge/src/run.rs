//! Runs judges, each in a lab of its own.

use crate::judge::{Judge, Measure, Problem};
use crate::need::Toolbox;
use crate::stage::Stage;
use crate::verdicts::Record;
use lab::{Options, Place};
use scenario::Experiment;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A value that is varied.
#[derive(Clone, Debug)]
pub struct Column {
    /// What distinguishes it, e.g. `pep=default`.
    pub label: String,
    /// The settings that make it, each a key and its value.
    pub settings: Vec<(String, String)>,
    /// The network, cell and proxy; its flows do not run.
    pub experiment: Experiment,
}

/// What is run.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Beside one another.
    pub columns: &'a [Column],
    /// In this order.
    pub judges: &'a [&'static Judge],
    /// How often, each time with the next seed.
    pub repeats: u32,
    /// Seed of the first time.
    pub seed: u64,
    /// How long a measurement takes.
    pub duration: Duration,
    /// Index of the UE on which programs run.
    pub ue: usize,
    /// Of the labs.
    pub options: &'a Options,
    /// Where their programs are; what they need has been found.
    pub toolbox: &'a Toolbox,
}

/// Runs all, and hands on each result as it comes. A judge that fails does not keep the others from running.
///
/// # Errors
/// What the lab cannot do, or what has ended it: nothing more runs then.
pub fn run(plan: &Plan<'_>, mut on_record: impl FnMut(&Record)) -> Result<Vec<Record>, Problem> {
    let mut records = Vec::new();
    for repeat in 0..plan.repeats {
        for judge in plan.judges {
            // beside one another in time, too
            for column in plan.columns {
                let seed = plan.seed + u64::from(repeat);
                let (outcome, files) = run_one(plan, judge, column, seed)?;
                let record = Record {
                    judge: judge.name,
                    column: column.label.clone(),
                    seed,
                    outcome,
                    files,
                };
                on_record(&record);
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// What its programs wrote, each with its name.
type Files = Vec<(String, Vec<u8>)>;
/// A judge's measures or why there are none, and the files.
type Outcome = (Result<Vec<Measure>, String>, Files);

/// Runs a judge once: its measures, or why it gave none.
fn run_one(plan: &Plan<'_>, judge: &Judge, column: &Column, seed: u64) -> Result<Outcome, Problem> {
    let place = Place {
        ue: plan.ue,
        files: None,
    };
    let work = |programs: &mut lab::Programs<'_>| -> Result<Outcome, Problem> {
        let scratch = programs.folder().join("judge");
        fs::create_dir(&scratch).map_err(file(&scratch))?;
        let (toolbox, brimful) = (plan.toolbox, &plan.options.program);
        let mut stage = Stage::new(programs, toolbox, brimful, scratch.clone(), plan.duration);
        let outcome = (judge.run)(&mut stage);
        drop(stage);
        match outcome {
            Err(Problem::Lab(error)) => Err(error.into()),
            outcome => Ok((
                outcome.map_err(|problem| problem.to_string()),
                files(&scratch),
            )),
        }
    };
    lab::occupy(&column.experiment, seed, plan.options, place, work)?.0
}

/// Largest file of a judge's that is kept.
const MAX_KEPT: u64 = 1_000_000;

/// The files of a folder, without folders below it and what is large: profiles of browsers.
fn files(folder: &Path) -> Files {
    let is_kept = |entry: &fs::DirEntry| {
        let data = entry.metadata();
        data.is_ok_and(|data| data.is_file() && data.len() <= MAX_KEPT)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(is_kept);
    // what cannot be read is not kept
    let mut files: Files = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, fs::read(entry.path()).ok()?))
        })
        .collect();
    files.sort();
    files
}

/// For `map_err`: the file at which the kernel refused.
pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Problem {
    let path: PathBuf = path.to_owned();
    move |source| Problem::File {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_of_the_folder_itself_are_kept() {
        let scratch = tempfile::tempdir().expect("a folder");
        fs::create_dir(scratch.path().join("profile")).expect("a folder");
        fs::write(scratch.path().join("x.out"), "said").expect("a file");
        fs::write(scratch.path().join("a.err"), "").expect("a file");
        let large = fs::File::create(scratch.path().join("large")).expect("a file");
        large.set_len(MAX_KEPT + 1).expect("its size");
        let kept = files(scratch.path());
        assert_eq!(
            kept,
            [
                ("a.err".to_owned(), Vec::new()),
                ("x.out".to_owned(), b"said".to_vec())
            ]
        );
    }
}
