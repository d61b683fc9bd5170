//! Running, comparing and reproducing.

use crate::custom::Given;
use crate::errors::{ScenarioError, raised};
use crate::outcome::{Claims, Compared, Outcome};
use crate::watching::Watching;
use ::reproduce::{Choice, File, Plan, SYSTEMS};
use pyo3::prelude::*;
use runner::{
    Engine, Error, Finished, Origin, OutputFolder, OverTraces, Setting, Stop, VERSION, World,
    check_seeds, combinations, label, single, write,
};
use scenario::{Overrides, Point, RunResult, Summary};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A scenario and what is changed of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Source {
    /// The file, or the name that messages have for the text.
    file: String,
    /// The scenario itself, if it is no file.
    text: Option<String>,
    set: Vec<Setting>,
    seed: Option<u64>,
    repeats: Option<u32>,
    trace: Option<PathBuf>,
    uplink_trace: Option<PathBuf>,
    trace_offset: Option<String>,
}

impl Source {
    fn overrides(&self, more: &[Setting]) -> Overrides {
        let mut set = self.set.clone();
        set.extend_from_slice(more);
        Overrides {
            set,
            trace: self.trace.clone(),
            uplink_trace: self.uplink_trace.clone(),
            trace_offset: self.trace_offset.clone(),
            seed: self.seed,
            repeats: self.repeats,
        }
    }

    /// All its points as a sweep has them: made one by one.
    pub(crate) fn plan(&self) -> Result<scenario::Plan, Error> {
        let overrides = self.overrides(&[]);
        let plan = match &self.text {
            Some(text) => scenario::Plan::load_text(&self.file, text, &overrides),
            None => scenario::Plan::load(Path::new(&self.file), &overrides),
        };
        plan.map_err(|error| Error::input(&error))
    }

    /// All its points, over each trace of a folder if that is given.
    fn load(&self, more: &[Setting]) -> Result<OverTraces, Error> {
        let load = |overrides: &Overrides| match &self.text {
            Some(text) => scenario::load_text(&self.file, text, overrides),
            None => scenario::load(Path::new(&self.file), overrides),
        };
        let over = OverTraces::load(&self.overrides(more), load);
        over.map_err(|error| Error::input(&error))
    }

    /// What is changed, for the reader of a report.
    fn changes(&self) -> Vec<Setting> {
        let mut changes = self.set.clone();
        for (name, trace) in [("trace", &self.trace), ("uplink-trace", &self.uplink_trace)] {
            let trace = trace.iter().map(|trace| trace.display().to_string());
            changes.extend(trace.map(|trace| (name.to_owned(), trace)));
        }
        let offset = self.trace_offset.iter();
        changes.extend(offset.map(|offset| ("trace-offset".to_owned(), offset.clone())));
        changes
    }
}

/// How runs are made and where their results go.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    threads: Option<NonZeroUsize>,
    out: Option<PathBuf>,
    /// The command that the manifest names.
    command: Vec<String>,
    /// Called with each note on what is done otherwise than requested.
    note: Py<PyAny>,
    /// What is written in Python.
    own: Given,
    /// Called with the number of runs; gives a callable that is called for each run that has ended.
    progress: Option<Py<PyAny>>,
}

impl How {
    /// Passes on how many traces there are, and the notes.
    fn pass_notes_over(&self, py: Python<'_>, over: &OverTraces) -> PyResult<()> {
        if let Some(note) = over.note() {
            self.note.call1(py, (note,))?;
        }
        self.pass_notes(py, over.points())
    }

    /// Passes the notes on once each, before anything runs.
    fn pass_notes(&self, py: Python<'_>, points: &[Point]) -> PyResult<()> {
        let mut passed: Vec<&str> = Vec::new();
        for note in points.iter().flat_map(|point| &point.notes) {
            if !passed.contains(&note.as_str()) {
                self.note.call1(py, (note,))?;
                passed.push(note);
            }
        }
        Ok(())
    }

