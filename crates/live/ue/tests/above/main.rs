//! The real daemon on a router, between its programs and a modem's interface.
//!
//! The program is also the daemon that it tests: `above daemon FILE` runs it.
#![allow(missing_docs, reason = "a test")]

mod faults;
mod packets;
mod reload;
mod shown;
mod support;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// A test's name and body.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, file] = arguments.as_slice()
        && command == "daemon"
    {
        return daemon(file);
    }
    let trial = |(name, test): Test| {
        Trial::test(name, move || {
            if testing::has_root(name) {
                test();
            }
            Ok(())
        })
    };
    let tests = [packets::TESTS, faults::TESTS, reload::TESTS, shown::TESTS].concat();
    let trials = tests.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn daemon(file: &str) -> ExitCode {
    let start = ue::Start {
        config: file.into(),
        is_json: false,
        is_debug: false,
    };
    match ue::run(&start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if error.is_input() { 2 } else { 1 })
        }
    }
}
