//! The queue that `brimful rnis` reads off F1-U in the lab, against the one that the lab's cell has.
//!
//! `cargo bench -p brimful --bench f1u` (as root). Both are read at sockets, each millisecond, with times of one clock; the error is in
//! milliseconds at the rate of the last 100 ms. Results depend on how busy the machine is: its load is printed.
#![allow(missing_docs, reason = "a bench")]

use rnis::codec::decode_json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testing::bench;

/// A download over a recorded drive, by LTE of 20 MHz.
const DRIVE: &str = r#"
name = "drive"
description = "A download over a drive"
duration = "20 s"
[path]
rtt = "50 ms"
[cell]
rat = "lte"
bandwidth = "20 MHz"
[ue.a]
channel = { kind = "trace", file = "TRACES/drive-lte.csv", bler = 0.1 }
[[ue.a.bearer]]
downlink-buffer = "3 MB"
[flow.a]
cc = "cubic"
app = { kind = "bulk", size = "1 GB" }
"#;

/// Four users of one NR cell at different distances.
const FOUR: &str = r#"
name = "four"
description = "Four downloads over one cell"
duration = "20 s"
[path]
rtt = "50 ms"
[cell]
rat = "nr"
bandwidth = "20 MHz"
[ue.a]
channel = { kind = "constant-cqi", cqi = 15, bler = 0.1 }
[ue.b]
channel = { kind = "constant-cqi", cqi = 12, bler = 0.1 }
[ue.c]
channel = { kind = "constant-cqi", cqi = 10, bler = 0.1 }
[ue.d]
channel = { kind = "constant-cqi", cqi = 8, bler = 0.1 }
[flow.a]
ue = "a"
cc = "cubic"
app = { kind = "bulk", size = "1 GB" }
[flow.b]
ue = "b"
cc = "cubic"
app = { kind = "bulk", size = "1 GB" }
[flow.c]
ue = "c"
cc = "bbr"
app = { kind = "bulk", size = "1 GB" }
[flow.d]
ue = "d"
cc = "bbr"
app = { kind = "bulk", size = "1 GB" }
"#;

/// A user of OpenAirInterface's cell in RAPID's experiments, with a tenth of all blocks sent twice.
const OAI: &str =
    "extends = \"SCENARIOS/rapid/oai-fast.toml\"\nname = \"oai\"\nduration = \"20 s\"\n";

/// What is run, each without a proxy and with one.
const RUNS: [(&str, &str); 3] = [("oai-fast", OAI), ("drive", DRIVE), ("four users", FOUR)];
/// The rate is that of so long.
const WINDOW_NS: u64 = 100_000_000;
/// Two reports are of the same moment if they are no more than this apart.
const MOMENT_NS: u64 = 600_000;
/// How long the lab may take to begin.
const LIMIT: Duration = Duration::from_secs(60);

/// A UE in a report.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: u64,
    queue: u64,
    served: u64,
}

type Moments = BTreeMap<IpAddr, Vec<Moment>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let request = match arguments.find(|argument| argument != "--bench") {
        None => Ok(()),
        Some(other) => Err(format!("{other}: no such argument")),
    };
    bench("f1u", request, |()| None, |()| measure())
}

fn measure() -> Result<String, String> {
    let mut text = "| scenario | UE | moments | mean queue, ms | p50 | p95 | largest, ms | queue of both within 1 packet |\n"
        .to_owned();
    text += &format!("|{}\n", " --- |".repeat(8));
    for (name, scenario) in RUNS {
        for pep in ["none", "default"] {
            let name = format!("{name}, pep={pep}");
            let measured = run(scenario, pep).map_err(|problem| format!("{name}: {problem}"));
            let [truth, wire] = measured?;
            text += &rows(&name, &truth, &wire);
        }
    }
    Ok(text)
}

