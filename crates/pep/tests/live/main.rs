//! The real daemon between three network namespaces.
//!
//! The program is also the daemon that it tests: `live daemon FILE` runs it.
#![allow(missing_docs, reason = "a test")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the bench, which uses more of it")]
mod support;

mod control;
mod explicit;
mod lifecycle;
mod limits;
mod transparent;

use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// A test's name and body.
type Test = (&'static str, fn());

fn tests() -> Vec<Test> {
    [
        transparent::TESTS,
        limits::TESTS,
        lifecycle::TESTS,
        control::TESTS,
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
    let mut failed = 0;
    for (name, test) in tests().into_iter().filter(|(name, _)| is_wanted(name)) {
        if arguments.iter().any(|a| a == "--list") {
            println!("{name}: test");
            continue;
        }
        let result = catch_unwind(AssertUnwindSafe(test));
        println!(
            "test {name} ... {}",
            if result.is_ok() { "ok" } else { "FAILED" }
        );
        failed += usize::from(result.is_err());
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        eprintln!("{failed} tests failed");
        ExitCode::FAILURE
    }
}
