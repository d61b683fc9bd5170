//! RACK: losses found by the time at which segments were sent (RFC 8985 section 6). The reordering window and the time of a
//! loss are [`recovery::reordering`]'s.
//!
//! *Deviations*
//! - 6.2 step 2 compares echoed timestamps; a SACK echoes an older segment (RFC 7323 4.3), so here
//!   only acknowledgements that advance are compared. The minimum round-trip time decides for all, as
//!   in Linux.
//! - The reordering timer has Linux's minimum delay ([`TIMER_SLACK`]) on top of 6.2 step 5's, and runs
//!   until all that was sent before the latest delivered segment has had its time.
//! - A DSACK counts only once reordering was seen and if it was not for a probe, as in Linux.

use ::recovery::Reordering;
use units::{Duration, Instant};

/// Added to short timers (Linux `TCP_TIMEOUT_MIN`: two ticks of 1 ms).
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(2);
/// RFC 8985 6.2 step 4: DupThresh (RFC 5681).
const DUP_THRESH: u32 = 3;

/// When a segment was sent, and its end where that is equal: RFC 8985 6.1, `RACK_sent_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SendOrder {
    pub(super) sent_at: Instant,
    pub(super) end: u64,
}

/// What step 4 of 6.2 depends on besides RACK's own state.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReorderingContext {
    /// In fast or timeout recovery.
    pub(super) is_recovering: bool,
    /// Segments sacked.
    pub(super) sacked_segments: u32,
    /// Minimum round-trip time, if known.
    pub(super) min_rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub(super) srtt: Duration,
}

/// State of RFC 8985 5.2 and 5.3.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: the latest sent segment that was delivered.
    latest: Option<SendOrder>,
    reordering: Reordering,
    /// RACK.dsack_round: until this position is acknowledged, further DSACKs are of the same round.
    dsack_round: Option<u64>,
}

impl Rack {
    /// 6.2 step 2: a segment sent at `order` is known to be delivered.
    pub(super) fn on_delivered(&mut self, now: Instant, order: SendOrder) {
        self.reordering
            .on_latest(now.saturating_since(order.sent_at));
        if self.latest.is_none_or(|latest| order > latest) {
            self.latest = Some(order);
        }
    }

    /// 6.2 step 3.
    pub(super) fn on_reordering(&mut self) {
        self.reordering.on_reordering();
    }

    /// 6.2 step 4, the part for DSACKs.
    pub(super) fn on_dsack(&mut self, una: u64, snd_nxt: u64) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && self.reordering.is_seen() {
            self.dsack_round = Some(snd_nxt);
            self.reordering.on_unnecessary(true);
        }
    }

    /// 6.2 step 4: a recovery ended.
    pub(super) fn on_recovery_end(&mut self) {
        self.reordering.on_quiet();
    }

    /// 6.2 step 4: RACK.reo_wnd.
    pub(super) fn reordering_window(&self, cx: &ReorderingContext) -> Duration {
        let is_threshold = cx.is_recovering || cx.sacked_segments >= DUP_THRESH;
        if is_threshold && !self.reordering.is_seen() {
            return Duration::ZERO;
        }
        self.reordering.window(cx.min_rtt, cx.srtt)
    }

    /// True if a segment sent at `order` is older than the latest delivered.
    pub(super) fn was_sent_before_latest(&self, order: SendOrder) -> bool {
        self.latest.is_some_and(|latest| order < latest)
    }

    /// 6.2 step 5: a segment sent at that time should have been delivered by now.
    pub(super) fn has_expired(&self, sent_at: Instant, now: Instant, reo_wnd: Duration) -> bool {
        self.reordering.lost_at(sent_at, reo_wnd) <= now
    }

    /// When all that was sent before the latest delivered segment has expired.
    pub(super) fn deadline(&self, now: Instant, reo_wnd: Duration) -> Instant {
        let latest = self.latest.map_or(now, |latest| latest.sent_at);
        self.reordering.lost_at(latest, reo_wnd).max(now) + TIMER_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }
    fn order(sent: u64, end: u64) -> SendOrder {
        SendOrder {
            sent_at: at(sent),
            end,
        }
    }
    fn cx(is_recovering: bool, sacked_segments: u32) -> ReorderingContext {
        ReorderingContext {
            is_recovering,
            sacked_segments,
            min_rtt: Some(ms(40)),
            srtt: ms(50),
        }
    }

    #[test]
    fn rfc_8985_6_1_the_later_sent_then_the_higher_end() {
        assert!(order(2, 100) > order(1, 900));
        assert!(order(1, 900) > order(1, 100));
    }

    #[test]
    fn rfc_8985_6_2_step_4_the_window_is_zero_while_nothing_was_reordered() {
        let rack = Rack::default();
        assert_eq!(rack.reordering_window(&cx(false, 2)), ms(10));
        assert_eq!(rack.reordering_window(&cx(false, 3)), Duration::ZERO);
        assert_eq!(rack.reordering_window(&cx(true, 0)), Duration::ZERO);
    }

    #[test]
    fn rfc_8985_6_2_step_4_a_quarter_of_min_rtt_and_more_with_each_dsack_round() {
        let mut rack = Rack::default();
        rack.on_reordering();
        assert_eq!(rack.reordering_window(&cx(true, 9)), ms(10));
        rack.on_dsack(0, 5_000);
        rack.on_dsack(4_999, 9_000);
        assert_eq!(
            rack.reordering_window(&cx(true, 9)),
            ms(20),
            "one round counts once"
        );
        rack.on_dsack(5_000, 9_000);
        assert_eq!(rack.reordering_window(&cx(true, 9)), ms(30));
        for _ in 0..9 {
            rack.on_dsack(u64::MAX, u64::MAX);
        }
        assert_eq!(
            rack.reordering_window(&cx(true, 9)),
            ms(50),
            "never above srtt"
        );
        for _ in 0..16 {
            assert_eq!(rack.reordering_window(&cx(true, 9)), ms(50));
            rack.on_recovery_end();
        }
        assert_eq!(
            rack.reordering_window(&cx(true, 9)),
            ms(10),
            "16 recoveries without DSACK"
        );
    }

    #[test]
    fn rfc_8985_6_2_step_5_lost_after_rtt_and_window() {
        let mut rack = Rack::default();
        // P2, sent at 1 ms, is delivered at 51 ms; P1 was sent at 0
        rack.on_delivered(at(51), order(1, 2_000));
        assert!(rack.was_sent_before_latest(order(0, 1_000)));
        assert!(!rack.was_sent_before_latest(order(2, 3_000)));
        assert!(!rack.has_expired(at(0), at(59), ms(10)));
        assert!(rack.has_expired(at(0), at(60), ms(10)));
        assert_eq!(rack.deadline(at(51), ms(10)), at(61) + TIMER_SLACK);
    }
}
