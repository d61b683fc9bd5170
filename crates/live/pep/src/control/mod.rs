//! The control thread: what comes in goes into [`edge::Edge`], and the actions that come out are carried out. It
//! decides nothing itself.
//!
//! ```text
//!   Reader  ---+   (the source's reports, on a thread of its own)
//!   workers ---+--> Control --> Edge -- actions --> flows (BPF, pacing, their windows)
//!   admin   ---+                  ^                   |
//!                                 '---- telemetry ----'
//! ```
//! The same reports, as the machine has them, are orders for packets that are not split ([`crate::unsplit`]).

mod bpf;
mod handle;
mod held;
mod measured;
mod reader;
mod snapshot;
mod telemetry;
#[cfg(test)]
mod tests;

pub(crate) use handle::ControlHandle;
pub(crate) use reader::Reader;
pub(crate) use snapshot::{Snapshot, Source, UeStatus};

use crate::config::Config;
use crate::flow::Flow;
use crate::handover::Cells;
use crate::recording::Recording;
use crate::unsplit::Marking;
use bpf::Kernel;
use daemon::{Seat, clock};
use dash::RadioMeter;
use edge::{Action, Actuator, Edge, EdgeConfig, State};
use held::Held;
use measured::{Measuring, Tracked};
use rapid::FlowId;
use report_source::ReportSource;
use rnis::{CellId, DecodeError, RadioReport};
use rustc_hash::FxHashMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use units::{Duration, Instant};

/// An idle thread looks again after this.
const IDLE: Duration = Duration::from_secs(1);
/// After connections have come or gone, the thread rests so long before it looks again: waking it for
/// each of ten thousand a second would cost the workers more than the connections do.
const WAKE_INTERVAL: Duration = Duration::from_micros(200);
/// Events that are handled before deadlines are looked at.
const MAX_BATCH: usize = 1_024;
/// Messages of the source that may wait for the control thread; more are dropped, for only the newest count.
const MAX_PENDING: usize = 256;
/// What they may take together, bytes; one may always wait.
const MAX_PENDING_BYTES: usize = 16_000_000;

/// What the control thread receives.
#[derive(Debug)]
pub(crate) enum ControlEvent {
    /// A flow's server has answered.
    Opened(Weak<Flow>, Seat),
    /// A flow has ended.
    Closed(u64, Seat),
    /// A radio report.
    Report(Box<RadioReport>, Seat),
    /// Something was received that is no report.
    NoReport(DecodeError, Seat),
    /// A new configuration.
    Configure(Arc<Config>),
    /// A successor serves, and marks from now on.
    Yield,
    /// Flows of a UE are to move: what is learnt of them is to be noted with them, and then this sent.
    NoteLearnt(IpAddr, SyncSender<()>, Seat),
    /// A snapshot is requested.
    Snapshot(SyncSender<Snapshot>, Seat),
    /// The daemon stops: all flows become plain.
    Stop,
}

impl ControlEvent {
    /// A connection has come or gone.
    fn is_churn(&self) -> bool {
        matches!(self, Self::Opened(..) | Self::Closed(..))
    }
}

/// Flows by number.
type Flows = FxHashMap<FlowId, Held>;

/// The control thread's state.
pub(crate) struct Control {
    /// Reports come from another machine.
    is_foreign: bool,
    edge: Edge,
    /// Our congestion control towards UEs, or why there is none.
    kernel: Option<Kernel>,
    kernel_error: Option<String>,
    /// Connections are decided about; without, reports are read for packets that are not split alone.
    has_flows: bool,
    flows: Flows,
    tracked: Tracked,
    /// What becomes of packets that are not split.
    marking: Option<Marking>,
    /// Shows reports to readers of the dashboard.
    meter: Option<RadioMeter>,
    source: Arc<Source>,
    /// Which UEs are in cells of other proxies.
    cells: Option<Cells>,
}

