//! ProbeBW: let the queue out, cruise, fill the pipe, push beyond it.
//!
//! ```text
//!   DOWN -> CRUISE -> REFILL -> UP -> DOWN
//!    2 to 3 s, or as many     a round  until losses or a full pipe
//!    rounds as Reno needs
//! ```
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.3; version 2's end of UP is Linux
//! `bbr2_update_cycle_phase`.

use super::{Bbr3, ProbeEnd, State};
use crate::bbr_parts::Gain;
use crate::delivery_rate::RateSample;
use crate::{AckSample, Ctx};
use units::{BitRate, Bytes, Duration, Instant};

/// Least time between probes, and the random time on top (5.3.3.8.2, T_bbr).
const WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);
/// Most rounds between probes (5.3.3.8.2, T_reno).
const MAX_ROUNDS: u64 = 63;
/// The first of them may be skipped, at random.
const RANDOM_ROUNDS: u64 = 2;

/// What acknowledgements show, in relation to a probe (2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// ACKS_INIT.
    #[default]
    Quiet,
    /// ACKS_REFILLING.
    Refilling,
    /// ACKS_PROBE_STARTING.
    Starting,
    /// ACKS_PROBE_FEEDBACK.
    Feedback,
    /// ACKS_PROBE_STOPPING.
    Stopping,
}

/// The cycle's clock and memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    pub(super) ack_phase: AckPhase,
    /// Acknowledgements are of packets sent while probing, and losses have not been answered yet.
    pub(super) is_probe_sample: bool,
    /// BBR.prev_probe_too_high.
    pub(super) went_too_high: bool,
    /// BBR.prev_probe_precautionary: the probe stopped as it came near the bound.
    pub(super) was_precautionary: bool,
    /// BBR.rounds_since_probe_up.
    pub(super) rounds: u64,
    /// BBR.bw_probe_wait.
    wait: Duration,
    /// BBR.cycle_stamp.
    since: Instant,
}

impl Probing {
    /// 5.3.3.9 HasElapsedInPhase.
    fn has_elapsed(&self, now: Instant, interval: Duration) -> bool {
        now.saturating_since(self.since) > interval
    }
}

/// 5.3.3.8.3 IsRenoCoexistenceProbeTime: after as many rounds as a Reno flow of this flight would
/// take from loss to loss.
fn is_reno_time(rounds: u64, flight: Bytes, mss: Bytes) -> bool {
    rounds >= (flight.get() / mss.get()).min(MAX_ROUNDS)
}

impl Bbr3 {
    /// 5.3.3.8.3 PickProbeWait.
    fn pick_wait(&mut self, cx: &mut Ctx<'_>) {
        self.probing.rounds = cx.rng.below(RANDOM_ROUNDS);
        let random = cx.rng.below(RANDOM_WAIT.as_nanos());
        self.probing.wait = WAIT + Duration::from_nanos(random);
    }

    pub(super) fn start_probe_down(&mut self, cx: &mut Ctx<'_>) {
        self.latest.reset();
        self.long_term.stop_growth();
        self.pick_wait(cx);
        self.probing.since = cx.now;
        self.probing.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.enter(cx, State::ProbeDown);
    }

    pub(super) fn start_probe_cruise(&mut self, cx: &mut Ctx<'_>) {
        self.enter(cx, State::ProbeCruise);
    }

    pub(super) fn start_probe_refill(&mut self, cx: &mut Ctx<'_>) {
        self.short_term = Default::default();
        self.long_term.restart_growth();
        self.probing.was_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(cx, State::ProbeRefill);
    }

    fn start_probe_up(&mut self, cx: &mut Ctx<'_>, rate: BitRate) {
        self.probing.is_probe_sample = true;
        self.probing.ack_phase = AckPhase::Starting;
        self.probing.since = cx.now;
        self.start_round();
        self.full_pipe.restart(rate);
        self.enter(cx, State::ProbeUp);
        self.long_term.raise_slope(self.cwnd, self.mss);
    }

