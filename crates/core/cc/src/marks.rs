//! What scalable controllers make of marks: the smoothed share of marked data, and the window that it leaves.
//!
//! Source: RFC 8257 section 3.3 (DCTCP), of which Prague has the same. Windows are in bytes, alpha and shares are ratios
//! from 0 to 1.

use crate::AckSample;
use units::Bytes;

/// g: the weight of the last round trip in alpha (4.2: 1/16).
const GAIN: f64 = 1.0 / 16.0;

/// 3.3 step 6; between `alpha` and `share`.
pub(crate) fn smoothed(alpha: f64, share: f64) -> f64 {
    alpha * (1.0 - GAIN) + GAIN * share
}

/// 3.3 step 9; rounds to the nearest byte, and never up beyond the window.
pub(crate) fn reduced(cwnd: Bytes, alpha: f64) -> Bytes {
    cwnd.mul_f64(1.0 - alpha / 2.0).min(cwnd)
}

/// What has been acknowledged since alpha was last updated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observation {
    /// DCTCP.BytesAcked.
    acked: Bytes,
    /// DCTCP.BytesMarked; at most `acked`.
    marked: Bytes,
}

impl Observation {
    pub(crate) fn add(&mut self, ack: &AckSample) {
        self.acked += ack.newly_acked;
        self.marked += ack.newly_marked.min(ack.newly_acked);
    }

    /// 3.3 step 5; none if nothing was acknowledged.
    pub(crate) fn share(self) -> Option<f64> {
        let is_known = !self.acked.is_zero();
        is_known.then(|| self.marked.get() as f64 / self.acked.get() as f64)
    }
}

/// A controller driven by round trips with marks, for the tests of those that are scalable.
#[cfg(test)]
pub(crate) mod tests {
    use crate::rtt_round::tests::{ack, ms};
    use crate::{CongestionControl, Ctx, LossKind, LossSample};
    use units::{Bytes, Duration, Instant, Rng, Streams};

    pub(crate) struct Bench<C> {
        pub(crate) cc: C,
        pub(crate) now: Instant,
        /// The controller is in a recovery meanwhile, in which only its alpha changes.
        pub(crate) is_recovering: bool,
        rng: Rng,
    }

    impl<C: CongestionControl> Bench<C> {
        pub(crate) fn new(cc: C) -> Self {
            Self {
                cc,
                now: Instant::ZERO + ms(1_000),
                is_recovering: false,
                rng: Streams::new(1).stream("cc"),
            }
        }

        pub(crate) fn with<T>(&mut self, call: impl FnOnce(&mut C, &mut Ctx<'_>) -> T) -> T {
            let mut cx = Ctx {
                now: self.now,
                rng: &mut self.rng,
                trace: &mut (),
            };
            call(&mut self.cc, &mut cx)
        }

        /// A round trip of so many segments of which some were marked, at its end.
        pub(crate) fn round(&mut self, rtt: Duration, segments: u32, marked: u32) {
            self.now += rtt;
            for k in 0..segments {
                let mut ack = ack(rtt, k + 1 == segments);
                if k < marked {
                    ack.newly_marked = ack.newly_acked;
                }
                ack.is_recovering = self.is_recovering;
                self.with(|cc, cx| cc.on_ack(cx, &ack));
            }
        }

        pub(crate) fn react(&mut self, kind: LossKind) {
            let loss = LossSample {
                kind,
                lost: Bytes::ZERO,
                bytes_in_flight: Bytes::ZERO,
                lost_sent_at: Instant::ZERO,
            };
            self.with(|cc, cx| cc.on_loss(cx, &loss));
        }

        pub(crate) fn cwnd(&self) -> u64 {
            self.cc.cwnd().get()
        }
    }
}
