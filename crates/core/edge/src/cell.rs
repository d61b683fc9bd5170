//! One cell: its allocator, and its flows under control.

use crate::action::{Actuator, Adopted, Windows};
use crate::machine::Measure;
use crate::recording::{Event, Recorder};
use crate::{EdgeConfig, State, pace};
use rapid::{Allocator, Decision, FlowId, FlowOpened, FlowTelemetry};
use rnis::{RadioReport, Rnti};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Instant};

/// A flow under control.
#[derive(Debug)]
pub(crate) struct Held {
    ue: Rnti,
    mss: Bytes,
    actuator: Actuator,
    /// As the allocator last got it.
    telemetry: FlowTelemetry,
    /// The bound of what the socket holds unsent, as set last.
    unsent: Option<Bytes>,
    /// The pace, as set last.
    pace: Option<BitRate>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct Cell {
    allocator: Box<dyn Allocator>,
    flows: BTreeMap<FlowId, Held>,
    pub(crate) state: State,
}

impl Cell {
    /// Without flows and reports yet.
    pub(crate) fn new(config: &EdgeConfig) -> Result<Self, rapid::ConfigError> {
        Ok(Self {
            allocator: rapid::allocator(config.allocator.clone())?,
            flows: BTreeMap::new(),
            state: State::Plain,
        })
    }

    /// Flows under control.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// A flow is under control from now on.
    pub(crate) fn open(&mut self, now: Instant, flow: FlowId, ue: Rnti, adopted: Adopted) {
        let held = Held {
            ue,
            mss: adopted.mss,
            actuator: adopted.actuator,
            telemetry: FlowTelemetry::default(),
            unsent: None,
            pace: None,
        };
        self.put(now, flow, ue, held);
    }

    /// A flow is no longer under control here. Gives what was held of it; none if it was not.
    pub(crate) fn take(&mut self, now: Instant, flow: FlowId) -> Option<Held> {
        let held = self.flows.remove(&flow)?;
        self.allocator.on_flow_close(now, flow);
        Some(held)
    }

    /// A flow that was under control in another cell, or as another UE of this one, goes on here.
    pub(crate) fn put(&mut self, now: Instant, flow: FlowId, ue: Rnti, mut held: Held) {
        let mss = held.mss;
        held.ue = ue;
        self.flows.insert(flow, held);
        self.allocator
            .on_flow_open(now, flow, FlowOpened { ue, mss });
    }

    /// An accepted report.
    pub(crate) fn on_report(&mut self, now: Instant, report: &RadioReport) {
        self.allocator.on_report(now, report);
    }

    /// When the allocator is to be called.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.allocator.next_deadline()
    }

    /// The allocator's deadline has come.
    pub(crate) fn on_deadline(&mut self, now: Instant) {
        self.allocator.on_deadline(now);
    }

    /// Hands what is measured to the allocator.
    pub(crate) fn take_telemetry(
        &mut self,
        now: Instant,
        measure: &mut Measure<'_>,
        recorder: &mut Option<Recorder>,
    ) {
        for (&flow, held) in &mut self.flows {
            let telemetry = measure(flow).unwrap_or(held.telemetry);
            if telemetry != held.telemetry {
                held.telemetry = telemetry;
                if let Some(recorder) = recorder {
                    recorder.event(now, Event::Telemetry { flow, telemetry });
                }
            }
            // that nothing has changed is a measurement too: a flow that stands still is slow
            self.allocator.on_telemetry(now, flow, &telemetry);
        }
    }

    /// The next decision.
    pub(crate) fn poll(&mut self, config: &EdgeConfig) -> Option<Windows> {
        loop {
            let decision = self.allocator.poll_decision()?;
            if let Some(held) = self.flows.get_mut(&decision.flow) {
                return Some(held.windows(&decision, config));
            }
        }
    }

    /// The rate that a UE could have.
    pub(crate) fn capacity(&self, ue: Rnti) -> Option<BitRate> {
        self.allocator.capacity(ue)
    }

    /// Its flows under control by UE, each with its telemetry.
    pub(crate) fn by_ue(&self) -> BTreeMap<Rnti, Vec<(FlowId, FlowTelemetry)>> {
        let mut by_ue: BTreeMap<Rnti, Vec<(FlowId, FlowTelemetry)>> = BTreeMap::new();
        for (flow, held) in &self.flows {
            let of = by_ue.entry(held.ue).or_default();
            of.push((*flow, held.telemetry));
        }
        by_ue
    }

    /// The flows under control.
    pub(crate) fn ids(&self) -> Vec<FlowId> {
        self.flows.keys().copied().collect()
    }
}

impl Held {
    fn windows(&mut self, decision: &Decision, config: &EdgeConfig) -> Windows {
        let ran_window = decision.ran.window;
        let unsent = config.unsent.change(ran_window, self.unsent);
        self.unsent = unsent.or(self.unsent);
        let pace = match self.actuator {
            Actuator::Window => None,
            Actuator::Pacing => {
                let rate = pace::rate(&self.telemetry, decision.wan_window, ran_window);
                pace::change(rate, self.pace, config.pacing_step)
            }
        };
        self.pace = pace.or(self.pace);
        Windows {
            flow: decision.flow,
            wan: decision.wan_window,
            ran_window,
            pacing_bps: decision.ran.pacing_rate,
            unsent,
            pace_bps: pace,
            is_slow: decision.is_slow,
        }
    }
}
