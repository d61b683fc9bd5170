//! The split proxy at the edge, and the control plane beside it.

use super::World;
use crate::relay::Relay;
use crate::schedule::EntityId;
use crate::session::{Session, Side};
use rapid::{Decision, FlowId, FlowOpened, FlowTelemetry};

impl World {
    /// The proxy takes a connection: it answers the client itself, and opens its own to the server.
    pub(super) fn intercept(&mut self, session: &mut Session, id: u32) {
        let now = self.now;
        let flow = session.flow;
        let ran = self.new_relay_connection(flow, session.number, Side::ProxyRan);
        let wan = self.new_relay_connection(flow, session.number, Side::ProxyWan);
        let ran = self.endpoint(id, Side::ProxyRan, ran);
        let mut wan = self.endpoint(id, Side::ProxyWan, wan);
        wan.connection.open(now);
        session.relay = Some(Box::new(Relay::new(ran, wan)));
        let state = &self.flows[flow as usize];
        if let Some(control) = &mut self.control {
            let opened = FlowOpened {
                ue: state.rnti,
                mss: state.spec.tcp.mss,
            };
            control
                .allocator
                .on_flow_open(now, FlowId(u64::from(id)), opened);
            control.flows.push(id);
            self.wake_allocator();
        }
    }

    /// After anything happened at the proxy's part of a session.
    pub(super) fn settle_proxy(&mut self, session: &mut Session, id: u32) {
        let now = self.now;
        let Some(relay) = &mut session.relay else {
            return;
        };
        relay.run(now);
        self.transmit(session, id, Side::ProxyRan);
        self.transmit(session, id, Side::ProxyWan);
        self.take_rtt_samples(session, Side::ProxyRan);
        self.take_rtt_samples(session, Side::ProxyWan);
        let state = &mut self.flows[session.flow as usize];
        if let (Some(relay), Some(queue)) = (&mut session.relay, &mut state.proxy_queue) {
            let direction = state.spec.direction;
            queue.set(now, relay.buffered(direction));
            while let Some(wait) = relay.pop_wait(now, direction) {
                queue.left(wait);
            }
            if relay.take_finished() {
                self.close_for_allocator(id);
            }
        }
    }

    /// A session with a relay is over.
    pub(super) fn end_relay(&mut self, id: u32, session: &Session) {
        if let Some(relay) = &session.relay {
            self.net.schedule.set(relay.ran.timer, None);
            self.net.schedule.set(relay.wan.timer, None);
        }
        self.close_for_allocator(id);
    }

    /// The allocator need no longer count a session. Harmless if it does not.
    fn close_for_allocator(&mut self, id: u32) {
        if let Some(control) = &mut self.control
            && let Some(at) = control.flows.iter().position(|&flow| flow == id)
        {
            control.flows.remove(at);
            control
                .allocator
                .on_flow_close(self.now, FlowId(u64::from(id)));
            self.wake_allocator();
        }
    }

    /// Has the allocator's decisions carried out before time moves on: it cannot be done
    /// in the middle of a session.
    fn wake_allocator(&mut self) {
        if let Some(control) = &self.control {
            self.net
                .schedule
                .set(control.allocator_entity, Some(self.now));
        }
    }

    /// The cell makes a radio report.
    pub(super) fn make_report(&mut self, id: EntityId) {
        let now = self.now;
        if let (Some(control), Some(cell)) = (&mut self.control, self.net.cell()) {
            let report = cell.report(now);
            let copy = self.server_reports.is_some().then(|| report.clone());
            control.reports.send(now, report);
            let next = control.reports.next_report();
            let arrival = control.reports.next_arrival();
            self.net.schedule.set(id, Some(next));
            self.net.schedule.set(control.arrival_entity, arrival);
            if let Some(report) = copy {
                self.send_to_servers(report);
            }
        }
    }

    /// A radio report reaches the proxy.
    pub(super) fn on_report_arrival(&mut self, id: EntityId) {
        let now = self.now;
        while let Some(control) = &mut self.control
            && let Some(report) = control.reports.take_arrived(now)
        {
            self.hand_over_telemetry();
            if let Some(control) = &mut self.control {
                control.allocator.on_report(now, &report);
            }
        }
        self.carry_out_decisions();
        if let Some(control) = &self.control {
            self.net.schedule.set(id, control.reports.next_arrival());
        }
    }

    /// The allocator's deadline has come, or a flow has come or gone.
    pub(super) fn on_allocator_deadline(&mut self) {
        let now = self.now;
        let is_due = self.control.as_ref().is_some_and(|control| {
            control
                .allocator
                .next_deadline()
                .is_some_and(|deadline| deadline <= now)
        });
        if is_due {
            self.hand_over_telemetry();
            if let Some(control) = &mut self.control {
                control.allocator.on_deadline(now);
            }
        }
        self.carry_out_decisions();
    }

    fn hand_over_telemetry(&mut self) {
        let Some(control) = &mut self.control else {
            return;
        };
        for &id in &control.flows {
            if let Some(session) = &mut self.sessions[id as usize]
                && let Some(relay) = &mut session.relay
            {
                let telemetry = telemetry(relay);
                control
                    .allocator
                    .on_telemetry(self.now, FlowId(u64::from(id)), &telemetry);
            }
        }
    }

    fn carry_out_decisions(&mut self) {
        let Some(control) = &mut self.control else {
            return;
        };
        let decisions = control.take_decisions();
        for decision in &decisions {
            self.carry_out(decision);
        }
        if let Some(control) = &mut self.control {
            control.give_back(decisions);
            let deadline = control.allocator.next_deadline();
            self.net.schedule.set(control.allocator_entity, deadline);
        }
    }

    fn carry_out(&mut self, decision: &Decision) {
        let id = u32::try_from(decision.flow.0).expect("flows are numbered by session");
        self.with_session(id, |world, session| {
            if let Some(relay) = &mut session.relay {
                relay.ran.connection.set_allocation(world.now, decision.ran);
                relay.decision = Some(*decision);
                world.settle_proxy(session, id);
            }
        });
    }
}

fn telemetry(relay: &Relay) -> FlowTelemetry {
    let (ran, wan) = (relay.ran.connection.stats(), relay.wan.connection.stats());
    FlowTelemetry {
        wan_arrived: relay.wan_arrived(),
        wan_min_rtt: wan.min_rtt,
        wan_srtt: wan.srtt,
        ran_min_rtt: ran.min_rtt,
        ran_srtt: ran.srtt,
        ran_acked: ran.bytes_acked,
        ran_in_flight: ran.bytes_in_flight,
        buffered: relay.buffered(scenario::Direction::Down),
    }
}
