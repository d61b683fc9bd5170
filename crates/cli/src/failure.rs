//! How a command ends when it does not succeed.

use std::io;
use std::process::ExitCode;

/// Why a command did not succeed: decides the exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage or bad input: nothing has run, nothing was written. Exit code 2.
    Input(anyhow::Error),
    /// The run or the writing of its results failed. Exit code 1.
    Run(anyhow::Error),
    /// Whoever read the output has closed it. Nobody is left to be told.
    Closed,
    /// The user, or the system, has ended it. Exit code 130, as shells expect.
    Interrupted,
    /// A program that was run has ended with this exit code, or could not be run. All has been said.
    Command(u8),
}

impl Failure {
    /// Exit code of an interrupted command: 128 + SIGINT.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// Bad input.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self::Input(error.into())
    }
    /// A failed run.
    pub(crate) fn run(error: impl Into<anyhow::Error>) -> Self {
        Self::Run(error.into())
    }
    /// Output that could not be written.
    pub(crate) fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Run(anyhow::Error::new(error).context("the output cannot be written")),
        }
    }

    /// Says on stderr what was wrong; gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (error, code) = match self {
            Self::Input(error) => (error, 2),
            Self::Run(error) => (error, 1),
            Self::Closed => return ExitCode::SUCCESS,
            Self::Command(code) => return ExitCode::from(code),
            Self::Interrupted => {
                crate::output::complain("interrupted: nothing was written");
                return ExitCode::from(Self::INTERRUPTED);
            }
        };
        crate::output::complain(&format!("error: {}", message(&error)));
        ExitCode::from(code)
    }
}

/// The error with its causes, except those that it has already told itself.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let inner = || anyhow::anyhow!("no space left");
        assert_eq!(
            message(&inner().context("a.json cannot be written")),
            "a.json cannot be written: no space left"
        );
        assert_eq!(
            message(&inner().context("a.json: no space left; free some")),
            "a.json: no space left; free some"
        );
    }
}
