//! Several cells, and how users are handed over between them.

use crate::experiment::{CellSpec, OutageSpec, TraceSpec};
use crate::moving::MovingSpec;
use mobility::{LinkMonitorConfig, MeasurementsConfig, ReestablishmentConfig, Timing};
use std::sync::Arc;
use units::Duration;

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
    /// By user: when it leaves its cell for which other, in order; none: as event A3 has it.
    pub handovers: Vec<Option<Vec<(Duration, usize)>>>,
    /// What cells with traces are measured by; none if their traces have nothing of that kind.
    pub quantity: Option<TriggerQuantity>,
}

/// What a user measures of cells that were recorded (triggerQuantity of TS 36.331 and 38.331 5.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerQuantity {
    /// Reference signal received power.
    Rsrp,
    /// Signal-to-noise ratio.
    Snr,
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
    /// By user: its radio to this cell; empty where cells have traces.
    pub radios: Vec<Arc<MovingSpec>>,
    /// By user: what this cell is to it, as recorded; empty where places are the radio.
    pub traces: Vec<TraceSpec>,
}
