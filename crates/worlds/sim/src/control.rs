//! The proxy's control plane: radio reports on their way, and the machine that reads them. It decides nothing:
//! telemetry and reports go into [`edge::Edge`], actions come out.

use crate::schedule::EntityId;
use edge::{Actuator, Edge};
use network::ReportChannel;

/// The control plane with its places in the schedule.
#[derive(Debug)]
pub(crate) struct Control {
    /// What decides.
    pub(crate) edge: Edge,
    /// How windows towards UEs are set.
    pub(crate) actuator: Actuator,
    /// Reports on their way to it.
    pub(crate) reports: ReportChannel,
    /// Makes reports.
    pub(crate) report_entity: EntityId,
    /// Hands over reports.
    pub(crate) arrival_entity: EntityId,
    /// The machine's own deadlines.
    pub(crate) edge_entity: EntityId,
    /// Sessions that have opened or ended since the machine was last called.
    pub(crate) changes: Vec<SessionChange>,
}

/// What became of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionChange {
    /// Its server has answered.
    Opened(u32),
    /// It has ended.
    Closed(u32),
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
