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
