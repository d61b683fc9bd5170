//! Result folders: what `brimful run`, `compare` and `sweep` write, read back for the page.
//!
//! A folder is looked at again with every request, so new results show at once. The points of a run
//! that were read last are kept in memory. Names of folders are only compared with what the library
//! holds, never put into a path.

mod decimate;
mod manifest;
mod samples;
mod sweep;

use crate::DashError;
use manifest::Folder;
use metric::{Kind, Unit, unit};
pub use samples::READER_THREAD;
use samples::{Samples, SeriesPoints};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use sweep::{Sweep, looks_like_sweep};

/// Maximum number of folders that are listed.
const MAX_FOLDERS: usize = 2_000;
/// Maximum number of values that are kept in memory, of all points that were read last: 256 MB.
const MAX_KEPT: usize = 16 << 20;

/// The reason why something cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ResultsError {
    /// There is nothing of this name or number.
    #[error("there is no {what}")]
    Unknown {
        /// What was requested.
        what: String,
    },
    /// A file is missing, or damaged.
    #[error("{file}: {problem}")]
    File {
        /// Which.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Written by a newer program.
    #[error("was written by Brimful {theirs}, which is newer than this ({ours}): update this one")]
    Newer {
        /// What wrote it.
        theirs: String,
        /// What reads it.
        ours: &'static str,
    },
    /// More than fits into memory.
    #[error("{file}: a run has more than {max} samples: request a shorter time by from= and to=")]
    TooMany {
        /// Which.
        file: String,
        /// What would be read.
        max: usize,
    },
}

impl ResultsError {
    fn unknown(what: impl Into<String>) -> Self {
        Self::Unknown { what: what.into() }
    }
}

/// The time that is requested, in seconds; all where nothing is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

/// Which time series of a point are requested.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeriesRequest {
    /// The repeat by its seed; the first where none is given.
    pub(crate) seed: Option<u64>,
    pub(crate) range: Range,
    /// Columns of the figure.
    pub(crate) width: usize,
    /// Names of metrics; all where none is given.
    pub(crate) metrics: Vec<String>,
}

/// What distinguishes the samples of a run from others': its folder, label, repeat, and when the file was
/// written.
type Key = (PathBuf, String, u32, Option<SystemTime>);

impl SeriesRequest {
    /// All of a repeat, as a check reads it.
    fn check(seed: u64) -> Self {
        Self {
            seed: Some(seed),
            range: Range::default(),
            width: CHECK_WIDTH,
            metrics: Vec::new(),
        }
    }

    /// Whether a metric is requested.
    fn is_of(&self, metric: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|name| name == metric)
    }
}

/// Columns that a check reads series for.
const CHECK_WIDTH: usize = 100;

/// A folder of result folders, or one.
#[derive(Debug)]
pub struct Library {
    root: PathBuf,
    kept: Mutex<VecDeque<(Key, Arc<Samples>)>>,
}

impl Library {
    /// A folder that holds results, or is one.
    ///
    /// # Errors
    /// [`DashError::Folder`] if it is no folder, cannot be read, or there are no results in it.
    pub fn open(root: &Path) -> Result<Self, DashError> {
        let wrong = |problem: String| DashError::Folder {
            path: root.to_owned(),
            problem,
        };
        let found =
            fs::metadata(root).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if !found.is_dir() {
            let text = "is no folder: give a result folder, or a folder of them";
            return Err(wrong(text.to_owned()));
        }
        fs::read_dir(root).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let library = Self {
            root: root.to_owned(),
            kept: Mutex::default(),
        };
        if !library.folders().is_empty() {
            return Ok(library);
        }
        let text = "holds no results: they are written by `brimful run`, `compare` and `sweep`";
        Err(wrong(text.to_owned()))
    }

