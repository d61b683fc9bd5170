//! What can go wrong with the daemon as a whole.

use std::path::PathBuf;

/// The reason why the tunnel cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunnelError {
    /// A configuration that cannot be used; nothing has been changed.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// A key that cannot be used; nothing has been changed.
    #[error(transparent)]
    Key(#[from] keys::KeyError),
    /// The dashboard's token cannot be used, or there are no threads for it.
    #[cfg(feature = "edge")]
    #[error(transparent)]
    Dashboard(#[from] dash::DashError),
    /// Something that the tunnel needs of the system failed.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// A program that the tunnel runs failed.
    #[error("{program} failed: {message}")]
    Program {
        /// Its command line.
        program: String,
        /// Its message.
        message: String,
    },
    /// The running tunnel refuses a request.
    #[error("the tunnel at {socket} refuses: {message}")]
    Refused {
        /// Its admin socket.
        socket: PathBuf,
        /// Why.
        message: String,
    },
    /// The running tunnel did not answer as expected.
    #[error("the tunnel at {socket} {message}")]
    Peer {
        /// Its admin socket.
        socket: PathBuf,
        /// What happened.
        message: String,
    },
}

impl TunnelError {
    /// True if what was given cannot be used, and nothing has been changed.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Config(_) | Self::Key(_) => true,
            #[cfg(feature = "edge")]
            Self::Dashboard(of) => of.is_input(),
            _ => false,
        }
    }

    /// From a failed system call.
    pub(crate) fn system(what: impl Into<String>, error: impl Into<std::io::Error>) -> Self {
        Self::System {
            what: what.into(),
            error: error.into(),
        }
    }
}
