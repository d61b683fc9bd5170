//! What can go wrong with the daemon as a whole.

use std::path::PathBuf;

/// Why the proxy cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PepError {
    /// A configuration that cannot be used; nothing has been changed.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// What decides the windows cannot be configured so.
    #[error(transparent)]
    Edge(#[from] edge::ConfigError),
    /// The dashboard's token cannot be used; nothing has been changed.
    #[error(transparent)]
    Dashboard(#[from] dash::DashError),
    /// The configuration names a user that this machine does not have; nothing has been changed.
    #[error("{}: user: there is no user {user:?} on this machine", config.display())]
    NoUser {
        /// The configuration.
        config: PathBuf,
        /// What it names.
        user: String,
    },
    /// Something that the proxy needs of the system failed.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// A program that the proxy runs failed.
    #[error("{program} failed: {message}; {hint}")]
    Program {
        /// Its command line.
        program: String,
        /// What it printed.
        message: String,
        /// What to do.
        hint: &'static str,
    },
    /// Another instance does this already.
    #[error(
        "another proxy already serves {what}; stop it, or start this one with --upgrade to take over \
         its listeners"
    )]
    Taken {
        /// The interface or address.
        what: String,
    },
    /// Packets that are not split cannot be marked, or held, as requested.
    #[error("[unsplit] mode = \"{mode}\": {error}")]
    Marker {
        /// What was requested.
        mode: &'static str,
        /// Why it cannot be done.
        error: kernel_marker::MarkerError,
    },
    /// The running instance did not answer as expected.
    #[error("the proxy at {socket} {message}")]
    Peer {
        /// Its admin socket.
        socket: PathBuf,
        /// What happened.
        message: String,
    },
}

impl PepError {
    /// From a failed system call.
    pub(crate) fn system(what: impl Into<String>, error: impl Into<std::io::Error>) -> Self {
        Self::System {
            what: what.into(),
            error: error.into(),
        }
    }
}
