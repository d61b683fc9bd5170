//! Sweeps whose points are made one by one, and the files that such a sweep needs elsewhere.

use crate::error::{Checked, ScenarioError};
use crate::load::{self, Content, Document};
use crate::point::{Point, check_instead, note_warnings, one, traces};
use crate::resolve::{Traces, bytes};
use crate::variants::{MAX_PLANNED_POINTS, Overrides, SweepAxis, Variants};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Up to so many points, all are checked before anything runs.
const ALL_CHECKED: u64 = 2_000;

/// A scenario with its sweep: up to [`MAX_PLANNED_POINTS`], numbered from 0, the last axis varying
/// fastest, and the same whenever and wherever they are made.
pub struct Plan {
    document: Document,
    variants: Variants,
    /// As long as the axes are: made once.
    axes: Vec<SweepAxis>,
    traces: Mutex<Traces>,
    /// The traces of a folder, each of which every point is run with; empty unless the command line names one.
    over: Vec<PathBuf>,
    overrides: Overrides,
    origin: Origin,
}

/// Where a scenario comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    /// A file of this path.
    File(PathBuf),
    /// A text that is no file, and names none.
    Text(String),
    /// A text that stands for a file of this name in the working directory.
    Named {
        /// The name in messages.
        name: String,
        /// The text.
        text: String,
    },
}

/// A plan with all files that it needs, to be sent to another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    origin: Origin,
    /// Paths as the scenario names them, and texts: scenario files and traces.
    files: BTreeMap<PathBuf, String>,
    set: Vec<(String, String)>,
    trace: Option<PathBuf>,
    /// The files where `trace` is a folder.
    #[serde(default)]
    over: Vec<PathBuf>,
    #[serde(default)]
    uplink_trace: Option<PathBuf>,
    #[serde(default)]
    trace_offset: Option<String>,
    seed: Option<u64>,
    repeats: Option<u32>,
}

