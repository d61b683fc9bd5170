//! The minimum round-trip time, and PROBE_RTT, which measures it afresh.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 sections 4.1.2 and 4.3.5, Linux
//! `bbr_update_min_rtt`, `bbr_check_probe_rtt_done`.
//!
//! *Deviations*
//! - Linux refuses the sample of a delayed acknowledgement when the old minimum has expired; the
//!   transport does not report which acknowledgements the receiver delayed.

use super::{Bbr, State};
use crate::delivery_rate::RateSample;
use crate::{AckSample, Ctx};
use units::{Duration, Instant};

/// RTpropFilterLen: how long a minimum holds (4.1.2.4).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// ProbeRTTDuration: minimum time with at most four segments in flight (4.3.5).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// The minimum round-trip time of the last ten seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// Unknown before the first sample.
    pub(super) value: Option<Duration>,
    /// When it was measured, or PROBE_RTT last ended.
    at: Instant,
}

impl MinRtt {
    /// Takes a sample; true if the minimum had expired.
    fn update(&mut self, now: Instant, rtt: Option<Duration>) -> bool {
        let is_expired = self.value.is_some() && now.saturating_since(self.at) > MIN_RTT_WINDOW;
        if let Some(rtt) = rtt
            && (is_expired || self.value.is_none_or(|min| rtt <= min))
        {
            *self = Self {
                value: Some(rtt),
                at: now,
            };
        }
        is_expired
    }
}

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// When it may end; known once no more than four segments are in flight.
    done_at: Option<Instant>,
    /// A round trip has passed since then.
    is_round_done: bool,
}

impl Bbr {
    /// 4.1.2.3 BBRUpdateRTprop and 4.3.5 BBRCheckProbeRTT.
    pub(super) fn update_min_rtt(
        &mut self,
        cx: &mut Ctx<'_>,
        ack: &AckSample,
        sample: Option<&RateSample>,
    ) {
        let is_expired = self.min_rtt.update(cx.now, ack.rtt);
        if is_expired && !self.is_idle_restart && !matches!(self.state, State::ProbeRtt(_)) {
            self.save_cwnd();
            self.state = State::ProbeRtt(ProbeRtt::default());
            cx.trace.event(cx.now, "probe_rtt", self.cwnd.get());
        }
        if let State::ProbeRtt(probe) = self.state {
            self.drain_for_probe_rtt(cx, ack, probe);
        }
        if sample.is_some() {
            self.is_idle_restart = false;
        }
    }

    /// 4.3.5 BBRHandleProbeRTT: four segments in flight for 200 ms and a round trip.
    fn drain_for_probe_rtt(&mut self, cx: &mut Ctx<'_>, ack: &AckSample, mut probe: ProbeRtt) {
        // rates measured now are no measure of the path
        self.delivery.on_app_limited(ack.bytes_in_flight);
        if probe.done_at.is_some() {
            probe.is_round_done |= self.round.is_start;
        } else if ack.bytes_in_flight <= self.min_cwnd() {
            probe = ProbeRtt {
                done_at: Some(cx.now + PROBE_RTT_DURATION),
                is_round_done: false,
            };
            self.round.restart(self.delivery.delivered());
        }
        self.state = State::ProbeRtt(probe);
        if probe.is_round_done {
            self.check_probe_rtt_done(cx);
        }
    }

    /// Leaves PROBE_RTT if its time is over; also at a restart from idle, when no acknowledgement
    /// has come for long.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Ctx<'_>) {
        let State::ProbeRtt(ProbeRtt {
            done_at: Some(done_at),
            ..
        }) = self.state
        else {
            return;
        };
        if cx.now <= done_at {
            return;
        }
        self.min_rtt.at = cx.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.is_filled {
            self.enter_probe_bw(cx);
        } else {
            self.state = State::Startup;
            cx.trace.event(cx.now, "startup", self.cwnd.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_4_1_2_a_minimum_holds_for_ten_seconds() {
        let (at, ms) = (
            |s: u64| Instant::ZERO + Duration::from_secs(s),
            Duration::from_millis,
        );
        let mut min_rtt = MinRtt::default();
        assert!(!min_rtt.update(at(1), Some(ms(20))));
        assert!(!min_rtt.update(at(11), Some(ms(30))));
        assert_eq!(min_rtt.value, Some(ms(20)));
        assert!(min_rtt.update(at(11) + ms(1), Some(ms(30))));
        assert_eq!(min_rtt.value, Some(ms(30)));
        // an equal sample renews it
        assert!(!min_rtt.update(at(20), Some(ms(30))));
        assert!(!min_rtt.update(at(30), None));
        assert_eq!(min_rtt.value, Some(ms(30)));
    }
}
