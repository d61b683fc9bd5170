//! What a command prints, and how it ends when it does not succeed.

use std::fmt;
use std::io::{self, Write, stdout};

/// Why a command did not succeed.
#[derive(Debug)]
pub enum CommandError {
    /// Bad usage or bad input: nothing was changed. Exit code 2.
    Input(anyhow::Error),
    /// What was to be done failed. Exit code 1.
    Run(anyhow::Error),
    /// The output could not be written.
    Output(io::Error),
}

impl CommandError {
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self::Input(error.into())
    }

    pub(crate) fn run(error: impl Into<anyhow::Error>) -> Self {
        Self::Run(error.into())
    }

    /// The exit code; a reader that has gone is no fault.
    pub fn code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Run(_) => 1,
            Self::Output(error) => u8::from(error.kind() != io::ErrorKind::BrokenPipe),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) | Self::Run(error) => write!(f, "{error:#}"),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

/// Writes to stdout.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(CommandError::Output)
}
