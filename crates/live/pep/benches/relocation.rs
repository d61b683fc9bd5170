//! How long connections are frozen that move between two proxies of network namespaces of their own, with what they carry
//! sent ahead and without.
//!
//! `cargo bench -p pep --bench relocation` prints a table: of each number of connections and kind of load the time of
//! a transfer's last packet here to the word that it lives there, mean with its 95 % interval over transfers, and the
//! greatest; payload that moved, and of that what was sent while they were frozen. `-- --repeats N`: transfers of each
//! row (20); `--connections N`: rows of so many alone. Needs root.
#![allow(missing_docs, reason = "a bench")]

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more of it")]
mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use support::traffic::{accept, connect, listen};
use support::two::Two;

/// Numbers of connections.
const CONNECTIONS: [usize; 3] = [1, 4, 16];
/// Payload between a sender and its receiver at most, of all connections together, bytes.
const OUTSTANDING: u64 = 8_000_000;

/// What connections carry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// Nothing.
    Idle,
    /// A download each.
    Downloads,
    /// An upload each.
    Uploads,
    /// A download each that is not read.
    Stalled,
}

impl Load {
    const ALL: [Self; 4] = [Self::Idle, Self::Downloads, Self::Uploads, Self::Stalled];

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Downloads => "downloads",
            Self::Uploads => "uploads",
            Self::Stalled => "downloads, not read",
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    let Some(two) = Two::try_new("the relocation bench") else {
        return ExitCode::SUCCESS;
    };
    let number = |name: &str| -> Option<usize> {
        let at = arguments.iter().position(|word| word == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let (repeats, only) = (number("--repeats"), number("--connections"));
    println!(
        "| connections | load | ahead | frozen, ms | greatest, ms | payload, kB | of that frozen, kB |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for connections in CONNECTIONS {
        if only.is_some_and(|only| only != connections) {
            continue;
        }
        for load in Load::ALL {
            for ahead in ["500 ms", "none"] {
                measure(&two, connections, load, ahead, repeats.unwrap_or(20));
            }
        }
    }
    println!("\n{}.", testing::Machine::now());
    ExitCode::SUCCESS
}

fn measure(two: &Two, connections: usize, load: Load, ahead: &str, repeats: usize) {
    two.route(0);
    let folder = tempfile::tempdir().expect("a folder");
    let at = [folder.path().join("first"), folder.path().join("second")];
    // what stalls is many megabytes
    let more =
        format!("timeout = \"60 s\"\nahead = \"{ahead}\"\n[limits]\nmemory-per-ue = \"512 MB\"");
    let daemons = [0, 1].map(|i| two.proxy(i, &at[i], &at[1 - i], &more));
    let address = SocketAddr::new(support::server(false), 5_201);
    let listener = listen(&two.server, address);
    let stop = Arc::<AtomicBool>::default();
    let mut kept = Vec::new();
    let mut counts = Vec::new();
    for _ in 0..connections {
        let near = connect(&two.client, address).expect("connected");
        let (far, _) = accept(&listener);
        let copies = [&near, &far].map(|stream| stream.try_clone().expect("a copy"));
        match load {
            Load::Idle => echo(&near, &far),
            Load::Downloads => {
                counts.push(transfer(far, Some(near), &stop, connections));
            }
            Load::Uploads => {
                counts.push(transfer(near, Some(far), &stop, connections));
            }
            Load::Stalled => {
                transfer(far, None, &stop, connections);
                daemons[0].wait_until("it is full", || {
                    daemons[0].status()["waiting_bytes"].as_u64() > Some(100_000)
                });
            }
        }
        kept.extend(copies);
    }
    let mut reports = Vec::new();
    for n in 0..repeats {
        let before: Vec<u64> = counts.iter().map(|count| count.load(Relaxed)).collect();
        testing::wait_until("data flows", || {
            let pairs = counts.iter().zip(&before);
            pairs
                .into_iter()
                .all(|(count, had)| count.load(Relaxed) > had + 100_000)
        });
        let socket = daemons[n % 2].path("pep.sock");
        let report = pep::move_connections(&socket, support::client(false), "other");
        let report = report.expect("moved");
        // what stays would have no route
        assert_eq!(report["moved"], connections, "{report}");
        reports.push(report);
        two.route((n + 1) % 2);
    }
    stop.store(true, Relaxed);
    row(connections, load, ahead, &reports);
    // what waits is given up with the connections
    for stream in &kept {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

fn row(connections: usize, load: Load, ahead: &str, reports: &[Value]) {
    let values = |name: &str| -> Vec<f64> {
        let values = reports.iter().map(|report| report[name].as_f64());
        values.map(|value| value.expect("a number")).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let frozen: Vec<f64> = values("frozen_seconds").iter().map(|s| s * 1e3).collect();
    let middle = mean(&frozen);
    let squares: f64 = frozen.iter().map(|value| (value - middle).powi(2)).sum();
    let deviation = (squares / (frozen.len() as f64 - 1.0).max(1.0)).sqrt();
    let half = 1.96 * deviation / (frozen.len() as f64).sqrt();
    let most = frozen.iter().copied().fold(0.0, f64::max);
    println!(
        "| {connections} | {} | {ahead} | {middle:.2} +- {half:.2} | {most:.2} | {:.0} | {:.0} |",
        load.name(),
        mean(&values("payload_bytes")) / 1e3,
        mean(&values("rest_bytes")) / 1e3
    );
}

/// A word there and back.
fn echo(near: &TcpStream, far: &TcpStream) {
    for (mut from, mut to) in [(near, far), (far, near)] {
        from.write_all(b"hello").expect("sent");
        to.read_exact(&mut [0; 5]).expect("received");
    }
}

/// Payload on its way until it is stopped; what has arrived of it. Without a receiver all that finds room is sent.
fn transfer(
    mut from: TcpStream,
    to: Option<TcpStream>,
    stop: &Arc<AtomicBool>,
    connections: usize,
) -> Arc<AtomicU64> {
    let arrived = Arc::<AtomicU64>::default();
    let (stopped, count, has_receiver) = (Arc::clone(stop), Arc::clone(&arrived), to.is_some());
    std::thread::spawn(move || {
        let (piece, mut sent) = ([7; 16_384], 0);
        while !stopped.load(Relaxed) {
            let room = OUTSTANDING / connections as u64;
            if has_receiver && sent > count.load(Relaxed) + room {
                std::thread::sleep(std::time::Duration::from_millis(1));
            } else if from.write_all(&piece).is_err() {
                // the bench is over
                return;
            } else {
                sent += piece.len() as u64;
            }
        }
    });
    if let Some(mut to) = to {
        let count = Arc::clone(&arrived);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(n @ 1..) = to.read(&mut buffer) {
                count.fetch_add(n as u64, Relaxed);
            }
        });
    }
    arrived
}
