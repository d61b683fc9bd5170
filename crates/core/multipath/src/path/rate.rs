//! How fast a path delivers, whatever its controller: one sample a round trip, and the largest of the
//! last ten.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00 by [`cc::delivery_rate`]; the filter is that
//! of BBR (draft-cardwell-iccrg-bbr-congestion-control-00 4.1.1.3). Of each round trip only one packet
//! keeps a stamp, and the sample is taken with the first acknowledgement of anything sent after it.

use cc::delivery_rate::DeliveryRate;
use cc::{AckSample, PacketStamp, Sent};
use units::{BitRate, Bytes, Instant};

/// Rounds for which a sample is kept.
const ROUNDS: usize = 10;
/// A path is full once its rate has grown by less than a quarter in three round trips (4.3.2.2).
const FULL_ROUNDS: u32 = 3;

/// What a path has delivered lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEstimate {
    /// The last sample. In bytes as the window counts them: with `Counting::Packets` each packet is
    /// [`super::SenderConfig::packet_size`] long.
    pub latest: BitRate,
    /// The largest of the last ten round trips in which the path was used to the full, or that were
    /// faster nonetheless.
    pub max: BitRate,
    /// The last sample shows what there was to send; the path may be faster.
    pub is_app_limited: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RateMeter {
    delivery: DeliveryRate,
    /// The packet whose stamp is kept, by its number.
    probe: Option<(u64, PacketStamp)>,
    estimate: Option<RateEstimate>,
    samples: [BitRate; ROUNDS],
    /// Place of the next sample.
    place: usize,
    /// The rate when it last grew by a quarter, and the round trips since.
    full_rate: BitRate,
    full_rounds: u32,
}

impl RateMeter {
    pub(super) fn estimate(&self) -> Option<RateEstimate> {
        self.estimate
    }

    pub(super) fn on_sent(&mut self, now: Instant, number: u64, packet: &Sent) {
        let stamp = self.delivery.on_sent(now, packet);
        if self.probe.is_none() {
            self.probe = Some((number, stamp));
        }
    }

    /// `latest` is the greatest number among the newly acknowledged, if any is.
    pub(super) fn on_ack(&mut self, now: Instant, latest: Option<u64>, ack: &AckSample) {
        let stamp = match (self.probe, latest) {
            (Some((number, stamp)), Some(latest)) if latest >= number => {
                self.probe = None;
                Some(stamp)
            }
            _ => None,
        };
        let ack = AckSample { stamp, ..*ack };
        let Some(sample) = self.delivery.on_ack(now, &ack) else {
            return;
        };
        if !sample.is_app_limited {
            self.check_full(sample.delivery_rate);
        }
        let max = self.estimate.map_or(BitRate::ZERO, |estimate| estimate.max);
        if !sample.is_app_limited || sample.delivery_rate > max {
            self.samples[self.place] = sample.delivery_rate;
            self.place = (self.place + 1) % ROUNDS;
        }
        self.estimate = Some(RateEstimate {
            latest: sample.delivery_rate,
            max: self.samples.into_iter().max().unwrap_or_default(),
            is_app_limited: sample.is_app_limited,
        });
    }

    /// 4.3.2.2, for a path whose controller does not report it.
    fn check_full(&mut self, rate: BitRate) {
        if !self.is_pipe_full() && rate >= self.full_rate + self.full_rate / 4 {
            self.full_rate = rate;
            self.full_rounds = 0;
        } else if !self.is_pipe_full() {
            self.full_rounds += 1;
        }
    }

    /// The rate has stopped growing, at some time.
    pub(super) fn is_pipe_full(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    pub(super) fn on_app_limited(&mut self, in_flight: Bytes) {
        self.delivery.on_app_limited(in_flight);
    }
}
