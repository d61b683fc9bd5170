//! The minimum round-trip time, and ProbeRTT, which measures it afresh every five seconds.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.3.4 and 5.5.7.

use super::probe_bw::AckPhase;
use super::{Bbr3, State};
use crate::bbr_parts::Gain;
use crate::delivery_rate::RateSample;
use crate::{AckSample, Ctx};
use units::{Bytes, Duration, Instant};

/// BBR.MinRTTFilterLen: how long a minimum holds (2.16.1).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval: how long until it is measured afresh (2.16.2).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// BBR.ProbeRTTDuration: minimum time with half a BDP in flight (2.16.2).
const PROBE_DURATION: Duration = Duration::from_millis(200);

/// The minimum of the last ten seconds, and that of the last five.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt; unknown before the first sample.
    pub(super) value: Option<Duration>,
    at: Instant,
    /// BBR.probe_rtt_min_delay.
    recent: Option<Duration>,
    /// When it was measured, or ProbeRTT last ended.
    recent_at: Instant,
}

impl MinRtt {
    /// 5.3.4.3 UpdateMinRTT; true if the minimum of five seconds had expired.
    fn update(&mut self, now: Instant, rtt: Option<Duration>) -> bool {
        let is_expired =
            self.recent.is_some() && now.saturating_since(self.recent_at) > PROBE_INTERVAL;
        if let Some(rtt) = rtt
            && (is_expired || self.recent.is_none_or(|min| rtt < min))
        {
            self.recent = Some(rtt);
            self.recent_at = now;
        }
        let is_old = now.saturating_since(self.at) > MIN_RTT_WINDOW;
        if is_old || self.value.is_none() || self.recent < self.value {
            self.value = self.recent;
            self.at = self.recent_at;
        }
        is_expired
    }
}

/// Progress of ProbeRTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// When it may end; known once little enough is in flight.
    done_at: Option<Instant>,
    /// A round trip has passed since then.
    is_round_done: bool,
}

impl Bbr3 {
    /// 5.6.4.5 ProbeRTTCwnd: half a BDP.
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp(self.bandwidth(), Gain::HALF).max(self.min_cwnd())
    }

    /// 5.3.4.3 UpdateMinRTT and CheckProbeRTT.
    pub(super) fn update_min_rtt(
        &mut self,
        cx: &mut Ctx<'_>,
        ack: &AckSample,
        sample: Option<&RateSample>,
    ) {
        let is_expired = self.min_rtt.update(cx.now, ack.rtt);
        if is_expired && !self.is_idle_restart && !matches!(self.state, State::ProbeRtt(_)) {
            self.save_cwnd();
            self.probing.ack_phase = AckPhase::Stopping;
            self.start_round();
            self.enter(cx, State::ProbeRtt(ProbeRtt::default()));
        }
        if let State::ProbeRtt(probe) = self.state {
            self.drain_for_probe_rtt(cx, ack, probe);
        }
        if sample.is_some() {
            self.is_idle_restart = false;
        }
    }

    /// 5.3.4.3 HandleProbeRTT.
    fn drain_for_probe_rtt(&mut self, cx: &mut Ctx<'_>, ack: &AckSample, mut probe: ProbeRtt) {
        // rates measured now are no measure of the path
        self.delivery.on_app_limited(ack.bytes_in_flight);
        if probe.done_at.is_some() {
            probe.is_round_done |= self.round.is_start;
        } else if ack.bytes_in_flight <= self.probe_rtt_cwnd() {
            probe = ProbeRtt {
                done_at: Some(cx.now + PROBE_DURATION),
                is_round_done: false,
            };
            self.start_round();
        }
        self.state = State::ProbeRtt(probe);
        if probe.is_round_done {
            self.check_probe_rtt_done(cx, probe);
        }
    }

    /// 5.3.4.3 CheckProbeRTTDone and 5.3.4.4 ExitProbeRTT; also at a restart from idle, when no
    /// acknowledgement has come for long.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Ctx<'_>, probe: ProbeRtt) {
        if probe.done_at.is_none_or(|done_at| cx.now <= done_at) {
            return;
        }
        self.min_rtt.recent_at = cx.now;
        self.restore_cwnd();
        self.short_term = Default::default();
        if self.full_pipe.is_reached {
            self.start_probe_down(cx);
            self.start_probe_cruise(cx);
        } else {
            self.enter(cx, State::Startup);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_3_4_3_a_minimum_holds_for_ten_seconds_and_is_due_after_five() {
        let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
        let ms = Duration::from_millis;
        let mut min_rtt = MinRtt::default();
        assert!(!min_rtt.update(at(1), Some(ms(20))));
        assert!(!min_rtt.update(at(6), Some(ms(30))));
        assert!(min_rtt.update(at(6) + ms(1), Some(ms(30))), "due");
        assert_eq!(min_rtt.value, Some(ms(20)), "but still valid");
        assert!(!min_rtt.update(at(11), Some(ms(35))));
        assert_eq!(min_rtt.value, Some(ms(20)));
        min_rtt.update(at(11) + ms(1), Some(ms(35)));
        assert_eq!(min_rtt.value, Some(ms(30)), "the least of the last five");
        assert!(min_rtt.update(at(11) + ms(2), Some(ms(10))), "due again");
        assert_eq!(min_rtt.value, Some(ms(10)));
    }
}
