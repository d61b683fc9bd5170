//! When a packet that was not acknowledged is lost.
//!
//! Source: RFC 4341 section 5 (NUMDUPACK = 3 packets after it were acknowledged) and RFC 8985
//! section 6 (RACK: it has had the time of a round trip and some more).
//!
//! | a packet sent before one that arrived is lost | after |
//! | --- | --- |
//! | three later ones arrived, and the path never reordered | the round trip and 1/8 of the minimum |
//! | otherwise | the round trip and n/4 of the minimum, at most srtt |
//!
//! The round trip is that of the latest packet known to have arrived. n is 1, and grows with each
//! round trip in which a packet arrived that had been found lost (RFC 8985 6.2 step 4; by DSACKs
//! there).
//!
//! *Deviations*
//! - RFC 4341 halves at the third later packet at once. The eighth (RFC 9002 6.1.2 has the same
//!   fraction) lets a packet that two or three others overtook arrive; a loss is found that much later.
//! - n falls back to 1 after 16 round trips without such an arrival, not after 16 recoveries.

use units::{Duration, Instant};

/// RFC 8985 6.2 step 4 and RFC 9002 6.1.2: steps of the reordering window, as parts of the minimum
/// round-trip time.
const STEP: u64 = 4;
const FIRST_STEP: u64 = 8;
/// Rounds after which the window shrinks (RFC 8985 6.2 step 4: `reo_wnd_persist`).
const PERSIST: u32 = 16;
/// Maximum steps (Linux: 0xff).
const MAX_STEPS: u64 = 255;

/// What is known of reordering on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    /// RACK.rtt: round trip of the latest packet that arrived.
    rtt: Duration,
    is_reordering_seen: bool,
    /// RACK.reo_wnd_mult.
    steps: u64,
    /// Rounds until the window shrinks.
    persist: u32,
    /// The window has grown in this round trip.
    has_grown: bool,
}

/// What the window depends on besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct DetectionContext {
    /// Minimum round-trip time.
    pub(super) min_rtt: Duration,
    pub(super) srtt: Duration,
}

impl Detection {
    pub(super) fn new() -> Self {
        Self {
            rtt: Duration::ZERO,
            is_reordering_seen: false,
            steps: 1,
            persist: 0,
            has_grown: false,
        }
    }

    /// The latest packet so far arrived, after this time.
    pub(super) fn on_latest(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// A packet arrived after one that was sent later.
    pub(super) fn on_reordering(&mut self) {
        self.is_reordering_seen = true;
    }

    /// A packet arrived that had been found lost.
    pub(super) fn on_late_arrival(&mut self) {
        self.is_reordering_seen = true;
        self.persist = PERSIST;
        if !self.has_grown {
            self.has_grown = true;
            self.steps = (self.steps + 1).min(MAX_STEPS);
        }
    }

    /// A round trip began.
    pub(super) fn on_round(&mut self) {
        self.has_grown = false;
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.steps = 1;
            }
        }
    }

    fn window(&self, has_three_after: bool, cx: &DetectionContext) -> Duration {
        if has_three_after && !self.is_reordering_seen {
            cx.min_rtt / FIRST_STEP
        } else {
            (cx.min_rtt * self.steps / STEP).min(cx.srtt)
        }
    }

    /// From when on a packet is lost that was sent at `sent_at`, before one that arrived.
    pub(super) fn deadline(
        &self,
        sent_at: Instant,
        has_three_after: bool,
        cx: &DetectionContext,
    ) -> Instant {
        sent_at + self.rtt + self.window(has_three_after, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    const CX: DetectionContext = DetectionContext {
        min_rtt: Duration::from_millis(40),
        srtt: Duration::from_millis(50),
    };

    fn window(detection: &Detection, has_three_after: bool) -> Duration {
        detection
            .deadline(Instant::ZERO, has_three_after, &CX)
            .saturating_since(Instant::ZERO + detection.rtt)
    }

    #[test]
    fn rfc_4341_5_three_later_packets_need_an_eighth_more_time() {
        let mut detection = Detection::new();
        detection.on_latest(ms(48));
        assert_eq!(window(&detection, true), ms(5));
        assert_eq!(window(&detection, false), ms(10));
        detection.on_reordering();
        assert_eq!(window(&detection, true), ms(10), "RFC 8985 6.2 step 4");
    }

    #[test]
    fn rfc_8985_6_2_step_4_the_window_grows_once_a_round_trip_up_to_srtt() {
        let mut detection = Detection::new();
        detection.on_late_arrival();
        detection.on_late_arrival();
        assert_eq!(
            window(&detection, true),
            ms(20),
            "one round trip counts once"
        );
        detection.on_round();
        detection.on_late_arrival();
        assert_eq!(window(&detection, true), ms(30));
        for _ in 0..9 {
            detection.on_round();
            detection.on_late_arrival();
        }
        assert_eq!(window(&detection, true), ms(50), "never above srtt");
        for _ in 0..16 {
            assert_eq!(window(&detection, true), ms(50));
            detection.on_round();
        }
        assert_eq!(window(&detection, true), ms(10));
    }
}
