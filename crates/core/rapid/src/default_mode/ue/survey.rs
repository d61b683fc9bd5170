//! What all flows of a UE are like together: gone over once for each report or deadline, before anything is decided.

use super::super::flow::Flow;
use super::Ue;
use units::{Bytes, Duration, Instant};

/// Of a UE's flows together, at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Survey {
    /// Flows that count when shares are made.
    pub(super) active: usize,
    /// Payload acknowledged and sent again, in flight, and a segment of each flow.
    pub(super) acked: Bytes,
    pub(super) resent: Bytes,
    pub(super) in_flight: Bytes,
    pub(super) segments: Bytes,
    /// One of them sends.
    pub(in super::super) is_sending: bool,
    /// The server of one sends all that it is let.
    pub(super) is_greedy: bool,
    /// The same or data that waits for room, of a flow that counts.
    pub(super) is_pressed: bool,
    /// Data waits for room in the window of a flow that counts.
    pub(super) is_saturated: bool,
    /// Least round-trip time towards the UE of flows that count.
    pub(super) ran_min_rtt: Option<Duration>,
    /// Longest round-trip time towards a server of flows that count, seconds.
    pub(super) wan_rtt: Option<f64>,
}

impl Survey {
    fn add(&mut self, now: Instant, flow: &Flow) {
        let telemetry = &flow.telemetry;
        self.acked += telemetry.ran_acked;
        self.resent += telemetry.ran_resent;
        self.in_flight += telemetry.ran_in_flight;
        self.segments += flow.mss;
        self.is_sending = self.is_sending || flow.is_sending(now);
        self.is_greedy |= flow.is_greedy();
        if !flow.counts {
            return;
        }
        self.active += 1;
        let is_saturated = flow.is_saturated();
        self.is_saturated |= is_saturated;
        self.is_pressed |= is_saturated || flow.is_greedy();
        if let Some(rtt) = telemetry.ran_min_rtt {
            self.ran_min_rtt = Some(self.ran_min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(rtt) = flow.wan_rtt() {
            self.wan_rtt = Some(self.wan_rtt.map_or(rtt, |most| most.max(rtt)));
        }
    }
}

impl Ue {
    /// Goes over all flows: to be called before [`Ue::observe`], [`Ue::path`] and [`Ue::run`] of the same time.
    pub(in super::super) fn survey(&mut self, now: Instant) {
        let mut survey = Survey::default();
        for flow in self.flows.values_mut() {
            flow.counts = flow.is_active(now);
            survey.add(now, flow);
        }
        self.survey = survey;
    }

    /// As [`Self::survey`] found it.
    pub(in super::super) fn is_sending(&self) -> bool {
        self.survey.is_sending
    }
}
