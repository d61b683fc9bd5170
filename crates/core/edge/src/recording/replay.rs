//! Decides a recording once more.

use super::{Entry, Event, What};
use crate::{Action, Adopted, ConfigError, Edge};
use rapid::{FlowId, FlowTelemetry};
use rnis::CellId;
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Instant};

/// Why a replay ends: an entry that cannot be, or an action that differs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The first entry is not the configuration.
    #[error("there is no configuration: the recording does not begin with it")]
    NotBegun,
    /// The configuration is out of range.
    #[error("configuration: {0}")]
    Config(ConfigError),
    /// Time went back.
    #[error("time goes back from {before} to {at}")]
    Backwards {
        /// The time of the entry before.
        before: Instant,
        /// Its own.
        at: Instant,
    },
    /// The machine decides otherwise.
    #[error("a decision differs: recorded {recorded:?}, now {now:?}")]
    Differs {
        /// What the recording has; none if it has no more.
        recorded: Option<Box<Action>>,
        /// What the machine answers; none if nothing.
        now: Option<Box<Action>>,
    },
}

/// What a replay has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cells that reports have named.
    pub cells: usize,
    /// Connections.
    pub flows: u64,
    /// Radio reports, those that were refused among them.
    pub reports: u64,
    /// Of those, refused.
    pub refused: u64,
    /// Messages that are no reports.
    pub unreadable: u64,
    /// Decisions about windows, all identical.
    pub decisions: u64,
    /// All actions, all identical.
    pub actions: u64,
    /// From the first entry to the last.
    pub length: Duration,
}

/// A call whose telemetry is still to come.
#[derive(Debug)]
struct Pending {
    at: Instant,
    event: Event,
    telemetry: BTreeMap<FlowId, FlowTelemetry>,
}

/// A replay in progress.
#[derive(Debug, Default)]
pub struct Replay {
    edge: Option<Edge>,
    pending: Option<Pending>,
    first: Option<Instant>,
    at: Instant,
    cells: BTreeSet<CellId>,
    summary: Summary,
}

impl Replay {
    /// The next entry of the recording.
    ///
    /// # Errors
    /// See [`ReplayError`]; the replay cannot go on then.
    pub fn feed(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let at = entry.at;
        if at < self.at {
            let before = self.at;
            return Err(ReplayError::Backwards { before, at });
        }
        self.at = at;
        let first = *self.first.get_or_insert(at);
        self.summary.length = at.saturating_since(first);
        match &entry.what {
            What::In(Event::Telemetry { flow, telemetry }) => {
                let pending = self.pending.as_mut().ok_or(ReplayError::NotBegun)?;
                pending.telemetry.insert(*flow, *telemetry);
                Ok(())
            }
            What::In(event) => {
                self.call()?;
                // a flow is adopted between two actions; all other calls come when all is carried out
                if self.edge.is_some() && !matches!(event, Event::Adopted { .. }) {
                    self.compare(None)?;
                }
                self.pending = Some(Pending {
                    at,
                    event: event.clone(),
                    telemetry: BTreeMap::new(),
                });
                Ok(())
            }
            What::Out(action) => {
                self.call()?;
                self.count(action);
                self.compare(Some(action))
            }
        }
    }

    fn count(&mut self, action: &Action) {
        self.summary.actions += 1;
        match action {
            Action::Decision(_) => self.summary.decisions += 1,
            Action::Refused { .. } => self.summary.refused += 1,
            Action::State { cell, .. } => {
                self.cells.insert(*cell);
                self.summary.cells = self.cells.len();
            }
            Action::Adopt { .. } | Action::Release { .. } | Action::Unnamed { .. } => {}
        }
    }

    /// Makes the call that is pending.
    fn call(&mut self) -> Result<(), ReplayError> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        let (now, telemetry) = (pending.at, pending.telemetry);
        let mut measure = |flow: FlowId| telemetry.get(&flow).copied();
        if let Event::Begin { config, ues } = pending.event {
            self.edge =
                Some(Edge::new(config, &ues.into_iter().collect()).map_err(ReplayError::Config)?);
            return Ok(());
        }
        let edge = self.edge.as_mut().ok_or(ReplayError::NotBegun)?;
        match pending.event {
            // telemetry is never pending; a beginning was handled above
            Event::Begin { .. } | Event::Telemetry { .. } => {}
            Event::Configure { ues, plain_after } => {
                edge.configure(now, &ues.into_iter().collect(), plain_after);
            }
            Event::Report {
                report,
                is_foreign,
                is_superseded,
            } => {
                self.summary.reports += 1;
                match is_superseded {
                    true => edge.on_superseded_report(now, *report, is_foreign),
                    false => edge.on_report(now, *report, is_foreign, &mut measure),
                };
            }
            // it changes a count only
            Event::Unreadable { .. } => self.summary.unreadable += 1,
            Event::FlowOpen { flow, address } => {
                self.summary.flows += 1;
                edge.on_flow_open(now, flow, address);
            }
            Event::FlowLearnt { flow, learnt } => edge.on_flow_learnt(now, flow, &learnt),
            Event::FlowClose { flow } => edge.on_flow_close(now, flow),
            Event::Adopted {
                flow,
                mss,
                actuator,
            } => edge.on_adopted(now, flow, Adopted { mss, actuator }),
            Event::Deadline => edge.on_deadline(now, &mut measure),
            Event::ReleaseAll => edge.release_all(now),
        }
        Ok(())
    }

    fn compare(&mut self, recorded: Option<&Action>) -> Result<(), ReplayError> {
        let edge = self.edge.as_mut().ok_or(ReplayError::NotBegun)?;
        let now = edge.poll_action();
        if now.as_ref() == recorded {
            return Ok(());
        }
        Err(ReplayError::Differs {
            recorded: recorded.cloned().map(Box::new),
            now: now.map(Box::new),
        })
    }

    /// The recording has ended.
    ///
    /// # Errors
    /// If the machine has decided more than the recording has.
    pub fn finish(mut self) -> Result<Summary, ReplayError> {
        self.call()?;
        if self.edge.is_some() {
            self.compare(None)?;
        }
        Ok(self.summary)
    }
}
