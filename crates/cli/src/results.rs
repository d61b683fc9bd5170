//! What became of the points of a run or the variants of a comparison: JSON, tables, folder.

use crate::args::World;
use crate::failure::Failure;
use crate::folder::Results;
use crate::output::text_style;
use crate::settings::Setting;
use anyhow::Context;
use report::{Report, Variant};
use scenario::{
    Labelled, Manifest, ManifestPoint, OutputError, Point, ResultFolder, RunResult, Summary,
};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The version, in every result.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A point that has run, with all its repeats.
pub(crate) struct Finished {
    /// What tells it from the others; empty if it is the only one.
    pub(crate) label: String,
    /// Where it ran.
    pub(crate) world: World,
    /// The point.
    pub(crate) point: Point,
    /// Its repeats, in the order of their seeds.
    pub(crate) runs: Vec<RunResult>,
    /// Their means.
    pub(crate) summary: Summary,
}

impl Finished {
    /// Sums up.
    pub(crate) fn new(label: String, world: World, point: Point, runs: Vec<RunResult>) -> Self {
        let summary = Summary::of(&point.experiment, world.name(), &runs, VERSION);
        let summary = summary.at_point(&point.axes);
        Self {
            label,
            world,
            point,
            runs,
            summary,
        }
    }

    /// What the statistics take.
    pub(crate) fn labelled(&self) -> Labelled<'_> {
        Labelled {
            label: &self.label,
            runs: &self.runs,
        }
    }
}

/// Any result as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value)
        .context("a result cannot be put into JSON")
        .map_err(Failure::Run)
}

/// JSON on one line, its keys in their own order.
pub(crate) fn line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).context("a result cannot be put into JSON");
    text.map(|t| t + "\n").map_err(Failure::Run)
}

/// JSON on several lines.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).context("a result cannot be put into JSON");
    text.map(|t| t + "\n").map_err(Failure::Run)
}

/// Names and values as an object.
pub(crate) fn axes_json(axes: &[Setting]) -> Value {
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

/// The report on these results, which have a scenario in common; `settings` are what the command
/// line set.
fn report<'a>(finished: &'a [Finished], settings: &[Setting]) -> Option<Report<'a>> {
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
        seed: first.point.experiment.seed,
        repeats: first.point.experiment.repeats,
        settings,
        variants: variants.collect(),
    })
}

/// The tables of these results, for stdout.
pub(crate) fn tables(finished: &[Finished]) -> String {
    let report = report(finished, &[]);
    report.map_or(String::new(), |r| {
        report::text(&report::report_tables(&r), text_style())
    })
}

/// How the results came about.
pub(crate) struct Origin<'a> {
    /// The scenario file.
    pub(crate) file: &'a Path,
    /// What the command line set.
    pub(crate) settings: &'a [Setting],
}

/// Writes everything: manifest, summary, tables and report.
pub(crate) fn write(
    results: &Results,
    finished: &[Finished],
    summary: &impl Serialize,
    origin: &Origin<'_>,
) -> Result<(), Failure> {
    let command: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let Some(report) = report(finished, origin.settings) else {
        return Ok(());
    };
    let points = finished
        .iter()
        .map(|f| ManifestPoint::of(&f.point, f.label.clone(), &f.runs));
    let manifest = Manifest {
        scenario: report.title,
        file: origin.file.display().to_string(),
        world: worlds(finished),
        version: VERSION,
        command: &command,
        points: points.collect(),
    };
    let labelled: Vec<Labelled<'_>> = finished.iter().map(Finished::labelled).collect();
    let page = report::html(&report);
    let fill = |folder: &ResultFolder| -> Result<(), OutputError> {
        folder.json("manifest.json", &manifest)?;
        folder.json("summary.json", summary)?;
        folder.tables(&labelled)?;
        folder.write("report.html", page.as_bytes())
    };
    results.add(fill)
}
