//! Startup: the rate doubles each round, until it does not grow any more or losses are many.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.1. The estimate of a full pipe also ends ProbeBW_UP in
//! version 3 (5.3.3.7).

use super::{Bbr3, State};
use crate::bbr_parts::Gain;
use crate::delivery_rate::RateSample;
use crate::{AckSample, Ctx};
use units::BitRate;

/// Growth that shows that the pipe is not full yet: a quarter (5.3.1.2).
const GROWTH_PERCENT: u128 = 125;
/// Rounds without it after which the pipe is taken to be full (5.3.1.2).
const ROUNDS: u32 = 3;

/// Whether the delivery rate has reached a plateau.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw, against which growth is measured.
    baseline: BitRate,
    /// Rounds without growth since, at most [`ROUNDS`].
    rounds: u32,
    /// BBR.full_bw_now: since the search began.
    pub(super) is_now: bool,
    /// BBR.full_bw_reached: ever.
    pub(super) is_reached: bool,
}

impl FullPipe {
    /// ResetFullBW: the search begins anew from a rate.
    pub(super) fn restart(&mut self, baseline: BitRate) {
        self.baseline = baseline;
        self.rounds = 0;
        self.is_now = false;
    }

    /// CheckFullBWReached, at the start of a round that was not application-limited.
    fn on_round(&mut self, rate: BitRate) {
        let (rate_bps, baseline) = (rate.as_bps(), self.baseline.as_bps());
        if u128::from(rate_bps) * 100 >= u128::from(baseline) * GROWTH_PERCENT {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        self.is_now = self.rounds >= ROUNDS;
        self.is_reached |= self.is_now;
    }
}

impl Bbr3 {
    pub(super) fn check_full_pipe(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample else { return };
        if !self.full_pipe.is_now && self.round.is_start && !sample.is_app_limited {
            self.full_pipe.on_round(sample.delivery_rate);
        }
    }

    /// 5.3.1.1 CheckStartupDone, with 5.3.1.3 CheckStartupHighLoss.
    pub(super) fn check_startup_done(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        if self.state != State::Startup {
            return;
        }
        if !self.full_pipe.is_reached && self.is_startup_lossy(ack) {
            self.undo.state = Some(State::Startup);
            self.full_pipe.is_reached = true;
            let bdp = self.bdp(self.max_bw.get(), Gain::UNIT);
            self.long_term.flight = Some(if self.rules.keeps_latest_flight {
                bdp.max(self.latest.flight)
            } else {
                bdp
            });
        }
        if self.full_pipe.is_reached {
            self.enter_drain(cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_3_1_2_three_rounds_below_a_quarter_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        for mbps in [100, 125, 156, 195] {
            pipe.on_round(BitRate::from_mbps(mbps));
        }
        assert_eq!(pipe.baseline, BitRate::from_mbps(195));
        for (mbps, is_full) in [(200, false), (243, false), (200, true)] {
            pipe.on_round(BitRate::from_mbps(mbps));
            assert_eq!((pipe.is_now, pipe.is_reached), (is_full, is_full));
        }
        // a new search does not discard that the pipe was full once
        pipe.restart(BitRate::from_mbps(200));
        assert_eq!((pipe.is_now, pipe.is_reached), (false, true));
    }
}
