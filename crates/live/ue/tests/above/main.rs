//! The real daemon on a router, between its programs and a modem's interface.
//!
//! The program is also the daemon that it tests: `above daemon FILE` runs it.
#![allow(missing_docs, reason = "a test")]

mod faults;
mod packets;
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
    let tests = [packets::TESTS, faults::TESTS].concat();
    let trials = tests.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn daemon(file: &str) -> ExitCode {
    let ended = ue::Config::load(file.as_ref())
        .map_err(|error| (2, error.to_string()))
        .and_then(|config| {
            let code = |error: &ue::UeError| if error.is_input() { 2 } else { 1 };
            ue::run(&config).map_err(|error| (code(&error), error.to_string()))
        });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            eprintln!("{message}");
            ExitCode::from(code)
        }
    }
}
