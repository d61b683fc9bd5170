//! What can go wrong.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why a server does not start, or a download fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuicError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Config(#[from] daemon::config::ConfigError),
    /// The dashboard's token cannot be used, or there are no threads for it.
    #[error(transparent)]
    Dashboard(#[from] dash::DashError),
    /// No controller has that name.
    #[error(transparent)]
    Controller(#[from] cc::UnknownController),
    /// A certificate or a key that cannot be used.
    #[error("{path}: {problem}", path = .path.display())]
    Certificate {
        /// The file, or what stands for it.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// An address that cannot be listened at or sent from.
    #[error("{address}: {source}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// A folder of the configuration that cannot be used.
    #[error("{name}: {path}: {source}; the folder must be there before", path = .path.display())]
    Folder {
        /// The configuration's key.
        name: &'static str,
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file or folder that cannot be used.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A name without an address, or something that is neither a URL nor an address.
    #[error("{target}: {problem}")]
    Target {
        /// As it was given.
        target: String,
        /// What is wrong.
        problem: String,
    },
    /// The connection was not made, or was lost.
    #[error("connection to {address}: {problem}")]
    Connection {
        /// The server.
        address: SocketAddr,
        /// What happened.
        problem: String,
    },
    /// The server's certificate is of an issuer that is not trusted.
    #[error("connection to {address}: {problem}")]
    Untrusted {
        /// The server.
        address: SocketAddr,
        /// What TLS says.
        problem: String,
    },
    /// The server answered something else than what was requested.
    #[error("{0}")]
    Answer(String),
    /// What arrived cannot be written.
    #[error("cannot write what arrived: {0}")]
    Sink(std::io::Error),
    /// The system gives no runtime or signals.
    #[error("cannot begin: {0}")]
    System(std::io::Error),
}
