//! What the machine shows of itself.

use super::{Cell, Edge};
use crate::State;
use rapid::{FlowId, FlowTelemetry, Unsplit};
use rnis::intake::IntakeCounts;
use rnis::{CellId, Rnti};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{BitRate, Duration, Instant};

/// A cell that reports have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStatus {
    /// Which.
    pub cell: CellId,
    /// How its flows are handled.
    pub state: State,
    /// Since the last accepted report.
    pub silence: Option<Duration>,
    /// Flows under control.
    pub flows: usize,
}

/// A UE that reports have named, with its flows under control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeFlows {
    /// Its address.
    pub address: IpAddr,
    /// Its cell.
    pub cell: CellId,
    /// Its number there.
    pub rnti: Rnti,
    /// The rate that it could have.
    pub capacity: Option<BitRate>,
    /// Its flows, each with what was last measured.
    pub flows: Vec<(FlowId, FlowTelemetry)>,
}

impl Edge {
    /// What came of the reports.
    pub fn report_counts(&self) -> IntakeCounts {
        self.intake.counts()
    }

    /// What the radio of the UE with this address carries of traffic that is not split; none of a UE that no report has
    /// named.
    pub fn unsplit(&self, now: Instant, address: IpAddr) -> Option<Unsplit> {
        let (cell, rnti) = self.directory.identity(address)?;
        self.cells.get(&cell)?.allocator.unsplit(now, rnti)
    }

    /// Accepted reports behind which others of their cells waited already.
    pub fn superseded_reports(&self) -> u64 {
        self.superseded
    }

    /// Decisions about windows so far.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The cells that reports have named.
    pub fn cells(&self, now: Instant) -> impl Iterator<Item = CellStatus> {
        self.cells.iter().map(move |(id, cell)| CellStatus {
            cell: *id,
            state: cell.state,
            silence: self.intake.silence(now, *id),
            flows: cell.flows.len(),
        })
    }

    /// The UEs that reports have named, by cell and number.
    pub fn ues(&self) -> Vec<UeFlows> {
        let mut named: BTreeMap<CellId, BTreeMap<Rnti, IpAddr>> = BTreeMap::new();
        for (address, (cell, rnti)) in self.directory.iter() {
            named.entry(cell).or_default().insert(rnti, address);
        }
        let mut ues = Vec::new();
        for (id, of) in named {
            let Some(cell) = self.cells.get(&id) else {
                continue;
            };
            let mut by_ue = cell.by_ue();
            ues.extend(of.into_iter().map(|(rnti, address)| UeFlows {
                address,
                cell: id,
                rnti,
                capacity: cell.allocator.capacity(rnti),
                flows: by_ue.remove(&rnti).unwrap_or_default(),
            }));
        }
        ues
    }
}

impl Cell {
    /// Its flows under control by UE, each with its telemetry.
    fn by_ue(&self) -> BTreeMap<Rnti, Vec<(FlowId, FlowTelemetry)>> {
        let mut by_ue: BTreeMap<Rnti, Vec<(FlowId, FlowTelemetry)>> = BTreeMap::new();
        for (flow, held) in self.flows.iter() {
            let of = by_ue.entry(held.ue).or_default();
            of.push((flow, held.telemetry));
        }
        by_ue
    }
}