impl Control {
    /// Loads the congestion control, if it is requested and the kernel permits it.
    ///
    /// # Errors
    /// A configuration out of range.
    pub(crate) fn new(
        config: &Config,
        reading: EdgeConfig,
        recording: Option<Recording>,
        source: Arc<Source>,
        meter: Option<RadioMeter>,
        marking: Option<Marking>,
    ) -> Result<Self, edge::ConfigError> {
        let mut edge = Edge::new(reading, &config.ues)?;
        if let Some(recording) = recording {
            edge.record(clock::now(), &config.ues, Box::new(recording));
        }
        let has_flows = config.edge.is_some();
        let (kernel, kernel_error) = match has_flows.then(|| load(config.actuator)).transpose() {
            Ok(kernel) => (kernel, None),
            Err(error) => (None, Some(error)),
        };
        let touched = kernel.as_ref().map(|kernel| Arc::clone(kernel.touched()));
        Ok(Self {
            is_foreign: config
                .reports
                .source
                .as_ref()
                .is_some_and(ReportSource::is_foreign),
            edge,
            kernel,
            kernel_error,
            has_flows,
            flows: Flows::default(),
            tracked: Tracked::new(touched),
            marking,
            meter,
            source,
            cells: None,
        })
    }

    /// Has it look which UEs are in cells of other proxies.
    pub(crate) fn look_at_cells(&mut self, cells: Option<Cells>) {
        self.cells = cells;
    }

    /// Runs until the command to stop.
    pub(crate) fn run(mut self, events: &Receiver<ControlEvent>) {
        if let Some(marking) = &mut self.marking {
            marking.start();
        }
        let mut batch = Vec::new();
        loop {
            let now = clock::now();
            let until = self.edge.next_deadline().unwrap_or(now + IDLE);
            let wait = until.saturating_since(now).as_nanos();
            let event = events.recv_timeout(std::time::Duration::from_nanos(wait));
            let mut has_churn = false;
            match event {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(event) => {
                    // with all that has come meanwhile
                    batch.push(event);
                    batch.extend(events.try_iter().take(MAX_BATCH - 1));
                    let superseded = superseded(&batch);
                    for (event, is_superseded) in batch.drain(..).zip(superseded) {
                        if matches!(event, ControlEvent::Stop) {
                            return self.release_all();
                        }
                        has_churn |= event.is_churn();
                        self.on_event(clock::now(), event, is_superseded);
                    }
                }
            }
            self.on_deadline(clock::now());
            if has_churn {
                std::thread::sleep(std::time::Duration::from_nanos(WAKE_INTERVAL.as_nanos()));
            }
        }
        self.release_all();
    }

    /// All flows are plain from now on.
    fn release_all(mut self) {
        let now = clock::now();
        self.edge.release_all(now);
        self.carry_out(now);
    }

    /// `is_superseded`: it is a report behind which another of the same cell waits.
    fn on_event(&mut self, now: Instant, event: ControlEvent, is_superseded: bool) {
        match event {
            ControlEvent::Opened(weak, seat) => {
                drop(seat);
                let Some(flow) = weak.upgrade() else { return };
                let (id, address) = (FlowId(flow.id), flow.client.ip());
                self.flows.insert(id, Held::new(&flow));
                self.edge.on_flow_open(now, id, address);
                if let Some(learnt) = flow.learnt_by_allocator() {
                    self.edge.on_flow_learnt(now, id, &learnt);
                }
                self.carry_out(now);
            }
            ControlEvent::Closed(id, seat) => {
                drop(seat);
                self.edge.on_flow_close(now, FlowId(id));
                self.carry_out(now);
                self.flows.remove(&FlowId(id));
            }
            ControlEvent::Report(report, seat) => {
                drop(seat);
                self.on_report(now, *report, is_superseded);
            }
            ControlEvent::NoReport(error, seat) => {
                drop(seat);
                self.edge.on_unreadable(now, error);
            }
            ControlEvent::Configure(config) => {
                let plain_after = config.reports.plain_after;
                self.edge.configure(now, &config.ues, plain_after);
                self.carry_out(now);
                if let (Some(marking), Some(unsplit)) = (&mut self.marking, &config.unsplit) {
                    marking.configure(unsplit, plain_after);
                }
            }
            ControlEvent::Yield => {
                if let Some(marking) = &mut self.marking {
                    marking.yield_to_successor();
                }
            }
            ControlEvent::NoteLearnt(ue, done, seat) => {
                drop(seat);
                for (id, learnt) in self.edge.learnt_of(ue) {
                    let held = self.flows.get(&id);
                    if let Some(flow) = held.and_then(|held| held.flow.upgrade()) {
                        flow.note_learnt(learnt);
                    }
                }
                // the requester may have given up
                let _ = done.try_send(());
            }
            ControlEvent::Snapshot(to, seat) => {
                drop(seat);
                // the requester may have given up
                let _ = to.try_send(self.snapshot(now));
            }
            ControlEvent::Stop => {}
        }
    }

