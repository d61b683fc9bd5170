//! The allocator: what goes in, what comes out, and which mode decides.

use crate::default_mode::DefaultMode;
use crate::paper::Paper;
use crate::{AllocatorConfig, ConfigError, Mode};
use rnis::{RadioReport, Rnti};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Instant};

/// A proxied connection, as the proxy numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FlowId(pub u64);

/// What is known of a flow as it opens.
#[derive(Clone, Copy, Debug)]
pub struct FlowOpened {
    /// The UE that it belongs to.
    pub ue: Rnti,
    /// Negotiated maximum segment size.
    pub mss: Bytes,
}

/// What the proxy sees of a flow. Counters are cumulative since it opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTelemetry {
    /// Payload received from the server, in order.
    pub wan_arrived: Bytes,
    /// Least round-trip time towards the server (handshake included).
    pub wan_min_rtt: Option<Duration>,
    /// Smoothed round-trip time towards the server.
    pub wan_srtt: Option<Duration>,
    /// Least round-trip time towards the UE.
    pub ran_min_rtt: Option<Duration>,
    /// Smoothed round-trip time towards the UE.
    pub ran_srtt: Option<Duration>,
    /// The latest sample of the round-trip time towards the UE, where samples are to be had (the kernel gives none).
    #[serde(default)]
    pub ran_rtt: Option<Duration>,
    /// Payload acknowledged by the UE.
    pub ran_acked: Bytes,
    /// Payload sent to the UE again.
    #[serde(default)]
    pub ran_resent: Bytes,
    /// Payload in flight towards the UE.
    pub ran_in_flight: Bytes,
    /// Payload received from the server and not yet sent to the UE.
    pub buffered: Bytes,
}

/// What the server is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WanWindow {
    /// This receive window, whatever waits in the proxy.
    Fixed(Bytes),
    /// A receive window of this less what waits in the proxy, kept so as data passes: the most that
    /// is on its way from the server or waiting here.
    Budget(Bytes),
}

impl WanWindow {
    /// The receive window to show while so much of the flow waits in the proxy.
    pub fn shown(self, waiting: Bytes) -> Bytes {
        match self {
            Self::Fixed(window) => window,
            Self::Budget(budget) => budget.saturating_sub(waiting),
        }
    }
}

/// What the proxy is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The flow.
    pub flow: FlowId,
    /// Receive window to show the server.
    pub wan_window: WanWindow,
    /// Window and pacing towards the UE.
    pub ran: cc::Allocation,
    /// True while the flow is held for slow.
    pub is_slow: bool,
}

/// What the two modes have in common.
pub(crate) trait Policy: std::fmt::Debug + Send {
    fn on_report(&mut self, now: Instant, report: &RadioReport);
    fn on_flow_open(&mut self, now: Instant, flow: FlowId, opened: FlowOpened);
    fn on_flow_close(&mut self, now: Instant, flow: FlowId);
    fn on_telemetry(&mut self, now: Instant, flow: FlowId, telemetry: &FlowTelemetry);
    fn next_deadline(&self) -> Option<Instant>;
    fn on_deadline(&mut self, now: Instant);
    fn poll_decision(&mut self) -> Option<Decision>;
    fn capacity(&self, ue: Rnti) -> Option<BitRate>;
}

/// The allocator of one proxy.
///
/// Call [`Self::on_telemetry`] for every flow before [`Self::on_report`] and before
/// [`Self::on_deadline`]; take decisions by [`Self::poll_decision`] after each call.
///
/// A report that contradicts itself ([`RadioReport::check`]) is counted and not accepted; a UE or
/// flow that was not announced is ignored.
#[derive(Debug)]
pub struct Allocator {
    config: AllocatorConfig,
    policy: Box<dyn Policy>,
    refused_reports: u64,
}

impl Allocator {
    /// Without flows and reports.
    ///
    /// # Errors
    /// A configuration out of range.
    pub fn new(config: AllocatorConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let policy: Box<dyn Policy> = match config.mode {
            Mode::Paper => Box::new(Paper::new(config.clone())),
            Mode::Default => Box::new(DefaultMode::new(config.clone())),
        };
        Ok(Self {
            config,
            policy,
            refused_reports: 0,
        })
    }

    /// A radio report reached the proxy.
    pub fn on_report(&mut self, now: Instant, report: &RadioReport) {
        match report.check() {
            Ok(()) => self.policy.on_report(now, report),
            Err(_) => self.refused_reports += 1,
        }
    }
    /// A connection was intercepted.
    pub fn on_flow_open(&mut self, now: Instant, flow: FlowId, opened: FlowOpened) {
        self.policy.on_flow_open(now, flow, opened);
    }
    /// A connection ended.
    pub fn on_flow_close(&mut self, now: Instant, flow: FlowId) {
        self.policy.on_flow_close(now, flow);
    }
    /// New counters of a flow.
    pub fn on_telemetry(&mut self, now: Instant, flow: FlowId, telemetry: &FlowTelemetry) {
        self.policy.on_telemetry(now, flow, telemetry);
    }
    /// When the allocator needs to be called although no report arrives.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.policy.next_deadline()
    }
    /// A deadline came.
    pub fn on_deadline(&mut self, now: Instant) {
        self.policy.on_deadline(now);
    }
    /// The next change of a flow's windows, if any.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.policy.poll_decision()
    }
    /// The rate that the UE could have: eq. 3 in mode `paper`, payload in mode `default`.
    pub fn capacity(&self, ue: Rnti) -> Option<BitRate> {
        self.policy.capacity(ue)
    }
    /// Reports that contradicted themselves and were not accepted.
    pub fn refused_reports(&self) -> u64 {
        self.refused_reports
    }
    /// Its configuration.
    pub fn config(&self) -> &AllocatorConfig {
        &self.config
    }
}
