//! `brimful lab judge`: what programs that others wrote measure on the UE of a scenario.

use super::ue;
use crate::args::RadioArgs;
use crate::commands::{print_notes, print_notes_of};
use crate::execution::listen_for_interruptions;
use crate::failure::Failure;
use crate::lab_runner::lab_error;
use crate::output::{Stdout, complain, text_style};
use crate::settings::{self, Setting, combinations, label};
use anyhow::{Context, anyhow};
use clap::Args;
use judge::{Column, JUDGES, Judge, Need, Plan, Problem, Record, Toolbox, Verdicts};
use runner::{OutputFolder, Stop, VERSION, check_seeds, single};
use scenario::{Overrides, Point};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::path::PathBuf;
use units::Duration;

/// Help below the options of `lab judge`.
pub(super) const JUDGE_HELP: &str = "\
Each judge runs in a lab of its own, from the beginning of the radio, for each value of --vary: programs on
the server and on the UE, behind the scenario's path, cell and proxy. The first value is the one that ratios
refer to. The scenario's own flows do not run. What a judge needs `make setup-judges` installs; it is looked
for in the folders of the variable BRIMFUL_JUDGES (without it bin of target/judges, target/aioquic and
target/playwright), then in those of PATH. Needs root. Nothing is left afterwards.

Examples:
  brimful lab judge --list
  sudo brimful lab judge scenarios/rapid/trace-drive.toml --vary pep=none,default
  sudo brimful lab judge scenarios/rapid/oai-fast.toml --only iperf3,irtt --duration \"5 s\" --json

Exit codes: 0 done, 1 the lab failed, a judge of --only did or all of them, 2 bad usage or input, or a
program that a judge of --only needs is missing (nothing was run), 130 interrupted.";

/// Options of `lab judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// Scenario file (TOML)
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// Only these judges
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = named)]
    only: Vec<&'static Judge>,
    /// Values of a knob or key, a column each; may be given several times
    #[arg(long, value_name = "KEY=A,B,...")]
    vary: Vec<String>,
    /// Set a knob, or a key by its dotted path; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    radio: RadioArgs,
    /// Seed of the first repeat; repeat k uses seed + k
    #[arg(long, value_parser = crate::args::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Number of repeats, each with its own seed
    #[arg(long, default_value_t = 1, value_parser = crate::args::repeats, allow_hyphen_values = true)]
    repeats: u32,
    /// How long a judge measures, in whole seconds, 1 s to 10 min
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = duration, allow_hyphen_values = true)]
    duration: core::time::Duration,
    /// UE on which the programs run, by its name or number from 1 on
    #[arg(long, value_name = "NAME|N", default_value = "1")]
    ue: String,
    /// Divide rates, sizes and buffers by N [default: what this machine needs to keep up]
    #[arg(long, value_name = "N")]
    lab_scale: Option<NonZeroU32>,
    /// Folder for the results and all that the programs print
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
    /// List the judges, and whether what they need is here; nothing is run
    #[arg(long)]
    list: bool,
}

