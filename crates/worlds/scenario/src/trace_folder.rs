//! Folders of traces: a scenario over each of them, where the trace is what varies.

use crate::error::{Problem, ScenarioError};
use crate::variants::Overrides;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

/// Most traces of a folder.
const MAX_TRACES: usize = 1000;

impl Overrides {
    /// These, or where `trace` names a folder, these for each of its traces, in the order of their names.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`]: a folder that cannot be read, or that has not several traces; a folder of traces for
    /// the uplink.
    pub fn over_traces(&self) -> Result<Vec<Self>, ScenarioError> {
        if let Some(folder) = self.uplink_trace.as_deref().filter(|trace| trace.is_dir()) {
            let shown = format!("--uplink-trace {}", folder.display());
            return Err(refused(
                shown,
                "an uplink's trace is one file",
                "name the file that is to be played beside every trace of the downlink",
            ));
        }
        let folder = self.trace.as_deref().filter(|trace| trace.is_dir());
        let Some(folder) = folder else {
            return Ok(vec![self.clone()]);
        };
        let of = |trace: PathBuf| Self {
            trace: Some(trace),
            ..self.clone()
        };
        Ok(files(folder)?.into_iter().map(of).collect())
    }
}

/// The files of a folder that are to be traces: all but those that describe it.
fn files(folder: &Path) -> Result<Vec<PathBuf>, ScenarioError> {
    let option = || format!("--trace {}", folder.display());
    let entries = read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<Result<Vec<PathBuf>, _>>()
    });
    let entries = entries.map_err(|error| {
        let what = format!("the folder cannot be read: {error}");
        refused(option(), &what, "name a folder of traces, or a trace")
    })?;
    let mut files: Vec<PathBuf> = entries.into_iter().filter(|path| is_trace(path)).collect();
    files.sort();
    match files.len() {
        0 => Err(refused(
            option(),
            "the folder has no traces",
            "name a folder of traces, or a trace",
        )),
        1 => Err(refused(
            option(),
            "the folder has one trace, and no interval is of one",
            "name the file, to vary over its spans",
        )),
        many if many > MAX_TRACES => Err(refused(
            option(),
            &format!("the folder has {many} files"),
            &format!("at most {MAX_TRACES} traces are played"),
        )),
        _ => Ok(files),
    }
}

fn refused(option: String, what: &str, suggestion: &str) -> ScenarioError {
    ScenarioError::Invalid(Box::new(Problem {
        file: option,
        position: None,
        what: what.to_owned(),
        allowed: None,
        suggestion: Some(suggestion.to_owned()),
        extended_by: Vec::new(),
    }))
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