impl Plan {
    /// Reads a scenario file as [`crate::load()`] does. Of a sweep of up to 2000 points all are checked;
    /// of a larger one every value of every axis is, once.
    ///
    /// # Errors
    /// [`ScenarioError`]: the first fault, with its place.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let document = load::file(path, None)?;
        Self::new(document, overrides, Origin::File(path.to_owned()), None)?.checked()
    }

    /// As [`Plan::load`], of a text. It must not name files.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn load_str(text: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let document = load::string(text)?;
        Self::new(document, overrides, Origin::Text(text.to_owned()), None)?.checked()
    }

    /// As [`crate::load_text`]: a text that stands for a file in the working directory.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn load_text(name: &str, text: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let document = load::text(name, text, None)?;
        let origin = Origin::Named {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        Self::new(document, overrides, origin, None)?.checked()
    }

    /// The plan that a bundle was made of, whether or not its files are here.
    ///
    /// # Errors
    /// As [`Plan::load`]; the points are not checked again.
    pub fn of_bundle(bundle: Bundle) -> Result<Self, ScenarioError> {
        let files = bundle.files.into_iter();
        let files = files.map(|(path, text)| (path, text.into_bytes()));
        let files = Some(Arc::new(files.collect()));
        let document = match &bundle.origin {
            Origin::File(path) => load::file(path, files)?,
            Origin::Text(text) => load::string(text)?,
            Origin::Named { name, text } => load::text(name, text, files)?,
        };
        let overrides = Overrides {
            set: bundle.set,
            trace: bundle.trace,
            uplink_trace: bundle.uplink_trace,
            trace_offset: bundle.trace_offset,
            seed: bundle.seed,
            repeats: bundle.repeats,
        };
        Self::new(document, &overrides, bundle.origin, Some(bundle.over))
    }

    fn new(
        mut document: Document,
        overrides: &Overrides,
        origin: Origin,
        over: Option<Vec<PathBuf>>,
    ) -> Result<Self, ScenarioError> {
        let over = match over {
            Some(over) => over,
            None => folder(overrides)?,
        };
        let variants = Variants::new(&mut document, overrides, MAX_PLANNED_POINTS);
        let variants = variants.map_err(|fault| fault.locate(&document.sources))?;
        let traces = Mutex::new(traces(&mut document, overrides));
        Ok(Self {
            axes: variants.axes(),
            document,
            variants,
            traces,
            over,
            overrides: overrides.clone(),
            origin,
        })
    }

    fn checked(self) -> Result<Self, ScenarioError> {
        let checked = match self.points() {
            few if few <= ALL_CHECKED => (0..few).collect(),
            _ => self.variants.covering(),
        };
        for index in checked {
            self.point(index)?;
        }
        for trace in 1..self.traces() {
            self.point_over(0, trace)?;
        }
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let used = check_instead(&traces);
        drop(traces);
        used.map_err(|fault| fault.locate(&self.document.sources))?;
        Ok(self)
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        self.variants.len()
    }

    /// The axes, in the order of [`Point::axes`].
    pub fn axes(&self) -> &[SweepAxis] {
        &self.axes
    }

    /// The names and values of a point's axes.
    ///
    /// # Panics
    /// If there is no such point.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn axes_of(&self, index: u64) -> Result<Vec<(String, String)>, ScenarioError> {
        assert!(index < self.points(), "there is no point {index}");
        let variant = self.variants.point(index);
        let variant = variant.map_err(|fault| fault.locate(&self.document.sources))?;
        Ok(variant.axes)
    }

    /// How many traces every point is run with: those of a folder, or one.
    pub fn traces(&self) -> usize {
        self.over.len().max(1)
    }

    /// A point, by its number; where there are several traces, with the first.
    ///
    /// # Panics
    /// If there is no such point.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn point(&self, index: u64) -> Result<Point, ScenarioError> {
        self.point_over(index, 0)
    }

    /// A point with one of the traces, both by their numbers.
    ///
    /// # Panics
    /// If there is no such point, or no such trace.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn point_over(&self, index: u64, trace: usize) -> Result<Point, ScenarioError> {
        assert!(index < self.points(), "there is no point {index}");
        assert!(trace < self.traces(), "there is no trace {trace}");
        let make = || -> Checked<Point> {
            let variant = self.variants.point(index)?;
            let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(file), Some((path, _))) =
                (self.over.get(trace), &mut traces.downlink.given)
            {
                path.clone_from(file);
            }
            let (point, warnings) = one(&self.document, &mut traces, variant)?;
            let mut points = [point];
            note_warnings(&mut points, core::slice::from_ref(&warnings), &warnings);
            let [point] = points;
            Ok(point)
        };
        make().map_err(|fault| fault.locate(&self.document.sources))
    }

    /// The plan with the files that it has needed so far: after [`Plan::load`], all.
    ///
    /// # Errors
    /// [`ScenarioError::Read`] if a trace cannot be read any more.
    pub fn bundle(&self) -> Result<Bundle, ScenarioError> {
        let mut files: BTreeMap<PathBuf, String> = self.document.files().collect();
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        for path in traces.files() {
            let content = match self.document.content(path) {
                Content::Held(content) => Ok(content.to_vec()),
                _ => bytes(path),
            };
            let text = content.and_then(|bytes| {
                String::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData.into())
            });
            let text = text.map_err(|source| ScenarioError::Read {
                path: path.display().to_string(),
                source,
            })?;
            files.insert(path.to_owned(), text);
        }
        let Overrides {
            set,
            trace,
            uplink_trace,
            trace_offset,
            seed,
            repeats,
        } = self.overrides.clone();
        Ok(Bundle {
            origin: self.origin.clone(),
            files,
            set,
            trace,
            over: self.over.clone(),
            uplink_trace,
            trace_offset,
            seed,
            repeats,
        })
    }
}

/// The traces, where the command line names a folder of them.
fn folder(overrides: &Overrides) -> Result<Vec<PathBuf>, ScenarioError> {
    let all = overrides.over_traces()?;
    Ok(match all.len() {
        1 => Vec::new(),
        _ => all.into_iter().filter_map(|one| one.trace).collect(),
    })
}

impl core::fmt::Debug for Plan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut plan = f.debug_struct("Plan");
        plan.field("origin", &self.origin);
        plan.field("points", &self.points()).finish_non_exhaustive()
    }
}

impl Bundle {
    /// The file that the scenario was read from; none of a text.
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(path) => Some(path),
            Origin::Text(_) | Origin::Named { .. } => None,
        }
    }

    /// Paths and texts of all files.
    pub fn files(&self) -> &BTreeMap<PathBuf, String> {
        &self.files
    }

    /// What was changed of the scenario.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            set: self.set.clone(),
            trace: self.trace.clone(),
            uplink_trace: self.uplink_trace.clone(),
            trace_offset: self.trace_offset.clone(),
            seed: self.seed,
            repeats: self.repeats,
        }
    }
}
