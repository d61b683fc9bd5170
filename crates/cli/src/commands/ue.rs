//! `brimful ue`: the queue of a UE above its modem.

use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use std::path::PathBuf;
use ue::{Config, Start, UeError};

/// Help below the options.
pub(crate) const UE_HELP: &str = "\
Runs in the foreground on the router or phone that has the modem, and logs to stderr. What leaves by the
modem's interface is marked, or waits, by the modem's counters, which another program writes as lines
of JSON to a Unix socket or to standard input. SIGHUP reloads the configuration; what waits stays.
SIGTERM ends it: what waits goes on, and packets pass.
The configuration's keys, and the lines, are in docs/operations/ue.md.

Examples:
  brimful ue --config /etc/brimful/ue.toml --check
  sudo brimful ue --config /etc/brimful/ue.toml
  read-modem | sudo brimful ue --config ue.toml       # [modem] source = \"stdin\"

Exit codes: 0 done, 2 bad usage or configuration (nothing was changed), 1 failed run.";

/// Options of `ue`.
#[derive(Debug, Args)]
pub(crate) struct UeArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Log reports that do not count, and packets that could not be sent, as well
    #[arg(long)]
    verbose: bool,
    /// Log JSON, one object a line
    #[arg(long)]
    log_json: bool,
}

/// Runs the daemon.
pub(crate) fn run(arguments: &UeArgs) -> Result<(), Failure> {
    if arguments.check {
        Config::load(&arguments.config).map_err(Failure::input)?;
        return print(&format!("{}: valid\n", arguments.config.display()));
    }
    let start = Start {
        config: arguments.config.clone(),
        is_json: arguments.log_json,
        is_debug: arguments.verbose,
    };
    ue::run(&start).map_err(failure)
}

fn failure(error: UeError) -> Failure {
    match error.is_input() {
        true => Failure::input(error),
        false => Failure::run(error),
    }
}
