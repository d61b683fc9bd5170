//! The commands, one module each.

pub(crate) mod cdbe;
mod compare;
pub(crate) mod dash;
pub(crate) mod doctor;
pub(crate) mod figure;
pub(crate) mod init;
pub(crate) mod lab;
mod list;
mod manual;
pub(crate) mod pep;
pub(crate) mod quic;
mod replay;
mod reproduce;
pub(crate) mod rnis;
mod run;
mod show;
mod sweep;
mod top;
mod trace;
pub(crate) mod ue;

use crate::args::{Command, ExperimentArgs};
use crate::failure::Failure;
use crate::output::complain;
use crate::settings::{self, Setting};
use runner::{Finished, OverTraces};
use scenario::{Overrides, Point};

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Pep(arguments) => pep::run(&arguments),
        Command::Cdbe(command) => cdbe::run(&command),
        Command::Dash(arguments) => dash::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Figure(arguments) => figure::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Quic(command) => quic::run(&command),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Rnis(arguments) => rnis::run(&arguments),
        Command::Lab(command) => lab::run(&command),
        Command::Tunnel(command) => Ok(tunnel_command::run(&command, &["tunnel"])?),
        Command::Trace(command) => trace::run(&command),
        Command::Ue(arguments) => ue::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Scenario(command) => show::run(&command),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
    }
}

/// The settings of an experiment's options, with more above them.
fn overrides(arguments: &ExperimentArgs, more: &[Setting]) -> Result<Overrides, Failure> {
    let mut set = settings::all(&arguments.set)?;
    set.extend_from_slice(more);
    Ok(Overrides {
        seed: arguments.seed,
        repeats: arguments.repeats,
        ..arguments.radio.overrides(set)
    })
}

/// Reads the scenario with its options, over each trace of a folder if they name one.
fn load(arguments: &ExperimentArgs, more: &[Setting]) -> Result<OverTraces, Failure> {
    let overrides = overrides(arguments, more)?;
    let load = |overrides: &Overrides| scenario::load(&arguments.file, overrides);
    OverTraces::load(&overrides, load).map_err(Failure::input)
}

/// Prints on stderr, once each, what will be done otherwise than was requested.
fn print_notes_of(points: &[Point]) {
    print_notes(points.iter().flat_map(|point| &point.notes));
}

/// The same of points over traces, and how many these are.
fn print_notes_over(over: &OverTraces) {
    print_notes(over.note().iter());
    print_notes_of(over.points());
}

/// What only the runs have shown.
fn notes_after(finished: &Finished) -> impl Iterator<Item = &String> {
    let before = &finished.point.notes;
    let notes = finished.summary.notes.iter();
    notes.filter(move |note| !before.contains(note))
}

/// Prints notes on stderr, once each.
pub(crate) fn print_notes<'a>(notes: impl Iterator<Item = &'a String>) {
    let mut printed: Vec<&str> = Vec::new();
    for note in notes {
        if !printed.contains(&note.as_str()) {
            complain(&format!("note: {note}"));
            printed.push(note);
        }
    }
}

/// What the options change, for the reader of a report.
fn changes(arguments: &ExperimentArgs) -> Vec<Setting> {
    let mut changes: Vec<Setting> = arguments
        .set
        .iter()
        .filter_map(|text| settings::set(text).ok())
        .collect();
    changes.extend(arguments.radio.changes());
    changes
}
