//! The real daemons, both ends, between network namespaces.
//!
//! The program is also the daemon that it tests: `live daemon ROLE FILE` runs it.
#![allow(missing_docs, reason = "a test")]

#[path = "../support/mod.rs"]
mod support;

mod dashboard;
mod network;
mod paths;
mod radio;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// A test's name and body.
type Test = (&'static str, fn());

fn tests() -> Vec<Test> {
    [paths::TESTS, network::TESTS, radio::TESTS, dashboard::TESTS].concat()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "daemon") {
        return support::run_daemon(&arguments[1..]);
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let wanted = tests().into_iter().filter(|(name, _)| is_wanted(name));
    if arguments.iter().any(|a| a == "--list") {
        wanted.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in wanted {
        let began = Instant::now();
        let is_ok = catch_unwind(AssertUnwindSafe(test)).is_ok();
        let said = if is_ok { "ok" } else { "FAILED" };
        println!(
            "test {name} ... {said} ({:.1} s)",
            began.elapsed().as_secs_f64()
        );
        passed += usize::from(is_ok);
        failed += usize::from(!is_ok);
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
