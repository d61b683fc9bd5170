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
mod help;
mod lab_runner;
mod live;
mod matplotlib;
mod output;
mod recording;
mod settings;
mod single_file;

use clap::Parser;
use std::process::ExitCode;

/// Threads whose panics are contained where they happen: a run of the simulator fails alone, and so does a
/// request for a page of metrics, for the proxy's state, or for a result in a damaged file; a damaged part of a
/// sweep is run again.
const CONTAINED: [&str; 5] = [
    runner::RUN_THREAD,
    daemon::metrics::THREAD,
    daemon::admin::THREAD,
    dash::READER_THREAD,
    sweep::READER_THREAD,
];

/// A panic ends the process, whatever thread it is in, but for those where it is contained: half a daemon is
/// worse than one that is started again.
fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        if !is_contained(std::thread::current().name()) {
            std::process::abort();
        }
    }));
}

/// Whether the panics of a thread with this name are contained where they happen.
fn is_contained(thread: Option<&str>) -> bool {
    thread.is_some_and(|name| CONTAINED.contains(&name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_page_of_metrics_or_state_ends_no_daemon() {
        assert!(is_contained(Some(daemon::metrics::THREAD)));
        assert!(is_contained(Some(daemon::admin::THREAD)));
        assert!(is_contained(Some(dash::READER_THREAD)));
        assert!(is_contained(Some(sweep::READER_THREAD)));
        assert!(!is_contained(Some("main")) && !is_contained(None));
    }
}
