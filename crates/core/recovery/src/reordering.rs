//! The reordering window of RACK: how much longer than a round trip a packet may be missing before it is lost.
//!
//! Source: RFC 8985 6.2, steps 2 to 5, with the names of its section 5.
//!
//! | RFC 8985 | here |
//! | --- | --- |
//! | RACK.rtt | [`Reordering::on_latest`] |
//! | RACK.reordering_seen | [`Reordering::on_reordering`] |
//! | RACK.reo_wnd_mult, RACK.reo_wnd_persist | [`Reordering::on_unnecessary`], [`Reordering::on_quiet`] |
//! | RACK.reo_wnd = min(mult min_RTT / 4, SRTT) | [`Reordering::window`] |
//! | step 5: sent_at + rtt + reo_wnd | [`Reordering::lost_at`] |
//!
//! What is evidence of a needless retransmission (DSACKs of TCP, a late packet of DCCP), what a quiet period is (a recovery
//! of TCP, a round trip of DCCP), and when the window is zero or smaller (step 4's DupThresh) is the transport's.

use units::{Duration, Instant};

/// Step 4: steps of the window, as parts of the minimum round-trip time.
const STEP: u64 = 4;
/// Step 4: quiet periods after which the window shrinks.
const PERSIST: u32 = 16;
/// Maximum steps (Linux: 0xff).
const MAX_STEPS: u64 = 255;

/// What is known of reordering on a path.
#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    /// RACK.rtt: round trip of the packet delivered last.
    rtt: Duration,
    is_seen: bool,
    /// RACK.reo_wnd_mult, 1 to [`MAX_STEPS`].
    steps: u64,
    /// RACK.reo_wnd_persist: quiet periods until the window shrinks; 0 where it is of one step.
    persist: u32,
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            rtt: Duration::ZERO,
            is_seen: false,
            steps: 1,
            persist: 0,
        }
    }
}

impl Reordering {
    /// Step 2: a packet was delivered after so long that no other sent later had been.
    pub fn on_latest(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Step 3: a packet arrived after one that was sent later.
    pub fn on_reordering(&mut self) {
        self.is_seen = true;
    }

    /// True once reordering was seen.
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Step 4: a packet was found lost that was not. The window grows by a step in each round trip in which that happens.
    pub fn on_unnecessary(&mut self, is_first_of_round: bool) {
        self.persist = PERSIST;
        if is_first_of_round {
            self.steps = (self.steps + 1).min(MAX_STEPS);
        }
    }

    /// Step 4: a period ended. After 16 without [`Self::on_unnecessary`] the window is one step.
    pub fn on_quiet(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Step 4: RACK.reo_wnd. While no minimum is known, SRTT.
    pub fn window(&self, min_rtt: Option<Duration>, srtt: Duration) -> Duration {
        min_rtt.map_or(srtt, |min_rtt| (min_rtt * self.steps / STEP).min(srtt))
    }

    /// Step 5: from when on a packet is lost that was sent at `sent_at`, before one that was delivered.
    pub fn lost_at(&self, sent_at: Instant, window: Duration) -> Instant {
        sent_at + self.rtt + window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn window(reordering: &Reordering) -> Duration {
        reordering.window(Some(ms(40)), ms(50))
    }

    #[test]
    fn rfc_8985_6_2_step_4_a_quarter_of_min_rtt_and_more_with_each_round_up_to_srtt() {
        let mut reordering = Reordering::default();
        assert_eq!(window(&reordering), ms(10));
        assert_eq!(reordering.window(None, ms(50)), ms(50));
        reordering.on_unnecessary(true);
        reordering.on_unnecessary(false);
        assert_eq!(window(&reordering), ms(20), "one round counts once");
        reordering.on_unnecessary(true);
        assert_eq!(window(&reordering), ms(30));
        for _ in 0..300 {
            reordering.on_unnecessary(true);
        }
        assert_eq!(window(&reordering), ms(50), "never above srtt");
        assert_eq!(reordering.window(Some(ms(40)), ms(9_999)), ms(2_550));
    }

    #[test]
    fn rfc_8985_6_2_step_4_after_16_quiet_periods_the_window_is_one_step() {
        let mut reordering = Reordering::default();
        reordering.on_unnecessary(true);
        for _ in 0..15 {
            reordering.on_quiet();
        }
        assert_eq!(window(&reordering), ms(20));
        reordering.on_unnecessary(false);
        for _ in 0..16 {
            assert_eq!(window(&reordering), ms(20), "they count anew");
            reordering.on_quiet();
        }
        assert_eq!(window(&reordering), ms(10));
    }

    #[test]
    fn rfc_8985_6_2_step_5_lost_after_rtt_and_window() {
        let mut reordering = Reordering::default();
        reordering.on_latest(ms(50));
        let sent_at = Instant::ZERO + ms(7);
        assert_eq!(reordering.lost_at(sent_at, ms(10)), Instant::ZERO + ms(67));
    }
}
