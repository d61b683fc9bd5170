//! What goes into an allocator and what comes out.

use crate::default_mode::DefaultMode;
use crate::paper::Paper;
use crate::{AllocatorConfig, ConfigError, Learnt, Mode, Unsplit};
use rnis::Rnti;
use rnis::intake::CheckedReport;
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
    /// The caller's own: given back with each decision.
    pub place: u32,
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
    /// As it was given when the flow opened.
    pub place: u32,
    /// Receive window to show the server.
    pub wan_window: WanWindow,
    /// Window and pacing towards the UE.
    pub ran: cc::Allocation,
    /// True while the flow is held for slow.
    pub is_slow: bool,
}

/// The allocator of one cell: what both modes are.
///
/// Call [`Self::on_telemetry`] before [`Self::on_report`] and before [`Self::on_deadline`], for every flow or, unless the
/// allocator [takes what is unchanged](Self::takes_unchanged), for those whose counters have changed; take decisions by
/// [`Self::poll_decision`] after each call.
///
/// A UE or flow that was not announced is ignored.
pub trait Allocator: std::fmt::Debug + Send {
    /// A radio report was accepted.
    fn on_report(&mut self, now: Instant, report: &CheckedReport);
    /// A radio report was accepted behind which another of the same cell waits already: what it has is learnt, and
    /// nothing is decided.
    fn on_superseded_report(&mut self, now: Instant, report: &CheckedReport);
    /// A connection was intercepted.
    fn on_flow_open(&mut self, now: Instant, flow: FlowId, opened: FlowOpened);
    /// A connection that was intercepted just now comes from a cell of another allocator, which has learnt this. An allocator
    /// may have no use for it.
    fn on_flow_learnt(&mut self, now: Instant, flow: FlowId, learnt: &Learnt) {
        let _ = (now, flow, learnt);
    }
    /// What another allocator is to go on with; none of a connection that was not announced, or where nothing is carried.
    fn learnt(&self, flow: FlowId) -> Option<Learnt> {
        let _ = flow;
        None
    }
    /// A connection ended.
    fn on_flow_close(&mut self, now: Instant, flow: FlowId);
    /// New counters of a flow.
    fn on_telemetry(&mut self, now: Instant, flow: FlowId, telemetry: &FlowTelemetry);
    /// That a flow's counters are as they were is to be reported, too.
    fn takes_unchanged(&self) -> bool;
    /// When the allocator needs to be called although no report arrives.
    fn next_deadline(&self) -> Option<Instant>;
    /// A deadline came.
    fn on_deadline(&mut self, now: Instant);
    /// The next change of a flow's windows, if any.
    fn poll_decision(&mut self) -> Option<Decision>;
    /// The rate that the UE could have: eq. 3 in mode `paper`, payload in mode `default`.
    fn capacity(&self, ue: Rnti) -> Option<BitRate>;
    /// What the UE's radio carries of traffic that is not split, as of its last report; none of a UE that no report
    /// has named.
    fn unsplit(&self, now: Instant, ue: Rnti) -> Option<Unsplit>;
}

/// The allocator of the configured mode, without flows and reports.
///
/// # Errors
/// A configuration out of range.
pub fn allocator(config: AllocatorConfig) -> Result<Box<dyn Allocator>, ConfigError> {
    config.check()?;
    Ok(match config.mode {
        Mode::Paper => Box::new(Paper::new(config)),
        Mode::Default => Box::new(DefaultMode::new(config)),
    })
}
