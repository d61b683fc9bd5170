//! From a radio report to the segment that shows the server what was decided of it, with windows at the wire.

use crate::Table;
use crate::capture::{Capture, Edges};
use crate::relays::Kind;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, report};
use crate::support::traffic::{accept, connect, listen};
use crate::support::{CLIENT, Hosts, SERVER};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const PORT: u16 = 6_210;
/// Rates of the radio, bit/s: less than the windows of the second are of the first.
const SLOW: u64 = 1_000_000;
const FAST: u64 = 20_000_000_000;
const CHANGES: usize = 300;
/// What the server sends between two changes.
const PIECE: usize = 50_000;
/// Until all that is on its way has come, and until a change counts as not shown.
const REST: Duration = Duration::from_millis(30);

fn seconds(of: Timespec) -> f64 {
    of.tv_sec as f64 + of.tv_nsec as f64 / 1e9
}

/// Measures from the time of the first report of a higher rate to the first segment that shows more than any before.
pub fn measure(hosts: &Hosts, _kinds: &[Kind], table: &mut Table) {
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(SLOW));
    // by the clock of reports: when the first of the present rate was made
    let (of, first_at) = (Arc::clone(&rate), Arc::new(AtomicU64::new(0)));
    let (last, at_first) = (AtomicU64::new(SLOW), Arc::clone(&first_at));
    let _radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        let now = of.load(Relaxed);
        if last.swap(now, Relaxed) != now {
            at_first.store(at.as_nanos(), Relaxed);
        }
        report(&[CLIENT.into()], n, at, now)
    });
    let config = format!(
        "{}\n[reports]\nsource = \"unix:{{dir}}/radio\"\n[rapid]\nwan-actuator = \"wire\"\n",
        TRANSPARENT.replace("level = \"debug\"", "level = \"info\"")
    );
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    daemon.wait_until("it follows", || {
        daemon.status()["control"]["cells"][0]["state"] == "following"
    });
    let capture = Capture::start(hosts);
    let listener = listen(&hosts.server, (SERVER, PORT).into());
    let mut near = connect(&hosts.client, (SERVER, PORT).into()).expect("connected");
    let (mut far, _) = accept(&listener);
    carry(&mut far, &mut near, 1_000_000);
    let mut changes = Vec::with_capacity(CHANGES);
    for _ in 0..CHANGES {
        rate.store(SLOW, Relaxed);
        std::thread::sleep(REST);
        carry(&mut far, &mut near, PIECE);
        std::thread::sleep(REST);
        rate.store(FAST, Relaxed);
        std::thread::sleep(REST);
        let offset =
            seconds(clock_gettime(ClockId::Realtime)) - seconds(clock_gettime(ClockId::Monotonic));
        changes.push(first_at.load(Relaxed) as f64 / 1e9 + offset);
    }
    std::thread::sleep(Duration::from_secs(1));
    let (_, shown) = capture.edges(PORT).pop_first().expect("a connection");
    let mut delays: Vec<f64> = changes.iter().filter_map(|c| delay(&shown, *c)).collect();
    delays.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = delays.len().saturating_sub(1);
        delays.get((last as f64 * share).round() as usize).copied()
    };
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| at(share).unwrap_or(f64::NAN) * 1e3);
    table.note(format!(
        "From a report of a higher rate to the update at the server's interface, windows at the wire: median \
         {half:.3} ms, 99th percentile {most:.3} ms, the longest {all:.3} ms; {} of {CHANGES} changes \
         within {} ms.",
        delays.len(),
        REST.as_millis(),
    ));
}

fn carry(far: &mut TcpStream, near: &mut TcpStream, bytes: usize) {
    let mut buffer = vec![0; bytes];
    std::thread::scope(|scope| {
        scope.spawn(|| far.write_all(&vec![7; bytes]).expect("sent"));
        near.read_exact(&mut buffer).expect("received");
    });
}

/// From a time to the first segment from then on that shows more than any before; none if that takes longer than [`REST`].
fn delay(shown: &Edges, from: f64) -> Option<f64> {
    let first = shown.times.partition_point(|at| *at < from);
    let before = *shown.edges.get(first.checked_sub(1)?)?;
    let rest = shown.times.iter().zip(&shown.edges).skip(first);
    let (at, _) = rest
        .take_while(|(at, _)| **at < from + REST.as_secs_f64())
        .find(|(_, edge)| edge.wrapping_sub(before).cast_signed() > 0)?;
    Some(at - from)
}
