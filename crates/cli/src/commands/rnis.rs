//! `brimful rnis`: the radio information service.

use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use rnis_server::{Config, Log};
use std::path::PathBuf;

/// Help below the options.
pub(crate) const RNIS_HELP: &str = "\
Runs in the foreground and logs to stderr. SIGHUP takes sources, UEs, cells and networks of the file
again; SIGTERM ends the service. The configuration's keys are in docs/operations/rnis.md.

Examples:
  brimful rnis --config /etc/brimful/rnis.toml --check
  brimful rnis --config /etc/brimful/rnis.toml

Exit codes: 0 done, 2 bad usage or configuration (nothing was started), 1 failed run.";

/// Options of `rnis`.
#[derive(Debug, Args)]
pub(crate) struct RnisArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Log refused messages and UEs without a mapping as well
    #[arg(long)]
    verbose: bool,
    /// Log JSON, one object a line
    #[arg(long)]
    log_json: bool,
}

/// Runs the service, or says whether its configuration is good.
pub(crate) fn run(arguments: &RnisArgs) -> Result<(), Failure> {
    let path = &arguments.config;
    let config = Config::load(path).map_err(Failure::input)?;
    rnis_server::check(&config).map_err(Failure::input)?;
    if arguments.check {
        return print(&format!("{}: good\n", path.display()));
    }
    let log = Log {
        json: arguments.log_json,
        debug: arguments.verbose,
    };
    rnis_server::run(path, config, log).map_err(Failure::run)
}
