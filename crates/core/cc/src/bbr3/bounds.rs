//! What losses show of the path: short-term bounds of bandwidth and flight, and a long-term bound of
//! the flight.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.5.10; the long-term bound's growth is 5.3.3.9.

use super::{Bbr3, State};
use crate::delivery_rate::RateSample;
use crate::{AckSample, Ctx, PacketStamp};
use units::{BitRate, Bytes};

/// BBR.LossThresh: lost over in flight, in percent, from which probing has gone too far (2.8).
const LOSS_THRESHOLD_PERCENT: u64 = 2;
/// BBR.Beta: what a round with losses leaves at least, in percent (2.8).
const BETA_PERCENT: u64 = 70;
/// BBR.Headroom: left free below the long-term bound, in percent (2.8).
const HEADROOM_PERCENT: u64 = 15;
/// The growth of the bound doubles at most so often (5.3.3.9).
const MAX_UP_ROUNDS: u32 = 30;

/// So many percent, rounded down.
fn percent(bytes: Bytes, percent: u64) -> Bytes {
    let scaled = u128::from(bytes.get()) * u128::from(percent) / 100;
    Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
}

fn beta_rate(rate: BitRate) -> BitRate {
    let scaled = u128::from(rate.as_bps()) * u128::from(BETA_PERCENT) / 100;
    BitRate::from_bps(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// 5.5.10.2 IsInflightTooHigh: more than 2 % of what was in flight are lost.
fn is_too_high(lost: Bytes, in_flight: Bytes) -> bool {
    u128::from(lost.get()) * 100 > u128::from(in_flight.get()) * u128::from(LOSS_THRESHOLD_PERCENT)
}

/// The largest rate and volume delivered in the last round, and its losses (2.10).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    bandwidth: BitRate,
    pub(super) flight: Bytes,
    /// The round of losses ends when a packet is acknowledged that was sent after so much was
    /// delivered.
    round_end: Bytes,
    pub(super) is_round_start: bool,
    is_loss_in_round: bool,
    /// Acknowledgements of the round that showed losses.
    loss_events: u32,
}

impl Latest {
    /// 5.5.10.3 ResetCongestionSignals.
    pub(super) fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bandwidth = BitRate::ZERO;
        self.flight = Bytes::ZERO;
    }

    pub(super) fn reset_losses(&mut self) {
        self.is_loss_in_round = false;
    }
}

/// BBR.bw_shortterm and BBR.inflight_shortterm; none is infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortTerm {
    pub(super) bandwidth: Option<BitRate>,
    pub(super) flight: Option<Bytes>,
}

impl ShortTerm {
    /// 5.5.10.3 InitLowerBounds and LossLowerBounds: down to what was delivered, by 30 % at most.
    fn after_losses(self, latest: &Latest, max_bw: BitRate, cwnd: Bytes) -> Self {
        let bandwidth = self.bandwidth.unwrap_or(max_bw);
        let flight = self.flight.unwrap_or(cwnd);
        Self {
            bandwidth: Some(latest.bandwidth.max(beta_rate(bandwidth))),
            flight: Some(latest.flight.max(percent(flight, BETA_PERCENT))),
        }
    }
}

/// BBR.inflight_longterm and its growth while probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LongTerm {
    /// None before losses have shown a bound.
    pub(super) flight: Option<Bytes>,
    /// BBR.bw_probe_up_acked.
    acked: Bytes,
    /// BBR.probe_up_acked_per_inc; none: it does not grow.
    acked_per_segment: Option<Bytes>,
    /// BBR.bw_probe_up_rounds.
    rounds: u32,
}

impl LongTerm {
    /// 5.3.3.9 StartProbeBW_REFILL.
    pub(super) fn restart_growth(&mut self) {
        self.rounds = 0;
        self.acked = Bytes::ZERO;
    }

    /// 5.3.3.9 StartProbeBW_DOWN.
    pub(super) fn stop_growth(&mut self) {
        self.acked_per_segment = None;
    }

    /// 5.3.3.9 RaiseInflightLongtermSlope: by 1, 2, 4 ... segments a round.
    pub(super) fn raise_slope(&mut self, cwnd: Bytes, mss: Bytes) {
        let growth = 1u64 << self.rounds;
        self.rounds = (self.rounds + 1).min(MAX_UP_ROUNDS);
        self.acked_per_segment = Some((cwnd / growth).max(mss));
    }

    /// 5.3.3.9 ProbeInflightLongtermUpward, without the slope.
    fn grow(&mut self, newly_acked: Bytes, mss: Bytes) {
        let (Some(flight), Some(per_segment)) = (self.flight, self.acked_per_segment) else {
            return;
        };
        self.acked += newly_acked;
        let segments = self.acked.get() / per_segment.get().max(1);
        self.acked = self.acked.saturating_sub(per_segment * segments);
        self.flight = Some(flight + mss * segments);
    }
}

impl Bbr3 {
    /// 5.5.10.2 HandleLostPacket, for all that an acknowledgement shows.
    pub(super) fn on_newly_lost(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        if ack.newly_lost.is_zero() {
            return;
        }
        if !self.latest.is_loss_in_round {
            self.latest.round_end = self.delivery.delivered();
            self.save_state();
        }
        self.latest.is_loss_in_round = true;
        self.latest.loss_events = self.latest.loss_events.saturating_add(1);
        if let Some(stamp) = ack.stamp
            && self.probing.is_probe_sample
            && self.is_flight_too_high(&stamp)
        {
            self.on_flight_too_high(cx, &stamp);
        }
    }

