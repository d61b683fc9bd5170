//! `brimful cdbe`: CDBE for this machine's own TCP, by eBPF.

use crate::failure::Failure;
use crate::output::{Stdout, complain, print};
use anyhow::Context;
use cc::cdbe::Mode;
use clap::{Args, Subcommand, ValueEnum};
use kernel_cc::cdbe::{AttachError, Attached, Config, Counts, Roles};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use units::Duration;

/// Help below the options of `attach`.
const ATTACH_HELP: &str = "\
Runs in the foreground until SIGINT or SIGTERM; then the programs are detached, clients stop reporting,
and connections that were paced by reports become BBR's. SIGUSR1 prints on stderr what has been counted.
Sockets that listen must be opened after this has begun. Options go before the file; its keys
are in docs/operations/cdbe.md.

Examples:
  brimful cdbe attach --config /etc/brimful/cdbe.toml --check
  sudo brimful cdbe attach --role client
  sudo brimful cdbe attach --role server --cgroup /sys/fs/cgroup/system.slice/nginx.service --port 443

Exit codes: 0 done, 2 bad usage or configuration (nothing was attached), 1 it could not be attached.";

/// Commands of CDBE.
#[derive(Debug, Subcommand)]
pub(crate) enum CdbeCommand {
    /// Let TCP clients report their bandwidth, and TCP servers pace by it
    #[command(after_help = crate::help::epilogue(ATTACH_HELP))]
    Attach(AttachArgs),
}

/// Which ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Connections that programs open: they measure and report
    Client,
    /// Connections that programs accept: they pace by reports
    Server,
    /// Both
    Both,
}

impl Role {
    fn roles(self) -> Roles {
        match self {
            Self::Client => Roles::CLIENT,
            Self::Server => Roles::SERVER,
            Self::Both => Roles::BOTH,
        }
    }
}

/// Options of `cdbe attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Which ends of connections [default: both]
    #[arg(long, value_name = "ROLE", value_enum)]
    role: Option<Role>,
    /// Cgroup (version 2) whose sockets are served [default: all of this machine]
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
    /// Only services at these ports; may be given several times [default: all]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Vec<u16>,
    /// Equations
    #[arg(long, value_name = "MODE", help = mode_help(), value_parser = mode)]
    mode: Option<Mode>,
    /// Name of the congestion control, at most 15 characters [default: brimful_cdbe]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Report what has been counted, one JSON object a line on stdout, so often
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    stats: Option<Duration>,
}

fn mode_help() -> String {
    let default = Mode::default().name();
    format!(
        "Equations: {} [default: {default}]",
        Mode::NAMES.join(" or ")
    )
}

/// A mode by its name.
fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_name(text).ok_or_else(|| format!("expected {}", Mode::NAMES.join(" or ")))
}

/// Runs a command of CDBE.
pub(crate) fn run(command: &CdbeCommand) -> Result<(), Failure> {
    match command {
        CdbeCommand::Attach(arguments) => attach(arguments),
    }
}

fn attach(arguments: &AttachArgs) -> Result<(), Failure> {
    let config = configuration(arguments)?;
    if arguments.check {
        let name = arguments.config.as_ref();
        let name = name.map_or_else(|| "options".to_owned(), |file| file.display().to_string());
        return print(&format!("{name}: valid\n"));
    }
    // before anything is attached: a signal that comes meanwhile must detach it
    let signals = signals()?;
    let attached = Attached::attach(&config.plan()).map_err(failure)?;
    complain(&story(&config));
    let served = serve(&attached, &signals, arguments.stats);
    let counts = attached.counts();
    drop(attached);
    served?;
    complain(&format!(
        "detached; {}",
        printed(&counts.map_err(Failure::run)?)
    ));
    Ok(())
}

fn failure(error: AttachError) -> Failure {
    match error.is_input() {
        true => Failure::input(error),
        false => Failure::run(error),
    }
}

/// The file, and the options above it.
fn configuration(arguments: &AttachArgs) -> Result<Config, Failure> {
    let mut config = match &arguments.config {
        Some(file) => Config::load(file).map_err(Failure::input)?,
        None => Config::default(),
    };
    config.roles = arguments.role.map_or(config.roles, Role::roles);
    config.cgroup = arguments.cgroup.clone().or(config.cgroup);
    if !arguments.port.is_empty() {
        config.ports.clone_from(&arguments.port);
    }
    config.server.mode = arguments.mode.unwrap_or(config.server.mode);
    if let Some(name) = &arguments.name {
        config.name.clone_from(name);
    }
    config.complete().map_err(failure)
}

/// What is attached, in a line.
fn story(config: &Config) -> String {
    let ends = match config.roles {
        Roles { server: false, .. } => "clients report",
        Roles { client: false, .. } => "servers pace by reports",
        _ => "clients report, servers pace by reports",
    };
    let ports: Vec<String> = config.ports.iter().map(u16::to_string).collect();
    let ports = match ports.is_empty() {
        true => "all ports".to_owned(),
        false => format!("ports {}", ports.join(", ")),
    };
    let control = match config.roles.server {
        true => format!("; congestion control {}", config.name),
        false => String::new(),
    };
    format!(
        "attached to {} ({ports}): {ends}, mode {}{control}",
        config.plan().cgroup.display(),
        config.server.mode.name(),
    )
}

/// The signals that concern it, as they come.
fn signals() -> Result<Receiver<i32>, Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])
        .context("signals cannot be waited for")
        .map_err(Failure::Run)?;
    let (sender, receiver) = channel();
    // it ends with the process
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(signal).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Reports what is counted until a signal.
fn serve(
    attached: &Attached,
    signals: &Receiver<i32>,
    every: Option<Duration>,
) -> Result<(), Failure> {
    let mut out = Stdout::default();
    let wait = core::time::Duration::from_nanos(every.map_or(u64::MAX, Duration::as_nanos).max(1));
    loop {
        match signals.recv_timeout(wait) {
            Ok(SIGUSR1) => complain(&printed(&attached.counts().map_err(Failure::run)?)),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                let counts = attached.counts().map_err(Failure::run)?;
                out.sample(&format!("{}\n", as_json(&counts)));
            }
        }
    }
}

fn printed(counts: &Counts) -> String {
    format!(
        "clients: {} connections ({} to servers without CDBE), {} reports ({} found no room); \
         servers: {} connections, {} reports ({} beyond what was delivered), {} fell back to BBR",
        counts.clients,
        counts.refused,
        counts.written,
        counts.unfit,
        counts.servers,
        counts.read,
        counts.bounded,
        counts.fallbacks,
    )
}

fn as_json(counts: &Counts) -> serde_json::Value {
    json!({
        "client_connections": counts.clients,
        "client_connections_refused": counts.refused,
        "reports_written": counts.written,
        "reports_without_room": counts.unfit,
        "server_connections": counts.servers,
        "reports_read": counts.read,
        "reports_bounded": counts.bounded,
        "fallbacks": counts.fallbacks,
    })
}
