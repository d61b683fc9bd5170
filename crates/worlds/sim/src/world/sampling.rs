//! Time series, and how well the bottleneck was used.

use super::World;
use crate::host::Host;
use crate::schedule::EntityId;
use cc::RateReport;
use network::measure::Totals;
use scenario::Metric;
use units::{BitRate, Bytes, Instant};

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
        let (delivered, rtt) = self.flows[flow as usize].meter.take_step();
        let sender = self.sender_of(flow);
        let stats = sender.map(Host::stats);
        let view = sender.and_then(Host::rate_view);
        let decision = self.decision_of(flow);
        let report = self.report_of(flow);
        let state = &self.flows[flow as usize];
        let name = &state.spec.name;
        let goodput = BitRate::from_bytes_per(delivered, self.sample_interval);
        let series = &mut self.series;
        series.push(name, Metric::Goodput, now, goodput.as_bps() as f64);
        if let Some(rtt) = rtt {
            series.push(name, Metric::Rtt, now, rtt);
        }
        if let Some(stats) = stats {
            let mut push =
                |metric, bytes: Bytes| series.push(name, metric, now, bytes.get() as f64);
            push(Metric::BytesInFlight, stats.bytes_in_flight);
            push(Metric::Cwnd, stats.cwnd);
            if let Some(peer_window) = stats.peer_window {
                push(Metric::ReceiveWindow, peer_window);
            }
        }
        if let Some(report) = report {
            let rate = report.rate().as_bps() as f64;
            series.push(name, Metric::Report, now, rate);
        }
        if let Some(view) = view {
            series.push(name, Metric::Gain, now, view.gain);
            series.push(name, Metric::SeenDelay, now, view.delay_ms);
            series.push(name, Metric::MinDelay, now, view.least_delay_ms);
        }
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
            series.push(
                queue.name(),
                Metric::QueueBytes,
                now,
                queue.bytes().get() as f64,
            );
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
