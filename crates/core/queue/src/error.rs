//! Why a queue cannot be built, and the checks.

use crate::Ratio;
use std::fmt::Display;
use units::{Bytes, Duration};

/// Why a queue cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A queue that can hold nothing.
    #[error("queue capacity is zero, expected at least one packet")]
    ZeroCapacity,
    /// A value that the algorithm cannot work with.
    #[error("{what} is {value}, expected {allowed}")]
    OutOfRange {
        /// Algorithm and value, as "codel target".
        what: &'static str,
        /// The value that was given.
        value: String,
        /// What would be accepted.
        allowed: &'static str,
    },
    /// A set of classes without any.
    #[error("the queue has no classes, expected at least one")]
    NoClasses,
    /// Two classes have the same QoS flow.
    #[error("QFI {qfi} is in two classes, expected each QFI in one at most")]
    QfiTwice {
        /// The QoS flow identifier.
        qfi: u8,
    },
    /// Classes within a class.
    #[error("a class has classes of its own, expected a discipline without classes")]
    NestedClasses,
    /// A custom discipline that was not supplied.
    #[error(
        "queue management {name:?} is not known here, expected one that the caller of the run \
         supplies: from Python, by queues={{...}} or @brimful.queue"
    )]
    UnknownDiscipline {
        /// The name that was requested.
        name: String,
    },
}

/// Rejects a value that fails its condition.
pub(crate) fn expect(
    holds: bool,
    what: &'static str,
    value: &dyn Display,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::OutOfRange {
        what,
        value: value.to_string(),
        allowed,
    })
}

/// Rejects no time at all.
pub(crate) fn expect_time(what: &'static str, value: Duration) -> Result<(), ConfigError> {
    expect(!value.is_zero(), what, &value, "a time above zero")
}

/// Rejects zero bytes.
pub(crate) fn expect_bytes(what: &'static str, value: Bytes) -> Result<(), ConfigError> {
    expect(!value.is_zero(), what, &value, "at least one byte")
}

/// Rejects a ratio that is not above zero and at most one.
pub(crate) fn expect_share(what: &'static str, value: Ratio) -> Result<(), ConfigError> {
    expect(
        value > Ratio::ZERO && value <= Ratio::ONE,
        what,
        &value.as_f64(),
        "above 0 and at most 1",
    )
}
