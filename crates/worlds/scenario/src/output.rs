//! Result folders.
//!
//! Everything is written into a temporary folder beside the result folder first, and only moved
//! under its final name when all of it is there: a full disk or an interruption leaves no
//! half-written file behind that looks like a result. Of a process that was killed the temporary folder is left,
//! until the next result in the same place removes it (`unfinished`).

#[cfg(feature = "parquet")]
mod applications;
#[cfg(feature = "parquet")]
mod decisions;
#[cfg(feature = "parquet")]
mod frames;
#[cfg(feature = "parquet")]
mod tables;
mod unfinished;

use serde::Serialize;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use unfinished::Unfinished;

use crate::{Point, RunResult};
#[cfg(feature = "parquet")]
pub use frames::{application_table, decision_table, flow_table, queue_table, sample_table};

/// The file that is moved last.
const MANIFEST: &str = "manifest.json";

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// There is a file in the folder's place.
    #[error("{}: cannot be a result folder, a file has this name; choose another --out", path.display())]
    IsFile {
        /// The place.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{}: {action} failed: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A result cannot be put into its format.
    #[error("{}: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A file name that leads out of the folder.
    #[error("{name:?} is no name of a file inside the result folder")]
    Name {
        /// The name.
        name: String,
    },
}

/// What to do about a refusal of the system.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; no result was written: free some space, or choose another --out"
        }
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => {
            "; no result was written: choose an --out that may be written"
        }
        _ => "; no result was written",
    }
}

/// How a result came about: what `manifest.json` holds.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Its file.
    pub file: String,
    /// `sim` or `lab`.
    pub world: &'a str,
    /// Version of Brimful.
    pub version: &'a str,
    /// The command that was given.
    pub command: &'a [String],
    /// What was run.
    pub points: Vec<ManifestPoint<'a>>,
    /// What was found, in sentences.
    pub findings: Vec<ManifestFinding>,
}

/// A sentence on a flow of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestFinding {
    /// Label of the point.
    pub variant: String,
    /// Name of the flow, or `bottleneck`; empty of several flows.
    pub flow: String,
    /// What was found of it.
    pub text: String,
}

/// A point of a sweep, or a variant of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct ManifestPoint<'a> {
    /// What distinguishes it from the others; empty if there is only one.
    pub label: String,
    /// Seeds of its repeats.
    pub seeds: Vec<u64>,
    /// By how much a run in real time was scaled down; not written of the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// What a run in real time did otherwise than the scenario specifies; not written if nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every key of the scenario with its value, defaults included.
    pub resolved: &'a crate::Resolved,
}

impl<'a> ManifestPoint<'a> {
    /// Of a point and its repeats; `label` distinguishes it from the others.
    pub fn of(point: &'a Point, label: impl Into<String>, runs: &[RunResult]) -> Self {
        let real_time = runs.iter().find_map(|run| run.real_time.as_ref());
        Self {
            label: label.into(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            scale: real_time.map(|time| time.scale),
            notes: real_time.map_or(Vec::new(), |time| time.notes.clone()),
            resolved: &point.resolved,
        }
    }
}

/// A result folder that is being filled. Nothing is under its final name before [`Self::finish`];
/// dropped without it, nothing remains.
#[derive(Debug)]
pub struct ResultFolder {
    target: PathBuf,
    temporary: Unfinished,
}

impl ResultFolder {
    /// Begins a result folder. Call it before a long run, so that a place that cannot be written
    /// shows at once. Folders above it are made; what processes that were killed have left beside it is removed.
    ///
    /// # Errors
    /// [`OutputError`] if the place is a file, or cannot be written.
    pub fn create(target: &Path) -> Result<Self, OutputError> {
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        if target.exists() && !target.is_dir() {
            return Err(OutputError::IsFile {
                path: target.to_owned(),
            });
        }
        fs::create_dir_all(parent).map_err(io_error("making the folder", parent))?;
        let name = target.file_name().unwrap_or(OsStr::new("results"));
        let temporary =
            Unfinished::create(parent, name).map_err(io_error("making a folder in it", parent))?;
        // an existing folder takes the files only at the end: see now whether it will
        if target.is_dir() {
            let probe = tempfile::Builder::new()
                .prefix(".brimful")
                .tempfile_in(target);
            probe.map_err(io_error("writing into it", target))?;
        }
        Ok(Self {
            target: target.to_owned(),
            temporary,
        })
    }

    /// Adds a file. `name` may lead into folders below.
    ///
    /// # Errors
    /// [`OutputError`]; the result folder is then not to be finished.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let (mut file, shown) = self.file(name)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(io_error("writing", &shown))
    }

