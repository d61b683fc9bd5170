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
mod snapshot;
mod telemetry;
#[cfg(test)]
mod tests;

pub(crate) use handle::ControlHandle;
pub(crate) use snapshot::{Snapshot, Source, UeStatus};

use crate::config::Config;
use crate::flow::Flow;
use crate::recording::Recording;
use crate::sys;
use crate::unsplit::Marking;
use bpf::Kernel;
use daemon::{Seat, Seats, clock};
use dash::RadioMeter;
use edge::{Action, Actuator, Edge, EdgeConfig, State, Windows};
use held::{Handle, Held};
use rapid::FlowId;
use report_source::{Follower, Peers, ReportSource};
use rnis::codec::decode;
use rnis::{BearerReport, DecodeError, RadioReport, UeReport};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Weak};
use units::{BitRate, Duration, Instant};

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
    flows: HashMap<FlowId, Held>,
    /// What becomes of packets that are not split.
    marking: Option<Marking>,
    /// Shows reports to readers of the dashboard.
    meter: Option<RadioMeter>,
    source: Arc<Source>,
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
            flows: HashMap::new(),
            marking,
            meter,
            source,
        })
    }

    /// Runs until the command to stop.
    pub(crate) fn run(mut self, events: &Receiver<ControlEvent>) {
        if let Some(marking) = &mut self.marking {
            marking.start();
        }
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
                    let mut next = Some(event);
                    let mut left = MAX_BATCH;
                    while let Some(event) = next {
                        if matches!(event, ControlEvent::Stop) {
                            return self.release_all();
                        }
                        has_churn |= event.is_churn();
                        self.on_event(clock::now(), event);
                        left -= 1;
                        next = (left > 0).then(|| events.try_recv().ok()).flatten();
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

    fn on_event(&mut self, now: Instant, event: ControlEvent) {
        match event {
            ControlEvent::Opened(weak, seat) => {
                drop(seat);
                let Some(flow) = weak.upgrade() else { return };
                let (id, address) = (FlowId(flow.id), flow.client.ip());
                self.flows.insert(id, Held::new(&flow));
                self.edge.on_flow_open(now, id, address);
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
                self.on_report(now, *report);
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
            ControlEvent::Snapshot(to, seat) => {
                drop(seat);
                // the requester may have given up
                let _ = to.try_send(self.snapshot(now));
            }
            ControlEvent::Stop => {}
        }
    }

    fn on_report(&mut self, now: Instant, report: RadioReport) {
        let flows = &mut self.flows;
        let mut measure = |flow: FlowId| flows.get_mut(&flow)?.measure(now);
        let accepted = self
            .edge
            .on_report(now, report, self.is_foreign, &mut measure);
        if let (Some(report), Some(meter)) = (&accepted, &self.meter) {
            meter.on_report(report, |_| None);
        }
        self.carry_out(now);
        if let (Some(report), Some(marking)) = (&accepted, &mut self.marking) {
            marking.on_report(now, report, |address| self.edge.unsplit(now, address));
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        let flows = &mut self.flows;
        let mut measure = |flow: FlowId| flows.get_mut(&flow)?.measure(now);
        self.edge.on_deadline(now, &mut measure);
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
                        self.edge.on_adopted(now, flow, adopted);
                    }
                }
                Action::Decision(windows) => self.set_windows(&windows),
                Action::Release { flow } => {
                    if let Some(held) = self.flows.get_mut(&flow) {
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

    /// Sets a flow's windows, if it is still there.
    fn set_windows(&self, windows: &Windows) {
        let held = self.flows.get(&windows.flow);
        let Some((handle, flow)) =
            held.and_then(|held| held.handle.as_ref().zip(held.flow.upgrade()))
        else {
            return;
        };
        let bytes_a_second = |rate: BitRate| rate.as_bps() / 8;
        match handle {
            Handle::Follow { slot, .. } => {
                let pace = windows.pacing_bps.map_or(0, bytes_a_second);
                slot.set(windows.ran_window.get(), pace);
            }
            Handle::Pace { .. } => {
                if let Some(rate) = windows.pace_bps {
                    // the connection may have gone
                    let _ = sys::set_max_pacing_rate(&flow.ran, bytes_a_second(rate));
                }
            }
        }
        flow.decide(windows);
    }
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

/// Brings radio reports from their source to the control thread. The source may come, go, and send anything: a message
/// that is no report is counted, and a lost connection is tried again and again ([`report_source`]).
#[derive(Debug)]
pub(crate) struct Reader {
    from: ReportSource,
    to: Sender<ControlEvent>,
    seats: Seats,
    source: Arc<Source>,
    /// Ends it; set by it where the control thread has gone.
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Of this source, until `stop`.
    pub(crate) fn new(
        from: ReportSource,
        to: &Sender<ControlEvent>,
        source: &Arc<Source>,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            from,
            to: to.clone(),
            seats: Seats::bounded(MAX_PENDING, MAX_PENDING_BYTES),
            source: Arc::clone(source),
            stop: Arc::clone(stop),
        }
    }

    /// Reads to the end.
    pub(crate) fn run(mut self) {
        let (from, stop) = (self.from.clone(), Arc::clone(&self.stop));
        // who reports is a matter of the socket's permissions, unless `users` has it
        from.follow(Peers::Any, &mut self, || stop.load(Relaxed));
    }

    fn send(&self, event: ControlEvent) {
        if self.to.send(event).is_err() {
            self.stop.store(true, Relaxed);
        }
    }
}

impl Follower for Reader {
    fn up(&mut self, is_up: bool) {
        if self.source.is_connected.swap(is_up, Relaxed) == is_up {
            return;
        }
        let source = &self.from;
        match is_up {
            true => tracing::info!(%source, "radio reports: connected"),
            false => tracing::warn!(%source, "radio reports: lost"),
        }
    }

    /// A report in JSON or in the binary form, or anything else, which is counted.
    fn message(&mut self, bytes: &[u8]) {
        match decode(bytes) {
            // what is said of it may quote it
            Err(error) => match self.seats.take_for(bytes.len()) {
                Some(seat) => self.send(ControlEvent::NoReport(error, seat)),
                None => drop(self.source.unreadable.fetch_add(1, Relaxed)),
            },
            Ok(report) => match self.seats.take_for(memory_of(&report)) {
                Some(seat) => self.send(ControlEvent::Report(Box::new(report), seat)),
                None => drop(self.source.dropped.fetch_add(1, Relaxed)),
            },
        }
    }

    /// Counted as what cannot be read.
    fn blank_line(&mut self) {
        self.message(b"");
    }
}

/// What a report takes, bytes.
fn memory_of(report: &RadioReport) -> usize {
    let bearers: usize = report.ues.iter().map(|ue| ue.bearers.capacity()).sum();
    size_of::<RadioReport>()
        + report.ues.capacity() * size_of::<UeReport>()
        + bearers * size_of::<BearerReport>()
}