fn named(name: &str) -> Result<&'static Judge, String> {
    judge::named(name).ok_or_else(|| {
        let names: Vec<&str> = JUDGES.iter().map(|judge| judge.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn duration(text: &str) -> Result<core::time::Duration, String> {
    let read = text.parse::<Duration>();
    let read = read.map_err(|error| error.to_string())?;
    let nanoseconds = read.as_nanos();
    let seconds = nanoseconds / 1_000_000_000;
    let is_whole = nanoseconds.is_multiple_of(1_000_000_000);
    match is_whole && (1..=600).contains(&seconds) {
        true => Ok(core::time::Duration::from_secs(seconds)),
        false => Err("expected whole seconds from 1 s to 10 min".to_owned()),
    }
}

/// A judge, and what it needs and is not here.
type Missing = (&'static Judge, Vec<Need>);

/// Runs them, and prints what they measured.
pub(super) fn judge(arguments: &JudgeArgs) -> Result<(), Failure> {
    let mut toolbox = Toolbox::of_environment();
    let is_chosen = |judge: &&Judge| {
        let mut only = arguments.only.iter();
        arguments.only.is_empty() || only.any(|only| only.name == judge.name)
    };
    let chosen: Vec<&'static Judge> = JUDGES.iter().filter(is_chosen).collect();
    let (able, missing) = divided(&chosen, &mut toolbox);
    if arguments.list {
        return list(&chosen, &missing, arguments.json);
    }
    if let Some((judge, needs)) = missing.first()
        && (!arguments.only.is_empty() || able.is_empty())
    {
        let problem = judge::missing(needs);
        return Err(Failure::Input(anyhow!("{}: {problem}", judge.name)));
    }
    for (judge, needs) in &missing {
        let problem = judge::missing(needs);
        complain(&format!("note: {} is not run: {problem}", judge.name));
    }
    let columns = columns(arguments)?;
    let Some(first) = columns.first() else {
        return Err(Failure::Input(anyhow!("the scenario has no point")));
    };
    let (ue, seed) = (ue(&first.experiment, &arguments.ue)?, first.experiment.seed);
    check(&columns, arguments)?;
    let stop = Stop::default();
    listen_for_interruptions(stop.clone());
    let folder = match &arguments.out {
        Some(path) => Some(OutputFolder::create(path)?),
        None => None,
    };
    let program = std::env::current_exe()
        .context("this program cannot be found")
        .map_err(Failure::Run)?;
    let options = lab::Options {
        program,
        stop: stop.flag(),
        record: None,
        scale: arguments.lab_scale,
        observers: scenario::Observers::default(),
    };
    let plan = Plan {
        columns: &columns,
        judges: &able,
        repeats: arguments.repeats,
        seed,
        duration: arguments.duration,
        ue,
        options: &options,
        toolbox: &toolbox,
    };
    let records = judge::run(&plan, progress).map_err(|problem| match problem {
        _ if stop.is_stopped() => Failure::Interrupted,
        Problem::Lab(error) => lab_error(&error, &first.experiment).into(),
        problem => Failure::run(problem),
    })?;
    let verdicts = Verdicts {
        scenario: &first.experiment.name,
        version: VERSION,
        plan: &plan,
        missing: &missing,
        records: &records,
    };
    print(&verdicts, arguments.json, folder)?;
    let failed = verdicts.failed();
    match failed > 0 && (!arguments.only.is_empty() || failed == records.len()) {
        true => Err(Failure::Command(1)),
        false => Ok(()),
    }
}

/// Those that can be run, and the others.
fn divided(
    chosen: &[&'static Judge],
    toolbox: &mut Toolbox,
) -> (Vec<&'static Judge>, Vec<Missing>) {
    let (mut able, mut missing) = (Vec::new(), Vec::new());
    for &judge in chosen {
        match toolbox.find(judge.needs) {
            needs if needs.is_empty() => able.push(judge),
            needs => missing.push((judge, needs)),
        }
    }
    (able, missing)
}

/// The experiment of each value that is varied.
fn columns(arguments: &JudgeArgs) -> Result<Vec<Column>, Failure> {
    let combinations = combinations(&arguments.vary).map_err(Failure::Input)?;
    let points: Result<Vec<Point>, Failure> = combinations
        .iter()
        .map(|settings| point(arguments, settings))
        .collect();
    let points = points?;
    check_seeds(&points, &combinations)?;
    print_notes_of(&points);
    let columns = points.into_iter().zip(combinations);
    Ok(columns
        .map(|(point, settings)| Column {
            label: label(&settings),
            settings,
            experiment: point.experiment,
        })
        .collect())
}

/// The single point of a column.
fn point(arguments: &JudgeArgs, settings: &[Setting]) -> Result<Point, Failure> {
    let file = arguments.file.as_deref();
    let file = file.ok_or_else(|| Failure::Input(anyhow!("name a scenario")))?;
    let mut set = settings::all(&arguments.set)?;
    set.extend_from_slice(settings);
    let overrides = Overrides {
        seed: arguments.seed,
        repeats: Some(arguments.repeats),
        ..arguments.radio.overrides(set)
    };
    let points = scenario::load(file, &overrides).map_err(Failure::input)?;
    Ok(single(points, &file.display().to_string())?)
}

/// That the lab can do all of it, before anything runs.
fn check(columns: &[Column], arguments: &JudgeArgs) -> Result<(), Failure> {
    let mut notes = Vec::new();
    for column in columns {
        let fitted = lab::check_shell(&column.experiment, arguments.lab_scale);
        notes.extend(
            fitted
                .map_err(|error| lab_error(&error, &column.experiment))?
                .notes,
        );
    }
    print_notes(notes.iter());
    Ok(())
}

/// A line of each run on stderr.
fn progress(record: &Record) {
    let column = match record.column.as_str() {
        "" => String::new(),
        column => format!(", {column}"),
    };
    let outcome = match &record.outcome {
        Ok(_) => "done".to_owned(),
        Err(reason) => format!("failed: {reason}"),
    };
    let (judge, seed) = (record.judge, record.seed);
    complain(&format!("{judge}{column}, seed {seed}: {outcome}"));
}

fn print(verdicts: &Verdicts<'_>, json: bool, folder: Option<OutputFolder>) -> Result<(), Failure> {
    let (tables, value) = ([verdicts.table()], verdicts.json());
    let text = match json {
        true => runner::line(&value)?,
        false => report::text(&tables, text_style()),
    };
    Stdout::default().print(&text)?;
    let Some(folder) = folder else {
        return Ok(());
    };
    folder.add(|folder| {
        for record in verdicts.records {
            for (name, bytes) in &record.files {
                folder.write(&format!("{}/{name}", record.folder()), bytes)?;
            }
        }
        let text = report::text(&tables, report::TextStyle::default());
        folder.write("judges.txt", text.as_bytes())?;
        folder.json("judges.json", &value)
    })?;
    let path = folder.finish()?;
    if !json {
        complain(&format!("results are in {}", path.display()));
    }
    Ok(())
}

/// What a judge needs and is not here.
fn lacks<'a>(missing: &'a [Missing], judge: &Judge) -> &'a [Need] {
    let found = missing.iter().find(|(other, _)| other.name == judge.name);
    found.map_or(&[], |(_, needs)| needs)
}

/// Prints the judges, and what is missing.
fn list(chosen: &[&'static Judge], missing: &[Missing], json: bool) -> Result<(), Failure> {
    if json {
        let judges = chosen.iter().map(|judge| {
            let names =
                |needs: &[Need]| -> Vec<&'static str> { needs.iter().map(|n| n.name()).collect() };
            json!({
                "name": judge.name, "about": judge.about,
                "needs": names(judge.needs), "missing": names(lacks(missing, judge)),
            })
        });
        let judges: Vec<Value> = judges.collect();
        let text = runner::line(&json!({ "version": VERSION, "judges": judges }))?;
        return Stdout::default().print(&text);
    }
    let column = |title: &str| report::Column {
        title: title.to_owned(),
        unit: "",
        numeric: false,
        joined: false,
    };
    let rows = chosen.iter().map(|judge| {
        let state = match lacks(missing, judge) {
            [] => "ready".to_owned(),
            needs => judge::missing(needs),
        };
        vec![judge.name.to_owned(), judge.about.to_owned(), state]
    });
    let table = report::Table {
        title: "Judges".to_owned(),
        columns: ["judge", "what it does", "programs"].map(column).into(),
        rows: rows.collect(),
    };
    Stdout::default().print(&report::text(&[table], text_style()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_seconds() {
        assert_eq!(duration("10 s").expect("whole").as_secs(), 10);
        assert_eq!(duration("2 min").expect("whole").as_secs(), 120);
        for wrong in ["0 s", "1500 ms", "11 min", "-1 s", "x"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_judge_of_another_name_is_refused_with_those_there_are() {
        let error = named("nothing").expect_err("no judge");
        assert!(error.contains("iperf3"), "{error}");
    }
}
