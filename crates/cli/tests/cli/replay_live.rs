//! A live proxy's recording, decided once more: reports that were lost, late, repeated, old, absurd and none at all
//! among it.

use super::Place;
use super::pep::{Logs, Process, report};
use rnis::RadioReport;
use rnis::codec::encode_json;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use testing::{wait_for, wait_until};
use units::{Bytes, Duration as Span, Instant as Time, Prb};

/// Threads that go on until it ends.
struct World {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// Report number `n` as it is made now, on the clock that the proxy has too.
fn made_now(n: u64) -> RadioReport {
    let mut report = report(n, Duration::ZERO);
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    report.ues[0].timestamp = Time::from_nanos(now.as_nanos() as u64);
    report
}

/// What a cell sends in the place of report `n`: one in ten is lost, late, sent twice, old, absurd, or no report.
fn lines(n: u64) -> Vec<Vec<u8>> {
    let mut report = made_now(n);
    let plain = encode_json(&report);
    match n % 10 {
        1 => Vec::new(),
        // the one before has been sent already, the one after too
        3 => vec![encode_json(&made_now(n + 1)), plain],
        5 => vec![plain.clone(), plain],
        6 => {
            report.ues[0].timestamp = report.ues[0].timestamp - Span::from_secs(20);
            vec![encode_json(&report)]
        }
        7 => {
            report.cell.n_prb = Prb::new(60_000);
            vec![encode_json(&report)]
        }
        8 => {
            report.ues[0].rlc_queue_bytes = Bytes::new(u64::MAX);
            vec![encode_json(&report), b"no report".to_vec()]
        }
        _ => vec![plain],
    }
}

fn send_reports(mut to: UnixStream, stop: &AtomicBool) {
    for n in 1.. {
        for mut line in lines(n) {
            line.push(b'\n');
            if stop.load(Relaxed) || to.write_all(&line).is_err() {
                return;
            }
        }
        // the interval of reports, whatever it is in the end
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends as long as the other end reads.
fn serve(mut to: TcpStream, stop: &AtomicBool) {
    while !stop.load(Relaxed) && to.write_all(&[7; 16_384]).is_ok() {}
}

fn download(mut from: TcpStream, stop: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Relaxed) && from.read(&mut buffer).is_ok_and(|n| n > 0) {}
}

#[test]
fn the_life_of_a_live_proxy_is_decided_the_same_once_more() {
    let stop = Arc::new(AtomicBool::new(false));
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let upstream = server.local_addr().expect("bound");
    let place = Place::new();
    let cell = place.path("cell.sock");
    let config = format!(
        "mode = \"explicit\"\n[explicit]\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n\
         [reports]\nsource = \"unix:{}\"\n[record]\nfile = \"life\"\n[admin]\nsocket = \"pep.sock\"\n",
        cell.display()
    );
    let place = place.with("pep.toml", &config);
    let cell = UnixListener::bind(cell).expect("a socket");
    let mut proxy = Process::start(&place, &["pep", "--config", "pep.toml"]);
    let _logs = Logs(&place);
    let log = || std::fs::read_to_string(place.path("pep")).unwrap_or_default();
    let address = wait_for("the proxy's address", || {
        let log = log();
        let line = log.lines().find(|line| line.contains("accepting"))?;
        let (_, rest) = line.split_once("address=")?;
        Some(rest.split_whitespace().next()?.to_owned())
    });
    let client = TcpStream::connect(address).expect("the proxy takes it");
    let (accepted, _) = server.accept().expect("the proxy's connection");
    let (source, _) = cell.accept().expect("the proxy reads it");
    let spawn = |run: fn(TcpStream, &AtomicBool), stream| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || run(stream, &stop))
    };
    let mut world = World {
        stop: Arc::clone(&stop),
        threads: vec![spawn(serve, accepted), spawn(download, client)],
    };
    let is_over = Arc::clone(&stop);
    let reports = std::thread::spawn(move || send_reports(source, &is_over));
    world.threads.push(reports);
    let reports_of = |status: &Value, name: &str| status["reports"][name].as_u64();
    let status = || {
        let run = place.run(&["pep", "status", "--socket", "pep.sock", "--json"]);
        let status: Value = serde_json::from_str(&run.stdout).ok()?;
        Some(status["control"].clone())
    };
    let names = [
        "believed",
        "absurd",
        "repeated",
        "out_of_order",
        "old",
        "unreadable",
    ];
    let mut last = Value::Null;
    let is_whole = |status: &Value| {
        let has_all = names.iter().all(|name| reports_of(status, name) > Some(5));
        has_all && status["decisions"].as_u64() > Some(20) && status["ues"][0]["flows"] == 1
    };
    wait_until("reports of each kind, and a flow under control", || {
        last = status().unwrap_or_default();
        is_whole(&last)
    });
    assert!(proxy.stop(), "it ends in order: {}", log());
    drop(world);
    let replayed = place.run(&["replay", "life", "--json"]).succeeded().json();
    assert_eq!(replayed["flows"], 1, "{replayed}");
    assert!(replayed["decisions"].as_u64() > Some(20), "{replayed}");
    let refused: u64 = ["absurd", "repeated", "out_of_order", "old"]
        .iter()
        .filter_map(|name| reports_of(&last, name))
        .sum();
    assert!(replayed["refused"].as_u64() >= Some(refused), "{replayed}");
    assert!(
        replayed["unreadable"].as_u64() >= reports_of(&last, "unreadable"),
        "{replayed}"
    );
}
