//! Runs the variants of a request, one after the other, and writes what came of them as JSON.

use crate::request::{Files, Request, Variant};
use report::Report;
use scenario::{Overrides, Point, RunResult, Summary, load_held};
use sim::Simulation;
use std::path::Path;
use std::sync::Arc;

/// The version, in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A variant that has run.
struct Finished {
    label: String,
    point: Point,
    runs: Vec<RunResult>,
    summary: Summary,
}

/// Runs all variants with all seeds. Gives an object: `summaries`, what `brimful run --json` prints of each but for the
/// time that it took; `notes`; `found`, a list of variant, flow and what became of it; and `figures`, the data of the
/// figures of `report.html`.
///
/// # Errors
/// What is wrong with the scenario or a trace, as the command line words it.
pub fn run(request: &Request, files: &Files) -> Result<String, String> {
    // all are read before any is run
    let files = Arc::new(files.clone());
    let points = request.variants.iter().map(|of| point(request, of, &files));
    let points: Vec<Point> = points.collect::<Result<_, _>>()?;
    let named = request.variants.iter().zip(points);
    let finished: Vec<Finished> = named
        .map(|(variant, point)| finished(variant, point))
        .collect::<Result<_, _>>()?;
    json(&finished)
}

/// The one point of a variant.
fn point(request: &Request, variant: &Variant, files: &Arc<Files>) -> Result<Point, String> {
    let overrides = Overrides {
        set: variant.set.clone(),
        trace: request.trace.clone(),
        seed: request.seed,
        repeats: request.repeats,
        ..Overrides::default()
    };
    let scenario = request.scenario.as_path();
    let points = load_held(scenario, Arc::clone(files), &overrides);
    single(points.map_err(|error| error.to_string())?, scenario)
}

fn single(mut points: Vec<Point>, scenario: &Path) -> Result<Point, String> {
    let name = scenario.display();
    if points.len() > 1 {
        let axes = points.first().map(Point::label).unwrap_or_default();
        return Err(format!(
            "{name}: the scenario is a sweep of {} points ({axes} ...), of which one is run here: set its axes, or run \
             it by brimful run",
            points.len()
        ));
    }
    let point = points.pop();
    point.ok_or_else(|| format!("{name}: the scenario has no point"))
}

fn finished(variant: &Variant, point: Point) -> Result<Finished, String> {
    let experiment = &point.experiment;
    let seeds = 0..u64::from(experiment.repeats);
    let runs = seeds.map(|repeat| {
        let seed = experiment.seed.wrapping_add(repeat);
        let simulation = Simulation::new(experiment, seed);
        let mut simulation = simulation.map_err(|error| format!("{}: {error}", experiment.name))?;
        simulation.run();
        Ok(simulation.finish())
    });
    let runs: Vec<RunResult> = runs.collect::<Result<_, String>>()?;
    let summary = Summary::of(experiment, "sim", &runs, VERSION);
    Ok(Finished {
        label: variant.label.clone(),
        summary: summary.at_point(&point.axes).with_notes(&point.notes),
        point,
        runs,
    })
}

fn json(finished: &[Finished]) -> Result<String, String> {
    let Some(first) = finished.first() else {
        return Err("there is no variant".to_owned());
    };
    let experiment = &first.point.experiment;
    let variants = finished.iter().map(|f| report::Variant {
        label: f.label.clone(),
        summary: &f.summary,
        runs: &f.runs,
    });
    let report = Report {
        title: &experiment.name,
        description: &experiment.description,
        world: "sim",
        version: VERSION,
        command: &[],
        seed: experiment.seed,
        repeats: experiment.repeats,
        settings: Vec::new(),
        variants: variants.collect(),
    };
    let text = |value: serde_json::Result<String>| {
        value.map_err(|error| format!("a result cannot be put into JSON: {error}"))
    };
    let summaries: Vec<&Summary> = finished.iter().map(|f| &f.summary).collect();
    let mut notes: Vec<&String> = Vec::new();
    for note in finished.iter().flat_map(|f| &f.summary.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(format!(
        "{{\"summaries\":{},\"notes\":{},\"found\":{},\"figures\":{}}}",
        text(serde_json::to_string(&summaries))?,
        text(serde_json::to_string(&notes))?,
        text(serde_json::to_string(&report::findings(&report)))?,
        report::figures_json(&report),
    ))
}