    /// Its name.
    pub(crate) fn title(&self) -> String {
        let path = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The result folders by their names, in order.
    fn folders(&self) -> Vec<(String, PathBuf)> {
        let is_shown = |path: &Path| manifest::looks_like_results(path) || looks_like_sweep(path);
        if is_shown(&self.root) {
            return vec![(self.title(), self.root.clone())];
        }
        let Ok(entries) = fs::read_dir(&self.root) else {
            return Vec::new();
        };
        let paths = entries.flatten().map(|entry| entry.path());
        // unfinished results have names that begin so
        let named = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        let mut folders: Vec<_> = paths
            .filter_map(|path| Some((named(&path)?, path)))
            .filter(|(name, path)| !name.starts_with('.') && is_shown(path))
            .collect();
        folders.sort();
        folders.truncate(MAX_FOLDERS);
        folders
    }

    fn find(&self, id: &str) -> Result<Found, ResultsError> {
        let mut folders = self.folders().into_iter();
        let found = folders.find(|(name, _)| name == id);
        let (_, path) = found.ok_or_else(|| ResultsError::unknown(format!("result {id:?}")))?;
        Found::read(&path)
    }

    fn folder(&self, id: &str) -> Result<Folder, ResultsError> {
        match self.find(id)? {
            Found::Folder(folder) => Ok(folder),
            Found::Sweep(_) => Err(ResultsError::unknown(format!(
                "point of {id:?}, which is a sweep: it has a table"
            ))),
        }
    }

    /// The table of a sweep.
    pub(crate) fn sweep(&self, id: &str) -> Result<Value, ResultsError> {
        match self.find(id)? {
            Found::Sweep(sweep) => sweep.table(),
            Found::Folder(_) => Err(ResultsError::unknown(format!("sweep {id:?}"))),
        }
    }

    /// All results, those that cannot be read with the reason.
    pub(crate) fn list(&self) -> Vec<Value> {
        let listed = self
            .folders()
            .into_iter()
            .map(|(id, path)| match Found::read(&path) {
                Err(error) => json!({ "id": id, "error": error.to_string() }),
                Ok(found) => {
                    let mut listed = found.listed();
                    listed.insert("id".to_owned(), id.into());
                    Value::Object(listed)
                }
            });
        listed.collect()
    }

    /// Reads all that a page could request, as a check; gives what cannot be read, each with its result.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (id, path) in self.folders() {
            let folder = match Found::read(&path) {
                Ok(Found::Folder(folder)) => folder,
                Ok(Found::Sweep(sweep)) => {
                    let problem = sweep.table().err();
                    problems.extend(problem.map(|error| format!("{id}: {error}")));
                    continue;
                }
                Err(error) => {
                    problems.push(format!("{id}: {error}"));
                    continue;
                }
            };
            let runs = folder.points().iter().enumerate();
            let runs = runs.flat_map(|(point, of)| of.seeds.iter().map(move |seed| (point, *seed)));
            for (point, seed) in runs {
                let series = self.series(&id, point, &SeriesRequest::check(seed));
                if let Err(error) = series.and_then(|_| self.point(&id, point)) {
                    problems.push(format!("{id}: point {point}, seed {seed}: {error}"));
                }
            }
        }
        problems
    }

    /// A point: its label, summary and seeds.
    pub(crate) fn point(&self, id: &str, point: usize) -> Result<Value, ResultsError> {
        let folder = self.folder(id)?;
        let found = folder.point(point)?;
        Ok(json!({
            "label": found.label,
            "summary": folder.summary(point)?,
            "seeds": found.seeds,
        }))
    }

    /// The time series of a run, by at most `2 * width` points each.
    pub(crate) fn series(
        &self,
        id: &str,
        point: usize,
        request: &SeriesRequest,
    ) -> Result<Value, ResultsError> {
        let folder = self.folder(id)?;
        let point = folder.point(point)?;
        let repeat = match request.seed {
            None => 0,
            Some(seed) => {
                let at = point.seeds.iter().position(|known| *known == seed);
                at.ok_or_else(|| ResultsError::unknown(format!("seed {seed} of this point")))?
            }
        };
        let repeat = u32::try_from(repeat).unwrap_or(u32::MAX);
        let samples = self.samples(&folder, &point.label, repeat, request.range)?;
        let whole = samples.range();
        let from = request.range.from.unwrap_or(whole.0);
        let to = request.range.to.unwrap_or(whole.1);
        let shown = samples
            .series()
            .iter()
            .filter(|series| request.is_of(&series.metric))
            .map(|series| shown(series, from, to, request.width));
        let shown: Vec<Value> = shown.collect();
        Ok(json!({ "from": from, "to": to, "series": shown }))
    }

    /// The samples of a run; all of them, if they fit, so that looking closer reads nothing again.
    fn samples(
        &self,
        folder: &Folder,
        label: &str,
        repeat: u32,
        range: Range,
    ) -> Result<Arc<Samples>, ResultsError> {
        let path = folder.samples();
        let written = fs::metadata(&path).and_then(|found| found.modified()).ok();
        let key = (path.clone(), label.to_owned(), repeat, written);
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        match Samples::read(&path, label, repeat, Range::default()) {
            Ok(samples) => {
                let samples = Arc::new(samples);
                self.keep(key, &samples);
                Ok(samples)
            }
            Err(ResultsError::TooMany { .. }) if range != Range::default() => {
                Samples::read(&path, label, repeat, range).map(Arc::new)
            }
            Err(error) => Err(error),
        }
    }

    fn kept(&self, key: &Key) -> Option<Arc<Samples>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(known, _)| known == key)?;
        Some(Arc::clone(&found.1))
    }

    fn keep(&self, key: Key, samples: &Arc<Samples>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((key, Arc::clone(samples)));
        let mut values = 0;
        kept.retain(|(_, samples)| {
            values += samples.len();
            values <= MAX_KEPT
        });
    }
}

