//! The intake of radio reports: which are accepted, and when they were made. One rule set for every program.
//!
//! ```text
//!   bytes -> decode -> values possible? -> in order? -> on our clock, fresh enough? -> Accepted
//!              |              |                |                   |
//!          unreadable      absurd      repeated, late             old
//! ```
//! - A report is refused if it contradicts itself or has a value that no base station can have.
//! - Order is by the cell's slots: a report of the last slot is repeated, one of an earlier slot is late,
//!   until the cell counts anew ([`crate::order`]).
//! - Age is by the UEs' timestamps on this machine's clock ([`SourceClock`]); a report without UEs has none.
//! - A UE without an address gets that of the mapping; without one it stays in the report, since its PRBs
//!   are in use.

mod clock;
mod plausible;
#[cfg(test)]
mod tests;

pub use clock::{Placed, SourceClock};
pub use plausible::CheckedReport;
pub(crate) use plausible::MAX_PRB;

use crate::codec::decode;
use crate::identity::{MissingMapping, UeId, UeMap};
use crate::order::{Arrival, Order};
use crate::{CellId, DecodeError, RadioReport};
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Cells that can be followed at once: reports of invented cells must not fill the memory.
pub const MAX_CELLS: usize = 1024;
/// Once every report of a cell was too old for so long, the clock of its source is taken to have been set
/// back, and the next report sets it anew.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a report was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is no report.
    #[error("{0}")]
    Unreadable(DecodeError),
    /// Its values contradict one another.
    #[error("{0}")]
    Contradictory(DecodeError),
    /// Its values cannot be true.
    #[error("cell {cell}: {what}")]
    Absurd {
        /// The cell.
        cell: u32,
        /// What is wrong.
        what: String,
    },
    /// Of the same slot as the last of its cell.
    #[error("cell {cell}: a report of slot {slot} again")]
    Repeated {
        /// The cell.
        cell: u32,
        /// The slot.
        slot: u64,
    },
    /// Of an earlier slot than the last of its cell.
    #[error("cell {cell}: a report of slot {slot}, older than the last")]
    Late {
        /// The cell.
        cell: u32,
        /// The slot.
        slot: u64,
    },
    /// Older on arrival than the limit.
    #[error("cell {cell}: a report that was {age} old when it came")]
    Old {
        /// The cell.
        cell: u32,
        /// Its age.
        age: Duration,
    },
    /// More cells than can be followed.
    #[error("cell {cell}: reports of {MAX_CELLS} cells are followed already")]
    TooManyCells {
        /// The cell.
        cell: u32,
    },
}

impl Refusal {
    /// Its name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Contradictory(_) | Self::Absurd { .. } => "absurd",
            Self::Repeated { .. } => "repeated",
            Self::Late { .. } => "late",
            Self::Old { .. } => "old",
            Self::TooManyCells { .. } => "cells",
        }
    }
}

/// A report that passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The report, with addresses from the mapping. Its timestamps are as its source gave them.
    pub report: CheckedReport,
    /// UEs without a mapping.
    pub unknown: Vec<MissingMapping>,
    /// The cell's slots jumped back; this report begins a new series.
    pub restarted: bool,
    /// When its period ended, on our clock; none of a report without UEs.
    pub placed: Option<Placed>,
}

impl Accepted {
    /// The report, its timestamps on our clock; none is after `now`, the time of its arrival.
    pub fn on_our_clock(mut self, now: Instant) -> CheckedReport {
        if let Some(placed) = self.placed {
            for ue in &mut self.report.inner().ues {
                ue.timestamp = placed.of(ue.timestamp).min(now);
            }
        }
        self.report
    }
}

/// What has come in, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    /// Accepted.
    pub accepted: u64,
    /// No reports.
    pub unreadable: u64,
    /// With values that contradict themselves or that no base station can have; of too many cells.
    pub absurd: u64,
    /// Of the same slot as the last of their cell.
    pub repeated: u64,
    /// Of an earlier slot.
    pub late: u64,
    /// Older on arrival than the limit.
    pub old: u64,
    /// Accepted of a source on this machine although their time is not of this machine's clock.
    pub skewed: u64,
    /// UEs of accepted reports whose address is not known.
    pub unmapped_ues: u64,
}

impl IntakeCounts {
    /// Of no later slot than the last of their cell.
    pub fn out_of_order(&self) -> u64 {
        self.repeated + self.late
    }

    fn add(&mut self, refusal: &Refusal) {
        let counter = match refusal {
            Refusal::Unreadable(_) => &mut self.unreadable,
            Refusal::Contradictory(_) | Refusal::Absurd { .. } | Refusal::TooManyCells { .. } => {
                &mut self.absurd
            }
            Refusal::Repeated { .. } => &mut self.repeated,
            Refusal::Late { .. } => &mut self.late,
            Refusal::Old { .. } => &mut self.old,
        };
        *counter += 1;
    }
}

/// What is known of a cell's reports.
#[derive(Debug, Default)]
struct Series {
    order: Order,
    clock: SourceClock,
    accepted_at: Option<Instant>,
}

/// Accepts or refuses the reports of all cells.
#[derive(Debug, Default)]
pub struct Intake {
    ues: UeMap,
    max_age: Option<Duration>,
    cells: BTreeMap<CellId, Series>,
    counts: IntakeCounts,
}

