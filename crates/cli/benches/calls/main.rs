//! Calls through the tunnel over two emulated cells, of which the faster stalls for 100 to 1,200 ms at times that a seed
//! draws: a stream of UDP, a live stream by SRT and a video call between two Chromiums, each beside a download.
//!
//! ```text
//!   server -- edge, `tunnel server` ==cell 1: 30 ms, 40 Mbit/s, stalls==> `tunnel client` -- UE
//!                                   ==cell 2: 40 ms, 40 Mbit/s=========>
//! ```
//!
//! Times are one way, from the server to the UE. As root:
//!
//! ```text
//!   cargo bench -p brimful --bench calls -- [--repeats N] [--seconds S] [--only stream,srt,call] [--record]
//! ```
//!
//! It runs `brimful lab judge` (docs/judges.md) on `scenarios/nested-cc/call.toml`, whose programs are the live daemons: with
//! each scheduler over both cells, and over the cell that does not stall alone, beside the download and without it.
//! `--record` writes the table into `docs/results/tunnel.md`. Exit codes: 0 done, 1 something failed, 2 bad usage.
#![allow(missing_docs, reason = "a bench")]

mod table;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use table::{Row, Rows};
use testing::{Page, bench};
use units::{Duration, Streams};

/// What runs, alone and beside a download, by the names of `lab judge`.
const JUDGES: [(&str, &str, &str); 3] = [
    ("stream", "stream", "stream-beside-download"),
    ("srt", "srt", "srt-beside-download"),
    ("call", "call", "call-beside-download"),
];
const SCHEDULERS: [&str; 2] = ["deadline", "aware"];
/// The daemons' default.
const CONTROLLER: &str = "tunnel.cc=bbr2";
/// The cell that stalls carries nothing.
const WITHOUT_CELL_1: &str = "tunnel.path.cell1.priority=0";

/// What the command line requests.
struct Request {
    repeats: u64,
    seconds: u64,
    only: Vec<String>,
    is_recorded: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let page = Page {
        path: root().join("docs/results/tunnel.md"),
        name: "calls",
    };
    let page = |request: &Request| request.is_recorded.then_some(page);
    bench("calls", parse(&arguments), page, |request| {
        let rows = measure(request)?;
        Ok(rows.text(request.repeats, request.seconds))
    })
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request {
        repeats: 3,
        seconds: 20,
        only: JUDGES.map(|(name, ..)| name.to_owned()).to_vec(),
        is_recorded: false,
    };
    let mut words = arguments.iter();
    while let Some(argument) = words.next() {
        let mut value = || {
            let value = words.next();
            value.ok_or_else(|| format!("{argument}: a value is missing"))
        };
        match argument.as_str() {
            // cargo's
            "--bench" => {}
            "--record" => request.is_recorded = true,
            "--repeats" => request.repeats = number(argument, value()?, 1, 100)?,
            "--seconds" => request.seconds = number(argument, value()?, 2, 300)?,
            "--only" => request.only = value()?.split(',').map(str::to_owned).collect(),
            other => return Err(format!("{other}: no such argument")),
        }
    }
    let is_known = |name: &&String| JUDGES.iter().any(|(known, ..)| known == name);
    match request.only.iter().find(|name| !is_known(name)) {
        Some(name) => Err(format!("--only {name}: expected stream, srt or call")),
        None => Ok(request),
    }
}

fn number(what: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok();
    let number = number.filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("{what} {text}: expected {least} to {most}"))
}

fn measure(request: &Request) -> Result<Rows, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut rows = Rows::default();
    let is_chosen = |name: &str| request.only.iter().any(|only| only == name);
    for seed in 1..=request.repeats {
        let file = folder.path().join(format!("calls-{seed}.toml"));
        let text = scenario(seed);
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        for (name, alone, beside) in JUDGES.into_iter().filter(|(name, ..)| is_chosen(name)) {
            let run = |judge, scheduler: &str, more: &[&str]| {
                let scheduler = format!("scheduler={scheduler}");
                let set = [&[CONTROLLER, &scheduler], more].concat();
                judged(&file, judge, &set, request.seconds)
            };
            let idle = run(alone, SCHEDULERS[0], &[WITHOUT_CELL_1])?;
            rows.put(Row::of(name, "better cell alone, no download"), &idle);
            for scheduler in SCHEDULERS {
                let one = run(beside, scheduler, &[WITHOUT_CELL_1])?;
                rows.put(
                    Row::of(name, &format!("better cell alone, `{scheduler}`")),
                    &one,
                );
                let both = run(beside, scheduler, &[])?;
                rows.put(Row::of(name, &format!("both cells, `{scheduler}`")), &both);
            }
        }
    }
    Ok(rows)
}

/// The scenario of calls with stalls at times of this seed.
fn scenario(seed: u64) -> String {
    /// Longer than programs take to begin, and any measurement.
    const END: Duration = Duration::from_secs(500);
    let mut rng = Streams::new(seed).stream("stalls");
    let mut between =
        |least: u64, most: u64| Duration::from_millis(least + rng.below(most - least + 1));
    let mut steps = String::new();
    let mut at = Duration::from_secs(1);
    while at < END {
        at += between(1_500, 5_000);
        steps += &format!("[\"{} ms\", \"1 kbit/s\"], ", at.as_millis());
        at += between(100, 1_200);
        steps += &format!("[\"{} ms\", \"40 Mbit/s\"],\n", at.as_millis());
    }
    let base = root().join("scenarios/nested-cc/call.toml");
    format!(
        "extends = \"{}\"\nname = \"calls\"\nseed = {seed}\n[tunnel.path.cell1]\nrate-steps = [\n{steps}]\n",
        base.display()
    )
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The measures of a judge, as it prints them.
fn judged(file: &Path, judge: &str, set: &[&str], seconds: u64) -> Result<Value, String> {
    let program =
        std::env::var_os("BRIMFUL").unwrap_or_else(|| env!("CARGO_BIN_EXE_brimful").into());
    let mut command = Command::new(program);
    command.args(["lab", "judge"]).arg(file);
    command.args(["--only", judge, "--lab-scale", "1", "--json"]);
    command.args(["--duration", &format!("{seconds} s")]);
    for setting in set {
        command.args(["--set", setting]);
    }
    let target = root().join("target");
    let folders = ["judges/bin", "aioquic/bin", "playwright/bin"].map(|folder| target.join(folder));
    let folders = std::env::join_paths(folders).map_err(|error| error.to_string())?;
    command.env("BRIMFUL_JUDGES", folders);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("brimful cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("{judge} with {}: {}", set.join(" "), output.status));
    }
    let all: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(all["judges"][0]["measures"].clone())
}
