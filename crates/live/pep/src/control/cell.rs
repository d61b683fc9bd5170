//! One cell: its allocator, its flows, and what is measured and done for them.

use super::freshness::State;
use super::snapshot::UeStatus;
use super::telemetry::telemetry;
use super::windows::{Actuator, FlowHandle};
use crate::flow::Flow;
use crate::meters::Meters;
use crate::recording::Recording;
use crate::sys;
use rapid::{Allocator, AllocatorConfig, ConfigError, FlowId, FlowOpened, FlowTelemetry};
use rnis::{CellId, RadioReport, Rnti};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use units::{Bytes, Duration, Instant};

/// A flow under control.
#[derive(Debug)]
struct Held {
    flow: Weak<Flow>,
    meters: Arc<Meters>,
    ue: Rnti,
    handle: FlowHandle,
    /// What the allocator was last measured.
    measured: FlowTelemetry,
}

/// One cell.
#[derive(Debug)]
pub(super) struct Cell {
    allocator: Allocator,
    flows: BTreeMap<u64, Held>,
    pub(super) state: State,
}

impl Cell {
    /// Without flows, and without reports yet.
    pub(super) fn new(config: AllocatorConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            allocator: Allocator::new(config)?,
            flows: BTreeMap::new(),
            state: State::Plain,
        })
    }

    /// Records all inputs of the allocator from its beginning on, and what it answers.
    pub(super) fn record(&mut self, id: CellId, now: Instant, recording: Recording) {
        self.allocator.record(id, now, Box::new(recording));
    }

    /// Flows under control.
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Takes a flow under control.
    pub(super) fn open(&mut self, now: Instant, flow: &Arc<Flow>, ue: Rnti, by: &mut Actuator) {
        let handle = by.take(flow);
        let mss = sys::tcp_info(&flow.ran).map_or(0, |info| info.snd_mss);
        let mss = if mss == 0 {
            crate::listener::USUAL_MSS
        } else {
            mss
        };
        let held = Held {
            flow: Arc::downgrade(flow),
            meters: Arc::clone(&flow.meters),
            ue,
            handle,
            measured: FlowTelemetry::default(),
        };
        self.flows.insert(flow.id, held);
        let opened = FlowOpened {
            ue,
            mss: Bytes::new(u64::from(mss)),
        };
        self.allocator.on_flow_open(now, FlowId(flow.id), opened);
    }

    /// Lets a flow go; one that has ended, or one that is spliced and nothing more from now on.
    pub(super) fn close(&mut self, now: Instant, id: u64, by: &mut Actuator) {
        if let Some(held) = self.flows.remove(&id) {
            self.allocator.on_flow_close(now, FlowId(id));
            by.release(held.flow.upgrade().as_deref(), &held.handle);
        }
    }

    /// The flows under control.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.flows.keys().copied().collect()
    }

    /// A accepted report. Gives the number of decisions carried out.
    pub(super) fn on_report(&mut self, now: Instant, report: &RadioReport, by: &Actuator) -> u64 {
        self.apply_telemetry(now, by);
        self.allocator.on_report(now, report);
        self.carry_out(by)
    }

    /// When the allocator wants to be called.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.allocator.next_deadline()
    }

    /// Calls the allocator if it wants to be.
    pub(super) fn on_deadline(&mut self, now: Instant, by: &Actuator) -> u64 {
        if self.next_deadline().is_none_or(|at| at > now) {
            return 0;
        }
        self.apply_telemetry(now, by);
        self.allocator.on_deadline(now);
        self.carry_out(by)
    }

    /// Reports the allocator what has changed.
    fn apply_telemetry(&mut self, now: Instant, by: &Actuator) {
        for (id, held) in &mut self.flows {
            let measured = by.measured(now, &held.flow, &mut held.handle);
            let telemetry = telemetry(&held.meters, &measured);
            if telemetry != held.measured {
                held.measured = telemetry;
                self.allocator.on_telemetry(now, FlowId(*id), &telemetry);
            }
        }
    }

    /// Carries out what the allocator has decided. Gives the number of decisions.
    pub(super) fn carry_out(&mut self, by: &Actuator) -> u64 {
        let mut count = 0;
        while let Some(decision) = self.allocator.poll_decision() {
            if let Some(held) = self.flows.get_mut(&decision.flow.0)
                && let Some(flow) = held.flow.upgrade()
            {
                by.apply(&flow, &mut held.handle, &decision);
                count += 1;
            }
        }
        count
    }

    /// What is known of each UE with this address here, added to the list.
    pub(super) fn statuses(&self, of: &BTreeMap<Rnti, (u32, IpAddr)>, list: &mut Vec<UeStatus>) {
        let mut by_ue: BTreeMap<Rnti, Vec<&Held>> = BTreeMap::new();
        for held in self.flows.values() {
            by_ue.entry(held.ue).or_default().push(held);
        }
        for (rnti, (cell, address)) in of {
            let held = by_ue.get(rnti).map_or(&[][..], Vec::as_slice);
            let flows: Vec<Arc<Flow>> = held.iter().filter_map(|h| h.flow.upgrade()).collect();
            let sum = |f: fn(&FlowTelemetry) -> Bytes| {
                let bytes: Bytes = held.iter().map(|h| f(&h.measured)).sum();
                bytes.get()
            };
            list.push(UeStatus {
                address: *address,
                cell: *cell,
                rnti: rnti.0,
                capacity_bps: self.allocator.capacity(*rnti).map(units::BitRate::as_bps),
                flows: held.len(),
                slow_flows: flows.iter().filter(|f| f.is_slow()).count(),
                wan_window_bytes: flows.iter().map(|f| u64::from(f.window.shown())).sum(),
                ran_window_bytes: flows.iter().map(|f| f.ran_window()).sum(),
                in_flight_bytes: sum(|t| t.ran_in_flight),
                buffered_bytes: sum(|t| t.buffered),
                ran_rtt_seconds: mean(held.iter().filter_map(|h| h.measured.ran_srtt)),
                wan_rtt_seconds: mean(held.iter().filter_map(|h| h.measured.wan_srtt)),
            });
        }
    }
}

/// Seconds; none of none.
fn mean(times: impl Iterator<Item = Duration>) -> Option<f64> {
    let (sum, n) = times.fold((0.0, 0u32), |(sum, n), t| (sum + t.as_secs_f64(), n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
