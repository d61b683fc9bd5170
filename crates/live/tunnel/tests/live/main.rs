//! The real daemons, both ends, between network namespaces.
//!
//! The program is also the daemon that it tests: `live daemon ROLE FILE` runs it. Everything that a test
//! makes is its own (namespaces without names, temporary folders), so that tests may run concurrently.
#![allow(missing_docs, reason = "a test")]

#[path = "../support/mod.rs"]
mod support;
#[path = "../../../../core/multipath/tests/multipath/tshark.rs"]
mod tshark;

mod addresses;
mod calls;
mod capture;
mod dashboard;
mod faults;
mod metrics;
mod mtu;
mod narrow;
mod network;
mod networkd;
mod paths;
mod pieces;
mod radio;
mod reload;
mod secrecy;
mod strangers;
mod system;
mod threads;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// A test's name and body.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    let tests = [
        paths::TESTS,
        pieces::TESTS,
        narrow::TESTS,
        mtu::TESTS,
        network::TESTS,
        networkd::TESTS,
        radio::TESTS,
        dashboard::TESTS,
        strangers::TESTS,
        metrics::TESTS,
        faults::TESTS,
        secrecy::TESTS,
        addresses::TESTS,
        calls::TESTS,
        capture::TESTS,
        reload::TESTS,
        system::TESTS,
        threads::TESTS,
    ]
    .concat();
    let trials = tests.into_iter().map(|(name, body)| {
        Trial::test(name, move || {
            body();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
