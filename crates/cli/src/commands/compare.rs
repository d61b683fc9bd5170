//! `brimful compare`: variants of a scenario with the same seeds.

use super::run::begin;
use super::{changes, load, notes_after, print_notes, print_notes_over};
use crate::args::{CompareArgs, ExperimentArgs, World};
use crate::execution::Execution;
use crate::failure::Failure;
use crate::output::{self, Stdout};
use crate::settings::{Setting, combinations, label};
use anyhow::anyhow;
use runner::{Comparison, Finished, OverTraces, check_seeds, single};

/// Runs all variants, prints them beside one another and writes their results.
pub(crate) fn run(arguments: &CompareArgs) -> Result<(), Failure> {
    let options = &arguments.experiment;
    let worlds = worlds(arguments)?;
    let combinations = combinations(&arguments.vary).map_err(Failure::Input)?;
    let variants: Result<Vec<OverTraces>, Failure> = combinations
        .iter()
        .map(|settings| variant(options, settings))
        .collect();
    let over = OverTraces::joined(variants?)
        .ok_or_else(|| Failure::Input(anyhow!("there is nothing to compare")))?;
    check_seeds(&over.firsts(), &combinations)?;
    print_notes_over(&over);
    let (points, traces) = (over.points(), over.traces());
    // interruptions are listened for before there is anything to put away
    let engine = Execution::new(options.threads, points).with_lab_scale(options.lab_scale);
    worlds
        .iter()
        .try_for_each(|&world| engine.check(world, points))?;
    let folder = begin(options, points)?;
    let (mut finished, mut variants) = (Vec::new(), Vec::new());
    // the simulator runs what the lab runs, where they are compared
    let simulated = match worlds.contains(&World::Lab) {
        true => engine.in_lab(points)?,
        false => points.to_vec(),
    };
    let run_in = |&world| match world {
        World::Sim => engine.run(world, &simulated),
        World::Lab => engine.run(world, points),
    };
    let results: Result<Vec<_>, Failure> = worlds.iter().map(run_in).collect();
    drop(engine);
    let mut results: Vec<_> = results?.into_iter().map(Vec::into_iter).collect();
    for (settings, points) in combinations.iter().zip(points.chunks(traces)) {
        for (&world, results) in worlds.iter().zip(&mut results) {
            let settings = in_world(settings, world, worlds.len());
            let runs = points.iter().cloned().zip(results).collect();
            let label = label(&settings);
            finished.extend(Finished::over_traces(label, world.into(), runs));
            variants.push(settings);
        }
    }
    print_notes(finished.iter().flat_map(notes_after));
    let comparison = Comparison::of(&finished, &variants)?;
    let text = match options.json {
        true => runner::line(&comparison)?,
        false => output::tables(&finished, options.wide),
    };
    Stdout::default().print(&text)?;
    let Some(folder) = folder else { return Ok(()) };
    let settings = changes(options);
    output::write_results(&folder, &finished, &comparison, &options.file, &settings)?;
    let path = folder.finish()?;
    if !options.json {
        output::complain_of_results(&path, options.wide);
    }
    Ok(())
}

/// The worlds to be compared. Comparing needs two of something.
fn worlds(arguments: &CompareArgs) -> Result<Vec<World>, Failure> {
    let mut worlds = Vec::new();
    for &world in &arguments.experiment.world {
        if worlds.contains(&world) {
            let name = world.name();
            return Err(Failure::Input(anyhow!("--world: {name} is given twice")));
        }
        worlds.push(world);
    }
    if worlds.len() < 2 && arguments.vary.is_empty() {
        return Err(Failure::Input(anyhow!(
            "nothing to compare: give --vary KEY=A,B,... or --world sim,lab"
        )));
    }
    Ok(worlds)
}

/// The settings of a variant, the world among them if there are several.
fn in_world(settings: &[Setting], world: World, worlds: usize) -> Vec<Setting> {
    let mut settings = settings.to_vec();
    if worlds > 1 {
        settings.push(("world".to_owned(), world.name().to_owned()));
    }
    settings
}

/// The single point of a variant, with each trace.
fn variant(options: &ExperimentArgs, settings: &[Setting]) -> Result<OverTraces, Failure> {
    let over = load(options, settings)?;
    single(over.firsts(), &options.file.display().to_string())?;
    Ok(over)
}
