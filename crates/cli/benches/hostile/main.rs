//! The daemons among hostile users: the soak, and what a well-behaved user keeps beside each attacker.
//!
//! ```text
//!   client 10.45.0.2 --(100 Mbit/s)-- ran0 [ pep, rnis ] wan0 -- 10.99.0.2 server
//!          10.45.0.3, .4 attackers                                 quic serve
//!          10.1.0.2, inside 10.88.0.2 ------- a, b -------- 10.1.0.1, inside 10.88.0.1
//!          tunnel client                                    tunnel server
//! ```
//!
//! As root:
//!
//! ```text
//!   cargo bench -p brimful --bench hostile -- soak [--minutes N] [--out FILE]
//!   cargo bench -p brimful --bench hostile -- attackers [--repeats N] [--only NAME]... [--list] [--out FILE]
//! ```
//!
//! The daemons are the `brimful` program (`BRIMFUL` names another). All hosts are network namespaces
//! that end with this process. Exit codes: 0 all holds, 1 something does not, 2 bad usage.
#![allow(missing_docs, reason = "a bench")]

mod attackers;
mod comparison;
mod faults;
mod http;
mod pace;
mod process;
mod quic_users;
mod servers;
mod soak;
mod usage;
mod users;
mod world;

#[path = "../../../live/quic/tests/network/stranger.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod stranger;
#[path = "../../../live/pep/tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the command line requests.
struct Request {
    mode: Mode,
    out: Option<PathBuf>,
}

enum Mode {
    Soak {
        minutes: f64,
    },
    Attackers {
        repeats: usize,
        only: Vec<String>,
        is_list: bool,
    },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let request = match parse(&arguments) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("hostile: {message}");
            return ExitCode::from(2);
        }
    };
    let is_root = rustix::process::geteuid().is_root();
    if !is_root && !matches!(request.mode, Mode::Attackers { is_list: true, .. }) {
        eprintln!("hostile: network namespaces need root");
        return ExitCode::from(2);
    }
    let holds = match request.mode {
        Mode::Soak { minutes } => soak::run(minutes, request.out.as_deref()),
        Mode::Attackers {
            repeats,
            only,
            is_list,
        } => {
            if is_list {
                comparison::list();
                return ExitCode::SUCCESS;
            }
            comparison::run(repeats, &only, request.out.as_deref())
        }
    };
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let (mut minutes, mut repeats, mut only, mut is_list, mut out) =
        (30.0, 5, Vec::new(), false, None);
    let (mut word, mut words) = (None, arguments.iter());
    while let Some(argument) = words.next() {
        let mut value = || {
            let value = words.next();
            value.ok_or_else(|| format!("{argument}: a value is missing"))
        };
        match argument.as_str() {
            // cargo's
            "--bench" => {}
            "--list" => is_list = true,
            "--only" => only.push(value()?.clone()),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--minutes" => minutes = number("--minutes", value()?, 0.5, 1_440.0)?,
            "--repeats" => repeats = number("--repeats", value()?, 2.0, 100.0)? as usize,
            "soak" | "attackers" if word.is_none() => word = Some(argument.as_str()),
            other => return Err(format!("{other}: no such argument")),
        }
    }
    let mode = match word {
        Some("soak") => Mode::Soak { minutes },
        Some(_) => Mode::Attackers {
            repeats,
            only,
            is_list,
        },
        None => return Err("expected soak or attackers".to_owned()),
    };
    Ok(Request { mode, out })
}

fn number(what: &str, text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("{what} {text}: expected {least} to {most}"))
}

/// Where and when it was measured.
fn machine() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = |program: &str, words: &[&str]| {
        let output = Command::new(program)
            .args(words)
            .current_dir(&root)
            .output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
        text.unwrap_or_default()
    };
    let changed = match output("git", &["status", "--porcelain", "--untracked-files=no"]).as_str() {
        "" => "",
        _ => ", with uncommitted changes",
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{}, {cores} cores, Linux {}, commit {}{changed}, load average {} at the start",
        output("date", &["-u", "+%Y-%m-%d"]),
        output("uname", &["-r"]),
        output("git", &["rev-parse", "--short", "HEAD"]),
        load()
    )
}

/// What else the machine does makes figures worse.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Prints a page, and writes it where there is a file for it.
fn publish(page: &str, out: Option<&Path>) -> bool {
    println!("{page}");
    let Some(path) = out else {
        return true;
    };
    match std::fs::write(path, page) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("hostile: {}: {error}", path.display());
            false
        }
    }
}
