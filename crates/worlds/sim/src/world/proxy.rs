//! The split proxy at the edge, and the control plane beside it.

use super::World;
use super::connections::SPLIT_CC;
use crate::control::SessionChange;
use crate::held::Left;
use crate::relay::{Announced, Relay};
use crate::schedule::EntityId;
use crate::session::{Session, Side};
use cc::CongestionControl;
use edge::{Action, Actuator, Adopted, Windows};
use network::ue_address;
use rapid::{FlowId, FlowTelemetry, FollowAllocation};
use scenario::{PepMode, WindowControl};

impl World {
    /// The proxy takes a connection: it answers the client itself, and opens its own to the server.
    pub(super) fn intercept(&mut self, session: &mut Session, id: u32) {
        let now = self.now;
        let flow = session.flow;
        let ran = self.new_relay_connection(flow, session.number, Side::ProxyRan);
        let wan = self.new_relay_connection(flow, session.number, Side::ProxyWan);
        let ran = self.endpoint(id, Side::ProxyRan, ran);
        let wan = self.endpoint(id, Side::ProxyWan, wan);
        let mut relay = Relay::new(ran, wan);
        if let PepMode::Rapid(config) = &self.pep.mode {
            let mss = self.flows[flow as usize].spec.tcp.mss;
            let (cap, rule) = match self.pep.windows {
                WindowControl::Exact => (self.pep.buffer / 2, None),
                WindowControl::Linux => (self.pep.buffer, Some(config.shown)),
            };
            relay.follow(now, config.young_window, cap, mss, rule);
        }
        relay.wan.connection.open(now);
        session.relay = Some(Box::new(relay));
    }

    /// After anything happened at the proxy's part of a session.
    pub(super) fn settle_proxy(&mut self, session: &mut Session, id: u32) {
        let now = self.now;
        loop {
            let Some(relay) = &mut session.relay else {
                return;
            };
            if relay.acknowledges_first() {
                self.transmit(session, id, Side::ProxyWan);
            }
            let Some(relay) = &mut session.relay else {
                return;
            };
            relay.run(now);
            self.transmit(session, id, Side::ProxyRan);
            // what has left towards the UE does not wait any more
            if let Some(relay) = &mut session.relay {
                relay.show_window(now);
            }
            self.transmit(session, id, Side::ProxyWan);
            // what has just been sent makes room under the bound of unsent data
            if !session
                .relay
                .as_ref()
                .is_some_and(|r| r.has_room_for_more())
            {
                break;
            }
        }
        if let Some(relay) = &session.relay {
            // looked at again as any deadline of that connection
            let (timer, at) = (relay.wan.timer, relay.next_deadline());
            self.net.schedule.set_no_later(timer, at);
        }
        self.take_rtt_samples(session, Side::ProxyRan);
        self.take_rtt_samples(session, Side::ProxyWan);
        let state = &mut self.flows[session.flow as usize];
        if let (Some(relay), Some(queue)) = (&mut session.relay, &mut state.proxy_queue) {
            let direction = state.spec.direction;
            queue.set(now, relay.buffered(direction));
            while let Some(wait) = relay.pop_wait(now, direction) {
                queue.left(wait);
            }
            let is_open = relay.wan.connection.is_established();
            if is_open && relay.announced == Announced::Nothing {
                relay.announced = Announced::Opened;
                self.announce(SessionChange::Opened(id));
            }
            if let Some(relay) = &mut session.relay
                && relay.take_finished()
            {
                self.announce_end(relay, id);
            }
        }
    }

    /// A session with a relay is over.
    pub(super) fn end_relay(&mut self, id: u32, session: &mut Session) {
        if let Some(relay) = &mut session.relay {
            self.net.schedule.set(relay.ran.timer, None);
            self.net.schedule.set(relay.wan.timer, None);
            self.announce_end(relay, id);
        }
    }

    fn announce_end(&mut self, relay: &mut Relay, id: u32) {
        if core::mem::replace(&mut relay.announced, Announced::Ended) == Announced::Opened {
            self.announce(SessionChange::Closed(id));
        }
    }

    /// Has a change applied before time moves on: it cannot be done in the middle of a session.
    fn announce(&mut self, change: SessionChange) {
        if let Some(control) = self.control.as_mut().filter(|control| control.has_flows) {
            control.changes.push(change);
            self.net.schedule.set(control.edge_entity, Some(self.now));
        }
    }

    /// The cell makes a radio report.
    pub(super) fn make_report(&mut self, id: EntityId) {
        let now = self.now;
        if let (Some(control), Some(mut radio)) = (&mut self.control, self.net.radio()) {
            let reports = radio.reports(now);
            let copy = self.server_reports.is_some().then(|| reports.clone());
            control.reports.send_all(now, reports);
            let next = control.reports.next_report();
            let arrival = control.reports.next_arrival();
            self.net.schedule.set(id, Some(next));
            self.net.schedule.set(control.arrival_entity, arrival);
            if let Some(reports) = copy {
                self.send_to_servers(reports);
            }
        }
    }

    /// A radio report reaches the proxy.
    pub(super) fn on_report_arrival(&mut self, id: EntityId) {
        let now = self.now;
        self.apply_changes();
        while let Some(control) = &mut self.control
            && let Some(report) = control.reports.take_arrived(now)
        {
            let sessions = &mut self.sessions;
            let mut measure = |flow: FlowId| measure(sessions, flow);
            let accepted = control.edge.on_report(now, report, false, &mut measure);
            if let Some(report) = accepted {
                control.show_unsplit(now, &report);
            }
            self.carry_out_actions();
            self.release_held(Left::default());
        }
        if let Some(control) = &self.control {
            self.net.schedule.set(id, control.reports.next_arrival());
        }
    }

