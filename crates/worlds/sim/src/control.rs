//! The proxy's control plane: radio reports on their way, and the allocator that reads them. It
//! decides nothing: telemetry and reports go into [`rapid::Allocator`], decisions come out.

use crate::schedule::EntityId;
use network::ReportChannel;
use rapid::{Allocator, Decision};
use rnis::CellId;

/// The control plane with its places in the schedule.
#[derive(Debug)]
pub(crate) struct Control {
    /// The cell that reports.
    pub(crate) cell: CellId,
    /// The allocator.
    pub(crate) allocator: Allocator,
    /// Reports on their way to it.
    pub(crate) reports: ReportChannel,
    /// Makes reports.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
    /// The allocator's own deadlines.
    pub(crate) allocator_entity: EntityId,
    /// The sessions that the allocator counts.
    pub(crate) flows: Vec<u32>,
    /// Decisions to carry out; kept to reuse its memory.
    pub(crate) decisions: Vec<Decision>,
}

impl Control {
    /// Fetches all decisions.
    pub(crate) fn take_decisions(&mut self) -> Vec<Decision> {
        let mut decisions = core::mem::take(&mut self.decisions);
        while let Some(decision) = self.allocator.poll_decision() {
            decisions.push(decision);
        }
        decisions
    }

    /// Gives the list back.
    pub(crate) fn give_back(&mut self, mut decisions: Vec<Decision>) {
        decisions.clear();
        self.decisions = decisions;
    }
}

/// Radio reports for the servers whose flows use MELD, and for the clients that report as CQIC.
#[derive(Debug)]
pub(crate) struct ServerReports {
    /// Clients' modems record them as a report is made.
    pub(crate) is_for_clients: bool,
    /// Reports on their way.
    pub(crate) reports: ReportChannel,
    /// Makes reports; rests where the proxy's are made.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
}