impl Intake {
    /// With addresses for UEs whose reports carry none. Reports that are older than `max_age` on arrival
    /// are refused; without it none is.
    pub fn new(ues: UeMap, max_age: Option<Duration>) -> Self {
        Self {
            ues,
            max_age,
            ..Self::default()
        }
    }

    /// Applies another mapping and another limit of age.
    pub fn configure(&mut self, ues: UeMap, max_age: Option<Duration>) {
        (self.ues, self.max_age) = (ues, max_age);
    }

    /// What has come in so far.
    pub fn counts(&self) -> IntakeCounts {
        self.counts
    }

    /// For how long no report of a cell was accepted; none if none ever was.
    pub fn silence(&self, now: Instant, cell: CellId) -> Option<Duration> {
        let accepted_at = self.cells.get(&cell)?.accepted_at?;
        Some(now.saturating_since(accepted_at))
    }

    /// A message that arrived at `now`: a report in JSON or in the binary form. `is_foreign`: its source is
    /// on another machine.
    ///
    /// # Errors
    /// Why it must not be used.
    pub fn message(
        &mut self,
        now: Instant,
        bytes: &[u8],
        is_foreign: bool,
    ) -> Result<Accepted, Refusal> {
        match decode(bytes) {
            Ok(report) => self.report(now, report, is_foreign),
            Err(error) => Err(self.no_report(error)),
        }
    }

    /// Counts a message that was decoded elsewhere and is no report.
    pub fn no_report(&mut self, error: DecodeError) -> Refusal {
        let refusal = match error {
            DecodeError::Report(_) => Refusal::Contradictory(error),
            _ => Refusal::Unreadable(error),
        };
        self.counts.add(&refusal);
        refusal
    }

    /// A report; as [`Self::message`].
    ///
    /// # Errors
    /// Why it must not be used.
    pub fn report(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
    ) -> Result<Accepted, Refusal> {
        let verdict = self.judge(now, report, is_foreign);
        match &verdict {
            Ok(accepted) => {
                self.counts.accepted += 1;
                self.counts.unmapped_ues += accepted.unknown.len() as u64;
                self.counts.skewed += u64::from(accepted.placed.is_some_and(|p| p.is_skewed));
            }
            Err(refusal) => self.counts.add(refusal),
        }
        verdict
    }

    fn judge(
        &mut self,
        now: Instant,
        report: RadioReport,
        is_foreign: bool,
    ) -> Result<Accepted, Refusal> {
        let mut report = CheckedReport::new(report)?;
        let id = report.cell.id;
        let cell = id.0;
        if !self.cells.contains_key(&id) && self.cells.len() >= MAX_CELLS {
            return Err(Refusal::TooManyCells { cell });
        }
        let series = self.cells.entry(id).or_default();
        let restarted = series.in_order(&report)?;
        let placed = series.fresh(now, &report, is_foreign, self.max_age)?;
        series.accepted_at = Some(now);
        let unknown = self.name(report.inner());
        Ok(Accepted {
            report,
            unknown,
            restarted,
            placed,
        })
    }

    /// Gives UEs their addresses; names those that have none.
    fn name(&self, report: &mut RadioReport) -> Vec<MissingMapping> {
        let mut unknown = Vec::new();
        for ue in report.ues.iter_mut().filter(|ue| ue.ip.is_none()) {
            match self.ues.address(&[UeId::Rnti(ue.rnti)]) {
                Ok(ip) => ue.ip = Some(ip),
                Err(missing) => unknown.push(missing),
            }
        }
        unknown
    }
}

impl Series {
    /// Whether the report begins a new series.
    fn in_order(&mut self, report: &RadioReport) -> Result<bool, Refusal> {
        let (cell, slot) = (report.cell.id.0, report.cell.slot.get());
        let time_ns = slot.saturating_mul(report.cell.slot_duration.as_nanos());
        match self.order.on_message(time_ns) {
            Arrival::Repeated => Err(Refusal::Repeated { cell, slot }),
            Arrival::Late => Err(Refusal::Late { cell, slot }),
            Arrival::First | Arrival::Next(_) => Ok(false),
            Arrival::Restarted => {
                self.clock = SourceClock::default();
                Ok(true)
            }
        }
    }

    /// When the report was made, on our clock.
    fn fresh(
        &mut self,
        now: Instant,
        report: &RadioReport,
        is_foreign: bool,
        max_age: Option<Duration>,
    ) -> Result<Option<Placed>, Refusal> {
        let Some(stamp) = report.ues.iter().map(|ue| ue.timestamp).max() else {
            return Ok(None);
        };
        let placed = self.clock.place(now, stamp, is_foreign);
        let age = now.saturating_since(placed.at);
        if max_age.is_none_or(|limit| age <= limit) {
            return Ok(Some(placed));
        }
        let silence = self.accepted_at.map(|at| now.saturating_since(at));
        if !self.clock.is_ours() && silence.is_some_and(|silence| silence >= CLOCK_TIMEOUT) {
            self.clock = SourceClock::default();
        }
        let cell = report.cell.id.0;
        Err(Refusal::Old { cell, age })
    }
}
