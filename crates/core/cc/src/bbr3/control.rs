//! Pacing rate and window.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.6.

use super::{Bbr3, State};
use crate::AckSample;
use crate::bbr_parts::{Gain, QUANTA_IN_HOSTS, paced};
use units::{BitRate, Bytes, Duration};

impl Bbr3 {
    /// The pacing gain of the state (5.6.1).
    pub(super) fn pacing_gain(&self) -> Gain {
        match self.state {
            State::Startup => self.rules.startup_pacing,
            State::Drain { .. } => self.rules.drain,
            State::ProbeDown => self.rules.probe_down,
            State::ProbeUp => Gain::PROBE_UP,
            State::ProbeCruise | State::ProbeRefill | State::ProbeRtt(_) => Gain::UNIT,
        }
    }

    /// The window's gain over the BDP (5.6.1).
    fn cwnd_gain(&self) -> Gain {
        match self.state {
            State::Startup | State::Drain { .. } => self.rules.startup_cwnd,
            State::ProbeUp => self.rules.probe_up_cwnd,
            State::ProbeDown | State::ProbeCruise | State::ProbeRefill => Gain::CWND,
            State::ProbeRtt(_) => Gain::HALF,
        }
    }

    /// 5.6.4.2 BDPMultiple, rounded up; the initial window before the first round-trip sample.
    pub(super) fn bdp(&self, bandwidth: BitRate, gain: Gain) -> Bytes {
        match self.min_rtt.value {
            Some(min_rtt) => gain.of_bytes(bandwidth.bytes_in(min_rtt) + Bytes::new(1)),
            None => self.initial_window,
        }
    }

    /// 5.6.4.2 QuantizationBudget: at least the quanta in the hosts and four segments, and two more
    /// while probing.
    fn with_quantization(&self, flight: Bytes) -> Bytes {
        let offload_budget = self.send_quantum * QUANTA_IN_HOSTS;
        let min = flight.max(offload_budget).max(self.min_cwnd());
        if self.state == State::ProbeUp {
            min + self.mss * 2
        } else {
            min
        }
    }

    /// 5.6.4.2 Inflight.
    pub(super) fn flight(&self, bandwidth: BitRate, gain: Gain) -> Bytes {
        self.with_quantization(self.bdp(bandwidth, gain))
    }

    /// 5.6.4.2 UpdateMaxInflight.
    pub(super) fn max_flight(&self) -> Bytes {
        let bandwidth = self.bandwidth();
        let bdp = self.bdp(bandwidth, self.cwnd_gain());
        self.with_quantization(bdp + self.aggregation.allowance(bandwidth))
    }

    /// 5.6.2 InitPacingRate: the window each round-trip time, times Startup's gain.
    pub(super) fn pace_from_rtt(&mut self, rtt: Duration) {
        let bandwidth = BitRate::from_bytes_per(self.cwnd, rtt);
        self.pace_at(paced(bandwidth, self.rules.startup_pacing, self.mss));
    }

    fn pace_at(&mut self, rate: BitRate) {
        if rate != self.pacing_rate {
            self.pacing_rate = rate;
            self.send_quantum = super::send_quantum(rate, self.mss);
        }
    }

    /// 5.6.2 SetPacingRateWithGain: before the pipe is full the rate only rises.
    pub(super) fn pace_with_gain(&mut self, gain: Gain) {
        let rate = paced(self.bandwidth(), gain, self.mss);
        if self.full_pipe.is_reached || rate > self.pacing_rate {
            self.pace_at(rate);
        }
    }

    /// 5.6.2 SetPacingRate.
    pub(super) fn set_pacing_rate(&mut self, srtt: Duration) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            self.pace_from_rtt(srtt);
        }
        self.pace_with_gain(self.pacing_gain());
    }

    /// 5.6.4.6 SetCwnd.
    pub(super) fn set_cwnd(&mut self, ack: &AckSample) {
        if !ack.newly_acked.is_zero() {
            let target = self.max_flight();
            let grown = self.cwnd + ack.newly_acked;
            if self.full_pipe.is_reached {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || self.delivery.delivered() < self.initial_window {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(self.min_cwnd());
        }
        self.bound_cwnd();
    }

    /// 5.6.4.5 BoundCwndForProbeRTT and 5.6.4.7 BoundCwndForModel.
    pub(super) fn bound_cwnd(&mut self) {
        let long_term = match self.state {
            State::Startup | State::Drain { .. } => None,
            State::ProbeDown | State::ProbeRefill | State::ProbeUp => self.long_term.flight,
            State::ProbeCruise | State::ProbeRtt(_) => self.flight_with_headroom(),
        };
        let bounds = [long_term, self.short_term.flight];
        if let Some(bound) = bounds.into_iter().flatten().min() {
            self.cwnd = self.cwnd.min(bound.max(self.min_cwnd()));
        }
        if matches!(self.state, State::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// 5.6.4.4 SaveCwnd: stores the window, unless it has been cut for the time being.
    pub(super) fn save_cwnd(&mut self) {
        let is_cut = self.is_recovering || matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if is_cut {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// 5.6.4.4 RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
