//! The real daemon between three network namespaces.
//!
//! The program is also the daemon that it tests: `live daemon FILE` runs it.
#![allow(missing_docs, reason = "a test")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the bench, which uses more of it")]
mod support;

mod control;
mod dashboard;
mod explicit;
mod lifecycle;
mod limits;
mod transparent;

use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// A test's name and body.
type Test = (&'static str, fn());

fn tests() -> Vec<Test> {
    [
        transparent::TESTS,
        limits::TESTS,
        lifecycle::TESTS,
        control::TESTS,
        dashboard::TESTS,
        explicit::TESTS,
    ]
    .concat()
}

/// A configuration of the transparent mode without a look at the radio.
fn split(more: &str) -> String {
    format!(
        "control = \"split\"\n{}{more}",
        support::daemon::TRANSPARENT
    )
}

/// A listening server at a port.
fn server_at(hosts: &support::Hosts, port: u16) -> (SocketAddr, TcpListener) {
    let address = SocketAddr::new(support::SERVER.into(), port);
    (address, support::traffic::listen(&hosts.server, address))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let wanted: Vec<Test> = tests()
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .collect();
    if arguments.iter().any(|a| a == "--list") {
        for (name, _) in wanted {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    match run(wanted) {
        0 => ExitCode::SUCCESS,
        failed => {
            eprintln!("{failed} tests failed");
            ExitCode::FAILURE
        }
    }
}

/// Tests at the same time: most of them wait for something.
const AT_ONCE: usize = 3;

/// Gives the number of those that failed.
fn run(tests: Vec<Test>) -> usize {
    let (queue, failed) = (Mutex::new(tests.into_iter()), AtomicUsize::new(0));
    let next = || queue.lock().expect("no panic").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, test)) = next() {
                    let began = Instant::now();
                    let is_ok = catch_unwind(AssertUnwindSafe(test)).is_ok();
                    let said = if is_ok { "ok" } else { "FAILED" };
                    println!(
                        "test {name} ... {said} ({:.1} s)",
                        began.elapsed().as_secs_f64()
                    );
                    failed.fetch_add(usize::from(!is_ok), Relaxed);
                }
            });
        }
    });
    failed.into_inner()
}
