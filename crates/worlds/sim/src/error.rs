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
    /// The caller has no controller of its own of that name.
    #[error(
        "flow {flow:?}: no class is given for {name:?}; such names are for the Python package: \
         brimful.run(..., controllers={{{class:?}: ...}})",
        class = .name.trim_start_matches(scenario::CUSTOM_PREFIX)
    )]
    CustomController {
        /// The flow.
        flow: String,
        /// The name of its congestion control.
        name: String,
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
    /// A call.
    #[error("flow {flow:?}: {source}")]
    Call {
        /// The flow.
        flow: String,
        /// Why.
        source: media::ConfigError,
    },
    /// A base station in two parts.
    #[error(
        "cell.f1-u: in the simulator there is no wire for packets to pass on; take --world lab, or remove the key"
    )]
    F1u,
    /// A wire between base station and core.
    #[error(
        "cell.n3: in the simulator there is no wire for packets to pass on; take --world lab, or remove the key"
    )]
    N3,
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
