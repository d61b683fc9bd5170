//! When a path is left by latency-sensitive packets, and how it comes back.
//!
//! ```text
//!            overdue | loss | radio                     calm for `hold`
//!   Active -------------------------> Left ---------------------------> Returning -- RAMP --> Active
//!      ^                               ^  \ a copy each PROBE_INTERVAL      |
//!      |                               +------------- overdue, loss, radio -+
//! ```
//!
//! - **overdue**: an acknowledgement has been due for [`leave_after`]: 15 ms and what round trips differ by, at most 100 ms.
//!   With the acknowledgement's own way back, a path that stalls is left within 200 ms of it as long as its round trip is below 100 ms.
//! - **loss**: of the last [`LOSS_WINDOW`] more than a twentieth is lost, and three packets at least.
//! - **radio**: what is in flight takes longer than [`RADIO_DRAIN`] beyond the round trip at the rate that a fresh radio
//!   report has: the cell has faded, and its queue is about to show.
//!
//! `hold` begins with [`HOLD`] and doubles with each departure that follows a return by less than [`MEMORY`], up to
//! [`MAX_HOLD`]. A path that returns carries only copies for [`RAMP`].

use super::PathView;
use units::{Duration, Instant, Packets};

/// Least time for which an acknowledgement is overdue on a path that is left.
pub const LEAVE_AFTER: Duration = Duration::from_millis(15);
/// The most.
pub const MAX_LEAVE_AFTER: Duration = Duration::from_millis(100);
/// Losses are counted over so long.
pub const LOSS_WINDOW: Duration = Duration::from_millis(200);
/// What is in flight may take so much longer than a round trip at the reported rate.
pub const RADIO_DRAIN: Duration = Duration::from_millis(20);
/// A path is calm for so long before it returns.
pub const HOLD: Duration = Duration::from_millis(500);
/// The longest.
pub const MAX_HOLD: Duration = Duration::from_secs(4);
/// How long a path that returns carries copies only.
pub const RAMP: Duration = Duration::from_millis(500);
/// A path that was left has a copy so often.
pub const PROBE_INTERVAL: Duration = Duration::from_millis(50);
/// Departures are remembered for so long: with the paths' risk, and the hold.
pub const MEMORY: Duration = Duration::from_secs(30);
/// More than this share is lost on a path that is left.
const LOSS_SHARE: f64 = 0.05;
/// Of what was counted before, so much counts in each window: what is older than 20 s counts little.
const LOSS_KEPT: f64 = 0.98;
/// And as many packets.
const LOSS_MIN: Packets = Packets::new(3);
/// A path is calm if its fastest packets are no later than this.
const CALM: Duration = Duration::from_millis(15);
/// What a departure costs until it is noticed: the time that counts as missed.
const MISSED: Duration = Duration::from_millis(50);

/// For how long an acknowledgement is overdue on a path that is left.
pub fn leave_after(path: &PathView) -> Duration {
    let recent = path.recent_min_rtt.or(path.min_rtt).unwrap_or_default();
    let spread = path.srtt_or_zero().saturating_sub(recent);
    (LEAVE_AFTER + spread * 2).min(MAX_LEAVE_AFTER)
}

/// Where a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    /// Nothing has been wrong with it since then.
    Left(Instant),
    /// Since then.
    Returning(Instant),
}

/// A path as latency-sensitive packets take it, for those who look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegStats {
    /// `active`, `left` or `returning`.
    pub state: &'static str,
    /// Times that it was left.
    pub departures: u64,
    /// Times that it was active again.
    pub returns: u64,
}

/// A path as latency-sensitive packets take it.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    state: State,
    hold: Duration,
    returned_at: Option<Instant>,
    /// The last departure, and the decaying number of them.
    left_at: Option<Instant>,
    departures: f64,
    probed_at: Option<Instant>,
    /// All departures and returns.
    counts: (u64, u64),
    /// Where the window of losses began: time, lost and acknowledged then.
    window: (Instant, Packets, Packets),
    /// Share lost in the last window.
    loss: f64,
    /// Lost, and all, of the windows before, ever less of the older ones.
    counted: (f64, f64),
}

impl Leg {
    /// A path that was not seen before.
    pub fn new(now: Instant, path: &PathView) -> Self {
        Self {
            state: State::Active,
            hold: HOLD,
            returned_at: None,
            left_at: None,
            departures: 0.0,
            probed_at: None,
            counts: (0, 0),
            window: (now, path.lost, path.acked),
            loss: 0.0,
            counted: (0.0, 0.0),
        }
    }

