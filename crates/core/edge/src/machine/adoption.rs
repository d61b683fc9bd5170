//! When a flow comes under control, in which cell, and when it is let go.

use super::{Cell, Edge, Held};
use crate::flows::Flow;
use crate::recording::Event;
use crate::{Action, Adopted, State};
use rapid::{FlowId, FlowOpened, FlowTelemetry, Learnt};
use rnis::Rnti;
use std::net::IpAddr;
use units::Instant;

impl Edge {
    /// A flow's server has answered. `address`: the UE's. A number that is in use is ignored.
    pub fn on_flow_open(&mut self, now: Instant, flow: FlowId, address: IpAddr) {
        self.note(now, || Event::FlowOpen { flow, address });
        let address = address.to_canonical();
        let young_until = now + self.config.adopt_after;
        let max_age = self.config.allocator.report_max_age;
        self.first_report_until.get_or_insert(now + max_age);
        self.flows.insert(flow, address, young_until);
    }

    /// A flow that has opened comes from another proxy, which has learnt this.
    pub fn on_flow_learnt(&mut self, now: Instant, flow: FlowId, learnt: &Learnt) {
        self.note(now, || Event::FlowLearnt {
            flow,
            learnt: *learnt,
        });
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.learnt = Some(*learnt);
        }
    }

    /// What another proxy is to go on with, of each flow of a UE of which anything is: what was learnt here or, before it was
    /// adopted, came from the proxy before.
    pub fn learnt_of(&self, address: IpAddr) -> Vec<(FlowId, Learnt)> {
        let learnt = |id: FlowId| {
            let flow = self.flows.get(id)?;
            let home = flow.home.and_then(|(home, _)| self.cells.get(&home));
            let here = home.and_then(|cell| cell.allocator.learnt(id));
            Some((id, here.or(flow.learnt)?))
        };
        let flows = self.flows.of(address.to_canonical());
        flows.into_iter().filter_map(learnt).collect()
    }

    /// A flow has ended.
    pub fn on_flow_close(&mut self, now: Instant, flow: FlowId) {
        self.note(now, || Event::FlowClose { flow });
        self.release(now, flow);
        self.flows.remove(flow);
    }

    /// [`Action::Adopt`] was carried out.
    pub fn on_adopted(&mut self, now: Instant, flow: FlowId, adopted: Adopted) {
        let Adopted { mss, actuator } = adopted;
        self.note(now, || Event::Adopted {
            flow,
            mss,
            actuator,
        });
        // it may have been released meanwhile
        let Some(known) = self.flows.get_mut(flow) else {
            return;
        };
        if let Some((id, ue)) = known.home
            && let Some(cell) = self.cells.get_mut(&id)
        {
            cell.open(now, flow, ue, adopted);
            if let Some(learnt) = known.learnt.take() {
                cell.allocator.on_flow_learnt(now, flow, &learnt);
            }
            self.collect(id);
        }
    }

    /// All flows are plain from now on.
    pub fn release_all(&mut self, now: Instant) {
        self.note(now, || Event::ReleaseAll);
        for flow in self.flows.ids() {
            self.release(now, flow);
        }
    }

    /// Has a flow adopted, if it is old enough, its UE is named and its cell reports.
    pub(super) fn adopt(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        if flow.is_young || flow.home.is_some() {
            return;
        }
        let Some(identity) = self.directory.identity(flow.address) else {
            return;
        };
        let is_reporting = |cell: &Cell| cell.state != State::Plain;
        if self.cells.get(&identity.0).is_some_and(is_reporting) {
            flow.home = Some(identity);
            self.actions.push_back(Action::Adopt { flow: id });
        }
    }

    /// A flow under control stays so where its UE has another number or another cell: a release would show the server
    /// the whole buffer.
    pub(super) fn move_home(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        let (Some(before), Some(identity)) = (flow.home, self.directory.identity(flow.address))
        else {
            return;
        };
        if before == identity {
            return;
        }
        flow.home = Some(identity);
        let cell = self.cells.get_mut(&before.0);
        // none: that it is adopted has not been answered yet
        let held = cell.and_then(|cell| cell.take(now, id));
        self.collect(before.0);
        if let Some((held, cell)) = held.zip(self.cells.get_mut(&identity.0)) {
            cell.put(now, id, identity.1, held);
            self.collect(identity.0);
        }
    }

    /// A flow that is old enough and was not adopted: the server was shown little until now.
    pub(super) fn release_plain(&mut self, flow: FlowId) {
        let is_plain = |flow: &mut Flow| flow.home.is_none();
        if self.flows.get_mut(flow).is_some_and(is_plain) {
            self.actions.push_back(Action::Release { flow });
        }
    }

    /// Has a flow relayed and nothing more, if it was under control.
    pub(super) fn release(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        if let Some((home, _)) = flow.home.take()
            && let Some(cell) = self.cells.get_mut(&home)
        {
            cell.take(now, id);
            self.actions.push_back(Action::Release { flow: id });
            self.collect(home);
        }
    }
}

impl Cell {
    /// A flow is under control from now on.
    fn open(&mut self, now: Instant, flow: FlowId, ue: Rnti, adopted: Adopted) {
        let held = Held {
            ue,
            mss: adopted.mss,
            actuator: adopted.actuator,
            telemetry: FlowTelemetry::default(),
            is_unmeasured: true,
            unsent: None,
            pace: None,
        };
        self.put(now, flow, ue, held);
    }

    /// A flow is no longer under control here. Gives what was held of it; none if it was not.
    fn take(&mut self, now: Instant, flow: FlowId) -> Option<Held> {
        let held = self.flows.remove(flow)?;
        self.allocator.on_flow_close(now, flow);
        Some(held)
    }

    /// A flow that was under control in another cell, or as another UE of this one, goes on here.
    fn put(&mut self, now: Instant, flow: FlowId, ue: Rnti, mut held: Held) {
        let mss = held.mss;
        held.ue = ue;
        held.is_unmeasured = true;
        self.changed.push(flow);
        let place = self.flows.insert(flow, held);
        let opened = FlowOpened { ue, mss, place };
        self.allocator.on_flow_open(now, flow, opened);
    }
}
