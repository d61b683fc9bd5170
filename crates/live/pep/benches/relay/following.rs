//! How soon the window that a server is shown follows a report of the radio.

use crate::Table;
use crate::relays::Kind;
use crate::support::capture::{Capture, Edges};
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, report};
use crate::support::traffic::{accept, connect, listen};
use crate::support::{Hosts, SERVER, client};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};

const PORT: u16 = 6_300;
/// The two rates of the radio, bit/s.
const SLOW: u64 = 20_000_000;
const FAST: u64 = 400_000_000;
/// Reports of 1 ms of one rate, one after the other.
const HOLD: u64 = 50;
/// Changes of the rate that are measured, after the first ones.
const CHANGES: usize = 400;
const WARM_UP: usize = 10;
/// The part of a hold, from its end, in which windows no longer change.
const SETTLED: f64 = 0.5;

/// The rate that the radio begins to report, and when, seconds since 1970.
type Change = (f64, u64);

/// From the moment before a report with another rate is written to the arrival at the server of the first window above those
/// of the lower rate, and of the last one that is above them.
pub fn measure(hosts: &Hosts, _: &[Kind], table: &mut Table) {
    table.columns(vec!["median", "95 %", "99 %", "longest"]);
    let folder = tempfile::tempdir().expect("a folder");
    let (begins, changes) = mpsc::channel();
    let last = AtomicU64::new(0);
    let ues = [client(false)];
    let radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        let rate = if (n / HOLD).is_multiple_of(2) {
            SLOW
        } else {
            FAST
        };
        if last.swap(rate, Relaxed) != rate {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            // nobody may listen any more
            let _ = begins.send((now.expect("after 1970").as_secs_f64(), rate));
        }
        report(&ues, n, at, rate)
    });
    let config = format!(
        "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[rapid]\nwan-actuator = \"wire\"\n",
        TRANSPARENT.replace("level = \"debug\"", "level = \"info\"")
    );
    let _daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    let capture = Capture::at(&hosts.server, "s0");
    let stop = Arc::new(AtomicBool::new(false));
    let download = download(hosts, &stop);
    // those of the time before it
    while changes.try_recv().is_ok() {}
    let changes: Vec<Change> = changes.iter().take(WARM_UP + CHANGES + 1).collect();
    stop.store(true, Relaxed);
    download.join().expect("it ends");
    drop(radio);
    let shown = capture.edges(PORT).pop_first().expect("a connection").1;
    for (what, rate) in [("the rate rises", FAST), ("the rate falls", SLOW)] {
        let mut delays: Vec<f64> = (WARM_UP..WARM_UP + CHANGES)
            .filter(|&n| changes[n].1 == rate)
            .filter_map(|n| delay(&shown, &changes[n - 1..=n + 1]))
            .map(|seconds| seconds * 1e3)
            .collect();
        delays.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (delays.len() as f64 * share).ceil() as usize;
            delays.get(rank.saturating_sub(1)).copied()
        };
        table.row(
            format!("{what} ({} changes), ms", delays.len()),
            vec![at(0.5), at(0.95), at(0.99), at(1.0)],
        );
    }
    table.note(format!(
        "One download; reports of 1 ms; the rate of the radio is {} and {} Mbit/s in turns of {HOLD} ms. From the moment before the \
         first report of a rate is encoded to the arrival at the server's interface (`tcpdump`) of the first window above those \
         of the lower rate, and of the last one that is.",
        SLOW / 1_000_000,
        FAST / 1_000_000
    ));
}

/// The time from the middle one of three changes until what is shown has followed; none where windows of both rates are the same.
fn delay(shown: &Edges, changes: &[Change]) -> Option<f64> {
    let [(before, _), (at, rate), (after, _)] = *changes else {
        return None;
    };
    let between = |from: f64, to: f64| {
        let all = shown.times.iter().zip(&shown.windows);
        all.filter(move |(time, _)| (from..to).contains(*time))
    };
    let largest = |from: f64, to: f64| between(from, to).map(|(_, window)| *window).max();
    let settled = |from: f64, to: f64| largest(to - (to - from) * SETTLED, to);
    let (of_before, of_after) = (settled(before, at)?, settled(at, after)?);
    let lower = of_before.min(of_after);
    let mut above = between(at, after).filter(|(_, window)| **window > lower);
    let time = if rate == FAST {
        *above.next()?.0
    } else {
        above.next_back().map_or(at, |(time, _)| *time)
    };
    (of_before != of_after).then_some(time - at)
}

/// A download until the signal to stop.
fn download(hosts: &Hosts, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let listener = listen(&hosts.server, (SERVER, PORT).into());
    let mut near = connect(&hosts.client, (SERVER, PORT).into()).expect("connected");
    let (mut far, _) = accept(&listener);
    let stop = Arc::clone(stop);
    let sends = std::thread::spawn(move || {
        while !stop.load(Relaxed) {
            far.write_all(&[0; 65_536]).expect("sent");
        }
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while near.read(&mut buffer).expect("received") > 0 {}
        sends.join().expect("it ends");
    })
}
