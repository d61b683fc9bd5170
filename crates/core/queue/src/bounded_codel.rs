//! CoDel with a bound on what waits, for senders that do not answer it (ours).
//!
//! CoDel signals by single drops, ever more often: after 5 s of an interval of 100 ms 250 a second. A sender that takes no drop for
//! congestion (BBR version 1) sends again what was dropped, and its queue stands. What answers does so within a round trip, for
//! which CoDel's interval is the worst case. So:
//!
//! ```text
//!   unanswered:  packets have waited longer than `target` for `interval + answer` without a break
//!   from then on, until MEMORY_INTERVALS have passed in which nothing was dropped or marked by the bound:
//!     waited > target        marked if ECN-capable, else dropped
//!     waited > 2 * target    dropped
//! ```
//!
//! As long as nothing is unanswered, every packet is treated as [`CoDel`] does. A packet behind which no more than a full one
//! waits is never dropped (RFC 8289 section 5.5).

use crate::fifo::try_mark;
use crate::{Capacity, CoDel, CoDelConfig, ConfigError, Dequeued, Ecn, Occupancy, Packet};
use units::{Bytes, Duration, Instant};

/// The bound holds for so many intervals after it was last needed: as long as CoDel remembers its rate (RFC 8289 section 5.6).
const MEMORY_INTERVALS: u64 = 16;
/// ECN-capable packets are marked up to so many targets.
const MARKED_TARGETS: u64 = 2;

/// How it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedCoDelConfig {
    /// CoDel's part.
    pub codel: CoDelConfig,
    /// How long beyond CoDel's interval senders have to answer; none: there is no bound, it is CoDel.
    pub answer: Option<Duration>,
}

/// One queue under CoDel, bounded where that is not answered.
#[derive(Debug)]
pub struct BoundedCoDel<P> {
    config: BoundedCoDelConfig,
    codel: CoDel<P>,
    /// Since when packets have waited longer than the target.
    above_since: Option<Instant>,
    /// Until then the bound holds.
    bound_until: Option<Instant>,
}

/// What becomes of the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// CoDel decides.
    CoDel,
    Mark,
    Drop,
}

