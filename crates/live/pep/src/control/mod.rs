//! The control thread: what comes in goes into [`edge::Edge`], and the actions that come out are carried out. It
//! decides nothing itself.
//!
//! ```text
//!   reports ---+
//!   workers ---+--> Control --> Edge -- actions --> flows (BPF, pacing, their windows)
//!   admin   ---+                  ^                   |
//!                                 '---- telemetry ----'
//! ```

mod bpf;
mod handle;
mod held;
mod snapshot;
mod telemetry;

pub(crate) use handle::ControlHandle;
pub(crate) use snapshot::{Snapshot, UeStatus};

use crate::config::Config;
use crate::flow::Flow;
use crate::recording::Recording;
use crate::reports::{Pending, Place};
use crate::sys;
use bpf::Kernel;
use daemon::{Seat, clock};
use dash::RadioMeter;
use edge::{Action, Actuator, Edge, EdgeConfig, State, Windows};
use held::{Handle, Held};
use rapid::FlowId;
use report_source::ReportSource;
use rnis::{DecodeError, RadioReport};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use units::{BitRate, Duration, Instant};

/// An idle thread looks again after this.
const IDLE: Duration = Duration::from_secs(1);
/// After connections have come or gone, the thread rests so long before it looks again: waking it for
/// each of ten thousand a second would cost the workers more than the connections do.
const WAKE_INTERVAL: Duration = Duration::from_micros(200);
/// Events that are handled before deadlines are looked at.
const MAX_BATCH: usize = 1_024;

/// What the control thread receives.
#[derive(Debug)]
pub(crate) enum ControlEvent {
    /// A flow's server has answered.
    Opened(Weak<Flow>, Seat),
    /// A flow has ended.
    Closed(u64, Seat),
    /// A radio report.
    Report(Box<RadioReport>, Place),
    /// Something was received that is no report.
    NoReport(DecodeError, Place),
    /// A new configuration.
    Configure(Arc<Config>),
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
    flows: HashMap<FlowId, Held>,
    /// Shows reports to readers of the dashboard.
    meter: Option<RadioMeter>,
    /// Messages of the source that are on their way in the channel.
    pending: Arc<Pending>,
}

impl Control {
    /// Loads the congestion control, if it is requested and the kernel permits it.
    ///
    /// # Errors
    /// A configuration out of range.
    pub(crate) fn new(
        config: &Config,
        decides: EdgeConfig,
        recording: Option<Recording>,
        pending: Arc<Pending>,
        meter: Option<RadioMeter>,
    ) -> Result<Self, edge::ConfigError> {
        let mut edge = Edge::new(decides, &config.ues)?;
        if let Some(recording) = recording {
            edge.record(clock::now(), &config.ues, Box::new(recording));
        }
        let (kernel, kernel_error) = match load(config.actuator) {
            Ok(kernel) => (Some(kernel), None),
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
            flows: HashMap::new(),
            meter,
            pending,
        })
    }

    /// Runs until the command to stop.
    pub(crate) fn run(mut self, events: &Receiver<ControlEvent>) {
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
            ControlEvent::Report(report, place) => {
                drop(place);
                self.on_report(now, *report);
            }
            ControlEvent::NoReport(error, place) => {
                drop(place);
                self.edge.on_unreadable(now, error);
            }
            ControlEvent::Configure(config) => {
                if let Some(decides) = &config.edge {
                    self.edge.configure(now, &config.ues, decides.plain_after);
                    self.carry_out(now);
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
    }

    fn on_deadline(&mut self, now: Instant) {
        let flows = &mut self.flows;
        let mut measure = |flow: FlowId| flows.get_mut(&flow)?.measure(now);
        self.edge.on_deadline(now, &mut measure);
        self.carry_out(now);
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
                 rates but not windows; needs CAP_BPF, CAP_NET_ADMIN and Linux 6.4"
            );
            Err(error.to_string())
        }
    }
}
