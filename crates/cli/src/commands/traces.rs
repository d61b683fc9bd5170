//! Folders of traces.

use crate::args::ExperimentArgs;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use std::fs::read_dir;
use std::path::{Path, PathBuf};

/// Most traces of a folder.
const MAX_TRACES: usize = 1000;

/// The options for each trace: as they are, or where `--trace` names a folder, for each of its traces, in
/// the order of their names.
pub(super) fn all(options: &ExperimentArgs) -> Result<Vec<ExperimentArgs>, Failure> {
    let folder = options
        .radio
        .trace
        .as_deref()
        .filter(|trace| trace.is_dir());
    let Some(folder) = folder else {
        return Ok(vec![options.clone()]);
    };
    let of = |trace: PathBuf| {
        let mut options = options.clone();
        options.radio.trace = Some(trace);
        options
    };
    Ok(files(folder)?.into_iter().map(of).collect())
}

/// The files of a folder that are to be traces: all but those that describe it.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let shown = folder.display();
    let entries = read_dir(folder)
        .and_then(|entries| {
            let paths = entries.map(|entry| entry.map(|entry| entry.path()));
            paths.collect::<Result<Vec<PathBuf>, _>>()
        })
        .with_context(|| format!("--trace {shown}: the folder cannot be read"))
        .map_err(Failure::Input)?;
    let mut files: Vec<PathBuf> = entries.into_iter().filter(|path| is_trace(path)).collect();
    files.sort();
    match files.len() {
        0 => Err(Failure::Input(anyhow!(
            "--trace {shown}: the folder has no traces"
        ))),
        1 => Err(Failure::Input(anyhow!(
            "--trace {shown}: the folder has one trace, and no interval is of one: name the file, to \
             compare over its spans"
        ))),
        many if many > MAX_TRACES => Err(Failure::Input(anyhow!(
            "--trace {shown}: {many} files, at most {MAX_TRACES} traces are compared"
        ))),
        _ => Ok(files),
    }
}

fn is_trace(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let describes = |name: &str| {
        name.starts_with(['.', '_'])
            || name.starts_with("README")
            || name.starts_with("LICENSE")
            || name.ends_with(".md")
    };
    path.is_file() && name.is_some_and(|name| !describes(&name))
}
