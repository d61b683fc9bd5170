//! `brimful run`: a scenario, all points of its sweep.

use super::{changes, dash, load, notes_after, print_notes, print_notes_over};
use crate::args::{ExperimentArgs, RunArgs, World};
use crate::execution::Execution;
use crate::failure::Failure;
use crate::live;
use crate::output::{self, Stdout, complain};
use crate::settings::label;
use ::dash::{Access, Dash, Feed, Server};
use anyhow::anyhow;
use runner::{Finished, OutputFolder, default_path};
use scenario::{PepMode, Point, Summary};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

/// Runs the scenario, prints its results and writes them.
pub(crate) fn run(arguments: &RunArgs) -> Result<(), Failure> {
    let (record, listen) = (arguments.record.as_deref(), arguments.dash);
    let arguments = &arguments.experiment;
    let world = only_world(arguments)?;
    let over = load(arguments, &[])?;
    let (points, traces) = (over.points(), over.traces());
    if record.is_some() {
        check_recorded(points)?;
    }
    print_notes_over(&over);
    // interruptions are listened for before there is anything to put away
    let mut engine = Execution::new(arguments.threads, points).with_lab_scale(arguments.lab_scale);
    engine.check(world, points)?;
    let folder = begin(arguments, points)?;
    if let Some(record) = record {
        engine.record(record);
    }
    let _shown = listen
        .map(|listen| show(&mut engine, world, listen, points))
        .transpose()?;
    let mut stdout = Stdout::default();
    let (mut kept, mut noted) = (Kept::default(), BTreeSet::new());
    let batch = engine.batch(points.first().map_or(1, |p| p.experiment.repeats));
    for batch in points.chunks(batch.next_multiple_of(traces)) {
        let mut runs = engine.run(world, batch)?.into_iter();
        for versions in batch.chunks(traces) {
            let label = label(&versions[0].axes);
            let runs = versions.iter().cloned().zip(runs.by_ref()).collect();
            let Some(finished) = Finished::over_traces(label, world.into(), runs) else {
                continue;
            };
            let text = shown(&finished, arguments, points.len() > traces)?;
            engine.aside(|| stdout.print(&text))?;
            noted.extend(notes_after(&finished).cloned());
            if folder.is_some() {
                kept.push(finished);
            } else if stdout.is_closed() {
                return Ok(());
            }
        }
    }
    drop(engine);
    print_notes(noted.iter());
    match folder {
        Some(folder) => finish(folder, &kept, arguments),
        None => Ok(()),
    }
}

/// Shows runs in progress as long as it is there.
struct Shown(Feed);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.end("the run has ended");
        if self.0.viewers() > 0 {
            // the last words have to reach those who watch before the process ends
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// Serves a dashboard of the engine's runs.
fn show(
    engine: &mut Execution,
    world: World,
    listen: SocketAddr,
    points: &[Point],
) -> Result<Option<Shown>, Failure> {
    let Some(first) = points.first() else {
        return Ok(None);
    };
    let feed = Feed::new(live::about(&first.experiment, world));
    let access = Access::new(dash::token(None)?, Vec::new());
    let server = Server::bind(listen, Dash::live(feed.clone(), access)).map_err(dash::failure)?;
    complain(&format!("the run is shown at {}", server.url()));
    server.spawn().map_err(dash::failure)?;
    engine.observe(live::observers(feed.clone(), world));
    Ok(Some(Shown(feed)))
}

/// That there is one run, and an allocator in it.
fn check_recorded(points: &[Point]) -> Result<(), Failure> {
    let problem = match points {
        [one] if one.experiment.repeats == 1 => match one.experiment.pep.mode {
            PepMode::Rapid(_) => return Ok(()),
            _ => "there is no allocator to record: pep.mode must be paper or default",
        },
        _ => "one run can be recorded, not several: give --repeats 1, and no sweep",
    };
    Err(Failure::Input(anyhow!("--record: {problem}")))
}

/// The world of a command that takes one.
fn only_world(arguments: &ExperimentArgs) -> Result<World, Failure> {
    match arguments.world.as_slice() {
        [one] => Ok(*one),
        _ => Err(Failure::Input(anyhow!(
            "--world: a run is in one world, sim or lab: brimful compare takes both"
        ))),
    }
}

/// Begins the folder for the results: that of `--out`, or without `--json` one by the scenario's
/// name.
pub(super) fn begin(
    arguments: &ExperimentArgs,
    points: &[Point],
) -> Result<Option<OutputFolder>, Failure> {
    let name = points
        .first()
        .map_or("scenario", |p| p.experiment.name.as_str());
    let path = match (&arguments.out, arguments.json) {
        (Some(path), _) => path.clone(),
        (None, false) => default_path(name),
        (None, true) => return Ok(None),
    };
    Ok(Some(OutputFolder::create(&path)?))
}

/// What a point looks like on stdout.
fn shown(
    finished: &Finished,
    arguments: &ExperimentArgs,
    is_sweep: bool,
) -> Result<String, Failure> {
    if arguments.json {
        return Ok(runner::line(&finished.summary)?);
    }
    let tables = output::tables(core::slice::from_ref(finished), arguments.wide);
    Ok(match is_sweep {
        true => format!("== {} ==\n{tables}\n", finished.label),
        false => tables,
    })
}

/// Results that wait for their folder.
#[derive(Default)]
struct Kept {
    finished: Vec<Finished>,
    samples: usize,
}

impl Kept {
    /// Most samples of time series that are kept in memory: about 2 GB.
    const MAX_SAMPLES: usize = 100_000_000;

    /// Keeps a point; without its time series if the points before have filled the memory.
    fn push(&mut self, mut finished: Finished) {
        let series = finished.runs.iter().flat_map(|r| &r.series);
        let before = self.samples;
        self.samples += series.map(|s| s.points.len()).sum::<usize>();
        if self.samples > Self::MAX_SAMPLES {
            finished.runs.iter_mut().for_each(|run| run.series.clear());
            if before <= Self::MAX_SAMPLES {
                complain(&format!(
                    "the time series of {} and all later points are left out: too many to keep; \
                     a longer sample-interval makes fewer",
                    finished.label
                ));
            }
        }
        self.finished.push(finished);
    }
}

/// `summary.json` is what `--json` prints; of a sweep, a list of that.
fn finish(folder: OutputFolder, kept: &Kept, arguments: &ExperimentArgs) -> Result<(), Failure> {
    let settings = changes(arguments);
    let file = &arguments.file;
    let summaries: Vec<&Summary> = kept.finished.iter().map(|f| &f.summary).collect();
    match summaries.as_slice() {
        [one] => output::write_results(&folder, &kept.finished, one, file, &settings)?,
        several => output::write_results(&folder, &kept.finished, &several, file, &settings)?,
    }
    let path = folder.finish()?;
    if !arguments.json {
        output::complain_of_results(&path, arguments.wide);
    }
    Ok(())
}
