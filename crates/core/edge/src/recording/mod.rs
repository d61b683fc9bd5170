//! Recordings: all that went into a proxy's [`crate::Edge`] and all that came out of it, one entry a line of JSON.
//!
//! ```text
//!   simulator, live proxy --- Edge ---> Record --> lines
//!   lines --> Entry --> Replay --- Edge ---> the same actions, or a ReplayError
//! ```
//!
//! ```json
//! {"at":1000000,"in":{"event":"report","report":{...},"is_foreign":false}}
//! {"at":1000000,"out":{"event":"decision","flow":7,...}}
//! ```
//!
//! The machine reads no clock and draws no random number, so its answers are a function of what goes in: of
//! reports that were refused, and of messages that were none, too. Whichever world wrote the recording, the
//! simulator or the proxy on a live network, the actions must be identical when it is decided again.
//!
//! Times are nanoseconds, amounts bytes, rates bit/s. The first entry is the configuration. Telemetry stands
//! behind the report or deadline that it was measured for.

mod replay;

pub use replay::{Replay, ReplayError, Summary};

use crate::{Action, Actuator, EdgeConfig};
use rapid::{FlowId, FlowTelemetry, Learnt};
use rnis::{RadioReport, Rnti};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::net::IpAddr;
use units::{Bytes, Duration, Instant};

/// Longest line that is read, in bytes: a report of the longest kind with some room around it.
pub const MAX_LINE_BYTES: usize = rnis::codec::MAX_ENCODED_BYTES + 4096;

/// Takes entries as they come. It cannot hold up or change a decision.
pub trait Record: Debug + Send {
    /// An entry.
    fn record(&mut self, entry: Entry);
}

/// One call of a machine, or one of its actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When; an action has the time of the call before it.
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// Which way an entry went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Into the machine.
    In(Event),
    /// Out of it.
    Out(Action),
}

/// What went in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A new machine.
    Begin {
        /// Its configuration.
        config: EdgeConfig,
        /// Addresses of UEs whose reports carry none.
        ues: Vec<(Rnti, IpAddr)>,
    },
    /// Another configuration.
    Configure {
        /// Addresses of UEs whose reports carry none.
        ues: Vec<(Rnti, IpAddr)>,
        /// Silence after which flows are plain.
        plain_after: Duration,
    },
    /// A radio report, as it came.
    Report {
        /// The report.
        report: Box<RadioReport>,
        /// Its source is on another machine.
        is_foreign: bool,
        /// Another of its cell waited behind it: nothing was decided with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_superseded: bool,
    },
    /// A message that is no report.
    Unreadable {
        /// Why.
        problem: String,
    },
    /// A flow's server has answered.
    FlowOpen {
        /// Its number.
        flow: FlowId,
        /// Its UE.
        address: IpAddr,
    },
    /// It comes from another proxy.
    FlowLearnt {
        /// Its number.
        flow: FlowId,
        /// What that has learnt of it.
        #[serde(flatten)]
        learnt: Learnt,
    },
    /// A flow has ended.
    FlowClose {
        /// Its number.
        flow: FlowId,
    },
    /// A flow was taken under control.
    Adopted {
        /// Its number.
        flow: FlowId,
        /// Maximum segment size towards the UE.
        mss: Bytes,
        /// How its window is set.
        actuator: Actuator,
    },
    /// New counters of a flow, measured for the report or deadline before.
    Telemetry {
        /// Its number.
        flow: FlowId,
        /// The counters.
        #[serde(flatten)]
        telemetry: FlowTelemetry,
    },
    /// A deadline came.
    Deadline,
    /// All flows are to be plain.
    ReleaseAll,
}

/// Why a line is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Longer than any entry.
    #[error("{length} bytes: at most {MAX_LINE_BYTES} are read")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// Of a version that recorded each cell's allocator rather than the whole proxy.
    #[error(
        "recorded by version 0.2 or older, at the allocator's boundary: replay it with that version"
    )]
    Former,
    /// No JSON, or not what an entry has.
    #[error("column {column}: {problem}")]
    Json {
        /// Where reading stopped, from 1.
        column: usize,
        /// What was wrong there.
        problem: String,
    },
}

impl Entry {
    /// As a line of JSON, without the line end.
    pub fn encode(&self) -> Vec<u8> {
        // only maps with other keys than text and failing writers can fail; an entry has neither
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From a line of JSON.
    ///
    /// # Errors
    /// What is no entry.
    pub fn decode(line: &[u8]) -> Result<Self, EntryError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(EntryError::TooLong { length: line.len() });
        }
        serde_json::from_slice(line).map_err(|error| {
            if line.starts_with(b"{\"cell\":") {
                return EntryError::Former;
            }
            EntryError::Json {
                column: error.column(),
                problem: error.to_string(),
            }
        })
    }
}

/// Records a machine's calls and actions.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The time of the last call.
    at: Instant,
    sink: Box<dyn Record>,
}

impl Recorder {
    pub(crate) fn new(sink: Box<dyn Record>) -> Self {
        Self {
            at: Instant::ZERO,
            sink,
        }
    }

    pub(crate) fn event(&mut self, now: Instant, event: Event) {
        self.at = now;
        let what = What::In(event);
        self.sink.record(Entry { at: now, what });
    }

    pub(crate) fn action(&mut self, action: &Action) {
        let what = What::Out(action.clone());
        self.sink.record(Entry { at: self.at, what });
    }
}

#[cfg(test)]
mod tests;
