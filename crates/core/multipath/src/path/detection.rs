//! When a packet that was not acknowledged is lost.
//!
//! Source: RFC 4341 section 5 (NUMDUPACK = 3 packets after it were acknowledged) and RFC 8985
//! section 6 (RACK: it has had the time of a round trip and some more; [`recovery::reordering`]).
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

use recovery::Reordering;
use units::{Duration, Instant};

/// RFC 9002 6.1.2: the window after three later packets, as a part of the minimum round-trip time.
const FIRST_STEP: u64 = 8;

/// What is known of reordering on the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detection {
    reordering: Reordering,
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
    /// The latest packet so far arrived, after this time.
    pub(super) fn on_latest(&mut self, rtt: Duration) {
        self.reordering.on_latest(rtt);
    }

    /// A packet arrived after one that was sent later.
    pub(super) fn on_reordering(&mut self) {
        self.reordering.on_reordering();
    }

    /// A packet arrived that had been found lost.
    pub(super) fn on_late_arrival(&mut self) {
        self.reordering.on_reordering();
        self.reordering.on_unnecessary(!self.has_grown);
        self.has_grown = true;
    }

    /// A round trip began.
    pub(super) fn on_round(&mut self) {
        self.has_grown = false;
        self.reordering.on_quiet();
    }

    fn window(&self, has_three_after: bool, cx: &DetectionContext) -> Duration {
        if has_three_after && !self.reordering.is_seen() {
            cx.min_rtt / FIRST_STEP
        } else {
            self.reordering.window(Some(cx.min_rtt), cx.srtt)
        }
    }

    /// From when on a packet is lost that was sent at `sent_at`, before one that arrived.
    pub(super) fn deadline(
        &self,
        sent_at: Instant,
        has_three_after: bool,
        cx: &DetectionContext,
    ) -> Instant {
        let window = self.window(has_three_after, cx);
        self.reordering.lost_at(sent_at, window)
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
        detection.window(has_three_after, &CX)
    }

    #[test]
    fn rfc_4341_5_three_later_packets_need_an_eighth_more_time() {
        let mut detection = Detection::default();
        detection.on_latest(ms(48));
        assert_eq!(window(&detection, true), ms(5));
        assert_eq!(window(&detection, false), ms(10));
        let deadline = detection.deadline(Instant::ZERO + ms(7), true, &CX);
        assert_eq!(deadline, Instant::ZERO + ms(7 + 48 + 5));
        detection.on_reordering();
        assert_eq!(window(&detection, true), ms(10), "RFC 8985 6.2 step 4");
    }

    #[test]
    fn rfc_8985_6_2_step_4_the_window_grows_once_a_round_trip_up_to_srtt() {
        let mut detection = Detection::default();
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
