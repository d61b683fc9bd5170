//! The engine Ray: the Python package speaks to it.

use super::overrides;
use crate::args::SweepArgs;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Names the Python that has the packages brimful and ray.
const PYTHON: &str = "BRIMFUL_PYTHON";

/// Runs the sweep on a cluster, or on a Ray of this machine's own.
pub(super) fn run(arguments: &SweepArgs, folder: &Path) -> Result<(), Failure> {
    let python = python();
    check(&python)?;
    let mut command = Command::new(&python);
    command
        .args(["-m", "brimful._sweep_main"])
        .arg(&arguments.file);
    let mut add = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            let mut option = OsString::from(format!("--{name}="));
            option.push(value);
            command.arg(option);
        }
    };
    let overrides = overrides(arguments)?;
    for (key, value) in &overrides.set {
        add("set", Some(format!("{key}={value}").into()));
    }
    add("trace", overrides.trace.map(Into::into));
    add("uplink-trace", overrides.uplink_trace.map(Into::into));
    add("trace-offset", overrides.trace_offset.map(Into::into));
    add("seed", overrides.seed.map(|n| n.to_string().into()));
    add("repeats", overrides.repeats.map(|n| n.to_string().into()));
    add("address", arguments.address.clone().map(Into::into));
    add("workers", arguments.workers.map(|n| n.to_string().into()));
    add("out", Some(folder.into()));
    if arguments.retry_failed {
        command.arg("--retry-failed");
    }
    // what Ray's processes print is not what this command prints
    command.stdout(std::io::stderr());
    let (status, is_interrupted) = passing_interruptions_on(command)
        .context("the Python package cannot be run")
        .map_err(Failure::Run)?;
    match status.code() {
        Some(0) => Ok(()),
        _ if is_interrupted => Err(Failure::Command(Failure::INTERRUPTED)),
        Some(code) => Err(Failure::Command(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Run(anyhow!(
            "the Python package was ended by a signal: {status}"
        ))),
    }
}

/// Runs a program to its end, and whether it was interrupted. Each interruption and request to end
/// reaches it once, be it from a terminal, which would signal both, or by a signal to this process
/// alone: the program puts things away.
fn passing_interruptions_on(mut command: Command) -> std::io::Result<(ExitStatus, bool)> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    let child = Arc::new(OnceLock::new());
    let (flag, printed) = (Arc::clone(&is_interrupted), Arc::clone(&child));
    let _ = ctrlc::set_handler(move || {
        flag.store(true, Ordering::SeqCst);
        if let Some(child) = printed.get() {
            interrupt(*child);
        }
    });
    let mut running = command.process_group(0).spawn()?;
    let pid = Pid::from_child(&running);
    let _ = child.set(pid);
    if is_interrupted.load(Ordering::SeqCst) {
        interrupt(pid);
    }
    let status = running.wait()?;
    Ok((status, is_interrupted.load(Ordering::SeqCst)))
}

fn interrupt(program: Pid) {
    // one that has ended needs no interruption
    let _ = kill_process(program, Signal::INT);
}

/// That it has both packages, before anything is begun.
fn check(python: &Path) -> Result<(), Failure> {
    let shown = python.display();
    let imported = Command::new(python)
        .args(["-c", "import brimful._sweep_main, ray"])
        .output()
        .with_context(|| format!("--engine ray: {shown} cannot be run; {PYTHON} names another"))
        .map_err(Failure::Input)?;
    if imported.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&imported.stderr);
    let last = output.lines().last().unwrap_or_default();
    Err(Failure::Input(anyhow!(
        "--engine ray needs the Python package brimful with Ray: {shown}: {last}; pip install \
         'brimful[ray]' (in a clone: make python), or name a Python that has both by {PYTHON}"
    )))
}

/// Which Python: the one that is named, that of this checkout, or the system's.
fn python() -> PathBuf {
    let own = Path::new("target/python/bin/python");
    match std::env::var_os(PYTHON) {
        Some(python) if !python.is_empty() => python.into(),
        _ if own.exists() => own.to_owned(),
        _ => "python3".into(),
    }
}
