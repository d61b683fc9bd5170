//! Why a lab could not be set up or run.

use std::io;

/// Why a lab could not be set up or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Network namespaces are for root.
    #[error(
        "the lab needs root (it makes network namespaces and TUN devices): run it with sudo, or \
         take --world sim"
    )]
    NeedsRoot,
    /// Something that the lab cannot do.
    #[error("{what}: {why}")]
    Unsupported {
        /// What was requested, e.g. `flow "bulk"`.
        what: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The experiment itself.
    #[error(transparent)]
    Experiment(#[from] network::Error),
    /// The kernel refused.
    #[error("the lab cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A program that the lab needs did not do its part.
    #[error("{program}: {problem}")]
    Program {
        /// The program.
        program: String,
        /// What went wrong.
        problem: String,
    },
    /// A command could not be run on a UE.
    #[error("cannot run {program}: {source}")]
    Command {
        /// The command's program.
        program: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The run was stopped.
    #[error("the run was interrupted")]
    Interrupted,
}

impl Error {
    /// Whether the experiment is at fault, and not the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Unsupported { .. } | Self::Experiment(_) | Self::NeedsRoot
        )
    }

    /// For `map_err`: what was tried when the kernel refused.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }
}
