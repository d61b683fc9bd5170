//! `brimful rnis`: the radio information service, and readers of its socket.

pub(crate) mod reader;
mod watch;

use crate::failure::Failure;
use crate::output::{complain, print};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use daemon::Log;
use reader::{Content, End, follow};
use rnis_server::Config;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

/// Help below the options.
pub(crate) const RNIS_HELP: &str = "\
Runs in the foreground and logs to stderr. SIGHUP takes sources, UEs, cells and networks of the file
again; SIGTERM ends the service. The configuration's keys are in docs/operations/rnis.md.

Examples:
  brimful rnis --config /etc/brimful/rnis.toml --check
  brimful rnis --config /etc/brimful/rnis.toml
  brimful rnis watch --socket /run/brimful/radio.sock --every \"1 s\"
  brimful rnis record --socket /run/brimful/radio.sock --out drive.ndjson --duration \"60 s\"

Exit codes: 0 done, 2 bad usage or configuration (nothing was started), 1 failed run.";

/// Options of `rnis`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RnisArgs {
    #[command(subcommand)]
    command: Option<RnisCommand>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
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

/// Readers of the Unix socket of a service, or of a lab.
#[derive(Debug, Subcommand)]
pub(crate) enum RnisCommand {
    /// Write radio reports to a file, one JSON object a line, as `replay` sources read them
    Record(RecordArgs),
    /// Print radio reports, one line a UE
    Watch(WatchArgs),
}

/// Options of `rnis record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Socket of radio reports
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// File to write, replaced if it is there; `-` for stdout
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How long to record, e.g. "60 s" [default: until Ctrl-C, or the end of the service]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<units::Duration>,
}

/// Options of `rnis watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Socket of radio reports
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Print one report of each cell in this time, e.g. "1 s" [default: every report]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    every: Option<units::Duration>,
}

/// Runs the service, or one of its readers.
pub(crate) fn run(arguments: &RnisArgs) -> Result<(), Failure> {
    match (&arguments.command, &arguments.config) {
        (Some(RnisCommand::Record(arguments)), _) => record(arguments),
        (Some(RnisCommand::Watch(arguments)), _) => watch::run(&arguments.socket, arguments.every),
        (None, Some(config)) => serve(config, arguments),
        (None, None) => Err(Failure::Input(anyhow!("--config FILE is missing"))),
    }
}

fn serve(path: &Path, arguments: &RnisArgs) -> Result<(), Failure> {
    let config = Config::load(path).map_err(Failure::input)?;
    rnis_server::check(&config).map_err(Failure::input)?;
    if arguments.check {
        return print(&format!("{}: valid\n", path.display()));
    }
    let log = Log {
        json: arguments.log_json,
        ..Log::default().at_debug(arguments.verbose)
    };
    rnis_server::run(path, config, log).map_err(Failure::run)
}

fn record(arguments: &RecordArgs) -> Result<(), Failure> {
    let out = &arguments.out;
    let failed = |error| {
        Failure::Run(
            anyhow::Error::new(error).context(format!("{} cannot be written", out.display())),
        )
    };
    let to_stdout = out == Path::new("-");
    let written = |error| {
        if to_stdout {
            Failure::stdout(error)
        } else {
            failed(error)
        }
    };
    // opened with the first report: a service that is not there leaves an old recording alone
    let mut file: Option<BufWriter<Box<dyn Write>>> = None;
    let (mut reports, mut events) = (0_u64, 0_u64);
    let mut cells = BTreeSet::new();
    let followed = follow(
        &arguments.socket,
        arguments.duration,
        Content::All,
        |report, line, more| {
            let file = match &mut file {
                Some(file) => file,
                None if to_stdout => file.insert(BufWriter::new(Box::new(stdout()))),
                None => file.insert(BufWriter::new(Box::new(File::create(out).map_err(failed)?))),
            };
            file.write_all(line)
                .and_then(|()| file.write_all(b"\n"))
                .map_err(written)?;
            if !more {
                file.flush().map_err(written)?;
            }
            match report {
                Some(report) => {
                    reports += 1;
                    cells.insert(report.cell.id);
                }
                None => events += 1,
            }
            Ok(())
        },
    )?;
    if let Some(mut file) = file {
        file.flush().map_err(written)?;
    }
    let refused = match followed.refused {
        0 => String::new(),
        n => format!("; {n} lines were no reports"),
    };
    let events = match events {
        0 => String::new(),
        n => format!(", {n} events"),
    };
    let printed = format!(
        "{reports} reports of {} cells{events}{refused}",
        cells.len()
    );
    match followed.end {
        End::Closed if arguments.duration.is_some() => Err(Failure::Run(anyhow!(
            "{}: closed before the time was over, after {printed}",
            arguments.socket.display()
        ))),
        _ if reports == 0 && events.is_empty() => Err(Failure::Run(anyhow!(
            "{}: nothing was recorded{refused}",
            arguments.socket.display()
        ))),
        _ => {
            complain(&format!("recorded {printed}"));
            Ok(())
        }
    }
}
