//! Why a sweep cannot begin or go on.

use std::io;
use std::path::{Path, PathBuf};

/// Why a sweep cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] scenario::ScenarioError),
    /// The folder holds the results of another sweep.
    #[error(
        "{}: holds another sweep: {}; name another folder by --out, or take the sweep that began it",
        folder.display(), differences.join(", ")
    )]
    OtherSweep {
        /// The folder.
        folder: PathBuf,
        /// What differs, one phrase each.
        differences: Vec<String>,
    },
    /// The folder holds what is no sweep, or a broken one.
    #[error("{}: {what}", path.display())]
    Folder {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// What a worker sent cannot be read.
    #[error("the results of a worker cannot be read: {0}; do all workers run the same version?")]
    Outcome(String),
    /// No threads.
    #[error("the worker threads cannot be started: {source}")]
    Threads {
        /// Why not.
        source: io::Error,
    },
    /// Something cannot be read or written.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// True if the user requested what cannot be: nothing has run, nothing was written.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Scenario(_) | Self::OtherSweep { .. } | Self::Folder { .. }
        )
    }

    pub(crate) fn folder(path: &Path, what: impl Into<String>) -> Self {
        Self::Folder {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

/// For `map_err`.
pub(crate) fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