/// What a folder holds.
enum Found {
    /// Results of runs.
    Folder(Folder),
    /// The dataset of a sweep.
    Sweep(Sweep),
}

impl Found {
    fn read(path: &Path) -> Result<Self, ResultsError> {
        match manifest::looks_like_results(path) || !looks_like_sweep(path) {
            true => Folder::read(path).map(Self::Folder),
            false => Sweep::read(path).map(Self::Sweep),
        }
    }

    fn listed(&self) -> Map<String, Value> {
        match self {
            Self::Folder(folder) => folder.listed(),
            Self::Sweep(sweep) => sweep.listed(),
        }
    }
}

/// When a file was written, in seconds since 1970; none if the system does not say.
fn written_s(path: &Path) -> Option<u64> {
    let written = fs::metadata(path).and_then(|found| found.modified()).ok()?;
    Some(written.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// A series as the page takes it.
fn shown(series: &SeriesPoints, from: f64, to: f64, width: usize) -> Value {
    let begin = series.times.partition_point(|t| *t < from);
    let end = series.times.partition_point(|t| *t <= to).max(begin);
    let (times, values) = (&series.times[begin..end], &series.values[begin..end]);
    let (t, v) = match unit(&series.metric) {
        Unit::BitRate => decimate::means(times, values, from, to, width),
        _ => {
            let kept = decimate::decimate(times, values, from, to, width);
            kept.into_iter().map(|i| (times[i], values[i])).unzip()
        }
    };
    let mut shown = Map::new();
    shown.insert("entity".into(), series.entity.as_str().into());
    let kind = Kind::of(&series.entity, &series.metric).name();
    shown.insert("kind".into(), kind.into());
    shown.insert("metric".into(), series.metric.as_str().into());
    shown.insert("unit".into(), unit(&series.metric).label().into());
    shown.insert("t".into(), t.into());
    shown.insert("v".into(), v.into());
    Value::Object(shown)
}
