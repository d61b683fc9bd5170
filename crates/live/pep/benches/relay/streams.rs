//! Bulk transfer: rate, and CPU time a gigabyte.

use crate::relays::{Kind, Relay};
use crate::support::traffic::{connect, listen};
use crate::support::{Hosts, SERVER};
use crate::{Table, median};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::net::{RecvFlags, recv};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const PORT: u16 = 6_000;
/// Before the measurement, for windows to open.
const WARM_UP: Duration = Duration::from_millis(500);
const MEASURE: Duration = Duration::from_millis(1_500);
const REPEATS: usize = 3;

/// Sends a file of zeros again and again, and counts the bytes; the pages are not copied.
pub fn pour(stream: &TcpStream, stop: &AtomicBool, sent: &AtomicU64) {
    const BYTES: usize = 4 << 20;
    let file = memfd_create("zeros", MemfdFlags::CLOEXEC).expect("a file");
    rustix::fs::ftruncate(&file, BYTES as u64).expect("made long");
    rustix::io::pwrite(&file, &vec![0; BYTES], 0).expect("written");
    while !stop.load(Relaxed) {
        let mut offset = 0;
        while offset < BYTES as u64 {
            let left = BYTES - offset as usize;
            match sendfile(stream, &file, Some(&mut offset), left) {
                Ok(n) if n > 0 => sent.fetch_add(n as u64, Relaxed),
                _ => return,
            };
        }
    }
}

/// Serves streams until the signal to stop.
fn serve(listener: TcpListener, stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if stop.load(Relaxed) {
                return;
            }
            if let Ok(stream) = stream {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || pour(&stream, &stop, &AtomicU64::new(0)));
            }
        }
    });
}

/// Throws what arrives away, without copying it.
fn swallow(stream: &TcpStream, received: &AtomicU64, stop: &AtomicBool) {
    let mut buffer = vec![0u8; 1 << 20];
    while !stop.load(Relaxed) {
        match recv(stream, &mut buffer, RecvFlags::TRUNC) {
            Ok((_, n)) if n > 0 => received.fetch_add(n as u64, Relaxed),
            _ => return,
        };
    }
}

/// What a transfer has taken.
pub struct Measured<const N: usize> {
    /// Gbit/s.
    pub rate: f64,
    /// CPU seconds a gigabyte, of what was asked for.
    pub costs: [f64; N],
}

/// A transfer of so many flows, and the CPU time that others have taken meanwhile.
pub fn stream<const N: usize>(
    hosts: &Hosts,
    target: SocketAddr,
    flows: usize,
    cpu: impl Fn() -> [f64; N],
) -> Measured<N> {
    let stop = Arc::new(AtomicBool::new(false));
    let received = Arc::new(AtomicU64::new(0));
    let begin = Arc::new(Barrier::new(flows + 1));
    let threads: Vec<_> = (0..flows)
        .map(|_| {
            let stream = connect(&hosts.client, target).expect("connected");
            let (stop, received) = (Arc::clone(&stop), Arc::clone(&received));
            let begin = Arc::clone(&begin);
            std::thread::spawn(move || {
                begin.wait();
                swallow(&stream, &received, &stop);
            })
        })
        .collect();
    begin.wait();
    std::thread::sleep(WARM_UP);
    let (began, bytes, before) = (Instant::now(), received.load(Relaxed), cpu());
    std::thread::sleep(MEASURE);
    let seconds = began.elapsed().as_secs_f64();
    let bytes = (received.load(Relaxed) - bytes) as f64;
    let after = cpu();
    stop.store(true, Relaxed);
    for thread in threads {
        thread.join().expect("it ends");
    }
    Measured {
        rate: bytes * 8.0 / seconds / 1e9,
        costs: std::array::from_fn(|i| (after[i] - before[i]) / (bytes / 1e9)),
    }
}

/// The rows of 1, 8, 64 and 512 flows.
pub fn measure(hosts: &Hosts, kinds: &[Kind], table: &mut Table) {
    let stop = Arc::new(AtomicBool::new(false));
    serve(
        listen(&hosts.server, (SERVER, PORT).into()),
        Arc::clone(&stop),
    );
    let mut verdicts = Vec::new();
    for flows in [1, 8, 64, 512] {
        let mut rates = vec![Vec::new(); kinds.len()];
        let mut costs = vec![Vec::new(); kinds.len()];
        for _ in 0..REPEATS {
            for (i, kind) in kinds.iter().enumerate() {
                let relay = Relay::start(*kind, hosts, PORT);
                let target = relay.target(PORT);
                let measured = stream(hosts, target, flows, || [relay.cpu_seconds()]);
                let (rate, [cost]) = (measured.rate, measured.costs);
                rates[i].push(rate);
                if relay.pid().is_some() {
                    costs[i].push(cost);
                }
            }
        }
        let medians = |of: Vec<Vec<f64>>| of.into_iter().map(median).collect::<Vec<_>>();
        let (rates, costs) = (medians(rates), medians(costs));
        let of = |values: &[Option<f64>], kind| {
            let at = kinds.iter().position(|k| *k == kind)?;
            values[at]
        };
        let both = |values: &[Option<f64>]| {
            Some((of(values, Kind::Brimful)?, of(values, Kind::HaproxyTuned)?))
        };
        if let (Some((ours, theirs)), Some((own_cost, their_cost))) = (both(&rates), both(&costs)) {
            verdicts.push(format!(
                "{flows} flows: {:.2} times the rate of HAProxy tuned, for {:.2} times its CPU.",
                ours / theirs,
                own_cost / their_cost
            ));
        }
        table.row(format!("{flows} flows, Gbit/s"), rates);
        table.row(format!("{flows} flows, CPU seconds a GB"), costs);
    }
    for verdict in verdicts {
        table.note(verdict);
    }
    stop.store(true, Relaxed);
}
