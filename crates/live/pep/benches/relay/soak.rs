//! Half an hour of all kinds of traffic: nothing may grow, nothing may get stuck.

use crate::relays::{Kind, Relay, descriptors, own_memory};
use crate::support::traffic::{connect, listen, receive, send};
use crate::support::{Hosts, SERVER};
use std::net::{Shutdown, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PORT: u16 = 6_300;
const MINUTES: u64 = 30;
const CLIENTS: usize = 12;
/// Growth that is none: what allocators keep.
const MEMORY_TOLERANCE: f64 = 8e6;

fn echo(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                // the client's bytes report how many it wants back
                if let Ok(n) = receive(&stream) {
                    let _ = send(&stream, n * 8);
                }
            });
        }
    });
}

/// Transfers of growing and shrinking size until the signal to stop.
fn client(hosts: &Hosts, target: std::net::SocketAddr, done: &AtomicU64, stop: &AtomicBool) {
    let mut size = 1_000;
    while !stop.load(Relaxed) {
        let stream = connect(&hosts.client, target).expect("connected");
        send(&stream, size).expect("sent");
        stream.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&stream).expect("received"), size * 8);
        done.fetch_add(1, Relaxed);
        size = if size > 20_000_000 { 1_000 } else { size * 3 };
    }
}

/// Runs for half an hour, or as many minutes as `SOAK_MINUTES` says.
pub fn run(hosts: &Hosts) -> ExitCode {
    let minutes = std::env::var("SOAK_MINUTES").ok();
    let minutes = minutes.and_then(|m| m.parse().ok()).unwrap_or(MINUTES);
    let relay = Relay::start(Kind::Brimful, hosts, PORT);
    let pid = relay.pid().expect("it runs");
    echo(listen(&hosts.server, (SERVER, PORT).into()));
    let (done, stop) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let target = relay.target(PORT);
    let grown = std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let (done, stop) = (Arc::clone(&done), Arc::clone(&stop));
            scope.spawn(move || client(hosts, target, &done, &stop));
        }
        std::thread::sleep(Duration::from_secs(20));
        let began = Instant::now();
        let (memory, fds) = (own_memory(pid), descriptors(pid));
        while began.elapsed() < Duration::from_secs(minutes * 60) {
            std::thread::sleep(Duration::from_secs(20));
            println!(
                "{:5.0} s: {} transfers, {:.1} MB, {} descriptors",
                began.elapsed().as_secs_f64(),
                done.load(Relaxed),
                own_memory(pid) / 1e6,
                descriptors(pid)
            );
        }
        stop.store(true, Relaxed);
        (own_memory(pid) - memory, memory, fds)
    });
    std::thread::sleep(Duration::from_secs(2));
    let (growth, memory, fds) = grown;
    let left = descriptors(pid);
    println!("memory {memory:.0} B + {growth:.0} B; descriptors {fds} under load, {left} after it");
    // pipes in the pool stay; connections must not
    let is_clean = growth < MEMORY_TOLERANCE && left <= fds.max(64 * 2 * 4 + 64);
    if is_clean {
        ExitCode::SUCCESS
    } else {
        eprintln!("something has grown");
        ExitCode::FAILURE
    }
}