    /// Adds a JSON file.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn json(&self, name: &str, value: &impl Serialize) -> Result<(), OutputError> {
        let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| OutputError::Format {
            path: self.target.join(name),
            problem: error.to_string(),
        })?;
        bytes.push(b'\n');
        self.write(name, &bytes)
    }

    /// A new file, and its final name for messages.
    fn file(&self, name: &str) -> Result<(File, PathBuf), OutputError> {
        let relative = Path::new(name);
        let inside = relative
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !inside || name.is_empty() {
            return Err(OutputError::Name {
                name: name.to_owned(),
            });
        }
        let shown = self.target.join(relative);
        let path = self.temporary.path().join(relative);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io_error("making the folder of", &shown))?;
        }
        let file = File::create(&path).map_err(io_error("making", &shown))?;
        Ok((file, shown))
    }

    /// Puts everything under its final name. Files of an earlier result with the same names are
    /// replaced, one by one and each at once, `manifest.json` last.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn finish(self) -> Result<(), OutputError> {
        let Self { target, temporary } = self;
        if !target.exists() {
            return temporary
                .rename(&target)
                .map_err(io_error("naming", &target));
        }
        move_into(temporary.path(), &target)
    }
}

/// Moves all files below `from` to the same places below `to`.
fn move_into(from: &Path, to: &Path) -> Result<(), OutputError> {
    let entries = fs::read_dir(from).map_err(io_error("reading", from))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(io_error("reading", from))?.file_name());
    }
    names.sort_by_key(|name| (name == MANIFEST, name.clone()));
    for name in names {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            fs::create_dir_all(&target).map_err(io_error("making the folder", &target))?;
            move_into(&source, &target)?;
        } else {
            fs::rename(&source, &target).map_err(io_error("naming", &target))?;
        }
    }
    Ok(())
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_owned();
    move |source| OutputError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_there_before_the_end_and_all_of_it_after() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("above/result");
        let folder = ResultFolder::create(&target).expect("writable");
        folder.json("summary.json", &[1, 2]).expect("written");
        folder.write("below/x.txt", b"x").expect("written");
        assert!(!target.exists());
        folder.finish().expect("moved");
        assert_eq!(fs::read(target.join("below/x.txt")).expect("there"), b"x");
        assert_eq!(names(&place.path().join("above")), ["result"]);
    }

    #[test]
    fn an_earlier_result_is_replaced_and_other_files_stay() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("result");
        for content in ["old", "new"] {
            let folder = ResultFolder::create(&target).expect("writable");
            folder
                .write("manifest.json", content.as_bytes())
                .expect("written");
            folder
                .write("below/x.txt", content.as_bytes())
                .expect("written");
            folder.finish().expect("moved");
            fs::write(target.join("notes.txt"), "mine").expect("written");
        }
        assert_eq!(
            fs::read_to_string(target.join("manifest.json")).expect("there"),
            "new"
        );
        assert_eq!(
            fs::read_to_string(target.join("below/x.txt")).expect("there"),
            "new"
        );
        assert_eq!(names(&target), ["below", "manifest.json", "notes.txt"]);
        assert_eq!(names(place.path()), ["result"]);
    }

    #[test]
    fn a_dropped_folder_leaves_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = ResultFolder::create(&place.path().join("result")).expect("writable");
        folder.write("summary.json", b"{}").expect("written");
        drop(folder);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn a_file_in_the_folders_place_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("result");
        fs::write(&file, "a file").expect("written");
        let error = ResultFolder::create(&file).unwrap_err().to_string();
        assert!(
            error.contains("a file has this name; choose another --out"),
            "{error}"
        );
        // and a file where a folder above it should be
        let error = ResultFolder::create(&file.join("below"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no result was written"), "{error}");
        assert_eq!(fs::read_to_string(&file).expect("untouched"), "a file");
        assert_eq!(names(place.path()), ["result"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_leaves_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("result");
        let folder = ResultFolder::create(&target).expect("writable");
        // every write to this device fails as on a full disk
        let full = folder.temporary.path().join("summary.json");
        std::os::unix::fs::symlink("/dev/full", full).expect("linked");
        let error = folder.write("summary.json", b"{}").unwrap_err().to_string();
        assert!(
            error.contains("result/summary.json: writing failed"),
            "{error}"
        );
        assert!(error.contains("free some space"), "{error}");
        drop(folder);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = ResultFolder::create(&place.path().join("result")).expect("writable");
        for name in ["../x", "/x", "", "a/../../x"] {
            assert!(
                matches!(folder.write(name, b""), Err(OutputError::Name { .. })),
                "{name}"
            );
        }
    }
}