impl<P: Packet> BoundedCoDel<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`CoDel::new`].
    pub fn new(config: BoundedCoDelConfig, capacity: Capacity) -> Result<Self, ConfigError> {
        Ok(Self {
            codel: CoDel::new(config.codel.clone(), capacity)?,
            config,
            above_since: None,
            bound_until: None,
        })
    }

    /// As [`CoDel::push`].
    ///
    /// # Errors
    /// The packet, if it does not fit.
    pub fn push(&mut self, now: Instant, packet: P) -> Result<(), P> {
        self.codel.push(now, packet)
    }

    /// As [`CoDel::front`].
    pub fn front(&self) -> Option<&Dequeued<P>> {
        self.codel.front()
    }

    /// How much is waiting.
    pub fn occupancy(&self) -> Occupancy {
        self.codel.occupancy()
    }

    /// True while the bound holds.
    pub fn is_bound(&self, now: Instant) -> bool {
        self.bound_until.is_some_and(|until| now < until)
    }

    /// As [`CoDel::pop`].
    pub fn pop(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        loop {
            match self.verdict(now, budget) {
                Verdict::CoDel => return self.codel.pop(now, budget, dropped),
                Verdict::Mark => {
                    let mut head = self.codel.take_front()?;
                    try_mark(&mut head.packet);
                    return Some(head);
                }
                Verdict::Drop => dropped(self.codel.take_front()?.packet),
            }
        }
    }

    fn verdict(&mut self, now: Instant, budget: Bytes) -> Verdict {
        let Some(answer) = self.config.answer else {
            return Verdict::CoDel;
        };
        let codel = &self.config.codel;
        let (target, interval) = (codel.target, codel.interval);
        let waiting = self.codel.occupancy().bytes;
        let Some(head) = self.codel.front() else {
            self.above_since = None;
            return Verdict::CoDel;
        };
        let (bytes, ecn) = (head.packet.bytes(), head.packet.ecn());
        let sojourn = now.saturating_since(head.enqueued_at);
        if bytes > budget {
            return Verdict::CoDel;
        }
        if codel.is_short(sojourn, waiting.saturating_sub(bytes)) {
            self.above_since = None;
            return Verdict::CoDel;
        }
        let since = *self.above_since.get_or_insert(now);
        let is_unanswered = now.saturating_since(since) >= interval + answer;
        if !is_unanswered && !self.is_bound(now) {
            return Verdict::CoDel;
        }
        self.bound_until = Some(now + interval * MEMORY_INTERVALS);
        let can_be_marked = codel.ecn && ecn != Ecn::NotEct;
        match can_be_marked && sojourn <= target * MARKED_TARGETS {
            true => Verdict::Mark,
            false => Verdict::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;

    const ANSWER: Duration = Duration::from_millis(200);

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn queue(answer: Option<Duration>) -> BoundedCoDel<TestPacket> {
        let config = BoundedCoDelConfig {
            codel: CoDelConfig::default(),
            answer,
        };
        BoundedCoDel::new(config, Capacity::Unlimited).expect("as preset")
    }

    /// What left, after how long, and what was dropped.
    #[derive(Debug, Default, PartialEq)]
    struct Outcome {
        left: Vec<(Instant, Duration, TestPacket)>,
        dropped: Vec<(Instant, TestPacket)>,
    }

    impl Outcome {
        /// The longest wait of what left between two times, in ms.
        fn longest(&self, from_ms: u64, to_ms: u64) -> f64 {
            let (from, to) = (at_us(from_ms * 1_000), at_us(to_ms * 1_000));
            let within = self.left.iter().filter(|(at, ..)| (from..to).contains(at));
            let longest = within.map(|(_, wait, _)| *wait).max();
            longest.unwrap_or_default().as_secs_f64() * 1e3
        }
    }

    /// A packet leaves each millisecond; `arrivals` states when packets come, in microseconds.
    fn run(
        queue: &mut BoundedCoDel<TestPacket>,
        millis: core::ops::Range<u64>,
        ecn: Ecn,
        mut arrives: impl FnMut(u64) -> u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for ms in millis {
            let now = at_us(ms * 1_000);
            for number in 0..arrives(ms) {
                let packet = TestPacket::new(1_500)
                    .with_ecn(ecn)
                    .with_flow(ms * 10 + number);
                queue.push(now, packet).expect("no limit");
            }
            let mut dropped = |packet| outcome.dropped.push((now, packet));
            if let Some(left) = queue.pop(now, Bytes::MAX, &mut dropped) {
                let wait = now.saturating_since(left.enqueued_at);
                outcome.left.push((now, wait, left.packet));
            }
        }
        outcome
    }

    /// A tenth more than can leave.
    fn too_many(ms: u64) -> u64 {
        1 + u64::from(ms.is_multiple_of(10))
    }

    #[test]
    fn what_is_not_answered_waits_for_no_longer_than_the_target() {
        let codel = run(&mut queue(None), 0..3_000, Ecn::NotEct, too_many);
        assert!(codel.longest(1_000, 3_000) > 50.0);
        let mut bounded = queue(Some(ANSWER));
        let outcome = run(&mut bounded, 0..3_000, Ecn::NotEct, too_many);
        // above the target after some 50 ms; CoDel's interval and the answer's time behind that
        assert!(outcome.longest(0, 400) > 20.0);
        assert!(outcome.longest(400, 3_000) <= 5.0);
        assert!(bounded.is_bound(at_us(3_000_000)));
        // all that can leave does
        assert_eq!(outcome.left.len(), 3_000);
        assert!(outcome.left.is_sorted_by_key(|(.., packet)| packet.flow));
    }

    /// Of 120 ms of too many packets and a pause, again and again, CoDel's drops are all there are.
    #[test]
    fn senders_that_answer_are_under_codel_alone() {
        let answered = |ms: u64| if ms % 600 < 250 { too_many(ms) } else { ms % 2 };
        let plain = run(&mut queue(None), 0..6_000, Ecn::NotEct, answered);
        let mut bounded = queue(Some(ANSWER));
        let outcome = run(&mut bounded, 0..6_000, Ecn::NotEct, answered);
        assert!(!plain.dropped.is_empty());
        assert_eq!(outcome, plain);
        assert!(!bounded.is_bound(at_us(6_000_000)));
    }

    #[test]
    fn what_can_be_marked_is_and_is_dropped_beyond_two_targets() {
        let outcome = run(&mut queue(Some(ANSWER)), 0..3_000, Ecn::Ect0, too_many);
        let marked = outcome
            .left
            .iter()
            .filter(|(.., packet)| packet.ecn == Ecn::Ce);
        assert!(marked.count() > 1_000);
        assert!(!outcome.dropped.is_empty());
        assert!(outcome.longest(400, 3_000) <= 10.0);
    }

    #[test]
    fn the_bound_ends_when_it_was_not_needed_for_sixteen_intervals() {
        let mut bounded = queue(Some(ANSWER));
        run(&mut bounded, 0..1_000, Ecn::NotEct, too_many);
        let last = run(&mut bounded, 1_000..1_100, Ecn::NotEct, too_many);
        let (at, _) = *last.dropped.last().expect("too many");
        assert!(bounded.is_bound(at + Duration::from_millis(1_599)));
        assert!(!bounded.is_bound(at + Duration::from_millis(1_600)));
        // a new queue has the time to be answered again
        let outcome = run(&mut bounded, 3_000..3_200, Ecn::NotEct, |ms| {
            if ms < 3_010 { 3 } else { 1 }
        });
        assert!(outcome.longest(3_100, 3_200) > 10.0, "{outcome:?}");
    }

    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut bounded = queue(Some(ANSWER));
        run(&mut bounded, 0..1_000, Ecn::NotEct, too_many);
        bounded
            .push(at_us(1_000_000), TestPacket::new(1_500))
            .expect("no limit");
        let mut dropped = |_| {};
        let mut last = None;
        while let Some(left) = bounded.pop(at_us(1_500_000), Bytes::MAX, &mut dropped) {
            last = Some(left);
        }
        assert_eq!(last.map(|left| left.enqueued_at), Some(at_us(1_000_000)));
    }
}
