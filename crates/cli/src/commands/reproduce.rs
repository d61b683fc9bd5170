//! `brimful reproduce`: a paper's experiments, its claims beside ours.

use super::tell_notes;
use crate::args::{ReproduceArgs, World};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::folder::Results;
use crate::output::{Stdout, complain, text_style};
use crate::results::{VERSION, line};
use anyhow::anyhow;
use reproduce::{Choice, Outcome, Plan, SYSTEMS};
use std::fmt::Write;
use std::time::Instant;

/// Runs the experiments, prints the claims, and writes page, figures and numbers if asked to.
pub(crate) fn run(arguments: &ReproduceArgs) -> Result<(), Failure> {
    let plan = plan(arguments)?;
    tell_notes(plan.points());
    // interruptions are listened for before there is anything to put away
    let engine = Engine::new(arguments.threads, plan.points())?;
    let folder = arguments.out.as_deref().map(Results::create).transpose()?;
    let begin = Instant::now();
    let runs = engine.run(World::Sim, plan.points())?;
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
    folder.add(|folder| {
        let mut files = outcome.files().into_iter();
        files.try_for_each(|file| folder.write(&file.name, &file.bytes))
    })?;
    let path = folder.finish()?;
    complain(&format!(
        "page, figures and numbers are in {}",
        path.display()
    ));
    Ok(())
}

fn plan(arguments: &ReproduceArgs) -> Result<Plan, Failure> {
    let system = SYSTEMS.iter().find(|s| s.name == arguments.system);
    let system =
        system.ok_or_else(|| Failure::Input(anyhow!("{}: no such system", arguments.system)))?;
    let choice = Choice {
        quick: arguments.quick,
        repeats: arguments.repeats,
        seed: arguments.seed,
        only: arguments.only.clone(),
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
