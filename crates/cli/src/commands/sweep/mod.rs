//! `brimful sweep`: all points of a large sweep into a dataset, here or, by way of Ray, on a cluster.

mod ray;

use super::print_notes;
use crate::args::{SweepArgs, SweepEngine};
use crate::execution::listen_for_interruptions;
use crate::failure::Failure;
use crate::output::{complain, print};
use crate::settings;
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use runner::{RUN_THREAD, Runner, Simulator, Stop, VERSION, default_path, traces_note};
use scenario::{Experiment, Overrides, Plan};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sweep::{Dataset, Description, End, Local, Options, Status, Unfinished, Watch, run_local};

/// Runs the sweep, or goes on with it.
pub(crate) fn run(arguments: &SweepArgs) -> Result<(), Failure> {
    let plan = Plan::load(&arguments.file, &overrides(arguments)?).map_err(Failure::input)?;
    let description = Description::new(&plan, VERSION, "").map_err(failure)?;
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None => default_path(&format!("{}-sweep", description.name())),
    };
    match arguments.engine {
        SweepEngine::Local => run_here(arguments, &plan, &description, &folder),
        SweepEngine::Ray => {
            ray::run(arguments, &folder)?;
            // those that have failed are printed, not run again
            let options = Options::default();
            let dataset = Dataset::open(&folder, &description, options).map_err(failure)?;
            print_end(arguments, &description, &dataset)
        }
    }
}

/// What the options change; `--grid` is an axis more.
fn overrides(arguments: &SweepArgs) -> Result<Overrides, Failure> {
    let mut set = settings::all(&arguments.set)?;
    for (key, values) in settings::grid(&arguments.grid)? {
        set.push((format!("sweep.{key}"), list(&values)));
    }
    Ok(Overrides {
        seed: arguments.seed,
        repeats: arguments.repeats,
        ..arguments.radio.overrides(set)
    })
}

/// Values of the command line as a TOML array: what is no number, truth value or array is a text.
fn list(values: &[String]) -> String {
    let is_plain = |value: &str| {
        let number =
            value.parse::<f64>().is_ok() && !value.contains(|c: char| c.is_ascii_alphabetic());
        number || matches!(value, "true" | "false") || value.starts_with(['[', '{'])
    };
    let shown = values.iter().map(|value| match is_plain(value) {
        true => value.clone(),
        false => json!(value).to_string(),
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(", "))
}

fn failure(error: sweep::Error) -> Failure {
    match error.is_input() {
        true => Failure::input(error),
        false => Failure::run(error),
    }
}

/// On the threads of this machine.
fn run_here(
    arguments: &SweepArgs,
    plan: &Plan,
    description: &Description,
    folder: &Path,
) -> Result<(), Failure> {
    if arguments.address.is_some() {
        return Err(Failure::Input(anyhow!(
            "--address is that of a Ray cluster: add --engine ray"
        )));
    }
    let first = plan.point(0).map_err(Failure::input)?;
    print_notes(traces_note(plan.traces(), first.experiment.repeats).iter());
    print_notes(first.notes.iter());
    let options = Options {
        retry_failed: arguments.retry_failed,
    };
    let mut dataset = Dataset::open(folder, description, options).map_err(failure)?;
    print_notes(dataset.notes().iter());
    let stop = Stop::default();
    listen_for_interruptions(stop.clone());
    let runner = Simulator::default();
    let run = |experiment: &Experiment, seed| {
        runner
            .run_one(experiment, seed, &stop)
            .map_err(|error| match error {
                runner::Error::Interrupted => Unfinished::Interrupted,
                other => Unfinished::Failed(other.to_string()),
            })
    };
    let ended = AtomicBool::new(false);
    let local = Local {
        workers: arguments
            .workers
            .unwrap_or_else(|| runner.concurrent_runs()),
        version: VERSION,
        run: &run,
        stop: &ended,
        thread: RUN_THREAD,
    };
    let mut watch = Bar::new(dataset.status(), stop.clone());
    let end = run_local(plan, &mut dataset, &local, &mut watch).map_err(failure);
    watch.bar.finish_and_clear();
    let status = dataset.status();
    match end? {
        End::Complete => print_end(arguments, description, &dataset),
        End::Interrupted => {
            complain(&format!(
                "interrupted: {} of {} points are in {}; the same command goes on with the rest",
                status.done,
                status.points,
                folder.display()
            ));
            Err(Failure::Command(Failure::INTERRUPTED))
        }
    }
}

/// Prints what there is now.
fn print_end(
    arguments: &SweepArgs,
    description: &Description,
    dataset: &Dataset,
) -> Result<(), Failure> {
    let (status, folder) = (dataset.status(), dataset.folder().display());
    if arguments.json {
        let object = json!({
            "scenario": description.name(),
            "points": status.points,
            "done": status.done,
            "failed": status.failed,
            "folder": folder.to_string(),
            "hash": description.hash(),
            "version": VERSION,
        });
        print(&format!("{object}\n"))?;
    } else {
        print(&format!(
            "{}: {} of {} points are in {folder}\n",
            description.name(),
            status.done,
            status.points
        ))?;
    }
    const MAX_PRINTED: usize = 3;
    for failed in dataset.failed().take(MAX_PRINTED) {
        let error = failed.error.lines().last().unwrap_or_default();
        complain(&format!(
            "point {} failed: {error}\n  {}",
            failed.point, failed.repeat
        ));
    }
    match status.failed {
        0 => Ok(()),
        failed => Err(Failure::Run(anyhow!(
            "{failed} points failed: {folder}/failed.jsonl has all, and the command that runs each alone; \
             --retry-failed runs them again"
        ))),
    }
}

/// A progress bar, and Ctrl-C.
struct Bar {
    bar: ProgressBar,
    stop: Stop,
}

impl Bar {
    fn new(status: Status, stop: Stop) -> Self {
        let bar = ProgressBar::new(status.points);
        let form = "{wide_bar} {pos}/{len} points, {elapsed}, {eta} left{msg}";
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        // points of an earlier command are no measure of this one's speed
        bar.set_position(status.done + status.failed);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, stop }
    }
}

impl Watch for Bar {
    fn progress(&mut self, status: Status) {
        self.bar.set_position(status.done + status.failed);
        if status.failed > 0 {
            self.bar.set_message(format!(", {} failed", status.failed));
        }
    }
    fn is_interrupted(&mut self) -> bool {
        self.stop.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_grid_are_numbers_or_texts() {
        let of =
            |values: &[&str]| list(&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["1 ms", "2 ms"]), "[\"1 ms\", \"2 ms\"]");
        assert_eq!(of(&["0.5", "-1", "true"]), "[0.5, -1, true]");
        assert_eq!(of(&["bbr", "inf", "[1, 2]"]), "[\"bbr\", \"inf\", [1, 2]]");
        assert_eq!(of(&["a\"b"]), "[\"a\\\"b\"]");
    }
}