    /// What the path is like now; true if it is left now.
    pub fn observe(&mut self, now: Instant, path: &PathView) -> bool {
        let is_lossy = self.count_losses(now, path);
        let is_wrong = path.overdue >= leave_after(path) || is_lossy || is_fading(path);
        match self.state {
            State::Active | State::Returning(_) if is_wrong => {
                self.leave(now);
                return true;
            }
            State::Left(_) if is_wrong || !is_calm(path) => self.state = State::Left(now),
            State::Left(since) if now.saturating_since(since) >= self.hold => {
                self.state = State::Returning(now);
                self.returned_at = Some(now);
            }
            State::Returning(since) if now.saturating_since(since) >= RAMP => {
                self.state = State::Active;
                self.counts.1 += 1;
            }
            _ => {}
        }
        false
    }

    fn leave(&mut self, now: Instant) {
        self.departures = self.departures_at(now) + 1.0;
        self.counts.0 += 1;
        self.left_at = Some(now);
        let is_soon = self
            .returned_at
            .is_some_and(|at| now.saturating_since(at) < self.hold * 2);
        self.hold = match is_soon {
            true => (self.hold * 2).min(MAX_HOLD),
            false => HOLD,
        };
        self.state = State::Left(now);
        self.probed_at = Some(now);
    }

    fn departures_at(&self, now: Instant) -> f64 {
        let Some(left_at) = self.left_at else {
            return 0.0;
        };
        let age = now.saturating_since(left_at).as_nanos() as f64 / MEMORY.as_nanos() as f64;
        self.departures * (1.0 - age).max(0.0)
    }

    fn count_losses(&mut self, now: Instant, path: &PathView) -> bool {
        let (began, lost, acked) = self.window;
        let of = |count: Packets, before: Packets| count.get().saturating_sub(before.get());
        let lost = of(path.lost, lost);
        let all = lost + of(path.acked, acked);
        let share = lost as f64 / all.max(1) as f64;
        if now.saturating_since(began) >= LOSS_WINDOW {
            self.window = (now, path.lost, path.acked);
            self.loss = share;
            let kept = |sum: f64, more: u64| sum.mul_add(LOSS_KEPT, more as f64);
            self.counted = (kept(self.counted.0, lost), kept(self.counted.1, all));
        }
        lost >= LOSS_MIN.get() && share > LOSS_SHARE
    }

    /// Where it is, and how often it was left and returned to.
    pub fn stats(&self) -> LegStats {
        LegStats {
            state: match self.state {
                State::Active => "active",
                State::Left(_) => "left",
                State::Returning(_) => "returning",
            },
            departures: self.counts.0,
            returns: self.counts.1,
        }
    }

    /// It carries packets that go nowhere else.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// It was left, and is not back yet.
    pub fn is_left(&self) -> bool {
        matches!(self.state, State::Left(_))
    }

    /// A copy on the path would show now how it is; true once an interval.
    pub fn take_probe(&mut self, now: Instant) -> bool {
        let is_due = !self.is_active()
            && self
                .probed_at
                .is_none_or(|at| now.saturating_since(at) >= PROBE_INTERVAL);
        if is_due {
            self.probed_at = Some(now);
        }
        is_due
    }

    /// Share of packets that is lost there for long.
    pub fn loss_rate(&self) -> f64 {
        self.counted.0 / self.counted.1.max(1.0)
    }

    /// Probability that a packet misses its deadline there by a departure.
    pub fn stall_probability(&self, now: Instant) -> f64 {
        let missed = MISSED.as_nanos() as f64 / MEMORY.as_nanos() as f64;
        (self.departures_at(now) * missed).min(1.0)
    }

    /// Probability that a packet misses its deadline there: what departures have cost of the time remembered, and
    /// losses.
    pub fn miss_probability(&self, now: Instant) -> f64 {
        let missed = MISSED.as_nanos() as f64 / MEMORY.as_nanos() as f64;
        (self.departures_at(now) * missed + self.loss).min(1.0)
    }
}

fn is_calm(path: &PathView) -> bool {
    let recent = path.recent_min_rtt.or(path.srtt).unwrap_or_default();
    path.overdue.is_zero() && recent <= path.min_rtt.unwrap_or_default() + CALM
}