    /// 5.3.3.9 UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle_phase(
        &mut self,
        cx: &mut Ctx<'_>,
        ack: &AckSample,
        sample: Option<&RateSample>,
    ) {
        if !self.full_pipe.is_reached || self.adapt_long_term(cx, ack, sample) {
            return;
        }
        let rate = sample.map_or(BitRate::ZERO, |sample| sample.delivery_rate);
        match self.state {
            State::ProbeDown => {
                if self.is_time_to_probe(cx.now) {
                    self.start_probe_refill(cx);
                } else if self.is_time_to_cruise(ack) {
                    self.start_probe_cruise(cx);
                }
            }
            State::ProbeCruise if self.is_time_to_probe(cx.now) => self.start_probe_refill(cx),
            State::ProbeRefill if self.round.is_start => self.start_probe_up(cx, rate),
            State::ProbeUp => self.check_probe_up_done(cx, ack, rate),
            _ => {}
        }
    }

    /// The end of UP without too many losses.
    fn check_probe_up_done(&mut self, cx: &mut Ctx<'_>, ack: &AckSample, rate: BitRate) {
        if self.is_time_to_go_down(cx.now, ack, rate) {
            self.probing.went_too_high = false;
            self.start_probe_down(cx);
        }
    }

    /// 5.3.3.9 AdaptLongTermModel. True if it changed the state.
    fn adapt_long_term(
        &mut self,
        cx: &mut Ctx<'_>,
        ack: &AckSample,
        sample: Option<&RateSample>,
    ) -> bool {
        if self.round.is_start && self.probing.ack_phase == AckPhase::Starting {
            self.probing.ack_phase = AckPhase::Feedback;
        }
        if self.round.is_start && self.probing.ack_phase == AckPhase::Stopping {
            self.probing.is_probe_sample = false;
            self.probing.ack_phase = AckPhase::Quiet;
            let is_in_probe_bw = self.is_in_probe_bw();
            if is_in_probe_bw && sample.is_some_and(|sample| !sample.is_app_limited) {
                self.max_bw.advance();
            }
            // 5.3.3.6: the careful probe was safe, so probe without care
            let was_safe = self.probing.was_precautionary && !self.probing.went_too_high;
            if is_in_probe_bw && was_safe {
                self.start_probe_refill(cx);
                return true;
            }
        }
        self.raise_long_term(ack);
        false
    }

    /// 5.3.3.8.3 TargetInflight.
    pub(super) fn target_flight(&self) -> Bytes {
        self.bdp(self.bandwidth(), Gain::UNIT).min(self.cwnd)
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        self.probing.has_elapsed(now, self.probing.wait)
            || is_reno_time(self.probing.rounds, self.target_flight(), self.mss)
    }

    /// 5.3.3.9 IsTimeToCruise: the queue is gone, and there is headroom.
    fn is_time_to_cruise(&self, ack: &AckSample) -> bool {
        let in_flight = ack.bytes_in_flight;
        self.flight_with_headroom()
            .is_none_or(|max| in_flight <= max)
            && in_flight <= self.flight(self.max_bw.get(), Gain::UNIT)
    }

    /// 5.3.3.9 IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, now: Instant, ack: &AckSample, rate: BitRate) -> bool {
        let in_flight = ack.bytes_in_flight;
        let is_at_bound = self.long_term.flight.is_some_and(|max| in_flight >= max);
        if self.probing.went_too_high && is_at_bound {
            self.probing.was_precautionary = true;
            return true;
        }
        match self.rules.probe_end {
            ProbeEnd::Queue => {
                let min_rtt = self.min_rtt.value.unwrap_or(Duration::ZERO);
                let queue = self.flight(self.max_bw.get(), Gain::PROBE_UP);
                self.probing.has_elapsed(now, min_rtt) && in_flight >= queue
            }
            ProbeEnd::Plateau if self.is_bound_limiting(ack) => {
                self.full_pipe.restart(rate);
                false
            }
            ProbeEnd::Plateau => self.full_pipe.is_now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_3_3_8_2_rounds_between_probes_are_the_flight_in_segments_or_63() {
        let mss = Bytes::new(1_000);
        // 25 Mbit/s and 30 ms are 62 segments of 1514 bytes
        assert!(!is_reno_time(61, mss * 62, mss));
        assert!(is_reno_time(62, mss * 62, mss));
        assert!(!is_reno_time(62, mss * 5_000, mss));
        assert!(is_reno_time(63, mss * 5_000, mss));
    }
}