    fn on_report(&mut self, now: Instant, report: RadioReport, is_superseded: bool) {
        let accepted = if is_superseded {
            self.edge.on_superseded_report(now, report, self.is_foreign)
        } else {
            let mut meters = Measuring {
                now,
                flows: &mut self.flows,
                tracked: &self.tracked,
            };
            self.edge
                .on_report(now, report, self.is_foreign, &mut meters)
        };
        if let (Some(report), Some(meter)) = (&accepted, &self.meter) {
            meter.on_report(report, |_| None);
        }
        if let (Some(report), Some(cells)) = (&accepted, &self.cells) {
            cells.on_report(report);
        }
        self.carry_out(now);
        if is_superseded {
            return;
        }
        if let (Some(report), Some(marking)) = (&accepted, &mut self.marking) {
            marking.on_report(now, report, |address| self.edge.unsplit(now, address));
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        let mut meters = Measuring {
            now,
            flows: &mut self.flows,
            tracked: &self.tracked,
        };
        self.edge.on_deadline(now, &mut meters);
        self.carry_out(now);
        if let Some(marking) = &mut self.marking {
            marking.on_deadline(now);
        }
    }

    fn carry_out(&mut self, now: Instant) {
        while let Some(action) = self.edge.poll_action() {
            match action {
                Action::Adopt { flow } => {
                    if let Some(held) = self.flows.get_mut(&flow)
                        && let Some(adopted) = held.adopt(self.kernel.as_ref())
                    {
                        self.tracked.add(flow, held);
                        self.edge.on_adopted(now, flow, adopted);
                    }
                }
                Action::Decision(windows) => {
                    // it may have gone
                    if let Some(held) = self.flows.get_mut(&windows.flow) {
                        held.set_windows(&windows);
                    }
                }
                Action::Release { flow } => {
                    if let Some(held) = self.flows.get_mut(&flow) {
                        self.tracked.remove(flow, held);
                        held.release();
                    }
                }
                // counted by the intake
                Action::Refused { .. } => {}
                Action::State { cell, from, to } => {
                    let (cell, from, to_name) = (cell.0, from.name(), to.name());
                    if to == State::Following {
                        tracing::info!(cell, from, to = to_name, "radio reports arrive");
                    } else {
                        tracing::warn!(cell, from, to = to_name, "radio reports are missing");
                    }
                }
                Action::Unnamed { cell, rnti } => tracing::warn!(
                    cell = cell.0,
                    rnti = rnti.0,
                    "a report names a UE without an address: give it in [ues]; its connections are \
                     spliced and nothing more"
                ),
            }
        }
    }
}

/// Which of these events are reports behind which another of the same cell stands.
fn superseded(events: &[ControlEvent]) -> Vec<bool> {
    let mut cells: Vec<CellId> = Vec::new();
    let mut superseded = vec![false; events.len()];
    for (is_superseded, event) in superseded.iter_mut().zip(events).rev() {
        if let ControlEvent::Report(report, _) = event {
            let cell = report.cell.id;
            *is_superseded = cells.contains(&cell);
            if !*is_superseded {
                cells.push(cell);
            }
        }
    }
    superseded
}

/// Our congestion control towards UEs, if it is requested and the kernel permits it; why not otherwise.
fn load(wanted: Actuator) -> Result<Kernel, String> {
    if wanted == Actuator::Pacing {
        return Err("actuator = \"pacing\"".to_owned());
    }
    match Kernel::load() {
        Ok(kernel) => {
            tracing::info!(
                congestion_control = kernel.name(),
                "windows towards UEs by our own congestion control"
            );
            Ok(kernel)
        }
        Err(error) => {
            tracing::warn!(
                %error,
                "no congestion control of our own: the kernel's is paced instead, which keeps \
                 rates but not windows; needs CAP_BPF, CAP_NET_ADMIN and Linux 6.1 with BTF"
            );
            Err(error.to_string())
        }
    }
}
