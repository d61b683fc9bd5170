//! `brimful lab`: programs behind the emulated radio.

mod judge;

use super::{print_notes, print_notes_of};
use crate::args::RadioArgs;
use crate::failure::Failure;
use crate::output::complain;
use crate::settings;
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use runner::VERSION;
use scenario::{Experiment, Overrides, QueueResult, RunResult, Summary};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

/// Help below the options of `lab shell`.
const SHELL_HELP: &str = "\
COMMAND runs on a UE, behind the scenario's path, cell and proxy; the scenario's own flows do not run.
It can name the hosts `server`, `edge` and `ue`. The server has HTTP objects of any size at port 80
(http://server/20M), takes uploads there, discards what comes to port 9, and runs iperf3 if that is
installed. Needs root. Nothing is left afterwards.

Examples:
  sudo brimful lab shell scenarios/rapid/oai-fast.toml -- curl -o /dev/null http://server/20M
  sudo brimful lab shell scenarios/rapid/oai-fast.toml --set pep=default -- bash

Exit codes: that of COMMAND (128 + N if signal N ended it), 127 if there is no such program, 126 if it
cannot be run, 2 bad usage or input, 1 the lab failed.";

/// What is done in a lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run any program on the UE of a scenario, behind its cell and proxy
    #[command(after_help = crate::help::epilogue(SHELL_HELP))]
    Shell(Box<ShellArgs>),
    /// Run programs that others wrote on the UE and the server of a scenario: what each measures, in one table
    #[command(after_help = crate::help::epilogue(judge::JUDGE_HELP))]
    Judge(Box<judge::JudgeArgs>),
}

/// Options of `lab shell`.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// Scenario file (TOML)
    file: PathBuf,
    /// Set a knob, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    radio: RadioArgs,
    /// Seed of all that is random in the radio and on the path
    #[arg(long, value_parser = crate::args::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// UE on which COMMAND runs, by its name or number from 1 on
    #[arg(long, value_name = "NAME|N", default_value = "1")]
    ue: String,
    /// Serve the files of a folder by HTTP, instead of objects by size
    #[arg(long, value_name = "DIR")]
    server: Option<PathBuf>,
    /// Divide rates, sizes and buffers by N [default: what this machine needs to keep up]
    #[arg(long, value_name = "N")]
    lab_scale: Option<NonZeroU32>,
    /// Print nothing but what COMMAND prints
    #[arg(long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Does it.
pub(crate) fn run(command: &LabCommand) -> Result<(), Failure> {
    match command {
        LabCommand::Shell(arguments) => shell(arguments),
        LabCommand::Judge(arguments) => judge::judge(arguments),
    }
}

fn shell(arguments: &ShellArgs) -> Result<(), Failure> {
    let experiment = load(arguments)?;
    let ue = ue(&experiment, &arguments.ue)?;
    if let Some(folder) = arguments.server.as_ref().filter(|folder| !folder.is_dir()) {
        let problem = format!("--server: {} is not a folder", folder.display());
        return Err(Failure::Input(anyhow!(problem)));
    }
    let failed = |error: lab::Error| failure(&error, &experiment);
    let fitted = lab::check_shell(&experiment, arguments.lab_scale).map_err(failed)?;
    if !arguments.quiet {
        print_notes(fitted.notes.iter());
    }
    let program = std::env::current_exe()
        .context("this program cannot be found")
        .map_err(Failure::Run)?;
    let options = lab::Options {
        program,
        stop: Arc::new(AtomicBool::new(false)),
        record: None,
        scale: arguments.lab_scale,
        observers: scenario::Observers::default(),
    };
    let visit = lab::ShellSession {
        command: arguments.command.clone(),
        ue,
        files: arguments.server.clone(),
        signals: signals().map_err(Failure::run)?,
    };
    let visited = lab::shell(&experiment, experiment.seed, &options, &visit).map_err(failed)?;
    if !arguments.quiet {
        complain(&story(&experiment, &visited.result, &fitted.notes));
    }
    match exit_code(visited.status) {
        0 => Ok(()),
        code => Err(Failure::Command(code)),
    }
}

