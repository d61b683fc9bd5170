//! The allocator.

use crate::{AllocatorConfig, ConfigError};
use rnis::{RadioReport, Rnti};
use units::{BitRate, Bytes, Duration, Instant};

/// A proxied connection, as the proxy numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
#[derive(Clone, Copy, Debug, Default)]
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
    /// Payload acknowledged by the UE.
    pub ran_acked: Bytes,
    /// Payload in flight towards the UE.
    pub ran_in_flight: Bytes,
    /// Payload received from the server and not yet sent to the UE.
    pub buffered: Bytes,
}

/// What the proxy is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The flow.
    pub flow: FlowId,
    /// Receive window to show the server.
    pub wan_window: Bytes,
    /// Window and pacing towards the UE.
    pub ran: cc::Allocation,
    /// True while the flow is held for slow.
    pub is_slow: bool,
}

/// The allocator of one proxy.
///
/// Call [`Self::on_telemetry`] for every flow before [`Self::on_report`] and before
/// [`Self::on_deadline`]; take decisions by [`Self::poll_decision`] after each call.
#[derive(Debug)]
pub struct Allocator {
    config: AllocatorConfig,
}

impl Allocator {
    /// Without flows and reports.
    ///
    /// # Errors
    /// A configuration out of range.
    pub fn new(config: AllocatorConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config })
    }
    /// A radio report reached the proxy.
    pub fn on_report(&mut self, _now: Instant, _report: &RadioReport) {}
    /// A connection was intercepted.
    pub fn on_flow_open(&mut self, _now: Instant, _flow: FlowId, _opened: FlowOpened) {}
    /// A connection ended.
    pub fn on_flow_close(&mut self, _now: Instant, _flow: FlowId) {}
    /// New counters of a flow.
    pub fn on_telemetry(&mut self, _now: Instant, _flow: FlowId, _telemetry: &FlowTelemetry) {}
    /// When the allocator wants to be called although no report arrives.
    pub fn next_deadline(&self) -> Option<Instant> {
        None
    }
    /// A deadline came.
    pub fn on_deadline(&mut self, _now: Instant) {}
    /// The next change of a flow's windows, if any.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        None
    }
    /// The rate that the UE could have now (eq. 3), if a fresh report tells.
    pub fn capacity(&self, _ue: Rnti) -> Option<BitRate> {
        None
    }
    /// Its configuration.
    pub fn config(&self) -> &AllocatorConfig {
        &self.config
    }
}
