//! What can go wrong.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why there is no dashboard, or not this part of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DashError {
    /// An address that others reach, without a token.
    #[error(
        "{address}: a dashboard that others can reach needs a token: give --token-file FILE (or \
         token-file in the configuration), or listen at 127.0.0.1"
    )]
    NeedsToken {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The address is not to be had.
    #[error("cannot listen at {address}: {source}; give another port, or 0 for any that is free")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// A token that is none.
    #[error("{origin}: {problem}")]
    Token {
        /// Where it is from.
        origin: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The system refuses.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// There is no folder with results.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl DashError {
    /// Whether the request is at fault, not the system.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::System { .. } | Self::Listen { .. })
    }
}
