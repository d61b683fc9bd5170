//! Downloads by curl and by Chromium over ten handovers between two cells, each with its proxy: the longest silence.
//!
//! ```text
//!   server -- path: 30 ms -- edge, `brimful pep` ==cell west==> UE, who goes to and fro
//!                        `-- edge, `brimful pep` ==cell east==>
//! ```
//!
//! As root:
//!
//! ```text
//!   cargo bench -p brimful --bench handovers -- [--repeats N] [--only curl,chromium] [--pep none,split,default] [--record]
//! ```
//!
//! It runs `brimful lab shell scenarios/mobility/to-and-fro.toml`. A download lasts longer than the last handover, and its
//! content is compared. The goal is a silence of at most the interruption of the radio and 20 ms: it is stated in the table,
//! and a silence beyond it is no failure. Beside the program's silence stands that of the packets which reach the user, by the
//! kernel's clock: a machine that is too busy to run the program in time is silent for longer than the network. `--record` writes the table into `docs/results/mobility.md`. Exit codes: 0 done,
//! 1 something failed, 2 bad usage.
#![allow(missing_docs, reason = "a bench")]

use scenario::estimate;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use testing::{Page, bench, pattern};

const PROGRAMS: [&str; 2] = ["curl", "chromium"];
const PEPS: [&str; 3] = ["none", "split", "default"];
/// Bytes of the file: as much as the cells carry until after the last handover, and more.
const FILE: usize = 90_000_000;
/// Handovers, two seconds apart, while Chromium starts and downloads.
const HANDOVERS: usize = 60;
/// Of the radio, ms.
const INTERRUPTION: f64 = 50.0;
/// Beyond it, ms.
const GOAL: f64 = 20.0;
/// What the command line requests.
struct Request {
    repeats: u64,
    programs: Vec<String>,
    peps: Vec<String>,
    is_recorded: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let page = Page {
        path: place("../../docs/results/mobility.md"),
        name: "real programs",
    };
    let page = |request: &Request| request.is_recorded.then_some(page);
    bench("handovers", parse(&arguments), page, measure)
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let mut request = Request {
        repeats: 5,
        programs: PROGRAMS.map(str::to_owned).to_vec(),
        peps: PEPS.map(str::to_owned).to_vec(),
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
            "--repeats" => {
                let text = value()?;
                let number = text.parse().ok().filter(|n| (1..=100).contains(n));
                request.repeats =
                    number.ok_or_else(|| format!("--repeats {text}: expected 1 to 100"))?;
            }
            "--only" => request.programs = listed(argument, value()?, &PROGRAMS)?,
            "--pep" => request.peps = listed(argument, value()?, &PEPS)?,
            other => return Err(format!("{other}: no such argument")),
        }
    }
    Ok(request)
}

fn listed(what: &str, text: &str, allowed: &[&str]) -> Result<Vec<String>, String> {
    let names = text.split(',').map(|name| match allowed.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("{what} {name}: expected {}", allowed.join(", "))),
    });
    names.collect()
}

/// One download.
struct Run {
    /// Of the program, and of packets, ms.
    silence: f64,
    arrivals: f64,
    mbps: f64,
    /// Connections that moved, and that stayed for a transfer that was given up.
    moved: u64,
    aborted: u64,
    /// The longest that they were frozen, ms.
    frozen: f64,
}

fn measure(request: &Request) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let files = folder.path().join("files");
    std::fs::create_dir(&files).map_err(|error| error.to_string())?;
    std::fs::write(files.join("file"), pattern(0, FILE)).map_err(|error| error.to_string())?;
    let expected = sha256(&files.join("file"))?;
    let mut table = format!(
        "| program | proxies | longest silence, ms: mean ± 95 %, greatest | at most {goal:.0} ms | of packets, ms: mean ± 95 %, greatest | of packets, at most {goal:.0} ms | \
         download, Mbit/s | connections moved, a run | transfers given up, all | frozen, greatest, ms |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        goal = INTERRUPTION + GOAL
    );
    for program in &request.programs {
        for pep in &request.peps {
            let mut runs = Vec::new();
            for seed in 1..=request.repeats {
                runs.push(download(&files, program, pep, seed, &expected)?);
                eprintln!("handovers: {program}, {pep}: {seed} of {}", request.repeats);
            }
            row(&mut table, (program, pep), &runs);
        }
    }
    Ok(table)
}

