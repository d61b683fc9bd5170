//! The `brimful` command.
//!
//! ```text
//!   args -> commands::{run, compare, reproduce, replay, pep, trace, list, scenario}
//!             |-> scenario (files -> experiments)  -> execution (crate runner: all cores)
//!             '-> output (stdout, tables, result folders), failure (exit codes)
//! ```
//!
//! This is the shell: it alone reads the clock, the environment and the terminal. It decides
//! nothing of an experiment.

mod args;
mod commands;
mod execution;
mod failure;
mod lab_runner;
mod live;
mod matplotlib;
mod output;
mod recording;
mod settings;
mod single_file;

use clap::Parser;
use std::process::ExitCode;

/// A panic ends the process, whatever thread it is in: half a daemon is worse than one that is started
/// again. Runs of the simulator fail alone.
fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        if std::thread::current().name() != Some(runner::RUN_THREAD) {
            std::process::abort();
        }
    }));
}

fn main() -> ExitCode {
    abort_on_panic();
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        // help and version go to stdout with code 0, usage errors to stderr with code 2
        Err(error) => error.exit(),
    };
    match commands::run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
