//! Time series, and how well the bottleneck was used.

use super::World;
use crate::host::Host;
use crate::schedule::EntityId;
use cc::RateReport;
use network::measure::{FlowStep, SenderStep, Totals};
use scenario::Metric;
use units::Instant;

impl World {
    /// A flow becomes active, once.
    pub(super) fn bottleneck_starts(&mut self, flow: u32) {
        if !core::mem::replace(&mut self.flows[flow as usize].has_started, true) {
            let totals = self.totals(self.now);
            self.bottleneck.start(self.now, totals);
        }
    }

    /// A flow is no longer active.
    pub(super) fn bottleneck_ends(&mut self) {
        let totals = self.totals(self.now);
        self.bottleneck.end(self.now, totals);
    }

    /// What the bottleneck has carried, and could have carried, until `now`.
    pub(super) fn totals(&mut self, now: Instant) -> Totals {
        self.net.totals(now)
    }

    /// A step of the time series.
    pub(super) fn sample(&mut self, id: EntityId) {
        let now = self.now;
        self.net.schedule.set(id, Some(now + self.sample_interval));
        self.net.settle(now);
        self.series.begin_step();
        for flow in 0..self.flows.len() as u32 {
            self.check_datagrams(flow);
            self.sample_flow(flow);
        }
        self.sample_tunnels();
        self.net.sample(now, &mut self.series);
        self.series.end_step(now);
    }

    fn sample_flow(&mut self, flow: u32) {
        let now = self.now;
        let sender = self.sender_of(flow);
        let step = FlowStep {
            sender: sender.map(Host::stats).map(|stats| SenderStep {
                bytes_in_flight: stats.bytes_in_flight,
                cwnd: stats.cwnd,
                peer_window: stats.peer_window,
            }),
            report: self.report_of(flow),
            view: sender.and_then(Host::rate_view),
        };
        let decision = self.decision_of(flow);
        let state = &mut self.flows[flow as usize];
        let (name, series) = (&state.spec.name, &mut self.series);
        let meter = &mut state.meter;
        step.push(now, self.sample_interval, (name, meter), series);
        if let Some(decision) = decision {
            let window = decision.ran_window.get() as f64;
            series.push(name, Metric::RanWindow, now, window);
            series.push(
                name,
                Metric::IsSlow,
                now,
                f64::from(u8::from(decision.is_slow)),
            );
        }
        if state.spec.meld.is_some() {
            let counts = state.decisions.counts();
            let mut record = |metric, n: u64| series.record(name, metric, now, n as f64);
            record(Metric::LossCongestion, counts.congestion);
            record(Metric::LossRadio, counts.radio);
            record(Metric::LossUnknown, counts.unknown);
        }
        if let Some(queue) = &state.proxy_queue {
            queue.push(now, series);
        }
    }

    /// What the client of a flow measures.
    fn report_of(&self, flow: u32) -> Option<RateReport> {
        let state = &self.flows[flow as usize];
        if let Some(reporter) = &state.reporter {
            return Some(reporter.rate());
        }
        let session = self.sessions[state.latest? as usize].as_ref()?;
        session.client.connection.reported_rate()
    }

    fn decision_of(&self, flow: u32) -> Option<edge::Windows> {
        let id = self.flows[flow as usize].latest?;
        self.sessions[id as usize]
            .as_ref()?
            .relay
            .as_ref()?
            .decision
    }
}
