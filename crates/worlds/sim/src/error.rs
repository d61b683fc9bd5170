//! Why an experiment cannot be simulated.

/// Why an experiment cannot be simulated. Found before anything runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither world could run it.
    #[error(transparent)]
    Experiment(#[from] network::Error),
    /// There is no such congestion control.
    #[error("flow {flow:?}: {source}")]
    CongestionControl {
        /// The flow.
        flow: String,
        /// Why.
        source: cc::UnknownController,
    },
    /// TCP parameters of a flow, or of the proxy for it.
    #[error("flow {flow:?}: {source}")]
    Tcp {
        /// The flow.
        flow: String,
        /// Why.
        source: crate::tcp::ConfigError,
    },
    /// QUIC parameters of a flow.
    #[error("flow {flow:?}: {source}")]
    Quic {
        /// The flow.
        flow: String,
        /// Why.
        source: crate::QuicConfigError,
    },
    /// The multipath tunnel.
    #[error("tunnel: {problem}")]
    Tunnel {
        /// What is wrong with it.
        problem: String,
    },
    /// The configuration of the proxy's decisions.
    #[error("pep: {0}")]
    Edge(#[from] edge::ConfigError),
}