/// What is in flight takes long at the rate of the radio report.
fn is_fading(path: &PathView) -> bool {
    let Some(rate) = path.radio_rate else {
        return false;
    };
    let in_flight = path.packet_size * path.in_flight.get();
    let round = path.min_rtt.unwrap_or_default();
    rate.is_zero() || in_flight / rate > round + RADIO_DRAIN
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;
    use units::BitRate;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn calm() -> PathView {
        path(0, 3, 100, 5, 20)
    }

    fn overdue(ms: u64) -> PathView {
        PathView {
            overdue: Duration::from_millis(ms),
            ..calm()
        }
    }

    #[test]
    fn a_path_is_left_when_an_acknowledgement_is_overdue_and_returns_by_steps() {
        let mut leg = Leg::new(at_ms(0), &calm());
        assert!(!leg.observe(at_ms(10), &overdue(14)) && leg.is_active());
        assert!(leg.observe(at_ms(11), &overdue(15)) && leg.is_left());
        // once, however long it lasts
        assert!(!leg.observe(at_ms(300), &overdue(300)));
        assert!(!leg.observe(at_ms(799), &calm()) && leg.is_left());
        assert!(!leg.observe(at_ms(800), &calm()) && !leg.is_left() && !leg.is_active());
        leg.observe(at_ms(1_299), &calm());
        assert!(!leg.is_active());
        assert_eq!(leg.stats().state, "returning");
        leg.observe(at_ms(1_300), &calm());
        assert!(leg.is_active());
        let stats = LegStats {
            state: "active",
            departures: 1,
            returns: 1,
        };
        assert_eq!(leg.stats(), stats);
    }

    #[test]
    fn one_that_goes_again_soon_stays_away_for_longer() {
        let mut leg = Leg::new(at_ms(0), &calm());
        leg.observe(at_ms(0), &overdue(20));
        leg.observe(at_ms(500), &calm());
        assert!(
            leg.observe(at_ms(600), &overdue(20)),
            "returning, and left again"
        );
        leg.observe(at_ms(1_500), &calm());
        assert!(leg.is_left(), "twice the hold");
        leg.observe(at_ms(1_600), &calm());
        assert!(!leg.is_left());
    }

    #[test]
    fn losses_are_a_reason_and_single_ones_are_not() {
        let mut leg = Leg::new(at_ms(0), &calm());
        let counted = |lost, acked| PathView {
            lost: Packets::new(lost),
            acked: Packets::new(acked),
            ..calm()
        };
        assert!(!leg.observe(at_ms(50), &counted(2, 10)));
        assert!(!leg.observe(at_ms(60), &counted(3, 57)), "a twentieth");
        assert!(leg.observe(at_ms(70), &counted(4, 57)));
    }

    /// 100 packets in flight are 1.2 Mbit: 24 ms at 50 Mbit/s, 60 ms at 20.
    #[test]
    fn a_radio_report_is_a_reason_before_anything_is_overdue() {
        let mut leg = Leg::new(at_ms(0), &calm());
        let reported = |mbps| PathView {
            radio_rate: Some(BitRate::from_mbps(mbps)),
            in_flight: Packets::new(100),
            ..calm()
        };
        assert!(!leg.observe(at_ms(1), &reported(50)));
        assert!(leg.observe(at_ms(2), &reported(20)));
    }

    #[test]
    fn the_longest_wait_to_leave_is_bounded() {
        let jittery = PathView {
            srtt: Some(Duration::from_millis(900)),
            recent_min_rtt: Some(Duration::from_millis(20)),
            ..calm()
        };
        assert_eq!(leave_after(&jittery), MAX_LEAVE_AFTER);
        assert_eq!(leave_after(&calm()), LEAVE_AFTER);
    }

    #[test]
    fn probes_have_an_interval_and_only_paths_that_are_not_active_have_some() {
        let mut leg = Leg::new(at_ms(0), &calm());
        assert!(!leg.take_probe(at_ms(100)));
        leg.observe(at_ms(100), &overdue(20));
        let probes = (100..300).filter(|&ms| leg.take_probe(at_ms(ms))).count();
        assert_eq!(probes, 3);
    }

    #[test]
    fn the_risk_of_a_departure_is_forgotten() {
        let mut leg = Leg::new(at_ms(0), &calm());
        assert!(leg.miss_probability(at_ms(0)).abs() < 1e-12);
        leg.observe(at_ms(0), &overdue(20));
        // 50 ms of 30 s
        assert!((leg.miss_probability(at_ms(0)) - 1.0 / 600.0).abs() < 1e-9);
        assert!((leg.miss_probability(at_ms(15_000)) - 1.0 / 1200.0).abs() < 1e-9);
        assert!(leg.miss_probability(at_ms(30_000)).abs() < 1e-12);
    }
}
