//! `brimful dash`: the dashboard over result folders, or over a scenario that is run to be shown.

use crate::args::{RadioArgs, World};
use crate::failure::Failure;
use crate::live;
use crate::output::{complain, print};
use crate::settings;
use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use dash::{Access, Dash, DashError, Feed, Library, Server, Token};
use runner::{Runner, Simulator, Stop};
use scenario::{Observers, Overrides};
use std::io::{IsTerminal, stdout};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::channel;

/// Help below the options.
pub(crate) const DASH_HELP: &str = "\
PATH is a result folder, a folder of result folders as `results`, or a scenario file: that is run in
the simulator, in real time unless --speed is given, and shown as it goes. The page's address is
printed; Ctrl-C ends it. From this machine no token is needed. Others need one: the content of
--token-file, or of the variable BRIMFUL_DASH_TOKEN, 16 to 1024 characters. There is no encryption:
put a proxy with TLS before it. docs/operations/dashboard.md has more.

Examples:
  brimful dash results
  brimful dash results/wire --listen 127.0.0.1:0 --open no
  brimful dash scenarios/rapid/trace-drive.toml --set pep=default --speed 2
  brimful dash results --listen 0.0.0.0:8080 --token-file dash.token --host lab7.example

Exit codes: 0 ended by Ctrl-C, 2 bad usage or input (nothing was served), 1 the address is taken.";

/// The variable with the token.
pub(crate) const TOKEN_VARIABLE: &str = "BRIMFUL_DASH_TOKEN";

/// Options of `dash`.
#[derive(Debug, Args)]
pub(crate) struct DashArgs {
    /// Result folder, folder of result folders, or scenario file to be run
    path: PathBuf,
    #[command(flatten)]
    serving: ServingArgs,
    /// Whether to open the page in the browser [default: yes on a desktop's terminal]
    #[arg(long, value_enum)]
    open: Option<Open>,
    /// Set a knob of the scenario, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of the scenario's run
    #[arg(long, value_parser = crate::args::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    #[command(flatten)]
    radio: RadioArgs,
    /// How many simulated seconds pass in one, or max
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1",
        allow_hyphen_values = true
    )]
    speed: Speed,
}

/// Where a dashboard is served, and to whom.
#[derive(Debug, Args)]
pub(crate) struct ServingArgs {
    /// Address and port of the page; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = crate::help::address)]
    listen: SocketAddr,
    /// File with the token for all but this machine, which only its owner may read
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Name by which browsers reach this machine, beside localhost and addresses
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

/// Whether to open a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Open {
    /// The desktop's
    Yes,
    /// None
    No,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &DashArgs) -> Result<(), Failure> {
    let access = arguments.serving.access()?;
    access.check(arguments.serving.listen).map_err(failure)?;
    let dash = match arguments.path.is_file() {
        true => Dash::live(simulate(arguments)?, access),
        false => {
            check_unused(arguments)?;
            Dash::results(Library::open(&arguments.path).map_err(failure)?, access)
        }
    };
    let server = Server::bind(arguments.serving.listen, dash).map_err(failure)?;
    let url = server.url();
    server.spawn().map_err(failure)?;
    let (sender, interrupted) = channel();
    let interrupt = move || {
        // who waits for it is there to the end
        let _ = sender.send(());
    };
    ctrlc::set_handler(interrupt)
        .context("no handler for Ctrl-C")
        .map_err(Failure::Run)?;
    print(&format!("{url}\n"))?;
    if arguments
        .open
        .map_or_else(has_desktop, |open| open == Open::Yes)
    {
        open(&url);
    }
    // nothing else ends it
    let _ = interrupted.recv();
    Ok(())
}

/// Nothing is printed about a scenario where there is none.
fn check_unused(arguments: &DashArgs) -> Result<(), Failure> {
    let is_given = !arguments.set.is_empty()
        || arguments.seed.is_some()
        || arguments.radio.changes().next().is_some();
    // what is missing is printed by the process that opens it
    match is_given && arguments.path.exists() {
        false => Ok(()),
        true => Err(Failure::Input(anyhow!(
            "{}: --set, --seed, --trace, --uplink-trace and --trace-offset are for a scenario file, and this is none",
            arguments.path.display()
        ))),
    }
}

/// Begins to run the scenario, and gives what it measures; refuses what cannot be run.
fn simulate(arguments: &DashArgs) -> Result<Feed, Failure> {
    let overrides = Overrides {
        seed: arguments.seed,
        ..arguments.radio.overrides(settings::all(&arguments.set)?)
    };
    let points = scenario::load(&arguments.path, &overrides).map_err(Failure::input)?;
    let [point] = points.as_slice() else {
        return Err(Failure::Input(anyhow!(
            "{}: the scenario sweeps, and one run is shown at a time: fix its axes by --set",
            arguments.path.display()
        )));
    };
    let experiment = point.experiment.clone();
    let (feed, pace) = (
        Feed::new(live::about(&experiment, World::Sim)),
        arguments.speed.0,
    );
    let (sender, begun) = channel();
    let (shown, has_begun) = (feed.clone(), sender.clone());
    let observers = Observers::new(move |experiment, _| {
        // the waiting process is there
        let _ = has_begun.send(Ok(()));
        let shown = live::Shown::new(shown.clone(), experiment, pace);
        Some(Box::new(shown))
    });
    let ended = feed.clone();
    std::thread::spawn(move || {
        let simulator = Simulator::default().observed(observers);
        match simulator.run_one(&experiment, experiment.seed, &Stop::default()) {
            Ok(_) => {
                ended.end("the run has ended");
                complain("the run has ended; Ctrl-C ends the dashboard");
            }
            Err(error) => {
                ended.end(&error.to_string());
                let _ = sender.send(Err(error));
            }
        }
    });
    match begun.recv() {
        Ok(Ok(())) => Ok(feed),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Failure::Run(anyhow!("the run has ended before it began"))),
    }
}

/// Simulated seconds in a second; none is as fast as it goes.
#[derive(Clone, Copy, Debug)]
struct Speed(Option<f64>);

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self(None));
        }
        let factor = text.parse().ok().filter(|f| (0.001..=1000.0).contains(f));
        let factor = factor.ok_or("expected max, or a number from 0.001 to 1000");
        factor
            .map(|factor| Self(Some(factor)))
            .map_err(str::to_owned)
    }
}

impl ServingArgs {
    /// Who may see it.
    fn access(&self) -> Result<Access, Failure> {
        let token = token(self.token_file.as_deref())?;
        Ok(Access::new(token, self.host.clone()))
    }
}

/// The token in this file, or else in the variable; none if neither is there.
pub(crate) fn token(file: Option<&Path>) -> Result<Option<Token>, Failure> {
    let token = match (file, std::env::var(TOKEN_VARIABLE)) {
        (Some(path), _) => Token::read(path),
        (None, Ok(text)) => Token::new(&text, TOKEN_VARIABLE),
        (None, Err(_)) => return Ok(None),
    };
    token.map(Some).map_err(failure)
}

pub(crate) fn failure(error: DashError) -> Failure {
    match error.is_input() {
        true => Failure::Input(anyhow!(error)),
        false => Failure::Run(anyhow!(error)),
    }
}

/// Whether a user sits before this.
fn has_desktop() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

/// Opens a browser; if there is none, the address was printed all the same.
fn open(url: &str) {
    let opened = Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        complain(&format!("note: no browser was opened: {error}"));
    }
}
