//! PROBE_BW: a cycle of eight phases, each about a round trip: probe, drain, cruise six times.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.4, Linux
//! `bbr_update_cycle_phase`, `bbr_is_next_cycle_phase`, `bbr_reset_probe_bw_mode`.

use super::{Bbr, State};
use crate::bbr_parts::Gain;
use crate::{AckSample, Ctx};
use units::Instant;

/// Phases of a cycle (4.3.4.3).
pub(super) const CYCLE_LENGTH: usize = Gain::CYCLE.len();
/// The phase with gain 3/4, in which a cycle never begins (4.3.4.3).
const DRAIN_PHASE: usize = 1;

/// 4.3.4.3 BBREnterProbeBW: the first phase for a draw of 0..7, any but the draining one.
fn first_phase(draw: u64) -> usize {
    let before = CYCLE_LENGTH - 1 - (draw as usize).min(CYCLE_LENGTH - 2);
    let phase = (before + 1) % CYCLE_LENGTH;
    debug_assert_ne!(phase, DRAIN_PHASE);
    phase
}

impl Bbr {
    pub(super) fn enter_probe_bw(&mut self, cx: &mut Ctx<'_>) {
        let phase = first_phase(cx.rng.below(CYCLE_LENGTH as u64 - 1));
        self.state = State::ProbeBw {
            phase,
            since: self.delivery.delivered_at(),
        };
        cx.trace.event(cx.now, "probe_bw", self.max_bw.get());
    }

    /// 4.3.4.3 BBRCheckCyclePhase.
    pub(super) fn update_cycle_phase(&mut self, ack: &AckSample) {
        if let State::ProbeBw { phase, since } = self.state
            && self.is_next_phase(since, ack)
        {
            let phase = (phase + 1) % CYCLE_LENGTH;
            self.state = State::ProbeBw {
                phase,
                since: self.delivery.delivered_at(),
            };
        }
    }

    /// 4.3.4.3 BBRIsNextCyclePhase.
    fn is_next_phase(&self, since: Instant, ack: &AckSample) -> bool {
        let elapsed = self.delivery.delivered_at().saturating_since(since);
        let is_full_length = self.min_rtt.value.is_some_and(|min_rtt| elapsed > min_rtt);
        let gain = self.pacing_gain();
        if gain == Gain::UNIT {
            return is_full_length;
        }
        let in_network = self.in_network(ack.prior_in_flight);
        if gain > Gain::UNIT {
            // lasts until the probe is in flight, or losses show that it does not fit
            is_full_length
                && (!ack.newly_lost.is_zero() || in_network >= self.inflight(self.max_bw(), gain))
        } else {
            // ends early when the queue of the probe is gone
            is_full_length || in_network <= self.inflight(self.max_bw(), Gain::UNIT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_4_3_4_3_the_cycle_begins_anywhere_but_in_the_draining_phase() {
        let mut phases: Vec<_> = (0..7).map(first_phase).collect();
        phases.sort_unstable();
        assert_eq!(phases, [0, 2, 3, 4, 5, 6, 7]);
        assert_eq!(
            Gain::CYCLE[DRAIN_PHASE],
            Gain::CYCLE.into_iter().min().expect("eight")
        );
    }
}
