//! The results of the points of a run or of the variants of a comparison: JSON, report, folder.

use crate::{Error, OutputFolder, Setting, VERSION};
use report::{Report, Variant};
use scenario::{
    Labelled, Manifest, ManifestFinding, ManifestPoint, OutputError, Point, ResultFolder,
    RunResult, Summary, World,
};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// A point that has run, with all its repeats.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What distinguishes it from the others; empty if it is the only one.
    pub label: String,
    /// Where it ran.
    pub world: World,
    /// The point.
    pub point: Point,
    /// Its repeats, in the order of their seeds.
    pub runs: Vec<RunResult>,
    /// Their means.
    pub summary: Summary,
}

impl Finished {
    /// Sums up what ran over several traces, or over one: a point and its repeats for each. One value of an interval is
    /// a trace where there are several. None without any.
    pub fn over_traces(
        label: String,
        world: World,
        traces: Vec<(Point, Vec<RunResult>)>,
    ) -> Option<Self> {
        let (points, runs): (Vec<Point>, Vec<Vec<RunResult>>) = traces.into_iter().unzip();
        let runs = RunResult::joined(runs);
        let mut notes: Vec<String> = Vec::new();
        for note in points.iter().flat_map(|point| &point.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let experiments: Vec<_> = points.iter().map(|point| &point.experiment).collect();
        let summary = Summary::over_traces(&experiments, world.name(), &runs, VERSION);
        let point = points.into_iter().next()?;
        let summary = summary.at_point(&point.axes).with_notes(&notes);
        Some(Self {
            label,
            world,
            summary,
            point: Point { notes, ..point },
            runs,
        })
    }

    /// What the statistics take.
    pub fn labelled(&self) -> Labelled<'_> {
        Labelled {
            label: &self.label,
            runs: &self.runs,
        }
    }
}

/// Any result as JSON.
///
/// # Errors
/// [`Error::Run`] if it cannot be put into JSON.
pub fn json(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| no_json(&error))
}

/// JSON on one line, its keys in their own order.
///
/// # Errors
/// [`Error::Run`] if it cannot be put into JSON.
pub fn line(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string(value);
    text.map(|t| t + "\n").map_err(|error| no_json(&error))
}

/// JSON on several lines.
///
/// # Errors
/// [`Error::Run`] if it cannot be put into JSON.
pub fn pretty(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|error| no_json(&error))
}

fn no_json(error: &serde_json::Error) -> Error {
    Error::Run(format!("a result cannot be put into JSON: {error}"))
}

/// "rtt=1 ms, pep=none".
pub fn label(settings: &[Setting]) -> String {
    let parts: Vec<String> = settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    parts.join(", ")
}

/// Names and values as an object.
pub fn axes_json(axes: &[Setting]) -> Value {
    axes.iter()
        .map(|(k, v)| (k.clone(), Value::from(v.clone())))
        .collect()
}

/// The world of these results, or both.
pub(crate) fn worlds(finished: &[Finished]) -> &'static str {
    let has = |world| finished.iter().any(|f| f.world == world);
    match (has(World::Sim), has(World::Lab)) {
        (true, true) => "sim,lab",
        (false, true) => World::Lab.name(),
        _ => World::Sim.name(),
    }
}

/// The report on these results, which have a scenario in common; `settings` are what the user set.
/// None without results.
pub fn report<'a>(finished: &'a [Finished], settings: &[Setting]) -> Option<Report<'a>> {
    let first = finished.first()?;
    let variants = finished.iter().map(|f| Variant {
        label: if finished.len() == 1 {
            String::new()
        } else {
            f.label.clone()
        },
        summary: &f.summary,
        runs: &f.runs,
    });
    let mut settings = settings.to_vec();
    if finished.len() == 1 {
        settings.extend_from_slice(&first.point.axes);
    }
    Some(Report {
        title: &first.point.experiment.name,
        description: &first.point.experiment.description,
        world: worlds(finished),
        version: VERSION,
        command: &[],
        seed: first.point.experiment.seed,
        repeats: first.point.experiment.repeats,
        settings,
        variants: variants.collect(),
    })
}

/// Where the results come from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The scenario file.
    pub file: &'a Path,
    /// What the user set.
    pub settings: &'a [Setting],
    /// The command that was given.
    pub command: &'a [String],
}

/// Writes everything: manifest, summary, tables and report.
///
/// # Errors
/// [`Error::Run`] if that fails; the folder is then not to be finished.
pub fn write(
    folder: &OutputFolder,
    finished: &[Finished],
    summary: &impl Serialize,
    origin: &Origin<'_>,
) -> Result<(), Error> {
    let Some(report) = report(finished, origin.settings) else {
        return Ok(());
    };
    let points = finished
        .iter()
        .map(|f| ManifestPoint::of(&f.point, f.label.clone(), &f.runs));
    let found = report::sentences(&report).into_iter();
    let found = found.map(|[variant, flow, text]| ManifestFinding {
        variant,
        flow,
        text,
    });
    let manifest = Manifest {
        scenario: report.title,
        file: origin.file.display().to_string(),
        world: worlds(finished),
        version: VERSION,
        command: origin.command,
        points: points.collect(),
        findings: found.collect(),
    };
    let labelled: Vec<Labelled<'_>> = finished.iter().map(Finished::labelled).collect();
    let page = report::html(&Report {
        command: origin.command,
        ..report
    });
    let fill = |folder: &ResultFolder| -> Result<(), OutputError> {
        folder.json("manifest.json", &manifest)?;
        folder.json("summary.json", summary)?;
        folder.tables(&labelled)?;
        folder.write("report.html", page.as_bytes())
    };
    folder.add(fill)
}
