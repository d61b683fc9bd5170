//! Several cells, and how users are handed over between them.

use crate::experiment::{CellSpec, OutageSpec};
use crate::moving::MovingSpec;
use mobility::{LinkMonitorConfig, MeasurementsConfig, ReestablishmentConfig, Timing};
use std::sync::Arc;

/// The cells of a scenario that has several, and what hands users over between them.
#[derive(Clone, Debug)]
pub struct CellsSpec {
    /// At least two; the first is the experiment's access too.
    pub cells: Vec<NamedCell>,
    /// What users measure, and when they report a better cell.
    pub measurements: MeasurementsConfig,
    /// How long the steps of a handover take.
    pub timing: Timing,
    /// The source forwards what it has not delivered.
    pub is_forwarding: bool,
    /// When a user has lost its cell.
    pub link_monitor: LinkMonitorConfig,
    /// How it comes back then.
    pub reestablishment: ReestablishmentConfig,
    /// By user: the cell that serves it first; none: the one that it receives best.
    pub first: Vec<Option<usize>>,
}

/// One of several cells.
#[derive(Clone, Debug)]
pub struct NamedCell {
    /// Its name.
    pub name: String,
    /// The cell.
    pub spec: CellSpec,
    /// Of its power, the part that disturbs the other cells on its carrier, 0 to 1.
    pub activity: f64,
    /// It sends nothing during this time.
    pub outage: Option<OutageSpec>,
    /// By user: its radio to this cell.
    pub radios: Vec<Arc<MovingSpec>>,
}
