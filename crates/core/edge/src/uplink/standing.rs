//! How long a flow's queue may stand above the modem: longer while the radio carries less than it did.
//!
//! ```text
//!   F += time / (time + 100 ms) (R - F)       what the radio carries
//!   H += time / (time + 5 s) (F - H),  H >= F  what it carried in the seconds before
//!   target = 5 ms + (H / F - 1) 100 ms,       at most 500 ms
//!   ECT(1) is marked from 8 ms + target - 5 ms on
//! ```
//! R is [`super::GrantedRate`]. A sender that fills a radio of the rate H over a round trip T has H T under way. As the radio
//! falls to F, (H - F) T of that stands in the queue, for (H / F - 1) T. To drop for it has the sender halve what the radio
//! may carry again in a second, and grow for many round trips. So this much is no standing queue yet, with the T that
//! CoDel has for its interval (RFC 8289 section 4.3); as H follows F, what stays is one. On a steady radio it is RFC 8289's 5 ms.
//!
//! ECT(1) is marked from a threshold on that is above the configured one by what the target is above 5 ms: a scalable sender
//! that is marked for what the fall has left reduces by it, too, and grows by a segment in a round trip.
//!
//! Flows wait apart from each other: what stands of one is a delay of its packets alone.
//!
//! Rates in bit/s. A time without statuses counts as any other; a status that is older than the one before changes nothing.
//!
//! *Its limit* is that of R, which is what a sender sends where that is less than the radio carries: a sender that was fast and
//! has become slow is a radio that has fallen, until H has followed.

use units::{BitRate, Duration, Instant};

/// Forgetting time of F, seconds.
const NOW: f64 = 0.1;
/// Forgetting time of H, seconds.
const BEFORE: f64 = 5.0;
/// What stands over a steady radio: RFC 8289 section 4.4.
pub(super) const TARGET: Duration = Duration::from_millis(5);
/// T: RFC 8289 section 4.3.
const ROUND_TRIP: Duration = Duration::from_millis(100);
/// What stands over a radio that carries almost nothing.
const MAX_TARGET: Duration = Duration::from_millis(500);

/// What the radio carried, and carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Of the last rate.
    last: Option<Instant>,
    /// F.
    now: f64,
    /// H, no less than F.
    before: f64,
}

impl Standing {
    /// The rate of the radio as of `at`: CoDel's target from then on.
    pub(super) fn on_rate(&mut self, at: Instant, rate: BitRate) -> Duration {
        let rate = rate.as_bps() as f64;
        match self.last.replace(at) {
            None => (self.now, self.before) = (rate, rate),
            Some(last) => {
                let time = at.saturating_since(last).as_secs_f64();
                self.now += time / (time + NOW) * (rate - self.now);
                self.before += time / (time + BEFORE) * (self.now - self.before);
                self.before = self.before.max(self.now);
            }
        }
        let fallen = (self.before / self.now.max(1.0) - 1.0).max(0.0);
        let limit = (MAX_TARGET - TARGET).ratio(ROUND_TRIP);
        TARGET + ROUND_TRIP.mul_f64(fallen.min(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Statuses every 5 ms of rates in Mbit/s, each for so many of them; the target after each group, ms.
    fn targets(groups: &[(u64, u64)]) -> Vec<f64> {
        let mut standing = Standing::default();
        let mut at = Instant::ZERO;
        let of = |&(mbps, statuses): &(u64, u64)| {
            let mut target = Duration::ZERO;
            for _ in 0..statuses {
                at += Duration::from_millis(5);
                target = standing.on_rate(at, BitRate::from_mbps(mbps));
            }
            target.as_secs_f64() * 1e3
        };
        groups.iter().map(of).collect()
    }

    #[test]
    fn a_steady_radio_has_codels_target_and_so_has_one_that_rises() {
        assert_eq!(targets(&[(20, 1), (20, 1_000)]), [5.0, 5.0]);
        assert_eq!(targets(&[(5, 400), (20, 400)]), [5.0, 5.0]);
    }

    #[test]
    fn what_a_fall_leaves_may_stand_until_the_fall_is_old() {
        let found = targets(&[(20, 400), (10, 100), (10, 8_000)]);
        assert_eq!(found[0], 5.0);
        // half of it: a round trip, of which less than a tenth is forgotten after half a second
        assert!((85.0..105.0).contains(&found[1]), "{found:?}");
        assert!((5.0..6.0).contains(&found[2]), "{found:?}");
    }

    #[test]
    fn a_radio_that_carries_nothing_has_the_longest() {
        assert_eq!(targets(&[(20, 400), (0, 400)])[1], 500.0);
        assert_eq!(targets(&[(0, 2)]), [5.0]);
    }

    /// After statuses of 20 and then 10 Mbit/s, each for two seconds; the time of the last.
    fn fallen() -> (Standing, Instant, Duration) {
        let mut standing = Standing::default();
        let (mut at, mut target) = (Instant::ZERO, Duration::ZERO);
        for status in 0..800 {
            let mbps = if status < 400 { 20 } else { 10 };
            at += Duration::from_millis(5);
            target = standing.on_rate(at, BitRate::from_mbps(mbps));
        }
        (standing, at, target)
    }

    #[test]
    fn a_status_that_is_older_changes_nothing() {
        let (mut standing, at, target) = fallen();
        let older = at - Duration::from_secs(1);
        for rate in [0, 1, 1_000] {
            assert_eq!(standing.on_rate(older, BitRate::from_mbps(rate)), target);
        }
    }

    proptest! {
        /// Whatever a modem reports: a sender that is fast and slow by turns makes its flow stand for no longer.
        #[test]
        fn the_target_is_bounded(statuses in proptest::collection::vec((0u64..100_000_000_000, any::<u64>()), 1..200)) {
            let mut standing = Standing::default();
            for (at, bps) in statuses {
                let target = standing.on_rate(Instant::from_nanos(at), BitRate::from_bps(bps));
                prop_assert!((TARGET..=MAX_TARGET).contains(&target), "{}", target);
            }
        }
    }

    #[test]
    fn a_fall_is_old_after_a_time_without_statuses() {
        let (mut standing, at, target) = fallen();
        assert!(target > Duration::from_millis(50), "{target}");
        let minute = at + Duration::from_secs(60);
        let after = standing.on_rate(minute, BitRate::from_mbps(10));
        assert!(after < Duration::from_millis(12), "{after}");
    }
}
