//! Why an experiment cannot be run.

use units::Duration;

/// Why an experiment cannot be run. Found before anything runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The access alone takes longer than the whole path should.
    #[error(
        "path.rtt is {rtt}, but the access alone has a base round-trip time of {access}: \
         set path.rtt to at least {access}, or make the access faster"
    )]
    PathTooShort {
        /// The end-to-end base round-trip time requested.
        rtt: Duration,
        /// That of the access.
        access: Duration,
    },
    /// Nothing to do.
    #[error("the experiment has no {what}, expected at least one")]
    Empty {
        /// What is missing: `"flows"` or `"ues"`.
        what: &'static str,
    },
    /// Two of the same name would share their random draws.
    #[error("two {what} have the name {name:?}: give each its own")]
    DuplicateName {
        /// What they are: `"flows"` or `"ues"`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A quantity out of range.
    #[error("{field} is {value}, expected {expected}")]
    OutOfRange {
        /// The field, as scenario files name it.
        field: String,
        /// Its value.
        value: String,
        /// What was allowed.
        expected: &'static str,
    },
    /// A flow refers to a UE that is not there.
    #[error("flow {flow:?} belongs to ue number {ue}, but there are only {count}")]
    UnknownUe {
        /// The flow.
        flow: String,
        /// Its index.
        ue: usize,
        /// How many there are.
        count: usize,
    },
    /// The application does not run over the transport.
    #[error("flow {flow:?}: its application needs {expected}, but its transport is the other")]
    Transport {
        /// The flow.
        flow: String,
        /// `"TCP"` or `"UDP"`.
        expected: &'static str,
    },
    /// A channel on a wired access, or none in a cell.
    #[error("ue {ue:?}: {problem}")]
    Channel {
        /// The UE.
        ue: String,
        /// What does not fit.
        problem: String,
    },
    /// The queue of a UE above its modem.
    #[error("ue {ue:?}: its queue above the modem: {problem}")]
    UplinkQueue {
        /// The UE.
        ue: String,
        /// What is wrong.
        problem: String,
    },
    /// Load of the cell that belongs to no UE.
    #[error("cell background load: {problem}")]
    Background {
        /// What is wrong.
        problem: String,
    },
    /// RAPID without a cell to report on.
    #[error(
        "pep mode rapid needs radio reports, but the access is a wired link: use a cell, or pep mode split or none"
    )]
    NoReports,
    /// The cell's configuration.
    #[error("cell: {0}")]
    Cell(#[from] ran::ConfigError),
    /// A queue's configuration.
    #[error("{queue}: {source}")]
    Queue {
        /// The queue.
        queue: String,
        /// Why.
        source: queue::ConfigError,
    },
}
