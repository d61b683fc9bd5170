//! What is measured of flows under control, on its way to the allocator: of those that have changed, where the driver
//! names them.

use super::{Cell, Edge};
use crate::recording::{Event, Recorder};
use rapid::{FlowId, FlowTelemetry};
use rnis::CellId;
use units::Instant;

/// What a driver measures of flows under control.
pub trait Meters {
    /// What is measured of a flow; none if that is what it was.
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry>;

    /// Appends those of which something may have changed since they were last appended, in any order, and gives true.
    /// False: it may have of any flow.
    fn changed(&mut self, flows: &mut Vec<FlowId>) -> bool {
        let _ = flows;
        false
    }
}

impl<F: FnMut(FlowId) -> Option<FlowTelemetry>> Meters for F {
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry> {
        self(flow)
    }
}

impl Edge {
    /// Hands what is measured of a cell's flows to its allocator.
    pub(super) fn take_telemetry(&mut self, now: Instant, id: CellId, meters: &mut dyn Meters) {
        let mut changed = core::mem::take(&mut self.changed);
        let are_named = meters.changed(&mut changed);
        for flow in changed.drain(..) {
            // that of another cell waits for that cell's turn
            let home = self.flows.get_mut(flow).and_then(|flow| flow.home);
            if let Some(cell) = home.and_then(|(home, _)| self.cells.get_mut(&home))
                && !cell.allocator.takes_unchanged()
            {
                cell.changed.push(flow);
            }
        }
        self.changed = changed;
        if let Some(cell) = self.cells.get_mut(&id) {
            cell.take_telemetry(now, are_named, meters, &mut self.recorder);
        }
    }
}

impl Cell {
    fn take_telemetry(
        &mut self,
        now: Instant,
        are_named: bool,
        meters: &mut dyn Meters,
        recorder: &mut Option<Recorder>,
    ) {
        let mut flows = core::mem::take(&mut self.changed);
        if are_named && !self.allocator.takes_unchanged() {
            flows.sort_unstable();
            flows.dedup();
        } else {
            flows.clear();
            flows.extend(self.flows.iter().map(|(id, _)| id));
        }
        for flow in flows.drain(..) {
            self.hand(now, flow, meters, recorder);
        }
        self.changed = flows;
    }

    /// Hands what is measured of one flow to the allocator, if it has changed or that matters not.
    fn hand(
        &mut self,
        now: Instant,
        flow: FlowId,
        meters: &mut dyn Meters,
        recorder: &mut Option<Recorder>,
    ) {
        let Some(held) = self.flows.get_mut(flow) else {
            return;
        };
        let telemetry = meters.measure(flow).unwrap_or(held.telemetry);
        let has_changed = telemetry != held.telemetry;
        if has_changed {
            held.telemetry = telemetry;
            if let Some(recorder) = recorder {
                recorder.event(now, Event::Telemetry { flow, telemetry });
            }
        }
        let is_first = core::mem::take(&mut held.is_unmeasured);
        if has_changed || is_first || self.allocator.takes_unchanged() {
            self.allocator.on_telemetry(now, flow, &telemetry);
        }
    }
}

#[cfg(test)]
mod tests;