    /// Runs all points without the interpreter; `keep` makes of the results what is requested,
    /// without it too.
    fn make<T: Send>(
        &self,
        py: Python<'_>,
        points: &[Point],
        keep: impl FnOnce(Vec<Vec<RunResult>>, Option<OutputFolder>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let runs: u64 = points.iter().map(|p| u64::from(p.experiment.repeats)).sum();
        let progress = match &self.progress {
            Some(progress) => Some(progress.call1(py, (runs,))?),
            None => None,
        };
        let watching = Watching::new(progress);
        let runner = self.own.runner(py);
        // the callable belongs to this thread, which waits without the interpreter
        py.detach(move || {
            let work = || {
                let folder = self.out.as_deref().map(OutputFolder::create).transpose()?;
                let engine = Engine::new(self.threads, Stop::default());
                let runs = engine.run(&runner, points, &watching)?;
                watching.check()?;
                keep(runs, folder)
            };
            work().map_err(|error| watching.raised(error))
        })
    }

    /// Names a folder that was requested.
    fn finish(folder: OutputFolder) -> Result<(), Error> {
        folder.finish().map(drop)
    }
}

/// The results of points over their traces; `label` takes the number of a point's first version.
fn finished(
    over: &OverTraces,
    runs: Vec<Vec<RunResult>>,
    label: impl Fn(usize) -> String,
) -> Vec<Finished> {
    let (traces, mut runs) = (over.traces(), runs.into_iter());
    let versions = over.points().chunks(traces).enumerate();
    let finished = versions.filter_map(|(number, versions)| {
        let runs = versions.iter().cloned().zip(runs.by_ref()).collect();
        Finished::over_traces(label(number * traces), World::Sim, runs)
    });
    finished.collect()
}

/// Runs all points of a scenario.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, source: Source, how: How) -> PyResult<Vec<Outcome>> {
    let over = py.detach(|| source.load(&[])).map_err(raised)?;
    how.pass_notes_over(py, &over)?;
    how.make(py, over.points(), |runs, folder| {
        let finished = finished(&over, runs, |index| match over.points().get(index) {
            Some(point) => label(&point.axes),
            None => String::new(),
        });
        if let Some(folder) = folder {
            let settings = source.changes();
            let origin = Origin {
                file: Path::new(&source.file),
                settings: &settings,
                command: &how.command,
            };
            let summaries: Vec<&Summary> = finished.iter().map(|f| &f.summary).collect();
            match summaries.as_slice() {
                [one] => write(&folder, &finished, one, &origin)?,
                several => write(&folder, &finished, &several, &origin)?,
            }
            How::finish(folder)?;
        }
        Ok(finished.into_iter().map(Outcome::new).collect())
    })
}

/// Runs variants of a scenario with the same seeds.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    source: Source,
    vary: Vec<(String, Vec<String>)>,
    how: How,
) -> PyResult<Compared> {
    let load = || -> Result<_, Error> {
        let variants = combinations(&vary)?;
        let overs: Result<Vec<OverTraces>, Error> = variants
            .iter()
            .map(|settings| {
                let over = source.load(settings)?;
                single(over.firsts(), &source.file)?;
                Ok(over)
            })
            .collect();
        let over = OverTraces::joined(overs?)
            .ok_or_else(|| Error::Input("there is nothing to compare".to_owned()))?;
        check_seeds(&over.firsts(), &variants)?;
        Ok((variants, over))
    };
    let (variants, over) = py.detach(load).map_err(raised)?;
    how.pass_notes_over(py, &over)?;
    how.make(py, over.points(), |runs, folder| {
        let finished = finished(&over, runs, |index| {
            let settings = variants.get(index / over.traces());
            settings.map_or(String::new(), |settings| label(settings))
        });
        if let Some(folder) = folder {
            let settings = source.changes();
            let origin = Origin {
                file: Path::new(&source.file),
                settings: &settings,
                command: &how.command,
            };
            let comparison = runner::Comparison::of(&finished, &variants)?;
            write(&folder, &finished, &comparison, &origin)?;
            How::finish(folder)?;
        }
        Compared::new(finished, &variants)
    })
}

/// What of a paper is run again.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Selection {
    system: String,
    quick: bool,
    only: Vec<String>,
    seed: Option<u64>,
    repeats: Option<u32>,
    traces: Option<PathBuf>,
}

/// Runs a paper's experiments again.
#[pyfunction]
pub(crate) fn reproduce(py: Python<'_>, selection: Selection, how: How) -> PyResult<Claims> {
    let system = SYSTEMS.iter().find(|s| s.name == selection.system);
    let Some(system) = system else {
        let known: Vec<&str> = SYSTEMS.iter().map(|s| s.name).collect();
        return Err(ScenarioError::new_err(format!(
            "{}: no such system; known: {}",
            selection.system,
            known.join(", ")
        )));
    };
    let choice = Choice {
        quick: selection.quick,
        repeats: selection.repeats,
        seed: selection.seed,
        only: selection.only,
        traces: selection.traces,
        ..Choice::default()
    };
    let plan = py.detach(|| Plan::new(system, &choice));
    let plan = plan.map_err(|error| raised(Error::input(&error)))?;
    let points = plan.points().to_vec();
    how.pass_notes(py, &points)?;
    how.make(py, &points, |runs, folder| {
        let outcome = plan.finish(runs, VERSION);
        if let Some(folder) = folder {
            add(&folder, outcome.files())?;
            How::finish(folder)?;
        }
        Ok(Claims::new(&outcome))
    })
}

fn add(folder: &OutputFolder, files: Vec<File>) -> Result<(), Error> {
    folder.add(|folder| {
        let mut files = files.into_iter();
        files.try_for_each(|file| folder.write(&file.name, &file.bytes))
    })
}