    /// A deadline of what decides has come, or a flow has come or gone.
    pub(super) fn on_edge_deadline(&mut self) {
        self.apply_changes();
        if let Some(control) = &mut self.control {
            let sessions = &mut self.sessions;
            let mut measure = |flow: FlowId| measure(sessions, flow);
            control.edge.on_deadline(self.now, &mut measure);
        }
        self.carry_out_actions();
    }

    /// Sessions that have opened or ended.
    fn apply_changes(&mut self) {
        let Some(control) = &mut self.control else {
            return;
        };
        for change in core::mem::take(&mut control.changes) {
            match change {
                SessionChange::Opened(id) => self.on_opened(id),
                SessionChange::Closed(id) => {
                    if let Some(control) = &mut self.control {
                        control.edge.on_flow_close(self.now, FlowId(u64::from(id)));
                    }
                }
            }
            self.carry_out_actions();
        }
    }

    fn on_opened(&mut self, id: u32) {
        if let (Some(control), Some(session)) = (&mut self.control, &self.sessions[id as usize]) {
            let ue = self.flows[session.flow as usize].spec.ue;
            let address = ue_address(ue).into();
            control
                .edge
                .on_flow_open(self.now, FlowId(u64::from(id)), address);
        }
    }

    fn carry_out_actions(&mut self) {
        while let Some(control) = &mut self.control
            && let Some(action) = control.edge.poll_action()
        {
            match action {
                Action::Adopt { flow } => self.adopt(flow),
                Action::Decision(windows) => self.set_windows(&windows),
                Action::Release { flow } => self.release(flow),
                Action::Refused { .. } | Action::State { .. } | Action::Unnamed { .. } => {}
            }
        }
        if let Some(control) = &self.control {
            // what changed meanwhile is applied at once
            let deadline = match control.changes.is_empty() {
                true => control.edge.next_deadline(),
                false => Some(self.now),
            };
            self.net.schedule.set(control.edge_entity, deadline);
        }
    }

    /// Takes a flow under control.
    fn adopt(&mut self, flow: FlowId) {
        let Some(control) = &self.control else { return };
        let actuator = control.actuator;
        let mut mss = None;
        self.with_session(session_of(flow), |world, session| {
            mss = Some(world.flows[session.flow as usize].spec.tcp.mss);
            if let (Actuator::Window, Some(mss), Some(relay)) = (actuator, mss, &mut session.relay)
            {
                let cwnd = relay.ran.connection.stats().cwnd;
                let follow: Box<dyn CongestionControl> = Box::new(FollowAllocation::new(mss, cwnd));
                relay.ran.connection.set_controller(follow);
                relay.is_followed = true;
            }
        });
        if let (Some(mss), Some(control)) = (mss, &mut self.control) {
            let adopted = Adopted { mss, actuator };
            control.edge.on_adopted(self.now, flow, adopted);
        }
    }

    fn set_windows(&mut self, windows: &Windows) {
        let id = session_of(windows.flow);
        self.with_session(id, |world, session| {
            let Some(control) = &world.control else {
                return;
            };
            let actuator = control.actuator;
            if let Some(relay) = &mut session.relay {
                let ran = &mut relay.ran.connection;
                match actuator {
                    Actuator::Window => ran.set_allocation(world.now, windows.allocation()),
                    Actuator::Pacing => {
                        if let Some(rate) = windows.pace_bps {
                            ran.set_max_pacing_rate(Some(rate));
                        }
                    }
                }
                relay.decide(world.now, windows);
                world.settle_proxy(session, id);
            }
        });
    }

    /// Has a flow relayed and nothing more.
    fn release(&mut self, flow: FlowId) {
        let id = session_of(flow);
        self.with_session(id, |world, session| {
            let mss = world.flows[session.flow as usize].spec.tcp.mss;
            let Some(relay) = &mut session.relay else {
                return;
            };
            let ran = &mut relay.ran.connection;
            ran.set_max_pacing_rate(None);
            if core::mem::take(&mut relay.is_followed) {
                let cubic = world.controller_from(SPLIT_CC, mss, ran.stats().cwnd);
                ran.set_controller(cubic);
            }
            relay.release(world.now);
            world.settle_proxy(session, id);
        });
    }
}

fn session_of(flow: FlowId) -> u32 {
    u32::try_from(flow.0).expect("flows are numbered by session")
}

/// What the proxy sees of a flow, if it is there.
fn measure(sessions: &[Option<Box<Session>>], flow: FlowId) -> Option<FlowTelemetry> {
    let session = sessions.get(session_of(flow) as usize)?.as_ref()?;
    session.relay.as_deref().map(telemetry)
}

fn telemetry(relay: &Relay) -> FlowTelemetry {
    let (ran, wan) = (relay.ran.connection.stats(), relay.wan.connection.stats());
    FlowTelemetry {
        wan_arrived: relay.wan_arrived(),
        wan_min_rtt: wan.min_rtt,
        wan_srtt: wan.srtt,
        ran_min_rtt: ran.min_rtt,
        ran_srtt: ran.srtt,
        ran_rtt: relay.ran_rtt,
        ran_acked: ran.bytes_acked,
        ran_resent: ran.bytes_resent,
        ran_in_flight: ran.bytes_in_flight,
        buffered: relay.buffered(scenario::Direction::Down),
    }
}
