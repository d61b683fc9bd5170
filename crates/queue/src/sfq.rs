//! Stochastic fairness queueing: configuration.

use crate::codel::FRAME;
use crate::fq_codel::check_flows;
use crate::{ConfigError, error};
use units::{Bytes, Duration};

/// Queues, as many as FQ-CoDel has.
const QUEUES: u32 = 1024;

/// What a flow may send in its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// One packet, as McKenney has it.
    #[default]
    Packet,
    /// So many bytes: deficit round robin. At least 64.
    Bytes(Bytes),
}

/// How SFQ works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SfqConfig {
    /// Queues that flows are hashed to, 1 to 65,536.
    pub queues: u32,
    /// What a flow may send in its turn.
    pub turn: Turn,
    /// How often flows are hashed anew, above zero; none is never.
    pub perturb: Option<Duration>,
}

impl Default for SfqConfig {
    /// Packet by packet over 1024 queues, hashed once.
    fn default() -> Self {
        Self {
            queues: QUEUES,
            turn: Turn::Packet,
            perturb: None,
        }
    }
}

impl SfqConfig {
    /// # Errors
    /// No queues or too many, a turn below 64 bytes, a period of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(perturb) = self.perturb {
            error::expect_time("sfq perturbation", perturb)?;
        }
        let quantum = match self.turn {
            Turn::Packet => FRAME,
            Turn::Bytes(quantum) => quantum,
        };
        check_flows(self.queues, quantum)
    }
}
