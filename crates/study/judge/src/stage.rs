//! A lab that stands, as a judge sees it.

use crate::judge::Problem;
use crate::need::{Need, Toolbox};
use crate::running::{Output, Running};
use lab::{Host, Programs};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// From one look at a program to the next.
const TICK: Duration = Duration::from_millis(20);
/// How long a service may take until it is ready, on a machine that is busy.
const READY: Duration = Duration::from_secs(60);
/// What a judge may take beyond four times its duration: programs start, and on a busy machine that takes a while.
const SLACK: Duration = Duration::from_secs(180);

/// A lab that stands, as a judge sees it: two hosts with the names `server` and `ue`, and a folder. What a judge
/// has started ends with it.
#[derive(Debug)]
pub struct Stage<'a, 'l> {
    programs: &'a mut Programs<'l>,
    toolbox: &'a Toolbox,
    brimful: &'a Path,
    scratch: PathBuf,
    duration: Duration,
    timeout: Duration,
    began: Instant,
    services: Vec<Running>,
}

impl<'a, 'l> Stage<'a, 'l> {
    pub(crate) fn new(
        programs: &'a mut Programs<'l>,
        toolbox: &'a Toolbox,
        brimful: &'a Path,
        scratch: PathBuf,
        duration: Duration,
    ) -> Self {
        Self {
            programs,
            toolbox,
            brimful,
            scratch,
            duration,
            timeout: duration * 4 + SLACK,
            began: Instant::now(),
            services: Vec::new(),
        }
    }

    /// How long a measurement is to take.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The same in whole seconds, at least one.
    pub fn seconds(&self) -> u64 {
        (self.duration.as_secs_f64().round() as u64).max(1)
    }

    /// The judge's own folder, in which its programs run. It is theirs as HOME and TMPDIR, too.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Address of a host.
    pub fn address(&self, host: Host) -> Ipv4Addr {
        self.programs.address(host)
    }

    /// A command of something that the judge needs: a program, or the Python that has a module.
    pub fn command(&self, need: Need) -> Command {
        let path = self.toolbox.path(need);
        Command::new(path.unwrap_or_else(|| Path::new(need.name())))
    }

    /// A command of `brimful` itself.
    pub fn brimful(&self) -> Command {
        Command::new(self.brimful)
    }

    /// Writes a file into the judge's folder.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Problem> {
        let path = self.scratch.join(name);
        let failed = |source| Problem::File {
            path: path.display().to_string(),
            source,
        };
        std::fs::write(&path, text).map_err(failed)?;
        Ok(path)
    }

    /// Starts a program on a host. What it prints goes to the files NAME.out and NAME.err of the judge's folder.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, host: Host, name: &str, mut command: Command) -> Result<Running, Problem> {
        let placed = self.programs.place(host, &mut command);
        placed.map_err(|source| Problem::Start {
            program: name.to_owned(),
            source,
        })?;
        Running::start(name.to_owned(), command, &self.scratch)
    }

    /// Starts a program that runs until the judge is done, and waits until `is_ready` of what it has printed.
    ///
    /// # Errors
    /// If it ends or is not ready in time.
    pub fn start_service(
        &mut self,
        host: Host,
        name: &str,
        command: Command,
        is_ready: impl Fn(&Output) -> bool,
    ) -> Result<(), Problem> {
        let mut running = self.start(host, name, command)?;
        let began = Instant::now();
        while !is_ready(&running.output()) {
            self.programs.check()?;
            if let Some(status) = running.status()? {
                return Err(ended(&running, status));
            }
            if began.elapsed() > READY {
                return Err(late(&running, "was not ready", READY));
            }
            std::thread::sleep(TICK);
        }
        self.services.push(running);
        Ok(())
    }

    /// Waits until a program has printed something, e.g. that it has begun.
    ///
    /// # Errors
    /// If it ends before, or does not within the judge's time.
    pub fn wait_for(
        &mut self,
        running: &mut Running,
        is_met: impl Fn(&Output) -> bool,
    ) -> Result<(), Problem> {
        while !is_met(&running.output()) {
            let status = running.status()?;
            if let Some(status) = status.filter(|_| !is_met(&running.output())) {
                return Err(ended(running, status));
            }
            self.look_after(running)?;
        }
        Ok(())
    }

    /// Waits until a program has ended, which must be with exit code 0; what it printed.
    ///
    /// # Errors
    /// If it ended otherwise, or not within the judge's time.
    pub fn wait(&mut self, mut running: Running) -> Result<Output, Problem> {
        loop {
            match running.status()? {
                Some(status) if status.success() => return Ok(running.output()),
                Some(status) => return Err(ended(&running, status)),
                None => self.look_after(&running)?,
            }
        }
    }

    /// Runs a program on a host to its end.
    ///
    /// # Errors
    /// If it cannot be started, ends with another exit code than 0, or not within the judge's time.
    pub fn run(&mut self, host: Host, name: &str, command: Command) -> Result<Output, Problem> {
        let running = self.start(host, name, command)?;
        self.wait(running)
    }

    /// One tick of waiting for a program.
    fn look_after(&mut self, running: &Running) -> Result<(), Problem> {
        self.programs.check()?;
        if self.began.elapsed() > self.timeout {
            return Err(late(running, "did not end", self.timeout));
        }
        std::thread::sleep(TICK);
        Ok(())
    }
}

fn ended(running: &Running, status: std::process::ExitStatus) -> Problem {
    Problem::Ended {
        program: running.name().to_owned(),
        status,
        output: running.last_words(),
    }
}

fn late(running: &Running, what: &'static str, after: Duration) -> Problem {
    Problem::Late {
        program: running.name().to_owned(),
        what,
        seconds: after.as_secs_f64(),
        output: running.last_words(),
    }
}