    /// Whether losses since a packet was sent were too many for what was in flight with it.
    fn is_flight_too_high(&self, stamp: &PacketStamp) -> bool {
        is_too_high(self.delivery.lost_since(stamp), stamp.in_flight)
    }

    /// 5.5.10.2 HandleInflightTooHigh, once for each probe.
    fn on_flight_too_high(&mut self, cx: &mut Ctx<'_>, stamp: &PacketStamp) {
        self.probing.went_too_high = true;
        self.probing.is_probe_sample = false;
        if !stamp.is_app_limited {
            let min = percent(self.target_flight(), BETA_PERCENT);
            self.long_term.flight = Some(stamp.in_flight.max(min));
        }
        if self.state == State::ProbeUp {
            self.undo.state = Some(State::ProbeUp);
            self.start_probe_down(cx);
        }
    }

    /// 5.3.1.3: enough losses in a round of Startup. The caller checks at the end of each.
    pub(super) fn is_startup_lossy(&self, ack: &AckSample) -> bool {
        self.latest.is_round_start
            && ack.is_recovering
            && self.latest.loss_events >= self.rules.full_loss_events
            && ack
                .stamp
                .is_some_and(|stamp| self.is_flight_too_high(&stamp))
    }

    /// 5.5.10.3 UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, sample: Option<&RateSample>) {
        self.latest.is_round_start = false;
        let Some(sample) = sample else { return };
        let latest = &mut self.latest;
        latest.bandwidth = latest.bandwidth.max(sample.delivery_rate);
        latest.flight = latest.flight.max(sample.delivered);
        if sample.prior_delivered >= latest.round_end {
            latest.round_end = self.delivery.delivered();
            latest.is_round_start = true;
        }
    }

    /// 5.5.10.3 AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, sample: Option<&RateSample>) {
        if self.latest.is_round_start
            && let Some(sample) = sample
        {
            self.latest.bandwidth = sample.delivery_rate;
            self.latest.flight = sample.delivered;
            self.latest.loss_events = 0;
        }
    }

    /// 5.5.10.3 AdaptLowerBoundsFromCongestion, once for each round.
    pub(super) fn adapt_short_term(&mut self) {
        if !self.latest.is_round_start {
            return;
        }
        if self.latest.is_loss_in_round && !self.is_accelerating() {
            let max_bw = self.max_bw.get();
            self.short_term = self
                .short_term
                .after_losses(&self.latest, max_bw, self.cwnd);
        }
        self.latest.is_loss_in_round = false;
    }

    /// 5.3.3.9, the second part of AdaptLongTermModel: a flight that lost little raises the bound.
    pub(super) fn raise_long_term(&mut self, ack: &AckSample) {
        let (Some(stamp), Some(flight)) = (ack.stamp, self.long_term.flight) else {
            return;
        };
        if self.is_flight_too_high(&stamp) {
            return;
        }
        self.long_term.flight = Some(flight.max(stamp.in_flight));
        if self.state == State::ProbeUp && self.is_bound_limiting(ack) {
            self.long_term.grow(ack.newly_acked, self.mss);
            if self.round.is_start {
                self.long_term.raise_slope(self.cwnd, self.mss);
            }
        }
    }

    /// The long-term bound is what limits the sender.
    pub(super) fn is_bound_limiting(&self, ack: &AckSample) -> bool {
        ack.is_cwnd_limited
            && self
                .long_term
                .flight
                .is_some_and(|bound| self.cwnd >= bound)
    }

    /// 5.3.3.9 InflightWithHeadroom: leaves room for others; none is infinite.
    pub(super) fn flight_with_headroom(&self) -> Option<Bytes> {
        let bound = self.long_term.flight?;
        let headroom = percent(bound, HEADROOM_PERCENT).max(self.mss);
        Some(bound.saturating_sub(headroom).max(self.min_cwnd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_000);

    #[test]
    fn section_5_5_10_2_two_percent_are_tolerated() {
        let flight = Bytes::new(100_000);
        assert!(!is_too_high(Bytes::new(2_000), flight));
        assert!(is_too_high(Bytes::new(2_001), flight));
        assert!(!is_too_high(Bytes::ZERO, Bytes::ZERO));
    }

    #[test]
    fn section_5_5_10_3_bounds_fall_to_what_was_delivered_but_by_thirty_percent_at_most() {
        let mbps = BitRate::from_mbps;
        let mut latest = Latest {
            bandwidth: mbps(90),
            flight: MSS * 80,
            ..Latest::default()
        };
        let first = ShortTerm::default().after_losses(&latest, mbps(100), MSS * 200);
        let bounds = (first.bandwidth, first.flight);
        assert_eq!(bounds, (Some(mbps(90)), Some(MSS * 140)));
        latest.bandwidth = mbps(10);
        let second = first.after_losses(&latest, mbps(100), MSS * 200);
        let bounds = (second.bandwidth, second.flight);
        assert_eq!(bounds, (Some(mbps(63)), Some(MSS * 98)));
    }

    #[test]
    fn section_5_3_3_5_the_bound_grows_by_1_2_4_segments_a_round() {
        let mut bound = LongTerm {
            flight: Some(MSS * 64),
            ..LongTerm::default()
        };
        for grown in [65, 67, 71, 79] {
            bound.raise_slope(MSS * 64, MSS);
            for _ in 0..64 {
                bound.grow(MSS, MSS);
            }
            assert_eq!(bound.flight, Some(MSS * grown));
        }
        bound.stop_growth();
        bound.grow(MSS * 64, MSS);
        assert_eq!(bound.flight, Some(MSS * 79));
    }
}
