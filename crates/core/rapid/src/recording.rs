//! Recordings: what an allocator received and what it decided, one entry a line of JSON, and their
//! replay.
//!
//! ```text
//!   simulator, live proxy --- Allocator ---> Record --> lines
//!   lines --> Entry --> Replay --- Allocator ---> the same decisions, or a Mismatch
//! ```
//!
//! The allocator reads no clock and draws no random number, so its answers are a function of what it
//! is reported. A replay feeds a recording to allocators of its own, one for each cell, and compares
//! every decision with the recorded one. Whichever world wrote the recording, the simulator or the proxy on
//! a live network, the decisions must be identical.
//!
//! Times are nanoseconds, amounts bytes, rates bit/s. The first entry of a cell is its
//! configuration.

use crate::{
    Allocator, AllocatorConfig, ConfigError, Decision, FlowId, FlowOpened, FlowTelemetry, WanWindow,
};
use rnis::{CellId, RadioReport, Rnti};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use units::{BitRate, Bytes, Duration, Instant};

/// Longest line that is read, in bytes: a report of the longest kind with some room around it.
pub const MAX_LINE_BYTES: usize = rnis::codec::MAX_ENCODED_BYTES + 4096;

/// Takes entries as they come. What it does with them is its own affair; it cannot hold up or
/// change a decision.
pub trait Record: Debug + Send {
    /// An entry.
    fn record(&mut self, entry: Entry);
}

/// One call of an allocator, or one of its answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Whose allocator: each cell has one.
    pub cell: CellId,
    /// When; an answer has the time of the call before it.
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What an entry states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// A new allocator.
    Begin {
        /// Its configuration.
        config: AllocatorConfig,
    },
    /// A radio report.
    Report {
        /// The report.
        report: Box<RadioReport>,
    },
    /// A connection was intercepted.
    FlowOpen {
        /// Its number.
        flow: FlowId,
        /// RNTI of its UE.
        ue: Rnti,
        /// Its maximum segment size.
        mss: Bytes,
    },
    /// A connection ended.
    FlowClose {
        /// Its number.
        flow: FlowId,
    },
    /// New counters of a connection.
    Telemetry {
        /// Its number.
        flow: FlowId,
        /// The counters.
        #[serde(flatten)]
        telemetry: FlowTelemetry,
    },
    /// A deadline of the allocator came.
    Deadline,
    /// An answer.
    Decision(Answer),
}

/// A [`Decision`] as a recording has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The connection.
    pub flow: FlowId,
    /// Window towards the server: whatever waits in the proxy, or less what waits there.
    pub wan: WanWindow,
    /// Window towards the UE.
    pub ran_window: Bytes,
    /// Pacing towards the UE, if any.
    pub pacing_bps: Option<BitRate>,
    /// The flow is held for slow.
    pub is_slow: bool,
}

impl From<&Decision> for Answer {
    fn from(decision: &Decision) -> Self {
        Self {
            flow: decision.flow,
            wan: decision.wan_window,
            ran_window: decision.ran.window,
            pacing_bps: decision.ran.pacing_rate,
            is_slow: decision.is_slow,
        }
    }
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
        serde_json::from_slice(line).map_err(|error| EntryError::Json {
            column: error.column(),
            problem: error.to_string(),
        })
    }
}

/// Why a replay ends: an entry that cannot be, or a decision that differs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A cell's first entry is not its configuration.
    #[error("cell {} has no configuration: the recording does not begin with it", cell.0)]
    NotBegun {
        /// The cell.
        cell: CellId,
    },
    /// Its configuration is out of range.
    #[error("configuration of cell {}: {source}", cell.0)]
    Config {
        /// The cell.
        cell: CellId,
        /// What is out of range.
        source: ConfigError,
    },
    /// Time went back.
    #[error("the time of cell {} goes back from {before} to {at}", cell.0)]
    Backwards {
        /// The cell.
        cell: CellId,
        /// The time of the entry before.
        before: Instant,
        /// Its own.
        at: Instant,
    },
    /// The allocator decides otherwise.
    #[error("a decision differs: recorded {recorded:?}, now {now:?}")]
    Differs {
        /// What the recording has; none if it has no more.
        recorded: Option<Answer>,
        /// What the allocator states; none if nothing.
        now: Option<Answer>,
    },
}

