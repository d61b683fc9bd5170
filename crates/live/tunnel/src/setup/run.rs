//! Running the steps, and undoing what was run.

use super::{Kind, Step, line};
use crate::error::TunnelError;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where programs are.
pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The steps that were run and not undone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup(Arc<Mutex<Vec<Step>>>);

/// Undoes everything when it goes.
#[derive(Debug)]
pub(crate) struct Guard(Setup);

impl Guard {
    /// Of what will be set up.
    pub(crate) fn new(setup: &Setup) -> Self {
        Self(setup.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        while let Some(step) = { self.0.done().pop() } {
            // these go with the device
            if !matches!(step.kind, Kind::Link | Kind::Address | Kind::Route) {
                undo(&step);
            }
        }
    }
}

impl Setup {
    fn done(&self) -> MutexGuard<'_, Vec<Step>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the steps in order.
    ///
    /// # Errors
    /// The first that failed; those before it are run.
    pub(crate) fn apply(&self, steps: Vec<Step>) -> Result<(), TunnelError> {
        for step in steps {
            run(&step)?;
            self.done().push(step);
        }
        Ok(())
    }

    /// Begins to replace the addresses and routes by others: those that are new are there too from now on.
    ///
    /// # Errors
    /// The first that failed; nothing has changed.
    pub(crate) fn exchange(&self, new: Vec<Step>) -> Result<Exchange, TunnelError> {
        let is_changeable =
            |step: &&Step| matches!(step.kind, Kind::Address | Kind::Route | Kind::Rule);
        let old: Vec<Step> = self.done().iter().filter(is_changeable).cloned().collect();
        let mut exchange = Exchange {
            setup: self.clone(),
            added: Vec::new(),
            removed: old
                .iter()
                .filter(|step| !new.contains(step))
                .cloned()
                .collect(),
            kept: old
                .iter()
                .filter(|step| new.contains(step))
                .cloned()
                .collect(),
        };
        for step in new {
            if old.contains(&step) {
                continue;
            }
            if let Err(error) = run(&step) {
                exchange.roll_back();
                return Err(error);
            }
            exchange.added.push(step);
        }
        Ok(exchange)
    }
}

/// Addresses and routes, of which the new ones are there beside the old.
#[derive(Debug)]
pub(crate) struct Exchange {
    setup: Setup,
    added: Vec<Step>,
    removed: Vec<Step>,
    kept: Vec<Step>,
}

impl Exchange {
    /// True if nothing differs.
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// The new ones go again.
    pub(crate) fn roll_back(&mut self) {
        self.added.drain(..).rev().for_each(|step| undo(&step));
    }

    /// The old ones go.
    pub(crate) fn commit(self) {
        self.removed.iter().rev().for_each(undo);
        let is_replacing = |step: &&Step| step.kind != Kind::Rule;
        // the kernel removes an address's neighbours in its network with it, and routes with the last address
        if !self.removed.is_empty() {
            for step in self.kept.iter().chain(&self.added).filter(is_replacing) {
                if let Err(error) = run(step) {
                    tracing::warn!(%error, "setting up again");
                }
            }
        }
        let mut done = self.setup.done();
        done.retain(|step| !self.removed.contains(step));
        // hooks of the end are run before these go
        let place = done
            .iter()
            .position(|step| matches!(step.kind, Kind::Sysctl | Kind::Dns | Kind::Hook));
        let place = place.unwrap_or(done.len());
        done.splice(place..place, self.added);
    }
}

fn run(step: &Step) -> Result<(), TunnelError> {
    if step.kind == Kind::Rule
        && let Some(words) = &step.undo
    {
        // of a daemon that was killed; none is no fault
        let _ = execute(words);
    }
    let Some(words) = &step.run else {
        return Ok(());
    };
    match feed(words, step.input.as_deref()) {
        Err(error) if step.kind == Kind::Sysctl => {
            tracing::warn!(
                %error,
                "answers on paths may be dropped: net.ipv4.conf.all.rp_filter must be 0 or 2"
            );
            Ok(())
        }
        done => done,
    }
}

fn undo(step: &Step) {
    if let Some(words) = &step.undo
        && let Err(error) = execute(words)
    {
        tracing::warn!(%error, "undoing");
    }
}

/// Runs a program with arguments that have been checked when the configuration was read.
pub(crate) fn execute(words: &[String]) -> Result<(), TunnelError> {
    feed(words, None)
}

fn feed(words: &[String], input: Option<&str>) -> Result<(), TunnelError> {
    let failed = |error| TunnelError::system(line(words), error);
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let (Some(input), Some(mut to)) = (input, child.stdin.take()) {
        // a program that reads nothing states that by how it ends
        let _ = to.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TunnelError::Program {
        program: line(words),
        message: match message.is_empty() {
            true => output.status.to_string(),
            false => message,
        },
    })
}
