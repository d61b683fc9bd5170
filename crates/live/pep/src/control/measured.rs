//! Which flows are measured before each decision: those that have moved since the last one, and those whose state has to
//! be requested of the kernel.

use super::Flows;
use super::held::{Handle, Held};
use crate::touched::Touched;
use rapid::{FlowId, FlowTelemetry};
use std::collections::BTreeSet;
use std::sync::Arc;
use units::Instant;

/// The flows under control, by how it is found out that they have moved.
#[derive(Debug)]
pub(super) struct Tracked {
    touched: Option<Arc<Touched>>,
    /// Those with a place, by that.
    by_place: Vec<Option<FlowId>>,
    /// Those of which nothing is reported.
    paced: BTreeSet<FlowId>,
}

impl Tracked {
    /// None yet.
    pub(super) fn new(touched: Option<Arc<Touched>>) -> Self {
        Self {
            touched,
            by_place: Vec::new(),
            paced: BTreeSet::new(),
        }
    }

    /// A flow is under control from now on; it is measured the next time, whether it moves or not.
    pub(super) fn add(&mut self, id: FlowId, held: &Held) {
        match (held.place(), &self.touched) {
            (Some(place), Some(touched)) => {
                let at = place as usize;
                if self.by_place.len() <= at {
                    self.by_place.resize(at + 1, None);
                }
                self.by_place[at] = Some(id);
                touched.touch(place);
            }
            _ => drop(self.paced.insert(id)),
        }
    }

    /// A flow is to be let go.
    pub(super) fn remove(&mut self, id: FlowId, held: &Held) {
        self.paced.remove(&id);
        let place = held.place().map(|place| place as usize);
        if let Some(at) = place.and_then(|at| self.by_place.get_mut(at)) {
            *at = None;
        }
    }
}

/// What is measured at one time.
pub(super) struct Measuring<'a> {
    pub(super) now: Instant,
    pub(super) flows: &'a mut Flows,
    pub(super) tracked: &'a Tracked,
}

impl edge::Meters for Measuring<'_> {
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry> {
        self.flows.get_mut(&flow)?.measure(self.now)
    }

    fn changed(&mut self, flows: &mut Vec<FlowId>) -> bool {
        let Tracked {
            touched,
            by_place,
            paced,
        } = self.tracked;
        if let Some(touched) = touched {
            touched.take(|place| flows.extend(by_place.get(place as usize).copied().flatten()));
        }
        flows.extend(paced);
        true
    }
}

impl Held {
    /// Its place in the arrays that are shared with the kernel.
    fn place(&self) -> Option<u32> {
        match self.handle.as_ref()? {
            Handle::Follow { slot, .. } => Some(slot.place()),
            Handle::Pace { .. } => None,
        }
    }
}
