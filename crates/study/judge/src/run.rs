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
    /// Where what the programs print is kept.
    pub keep: Option<&'a Path>,
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
                let record = Record {
                    judge: judge.name,
                    column: column.label.clone(),
                    seed,
                    outcome: run_one(plan, judge, column, seed)?,
                };
                on_record(&record);
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// Runs a judge once: its measures, or why it gave none.
fn run_one(
    plan: &Plan<'_>,
    judge: &Judge,
    column: &Column,
    seed: u64,
) -> Result<Result<Vec<Measure>, String>, Problem> {
    let place = Place {
        ue: plan.ue,
        files: None,
    };
    let work = |programs: &mut lab::Programs<'_>| {
        let scratch = programs.folder().join("judge");
        fs::create_dir(&scratch).map_err(file(&scratch))?;
        let (toolbox, brimful) = (plan.toolbox, &plan.options.program);
        let mut stage = Stage::new(programs, toolbox, brimful, scratch.clone(), plan.duration);
        let outcome = (judge.run)(&mut stage);
        drop(stage);
        if let Some(keep) = plan.keep {
            let folder = [&column.label, judge.name, &seed.to_string()].map(file_name);
            copy(
                &scratch,
                &folder.iter().fold(keep.to_owned(), |a, b| a.join(b)),
            )?;
        }
        outcome
    };
    let (outcome, _) = lab::occupy(&column.experiment, seed, plan.options, place, work)?;
    match outcome {
        Ok(measures) => Ok(Ok(measures)),
        Err(Problem::Lab(error)) => Err(error.into()),
        Err(problem) => Ok(Err(problem.to_string())),
    }
}

/// A text as a name of a file.
fn file_name(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | '_' | '-' | '.');
    let name: String = text
        .chars()
        .map(|c| if is_safe(c) { c } else { '-' })
        .collect();
    match name.trim_start_matches('.') {
        "" => "column".to_owned(),
        name => name.to_owned(),
    }
}

/// Largest file of a judge's that is kept.
const MAX_KEPT: u64 = 1_000_000;

/// Copies the files of a folder, without folders below it and what is large: profiles of browsers.
fn copy(from: &Path, to: &Path) -> Result<(), Problem> {
    fs::create_dir_all(to).map_err(file(to))?;
    let entries = fs::read_dir(from).map_err(file(from))?;
    for entry in entries.flatten() {
        let is_kept = |data: fs::Metadata| data.is_file() && data.len() <= MAX_KEPT;
        if entry.metadata().is_ok_and(is_kept) {
            let target = to.join(entry.file_name());
            fs::copy(entry.path(), &target).map_err(file(&target))?;
        }
    }
    Ok(())
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
    fn labels_become_names_of_folders_and_small_files_are_kept() {
        assert_eq!(file_name("pep=default, rtt=1 ms"), "pep=default--rtt=1-ms");
        assert_eq!(file_name(""), "column");
        assert_eq!(file_name("../x"), "-x");
        let scratch = tempfile::tempdir().expect("a folder");
        let (from, to) = (scratch.path().join("from"), scratch.path().join("a/to"));
        fs::create_dir_all(from.join("profile")).expect("folders");
        fs::write(from.join("x.out"), "said").expect("a file");
        let large = fs::File::create(from.join("large")).expect("a file");
        large.set_len(MAX_KEPT + 1).expect("its size");
        copy(&from, &to).expect("copied");
        let kept: Vec<_> = fs::read_dir(&to).expect("a folder").flatten().collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(fs::read(to.join("x.out")).expect("kept"), b"said");
    }
}