fn row(table: &mut String, (program, pep): (&str, &str), runs: &[Run]) {
    let all = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).collect::<Vec<f64>>();
    let mean = |of: &dyn Fn(&Run) -> f64| estimate(&all(of)).mean;
    let max = |of: &dyn Fn(&Run) -> f64| all(of).into_iter().fold(0.0, f64::max);
    let silence = |of: &dyn Fn(&Run) -> f64| {
        let (each, values) = (estimate(&all(of)), all(of));
        let holds = values.iter().filter(|ms| **ms <= INTERRUPTION + GOAL);
        format!(
            "{:.0} ± {:.0}, {:.0} | {} of {}",
            each.mean,
            each.ci95,
            max(of),
            holds.count(),
            runs.len()
        )
    };
    // writing to a text cannot fail
    let _ = writeln!(
        table,
        "| {program} | `{pep}` | {} | {} | {:.1} | {:.1} | {} | {:.1} |",
        silence(&|run| run.silence),
        silence(&|run| run.arrivals),
        mean(&|run| run.mbps),
        mean(&|run| run.moved as f64),
        runs.iter().map(|run| run.aborted).sum::<u64>(),
        max(&|run| run.frozen),
    );
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What runs on the user: the download, then the proxies' status.
fn script(program: &str, pep: &str, scratch: &Path) -> String {
    let fetch = match program {
        "curl" => format!(
            "curl -sSf -m 400 http://server/file | python3 {}",
            place("benches/handovers/silence.py").display()
        ),
        _ => format!(
            "{} {} $(command -v chromium) http://server/file {}",
            place("../../target/playwright/bin/python3").display(),
            place("benches/handovers/chromium.py").display(),
            scratch.join("got").display()
        ),
    };
    let mut lines = vec!["set -e".to_owned(), fetch];
    if pep != "none" {
        let brimful = env!("CARGO_BIN_EXE_brimful");
        lines.extend(
            ["pep.sock", "pep-2.sock"].map(|socket| {
                format!("{brimful} pep status --json --socket $BRIMFUL_LAB/{socket}")
            }),
        );
    }
    lines.join("\n")
}

/// Handovers while a browser starts, and until its download has ended.
fn more_handovers() -> [String; 2] {
    let each = (1..=HANDOVERS).map(|n| {
        let to = ["west", "east"][n % 2];
        format!("[\"{} s\", \"{to}\"]", 2 * n)
    });
    let each: Vec<String> = each.collect();
    [
        format!("duration={} s", 2 * HANDOVERS + 4),
        format!("ue.phone.handovers=[{}]", each.join(", ")),
    ]
}

fn download(
    files: &Path,
    program: &str,
    pep: &str,
    seed: u64,
    expected: &str,
) -> Result<Run, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_brimful"));
    command
        .args(["lab", "shell"])
        .arg(place("../../scenarios/mobility/to-and-fro.toml"))
        .arg("--server")
        .arg(files)
        .args(["--set", &format!("pep={pep}"), "--seed", &seed.to_string()]);
    if program == "chromium" {
        more_handovers().iter().for_each(|set| {
            command.args(["--set", set]);
        });
    }
    command
        .args(["--quiet", "--", "sh", "-c"])
        .arg(script(program, pep, scratch.path()))
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let done = command.output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    if !done.status.success() {
        return Err(format!("{program}, {pep}: {}: {printed}", done.status));
    }
    let values = printed.lines().map(serde_json::from_str::<Value>);
    let values: Vec<Value> = values
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{error}: {printed}"))?;
    let Some((got, statuses)) = values.split_first() else {
        return Err("nothing was printed".to_owned());
    };
    if got["sha256"] != expected {
        return Err(format!("{program}, {pep}: the file differs: {got}"));
    }
    let of_got = |name: &str| got[name].as_f64().unwrap_or(f64::NAN);
    let all = |name: &str| {
        let each = statuses.iter().map(|status| &status["handover"][name]);
        each.filter_map(Value::as_f64).collect::<Vec<f64>>()
    };
    Ok(Run {
        silence: of_got("silence_ms"),
        arrivals: of_got("arrivals_ms"),
        mbps: 8e-6 * of_got("bytes") / of_got("seconds"),
        moved: all("moved").iter().sum::<f64>() as u64,
        aborted: all("aborted").iter().sum::<f64>() as u64,
        frozen: 1e3 * all("max_frozen_seconds").into_iter().fold(0.0, f64::max),
    })
}

fn sha256(file: &Path) -> Result<String, String> {
    let done = Command::new("sha256sum").arg(file).output();
    let done = done.map_err(|error| format!("sha256sum: {error}"))?;
    let text = String::from_utf8_lossy(&done.stdout);
    let digest = text.split_whitespace().next().map(str::to_owned);
    digest.ok_or_else(|| "sha256sum printed nothing".to_owned())
}