/// What a replay has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cells, each with its allocator.
    pub cells: usize,
    /// Connections.
    pub flows: u64,
    /// Radio reports.
    pub reports: u64,
    /// Decisions, all identical.
    pub decisions: u64,
    /// From the first entry to the last.
    pub length: Duration,
}

/// An allocator that receives what another received.
#[derive(Debug)]
struct Twin {
    allocator: Allocator,
    at: Instant,
}

/// A replay in progress.
#[derive(Debug, Default)]
pub struct Replay {
    twins: BTreeMap<CellId, Twin>,
    first: Option<Instant>,
    summary: Summary,
}

impl Replay {
    /// The next entry of the recording.
    ///
    /// # Errors
    /// See [`ReplayError`]; the replay cannot go on then.
    pub fn feed(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let (cell, at) = (entry.cell, entry.at);
        let first = *self.first.get_or_insert(at);
        self.summary.length = self.summary.length.max(at.saturating_since(first));
        if let What::Begin { config } = &entry.what {
            return self.begin(cell, at, config.clone());
        }
        let twin = self
            .twins
            .get_mut(&cell)
            .ok_or(ReplayError::NotBegun { cell })?;
        if at < twin.at {
            let before = twin.at;
            return Err(ReplayError::Backwards { cell, before, at });
        }
        twin.at = at;
        let allocator = &mut twin.allocator;
        match &entry.what {
            What::Begin { .. } => {}
            What::Report { report } => {
                self.summary.reports += 1;
                allocator.on_report(at, report);
            }
            What::FlowOpen { flow, ue, mss } => {
                self.summary.flows += 1;
                let (ue, mss) = (*ue, *mss);
                allocator.on_flow_open(at, *flow, FlowOpened { ue, mss });
            }
            What::FlowClose { flow } => allocator.on_flow_close(at, *flow),
            What::Telemetry { flow, telemetry } => allocator.on_telemetry(at, *flow, telemetry),
            What::Deadline => allocator.on_deadline(at),
            What::Decision(recorded) => {
                self.summary.decisions += 1;
                compare(Some(*recorded), allocator)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        cell: CellId,
        at: Instant,
        config: AllocatorConfig,
    ) -> Result<(), ReplayError> {
        let allocator =
            Allocator::new(config).map_err(|source| ReplayError::Config { cell, source })?;
        let twin = Twin { allocator, at };
        if let Some(mut former) = self.twins.insert(cell, twin) {
            compare(None, &mut former.allocator)?;
        }
        self.summary.cells = self.twins.len();
        Ok(())
    }

    /// The recording has ended.
    ///
    /// # Errors
    /// If an allocator has decided more than the recording has.
    pub fn finish(mut self) -> Result<Summary, ReplayError> {
        for twin in self.twins.values_mut() {
            compare(None, &mut twin.allocator)?;
        }
        Ok(self.summary)
    }
}

fn compare(recorded: Option<Answer>, allocator: &mut Allocator) -> Result<(), ReplayError> {
    let now = allocator.poll_decision().as_ref().map(Answer::from);
    if now == recorded {
        Ok(())
    } else {
        Err(ReplayError::Differs { recorded, now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Part, test_support};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Debug, Default)]
    struct Lines(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Record for Lines {
        fn record(&mut self, entry: Entry) {
            self.0.lock().expect("no panic").push(entry.encode());
        }
    }

    /// A short life of three flows with two reports of different capacity.
    fn recording(config: AllocatorConfig) -> Vec<Vec<u8>> {
        let lines = Lines::default();
        let mut allocator = Allocator::new(config).expect("a configuration in range");
        allocator.record(CellId(3), Instant::ZERO, Box::new(lines.clone()));
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let opened = |ue| FlowOpened {
            ue: Rnti(ue),
            mss: Bytes::new(1448),
        };
        for (flow, ue) in [(1, 1), (2, 1), (3, 2)] {
            allocator.on_flow_open(ms(1), FlowId(flow), opened(ue));
            while allocator.poll_decision().is_some() {}
        }
        for (round, prb) in [(0, [40, 60]), (1, [60, 60]), (2, [0, 100])] {
            for flow in 1..=3u64 {
                let telemetry = FlowTelemetry {
                    wan_arrived: Bytes::new(round * 90_000 / flow),
                    wan_min_rtt: Some(Duration::from_micros(1_700 + flow)),
                    ran_srtt: Some(Duration::from_micros(2_300)),
                    ran_acked: Bytes::new(round * 80_000 / flow),
                    ..FlowTelemetry::default()
                };
                allocator.on_telemetry(ms(10 + round), FlowId(flow), &telemetry);
            }
            let mut report = test_support::report(&prb);
            report.cell.downlink_share = 0.1 + 0.2; // a fraction that is easily read one bit off
            allocator.on_report(ms(10 + round), &report);
            while allocator.poll_decision().is_some() {}
        }
        allocator.on_flow_close(ms(20), FlowId(2));
        allocator.on_deadline(ms(400));
        while allocator.poll_decision().is_some() {}
        lines.0.lock().expect("no panic").clone()
    }

    fn replay(lines: &[Vec<u8>]) -> Result<Summary, ReplayError> {
        let mut replay = Replay::default();
        for line in lines {
            replay.feed(&Entry::decode(line).expect("an entry"))?;
        }
        replay.finish()
    }

    fn both_modes() -> [AllocatorConfig; 2] {
        let mut ours = AllocatorConfig::new(Mode::Default);
        ours.without = vec![Part::Store];
        [AllocatorConfig::new(Mode::Paper), ours]
    }

    #[test]
    fn a_recording_replays_to_the_same_decisions() {
        for config in both_modes() {
            let lines = recording(config);
            let summary = replay(&lines).expect("the same decisions");
            assert_eq!((summary.cells, summary.flows, summary.reports), (1, 3, 3));
            assert!(summary.decisions >= 5, "{summary:?}");
            assert_eq!(summary.length, Duration::from_millis(400));
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for line in both_modes().into_iter().flat_map(recording) {
            let entry = Entry::decode(&line).expect("an entry");
            assert_eq!(entry.encode(), line);
        }
    }

    #[test]
    fn a_changed_report_or_decision_is_noticed() {
        let lines = recording(AllocatorConfig::new(Mode::Default));
        let edit = |from: &str, to: &str| {
            let at = lines
                .iter()
                .rposition(|line| String::from_utf8_lossy(line).contains(from))
                .expect("such a line");
            let mut edited = lines.clone();
            let text = String::from_utf8_lossy(&lines[at]).replacen(from, to, 1);
            edited[at] = text.into_bytes();
            replay(&edited)
        };
        let report = edit("\"n_prb\":132", "\"n_prb\":110");
        assert!(
            matches!(report, Err(ReplayError::Differs { .. })),
            "{report:?}"
        );
        let decision = edit("\"is_slow\":false", "\"is_slow\":true");
        assert!(
            matches!(decision, Err(ReplayError::Differs { .. })),
            "{decision:?}"
        );
    }

    #[test]
    fn a_cut_or_disordered_recording_is_refused() {
        let lines = recording(AllocatorConfig::new(Mode::Default));
        let headless = replay(&lines[1..]);
        assert_eq!(headless, Err(ReplayError::NotBegun { cell: CellId(3) }));
        let short = replay(&lines[..lines.len() - 1]);
        assert!(
            matches!(short, Err(ReplayError::Differs { recorded: None, .. })),
            "{short:?}"
        );
        let mut turned = lines.clone();
        turned.swap(1, lines.len() - 1);
        assert!(matches!(
            replay(&turned),
            Err(ReplayError::Differs { .. } | ReplayError::Backwards { .. })
        ));
    }

    #[test]
    fn errors_of_lines_name_the_line() {
        let error = Entry::decode(b"{\"cell\":1,\"at\":5,\"event\":\"no\"}").expect_err("unknown");
        assert!(error.to_string().contains("unknown variant"), "{error}");
        let long = vec![b' '; MAX_LINE_BYTES + 1];
        assert!(matches!(
            Entry::decode(&long),
            Err(EntryError::TooLong { .. })
        ));
    }
}
