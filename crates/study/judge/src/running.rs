//! A program that a judge has started.

use crate::judge::Problem;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Lines of a program's last words.
const LAST_LINES: usize = 3;

/// A program on one of the lab's hosts. Dropped, it and what it has started are gone.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    ended: Option<ExitStatus>,
}

/// What a program printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// On stdout.
    pub stdout: String,
    /// On stderr.
    pub stderr: String,
}

impl Running {
    /// Starts a command that was placed on a host; what it prints goes to files of that name in `scratch`.
    pub(crate) fn start(
        name: String,
        mut command: Command,
        scratch: &Path,
    ) -> Result<Self, Problem> {
        let [stdout, stderr] = ["out", "err"].map(|kind| scratch.join(format!("{name}.{kind}")));
        let create = |path: &Path| {
            File::create(path).map_err(|source| Problem::File {
                path: path.display().to_string(),
                source,
            })
        };
        command
            .stdin(Stdio::null())
            .stdout(create(&stdout)?)
            .stderr(create(&stderr)?)
            .current_dir(scratch)
            .env("TMPDIR", scratch)
            .env("HOME", scratch)
            // an interruption from the terminal is this process's, which then ends all
            .process_group(0);
        let child = command.spawn().map_err(|source| Problem::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Self {
            name,
            child,
            stdout,
            stderr,
            ended: None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// The kernel's.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, Problem> {
        if self.ended.is_none() {
            let status = self.child.try_wait();
            self.ended = status.map_err(|source| Problem::File {
                path: self.name.clone(),
                source,
            })?;
        }
        Ok(self.ended)
    }

    /// What it has printed so far.
    pub fn output(&self) -> Output {
        let read = |path: &Path| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Output {
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
        }
    }

    /// Sends it SIGINT, on which many programs end and print what they have measured.
    pub fn interrupt(&mut self) {
        if let (Some(pid), None) = (self.pid(), self.ended) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// The last lines that it printed, in one.
    pub(crate) fn last_words(&self) -> String {
        let output = self.output();
        let text = match output.stderr.trim() {
            "" => output.stdout.trim(),
            text => text,
        };
        let lines: Vec<&str> = text.lines().rev().take(LAST_LINES).collect();
        let lines: Vec<&str> = lines.into_iter().rev().map(str::trim).collect();
        match lines.is_empty() {
            true => "it printed nothing".to_owned(),
            false => lines.join(" / "),
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // the group's number is its own until its first process has been waited for
        if let (Some(pid), None) = (self.pid(), self.ended) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_to_files_and_last_words_are_the_last_lines() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", "pwd; seq 5 >&2; exit 3"]);
        let mut running =
            Running::start("shell".to_owned(), command, scratch.path()).expect("it starts");
        let status = loop {
            if let Some(status) = running.status().expect("a status") {
                break status;
            }
            std::thread::yield_now();
        };
        assert_eq!(status.code(), Some(3));
        let output = running.output();
        assert_eq!(output.stdout.trim(), scratch.path().display().to_string());
        assert_eq!(running.last_words(), "3 / 4 / 5");
        assert!(scratch.path().join("shell.err").exists());
    }

    #[test]
    fn what_a_dropped_program_has_started_ends_with_it() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]);
        let running =
            Running::start("shell".to_owned(), command, scratch.path()).expect("it starts");
        let child = loop {
            if let Ok(pid) = running.output().stdout.trim().parse::<i32>() {
                break pid;
            }
            std::thread::yield_now();
        };
        drop(running);
        // a process that nobody has waited for yet is a zombie, and runs no more
        loop {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(')').map(|(_, after)| after.trim_start());
            if state.is_none_or(|state| state.starts_with('Z')) {
                break;
            }
            std::thread::yield_now();
        }
    }
}
