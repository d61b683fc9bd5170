//! What the predicted rate and the standing queue make of packets. Rates in byte/s.

use super::egress::Prediction;
use units::{Bytes, Duration};

/// Of the classic rule, in bits.
const MSS_BITS: f64 = 1460.0 * 8.0;
/// Halves of it: what a flow gains in a cycle of its window.
const CYCLE: f64 = 1.75;

/// How long what stands will wait, seconds.
pub(super) fn sojourn(standing: Bytes, rate: f64) -> f64 {
    standing.get() as f64 / rate
}

/// q: what would send all that stands within the threshold.
pub(super) fn required_rate(standing: Bytes, threshold: Duration) -> f64 {
    standing.get() as f64 / threshold.as_secs_f64()
}

/// The ramp of the L4S rule, as wide as the rate is uncertain.
pub(super) fn l4s_probability(required: f64, predicted: Prediction) -> f64 {
    let Prediction { rate, deviation } = predicted;
    if required > rate + deviation {
        1.0
    } else if required < rate - deviation || deviation <= 0.0 {
        0.0
    } else {
        (required - rate + deviation) / (2.0 * deviation)
    }
}

/// The classic rule above its threshold: the law of a loss-based flow, the sojourn time for its round-trip time.
pub(super) fn classic_probability(rate: f64, standing: Bytes) -> f64 {
    let root = MSS_BITS * CYCLE / 2.0 / rate / sojourn(standing, rate);
    (root * root).min(1.0)
}
