//! What `status` and `flows` print.

use crate::config::WanActuator;
use crate::control::Snapshot;
use crate::daemon::Core;
use crate::flow::{Flow, Handling};
use crate::handover::HandoverStatus;
use crate::wire::Shown;
use daemon::clock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use units::Duration;

/// The state of the whole daemon.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    version: &'static str,
    pid: u32,
    /// `running` or `draining`.
    state: &'static str,
    uptime_seconds: f64,
    /// `transparent`, `explicit`, or `off` where nothing is split.
    interception: &'static str,
    listeners: Vec<SocketAddr>,
    connections: usize,
    /// Of these, those that have ended in order, and of which not all is acknowledged.
    closing: usize,
    /// New connections pass by, for there are as many as there may be.
    passing_by: bool,
    /// Payload that waits in pipes, bytes.
    waiting_bytes: u64,
    /// Held by flows, in pipes and in the kernel's queues, when last looked at, bytes.
    held_bytes: u64,
    /// Counters since the start.
    counters: BTreeMap<&'static str, u64>,
    /// Connections that moved to other proxies and from them; none without `[handover]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handover: Option<HandoverStatus>,
    /// How windows towards servers are set; none with `control = "split"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_windows: Option<ServerWindows>,
    /// The control thread; none with `control = "split"` unless reports are read for `[unsplit]`, or if it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control: Option<Snapshot>,
}

/// How windows towards servers are set.
#[derive(Debug, Serialize)]
pub(crate) struct ServerWindows {
    /// `wire` or `clamp`.
    pub(crate) actuator: &'static str,
    /// Why it is not `wire`, which was configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    actuator_error: Option<String>,
    /// Where the program runs that sets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<String>,
    /// Window updates that were sent.
    pub(crate) updates: u64,
    /// Connections that have theirs set as with `clamp` though it is `wire`.
    pub(crate) clamped: u64,
}

impl ServerWindows {
    fn new(shown: &Shown) -> Self {
        Self {
            actuator: shown.name(),
            actuator_error: shown.error.clone(),
            interfaces: shown
                .wire
                .as_ref()
                .map_or_else(Vec::new, |w| w.interfaces()),
            updates: shown.wire.as_ref().map_or(0, |w| w.updates()),
            clamped: shown.wire.as_ref().map_or(0, |w| w.clamped()),
        }
    }
}

/// Asks all parts.
pub(crate) fn overview(core: &Core) -> Overview {
    let shared = &core.shared;
    Overview {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        state: if shared.is_draining.load(Relaxed) {
            "draining"
        } else {
            "running"
        },
        uptime_seconds: clock::now().saturating_since(core.started_at).as_secs_f64(),
        interception: shared.config().interception.name(),
        listeners: core.listeners().iter().map(|l| l.address).collect(),
        connections: shared.registry.connections(),
        closing: shared.registry.closing.load(Relaxed),
        passing_by: shared.is_passing_by.load(Relaxed),
        waiting_bytes: shared.registry.waiting.load(Relaxed),
        held_bytes: shared.registry.held.load(Relaxed),
        counters: shared.counters.named().into_iter().collect(),
        handover: (shared.config().handover.is_some()).then(|| shared.handover.status()),
        server_windows: (shared.config().edge.is_some()).then(|| ServerWindows::new(&shared.shown)),
        control: core.snapshot(),
    }
}

/// A connection.
#[derive(Debug, Serialize)]
pub(crate) struct FlowReport {
    id: u64,
    client: SocketAddr,
    server: SocketAddr,
    age_seconds: f64,
    /// `plain`, `controlled` or `paced`.
    handling: &'static str,
    slow: bool,
    bytes_down: u64,
    bytes_up: u64,
    waiting_bytes: u64,
    /// Held in pipes and in the kernel's queues, when last looked at, bytes.
    held_bytes: u64,
    /// Shown to the server.
    wan_window_bytes: u32,
    /// How that is set: `wire` or `clamp`.
    wan_actuator: &'static str,
    /// Towards the UE; none if not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_window_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wan_rtt_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_rtt_seconds: Option<f64>,
    ran_congestion_control: String,
}

/// All connections, in the order in which they came.
pub(crate) fn flow_reports(core: &Core) -> Vec<FlowReport> {
    let flows = core.shared.registry.flows();
    flows
        .iter()
        .filter_map(std::sync::Weak::upgrade)
        .map(|flow| flow_report(&flow))
        .collect()
}

fn flow_report(flow: &Flow) -> FlowReport {
    let ran = socket_options::tcp_info(&flow.ran).unwrap_or_default();
    flow.meters.wan_rtt.sample(&flow.wan);
    FlowReport {
        id: flow.id,
        client: flow.client,
        server: flow.server,
        age_seconds: clock::now().saturating_since(flow.opened_at).as_secs_f64(),
        handling: match flow.handling() {
            Handling::Plain => "plain",
            Handling::Controlled => "controlled",
            Handling::Paced => "paced",
        },
        slow: flow.is_slow(),
        bytes_down: flow.meters.ran_written.load(Relaxed),
        bytes_up: flow.meters.wan_written.load(Relaxed),
        waiting_bytes: flow.meters.waiting_down(),
        held_bytes: flow.held.load(Relaxed),
        wan_window_bytes: flow.window.shown(),
        wan_actuator: match flow.wire() {
            Some(_) => WanActuator::Wire.name(),
            None => WanActuator::Clamp.name(),
        },
        ran_window_bytes: Some(flow.ran_window()).filter(|w| *w > 0),
        wan_rtt_seconds: flow.meters.wan_rtt.smoothed().map(Duration::as_secs_f64),
        ran_rtt_seconds: crate::meters::micros(ran.rtt).map(Duration::as_secs_f64),
        ran_congestion_control: rustix::net::sockopt::tcp_congestion(&flow.ran).unwrap_or_default(),
    }
}
