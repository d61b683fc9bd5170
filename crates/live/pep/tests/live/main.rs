//! The real daemon between three network namespaces.
//!
//! The program is also the daemon that it tests: `live daemon FILE` runs it.
#![allow(missing_docs, reason = "a test")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the bench, which uses more of it")]
mod support;
use support::capture;

mod apart;
mod closed;
mod control;
mod dashboard;
mod ends;
mod explicit;
mod faults;
mod forward;
mod kernel;
mod lifecycle;
mod limits;
mod moving;
mod peers;
mod privileges;
mod shown;
mod syns;
mod transparent;
mod unsplit;
mod upgrade;
mod wire;

use libtest_mimic::{Arguments, Trial};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;

/// A test's name and body.
type Test = (&'static str, fn());

fn tests() -> Vec<Test> {
    [
        transparent::TESTS,
        limits::TESTS,
        syns::TESTS,
        lifecycle::TESTS,
        privileges::TESTS,
        upgrade::TESTS,
        forward::TESTS,
        control::TESTS,
        closed::TESTS,
        dashboard::TESTS,
        explicit::TESTS,
        ends::TESTS,
        wire::TESTS,
        shown::TESTS,
        unsplit::MARKS,
        unsplit::HELD,
        unsplit::HELD_FAULTS,
        unsplit::TAKEOVER,
        faults::TESTS,
        kernel::TESTS,
        peers::TESTS,
        moving::TESTS,
        moving::cells::TESTS,
        moving::faults::TESTS,
        moving::routes::TESTS,
        apart::TESTS,
    ]
    .concat()
}

/// A configuration of the transparent mode without radio reports.
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
    let trial = |(name, test): Test| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let trials = tests().into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