fn run(scenario: &str, pep: &str) -> Result<[Moments; 2], String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let at = |folder: &str| root.join(folder).display().to_string();
    let text = scenario.replace("TRACES", &at("traces"));
    let text = text.replace("SCENARIOS", &at("scenarios"));
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_brimful"));
    command.arg("run").arg(file);
    command.args(["--world", "lab", "--json", "--repeats", "1"]);
    let mode = format!("pep.mode={pep}");
    for set in [
        "cell.f1-u=true",
        "pep.report-period=1 ms",
        // what the distributed unit holds for that time is in the queue off the wire, and not in the cell's report
        "cell.downlink-processing=0 s",
        &mode,
    ] {
        command.args(["--set", set]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let readers = ["radio.sock", "rnis.sock"].map(|name| read(&mut child, name));
    let done = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let moments =
        readers.map(|reader| reader.and_then(|of| of.join().map_err(|_| "a panic".to_owned())));
    match (done.status.success(), moments) {
        (true, [Ok(truth), Ok(wire)]) => Ok([truth, wire]),
        (true, [Err(problem), _] | [_, Err(problem)]) => Err(problem),
        (false, _) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}

/// Reads the reports of a socket in the lab's folder to their end.
fn read(child: &mut Child, name: &str) -> Result<JoinHandle<Moments>, String> {
    let began = Instant::now();
    let stream = loop {
        let path = folder(child.id()).map(|folder| folder.join(name));
        match path.map(UnixStream::connect) {
            Some(Ok(stream)) => break stream,
            _ if began.elapsed() > LIMIT => return Err(format!("no {name}")),
            _ if !matches!(child.try_wait(), Ok(None)) => return Err("it has ended".to_owned()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    Ok(std::thread::spawn(move || {
        let mut moments = Moments::new();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let Ok(report) = decode_json(line.as_bytes()) else {
                continue;
            };
            for ue in report.ues {
                let Some(ip) = ue.ip else { continue };
                moments.entry(ip).or_default().push(Moment {
                    at: ue.timestamp.as_nanos(),
                    queue: ue.rlc_queue_bytes.get(),
                    served: ue.served_bytes.get(),
                });
            }
        }
        moments
    }))
}

fn folder(pid: u32) -> Option<PathBuf> {
    let entries = std::fs::read_dir("/run/brimful").ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let prefix = format!("lab-{pid}-");
    paths.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&prefix))
    })
}

/// A line of the table for each UE.
fn rows(name: &str, truth: &Moments, wire: &Moments) -> String {
    let mut text = String::new();
    for (ip, estimates) in wire {
        let Some(truth) = truth.get(ip) else { continue };
        let mut errors = Vec::new();
        let (mut queue, mut close) = (0.0, 0_usize);
        for estimate in estimates {
            let Some((ms, bytes, waiting)) = error(estimate, truth) else {
                continue;
            };
            errors.push(ms);
            queue += waiting;
            close += usize::from(bytes <= 1_500);
        }
        errors.sort_by(f64::total_cmp);
        let Some(largest) = errors.last() else {
            continue;
        };
        let count = errors.len();
        let share = |share: f64| errors[((count as f64 * share) as usize).min(count - 1)];
        text += &format!(
            "| {name} | {ip} | {count} | {:.1} | {:.2} | {:.2} | {largest:.2} | {:.2} |\n",
            queue / count as f64,
            share(0.5),
            share(0.95),
            close as f64 / count as f64,
        );
    }
    text
}

/// The error of an estimate in ms and bytes, and the queue in ms, while something was served.
fn error(estimate: &Moment, truth: &[Moment]) -> Option<(f64, u64, f64)> {
    let after = truth.partition_point(|of| of.at < estimate.at);
    let near = [after.checked_sub(1), Some(after)];
    let near = near
        .into_iter()
        .flatten()
        .filter_map(|at| Some((at, truth.get(at)?)));
    let (at, moment) = near.min_by_key(|(_, of)| of.at.abs_diff(estimate.at))?;
    if moment.at.abs_diff(estimate.at) > MOMENT_NS {
        return None;
    }
    let first = truth.partition_point(|of| of.at + WINDOW_NS <= moment.at);
    let window = &truth[first..=at];
    if moment.at < truth[0].at + WINDOW_NS {
        return None;
    }
    let served: u64 = window.iter().map(|of| of.served).sum();
    if served == 0 {
        return None;
    }
    // bytes a millisecond
    let rate = served as f64 / (WINDOW_NS as f64 / 1e6);
    let bytes = estimate.queue.abs_diff(moment.queue);
    Some((bytes as f64 / rate, bytes, moment.queue as f64 / rate))
}
