//! Amounts of the present round trip and of those before it, by the clock and the smoothed round-trip
//! time: an episode of losses, or a radio link that stands still, does not hold the count up.

use units::{Bytes, Duration, Instant};

/// An amount of the present round trip and of the two before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    began: Instant,
    /// Of the present one, so far.
    pub(super) current: Bytes,
    /// Of the two before, the last first.
    pub(super) before: [Bytes; 2],
}

impl RoundTrips {
    /// Begins another round trip if the present one is over.
    pub(super) fn advance(&mut self, now: Instant, srtt: Duration) {
        if now.saturating_since(self.began) >= srtt {
            *self = Self {
                began: now,
                current: Bytes::ZERO,
                before: [self.current, self.before[0]],
            };
        }
    }

    /// When the present one began, its amount, and those of the two before, the last first.
    pub(super) fn amounts(&self) -> (Instant, [Bytes; 3]) {
        let [last, earlier] = self.before;
        (self.began, [self.current, last, earlier])
    }
}
