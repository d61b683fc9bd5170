//! FQ-CoDel configuration.

use crate::codel::FRAME;
use crate::{CoDelConfig, ConfigError, error};
use units::Bytes;

/// Section 5.2.2 of RFC 8290.
const QUEUES: u32 = 1024;
/// The smallest quantum that does not make the scheduler go round and round for one packet.
const MIN_QUANTUM: Bytes = Bytes::new(64);

/// How FQ-CoDel works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// CoDel of each queue.
    pub codel: CoDelConfig,
    /// Queues that flows are hashed to, 1 to 65,536.
    pub queues: u32,
    /// Bytes that a flow may send in its turn, at least 64.
    pub quantum: Bytes,
}

impl Default for FqCoDelConfig {
    /// RFC 8290: 1024 queues, a quantum of 1514 bytes.
    fn default() -> Self {
        Self {
            codel: CoDelConfig::default(),
            queues: QUEUES,
            quantum: FRAME,
        }
    }
}

impl FqCoDelConfig {
    /// # Errors
    /// As [`CoDelConfig::check`]; no queues or too many, a quantum below 64 bytes.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.codel.check()?;
        check_flows(self.queues, self.quantum)
    }
}

/// Refuses a number of queues or a quantum that cannot work.
pub(crate) fn check_flows(queues: u32, quantum: Bytes) -> Result<(), ConfigError> {
    error::expect(
        (1..=65_536).contains(&queues),
        "number of flow queues",
        &queues,
        "1 to 65,536",
    )?;
    error::expect(quantum >= MIN_QUANTUM, "quantum", &quantum, "at least 64 B")
}