/// The single point of the scenario.
fn load(arguments: &ShellArgs) -> Result<Experiment, Failure> {
    let overrides = Overrides {
        seed: arguments.seed,
        ..arguments.radio.overrides(settings::all(&arguments.set)?)
    };
    let mut points = scenario::load(&arguments.file, &overrides).map_err(Failure::input)?;
    if points.len() > 1 {
        return Err(Failure::Input(anyhow!(
            "{}: the scenario sweeps: fix its axes by --set",
            arguments.file.display()
        )));
    }
    if !arguments.quiet {
        print_notes_of(&points);
    }
    let point = points.pop();
    point
        .map(|point| point.experiment)
        .ok_or_else(|| Failure::Input(anyhow!("the scenario has no point")))
}

/// Index of a UE by its name, or by its number from 1 on.
fn ue(experiment: &Experiment, name: &str) -> Result<usize, Failure> {
    let ues = &experiment.ues;
    let by_name = ues.iter().position(|ue| ue.name == name);
    let by_number = || {
        let number: usize = name.parse().ok()?;
        number.checked_sub(1).filter(|&index| index < ues.len())
    };
    by_name.or_else(by_number).ok_or_else(|| {
        let names: Vec<&str> = ues.iter().map(|ue| ue.name.as_str()).take(20).collect();
        Failure::Input(anyhow!(
            "--ue: no UE is called {name:?}; there are {}, or take 1 to {}",
            names.join(", "),
            ues.len()
        ))
    })
}

/// What is to be handed on to the program. An interruption from the terminal reaches it anyway: it is
/// of the same process group.
fn signals() -> io::Result<Receiver<i32>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for signal in &mut signals {
            let is_from_terminal = signal == SIGINT && has_terminal();
            if !is_from_terminal && sender.send(signal).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Whether this process is in the foreground of a terminal.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok_and(|terminal| {
        rustix::termios::tcgetpgrp(&terminal).ok() == Some(rustix::process::getpgrp())
    })
}

/// As shells have it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(1)).unwrap_or(1)
}

fn failure(error: &lab::Error, experiment: &Experiment) -> Failure {
    let code = match error {
        lab::Error::Command { source, .. } => match source.kind() {
            io::ErrorKind::NotFound => Some(127),
            _ => Some(126),
        },
        _ => None,
    };
    match code {
        Some(code) => {
            complain(&format!("error: {error}"));
            Failure::Command(code)
        }
        None => crate::lab_runner::lab_error(error, experiment).into(),
    }
}

/// What the cell saw, in a few lines, with the notes that have not been printed.
fn story(experiment: &Experiment, result: &RunResult, printed: &[String]) -> String {
    let summary = Summary::of(experiment, "lab", core::slice::from_ref(result), VERSION);
    let mut text = format!(
        "{}: {:.1} s over {:.1} Mbit/s, {:.0} % used",
        experiment.name,
        summary.elapsed_s,
        summary.link.capacity_bps / 1e6,
        summary.link.utilisation * 100.0,
    );
    for trace in &summary.traces {
        let from = trace.offsets_s.first().copied().unwrap_or_default();
        let _ = write!(
            text,
            "\n  {} {}: {} of {:.0} s, recorded on: {}; from {from:.3} s (--trace-offset)",
            trace.ue, trace.direction, trace.file, trace.duration_s, trace.recorded_on
        );
    }
    let mut line = |queue: &QueueResult| {
        // writing to a text cannot fail
        let _ = write!(
            text,
            "\n  {:24} mean {:>8.1} kB, p99 {:>8.1} kB; wait mean {:>6.1} ms, p99 {:>6.1} ms; {} dropped",
            queue.name,
            queue.mean_bytes / 1e3,
            queue.p99_bytes / 1e3,
            queue.sojourn.mean,
            queue.sojourn.p99,
            queue.drops,
        );
    };
    let has_seen_any = |queue: &&QueueResult| queue.sojourn.count > 0 || queue.drops > 0;
    result
        .queues
        .iter()
        .filter(has_seen_any)
        .for_each(&mut line);
    for it in &result.handovers {
        let _ = write!(
            text,
            "\n  {} left {} for {} at {:.2} s, without a cell for {:.0} ms; {} packets forwarded, {} lost",
            it.ue,
            it.from,
            it.to,
            it.at.as_secs_f64(),
            it.interruption.as_millis_f64(),
            it.forwarded,
            it.lost,
        );
    }
    if let Some(time) = &result.real_time {
        let notes = time.notes.iter().filter(|note| !printed.contains(note));
        for note in notes {
            let _ = write!(text, "\n  {note}");
        }
        let _ = write!(
            text,
            "\n  slots late by {:.2} ms at the median, {:.2} ms at the 99th percentile",
            time.lateness.p50, time.lateness.p99
        );
    }
    text
}
