//! `brimful reproduce`: a paper's experiments, its claims beside ours.

use super::print_notes_of;
use crate::args::{Figures, ReproduceArgs, World};
use crate::execution::Execution;
use crate::failure::Failure;
use crate::matplotlib::Matplotlib;
use crate::output::{Stdout, complain, text_style};
use anyhow::anyhow;
use reproduce::{Choice, File, Outcome, Plan, SYSTEMS};
use runner::{OutputFolder, VERSION, line};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Runs the experiments, prints the claims, and writes page, figures and numbers where requested.
pub(crate) fn run(arguments: &ReproduceArgs) -> Result<(), Failure> {
    match arguments.world.as_slice() {
        [World::Sim] => claims(arguments, World::Sim),
        [World::Lab] => claims(arguments, World::Lab),
        [World::Sim, World::Lab] | [World::Lab, World::Sim] => agreement(arguments),
        _ => Err(Failure::Input(anyhow!(
            "--world: expected sim, lab, or sim,lab"
        ))),
    }
}

/// The claims, in one world.
fn claims(arguments: &ReproduceArgs, world: World) -> Result<(), Failure> {
    let plan = plan(arguments, world)?;
    let matplotlib = match arguments.figures {
        Figures::Plain => None,
        Figures::Matplotlib => Some(Matplotlib::find("--figures matplotlib")?),
    };
    print_notes_of(plan.points());
    // interruptions are listened for before there is anything to put away
    let engine = Execution::new(arguments.threads, plan.points());
    engine.check(world, plan.points())?;
    let folder = arguments
        .out
        .as_deref()
        .map(OutputFolder::create)
        .transpose()?;
    let begin = Instant::now();
    let runs = engine.run(world, plan.points())?;
    drop(engine);
    let took = begin.elapsed().as_secs_f64();
    let outcome = plan.finish(runs, VERSION);
    let text = match arguments.json {
        true => line(outcome.json())?,
        false => outcome.text(text_style().width),
    };
    Stdout::default().print(&text)?;
    complain(&times(&outcome, took));
    let Some(folder) = folder else { return Ok(()) };
    let files = match matplotlib {
        Some(matplotlib) => matplotlib.draw(outcome.files())?,
        None => outcome.files(),
    };
    write(folder, files)
}

/// How far both worlds agree, on the experiments that can run in both.
fn agreement(arguments: &ReproduceArgs) -> Result<(), Failure> {
    if arguments.figures != Figures::Plain {
        let message =
            "--figures: the page of both worlds has none; leave it out, or take one world";
        return Err(Failure::Input(anyhow!(message)));
    }
    let plan = plan(arguments, World::Lab)?;
    print_notes_of(plan.points());
    let engine = Execution::new(arguments.threads, plan.points());
    engine.check(World::Lab, plan.points())?;
    let folder = arguments
        .out
        .as_deref()
        .map(OutputFolder::create)
        .transpose()?;
    let points = engine.in_lab(plan.points())?;
    let sim = engine.run(World::Sim, &points)?;
    let lab = engine.run(World::Lab, &points)?;
    drop(engine);
    let agreement = plan.agreement(sim, lab, VERSION);
    let text = match arguments.json {
        true => line(&agreement.json())?,
        false => agreement.text(),
    };
    Stdout::default().print(&text)?;
    let Some(folder) = folder else { return Ok(()) };
    let file = |name: &str, text: String| File {
        name: name.to_owned(),
        bytes: text.into_bytes(),
    };
    let files = vec![
        file("sim-vs-lab.md", agreement.page()),
        file("sim-vs-lab.json", format!("{}\n", agreement.json())),
    ];
    write(folder, files)
}

fn write(folder: OutputFolder, files: Vec<File>) -> Result<(), Failure> {
    folder.add(|folder| {
        let mut files = files.into_iter();
        files.try_for_each(|file| folder.write(&file.name, &file.bytes))
    })?;
    let path = folder.finish()?;
    complain(&format!(
        "page, figures and numbers are in {}",
        path.display()
    ));
    Ok(())
}

fn plan(arguments: &ReproduceArgs, world: World) -> Result<Plan, Failure> {
    let system = SYSTEMS.iter().find(|s| s.name == arguments.system);
    let system =
        system.ok_or_else(|| Failure::Input(anyhow!("{}: no such system", arguments.system)))?;
    let choice = Choice {
        quick: arguments.quick,
        repeats: arguments.repeats,
        seed: arguments.seed,
        only: arguments.only.clone(),
        world: world.into(),
        without_paper: arguments.world.len() > 1,
        traces: std::env::var_os("BRIMFUL_TRACES").map(PathBuf::from),
        at_once: arguments.threads.map_or(1, NonZeroUsize::get),
    };
    Plan::new(system, &choice).map_err(Failure::input)
}

/// Where the time went.
fn times(outcome: &Outcome, took: f64) -> String {
    let mut text = format!("{took:.1} s; time of a core by scenario and mode:");
    for spent in outcome.spent() {
        let seconds = spent.time.as_secs_f64();
        let _ = write!(
            text,
            "\n{seconds:8.1} s {:5} runs  {}",
            spent.runs, spent.what
        );
    }
    text
}
