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
    /// The reader of the output has closed it: there is nothing left to print to.
    Closed,
    /// The user, or the system, has ended it. Exit code 130, as shells expect.
    Interrupted,
    /// A program that was run has ended with this exit code, or could not be run. Everything has been printed.
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

    /// Prints on stderr what was wrong; gives the exit code.
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
        crate::output::complain(&format!("error: {}", runner::message(error.as_ref())));
        ExitCode::from(code)
    }
}

impl From<tunnel_command::CommandError> for Failure {
    fn from(error: tunnel_command::CommandError) -> Self {
        use tunnel_command::CommandError;
        match error {
            CommandError::Input(error) => Self::Input(error),
            CommandError::Run(error) => Self::Run(error),
            CommandError::Output(error) => Self::stdout(error),
        }
    }
}

impl From<runner::Error> for Failure {
    fn from(error: runner::Error) -> Self {
        match error {
            runner::Error::Input(message) => Self::Input(anyhow::Error::msg(message)),
            runner::Error::Run(message) => Self::Run(anyhow::Error::msg(message)),
            runner::Error::Interrupted => Self::Interrupted,
        }
    }
}
