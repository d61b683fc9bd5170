//! Latency-sensitive packets to where they arrive first, bulk as [`Aware`] has it (ours).
//!
//! ```text
//!   arrival = min_rtt / 2 + queue + margin
//!   queue   = max(srtt - min_rtt, in_flight / rate - min_rtt, overdue)      margin = spread / 2
//! ```
//!
//! `rate` is that of a fresh radio report, or what the path has lately delivered; `spread` what round trips differ by.
//! A latency-sensitive packet goes to the earliest of the paths that are active ([`super::leg`]), if they have it arrive within the
//! deadline; else to the earliest of all. Windows and pacing do not hold it back (`tunnel/sending.rs`): it goes before what
//! waits on its path.
//!
//! A copy goes to the next earliest path if the chosen one would have it miss its deadline with a probability above
//! [`MAX_MISS`], or as a probe of a path that is not active. Copies have a budget: [`COPY_SHARE`] of what the paths
//! can carry, saved for [`COPY_SAVED`] at most.
//!
//! Where parities are allowed ([`crate::parity`]), a packet has one instead of a copy for losses, if its path loses more than
//! [`MAX_MISS`] for long, and what is lost there could not be sent again by the deadline: a round trip, [`NOTICED`] and the way
//! of the other path are longer. The parity goes to the earliest other path that is not left.
//!
//! Bulk leaves a path only while an acknowledgement is overdue there and another path has none overdue.

use super::aware::{Aware, AwareConfig};
use super::leg::{Leg, LegStats, leave_after};
use super::{PathSet, PathView, Scheduler, Waiting};
use crate::PathId;
use units::{BitRate, Bytes, Duration, Instant};

/// Copies take at most this share of what the paths can carry.
pub const COPY_SHARE: f64 = 0.125;
/// What of the budget is saved for at most.
pub const COPY_SAVED: Duration = Duration::from_millis(100);
/// A packet that misses its deadline with a higher probability has a copy: half of the loss that a call is to have.
pub const MAX_MISS: f64 = 0.000_5;

/// A loss is noticed so long after the round trip of the packet: by what comes behind it.
const NOTICED: Duration = Duration::from_millis(10);

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Deadline {
    bulk: Aware,
    deadline: Duration,
    /// By path number.
    legs: Vec<Option<Leg>>,
    /// Bytes of copies that may be sent, and when they were last counted.
    budget: (Bytes, Instant),
    /// Parities may be sent.
    has_parities: bool,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            bulk: Aware::new(AwareConfig::default()),
            deadline: Duration::MAX,
            legs: Vec::new(),
            budget: (Bytes::ZERO, Instant::ZERO),
            has_parities: false,
        }
    }
}

/// What a path can carry: by the radio, by what it delivers, or half its window in a round trip if that is more.
fn capacity(path: &PathView) -> BitRate {
    let window = path.packet_size * path.cwnd.get() / 2;
    let by_window = match path.srtt {
        Some(srtt) if !srtt.is_zero() => BitRate::from_bytes_per(window, srtt),
        _ => BitRate::ZERO,
    };
    path.radio_rate
        .unwrap_or(by_window.max(path.delivery_rate.unwrap_or(BitRate::ZERO)))
}

/// How long from now a packet arrives that goes before all others of its path.
fn arrival(path: &PathView) -> Duration {
    let min_rtt = path.min_rtt.unwrap_or_default();
    let in_flight = path.packet_size * path.in_flight.get();
    let drain = match path.radio_rate.or(path.delivery_rate) {
        Some(rate) if !rate.is_zero() => (in_flight / rate).saturating_sub(min_rtt),
        _ => Duration::ZERO,
    };
    let srtt = path.srtt_or_zero();
    let queue = srtt.saturating_sub(min_rtt).max(drain).max(path.overdue);
    let least = path.recent_min_rtt.unwrap_or(srtt);
    min_rtt / 2 + queue + srtt.saturating_sub(least) / 2
}

impl Deadline {
    fn leg(&mut self, now: Instant, path: &PathView) -> &mut Leg {
        let index = usize::from(path.id.0);
        if self.legs.len() <= index {
            self.legs.resize(index + 1, None);
        }
        self.legs[index].get_or_insert_with(|| Leg::new(now, path))
    }

    fn earn(&mut self, now: Instant, paths: &[PathView]) {
        let (saved, at) = self.budget;
        let all: u64 = paths.iter().map(|path| capacity(path).as_bps()).sum();
        let share = BitRate::from_bps(all).mul_f64(COPY_SHARE);
        let earned = share.bytes_in(now.saturating_since(at).min(COPY_SAVED));
        // a packet at least, however slow the paths are
        let most = share.bytes_in(COPY_SAVED).max(Bytes::new(1_500));
        self.budget = ((saved + earned).min(most), now);
    }

    fn is_allowed(&mut self, bytes: Bytes) -> bool {
        let is_allowed = bytes <= self.budget.0;
        if is_allowed {
            self.budget.0 = self.budget.0.saturating_sub(bytes);
        }
        is_allowed
    }

    fn earliest<'a>(paths: impl Iterator<Item = &'a PathView>) -> Option<&'a PathView> {
        paths.min_by_key(|path| (arrival(path), path.id))
    }

    /// The path loses packets, and what is lost there cannot be sent again in time.
    fn is_lossy(&self, chosen: PathId, paths: &[PathView]) -> bool {
        let leg = self.legs.get(usize::from(chosen.0)).copied().flatten();
        let Some(path) = paths.iter().find(|path| path.id == chosen) else {
            return false;
        };
        let others = paths.iter().filter(|path| path.id != chosen);
        let again = others.map(arrival).min().unwrap_or_else(|| arrival(path));
        let is_late = path.srtt_or_zero() + NOTICED + again > self.deadline;
        is_late && leg.is_some_and(|leg| leg.loss_rate() > MAX_MISS)
    }

    /// Where a copy of a packet goes that takes `chosen`.
    fn copy(&mut self, now: Instant, chosen: PathId, paths: &[PathView]) -> Option<PathId> {
        let others = || paths.iter().filter(|path| path.id != chosen);
        for path in others() {
            if self.leg(now, path).take_probe(now) {
                return Some(path.id);
            }
        }
        let leg = self.legs[usize::from(chosen.0)]?;
        // a parity repairs losses for less
        let miss = match self.has_parities && self.is_lossy(chosen, paths) {
            true => leg.stall_probability(now),
            false => leg.miss_probability(now),
        };
        if miss <= MAX_MISS {
            return None;
        }
        let is_in_time = |path: &&PathView| arrival(path) <= self.deadline;
        let in_time = others().filter(is_in_time);
        let legs = &self.legs;
        let is_left =
            |path: &&PathView| legs[usize::from(path.id.0)].is_some_and(|leg| leg.is_left());
        Self::earliest(in_time.filter(|path| !is_left(path))).map(|path| path.id)
    }
}

impl Scheduler for Deadline {
    fn name(&self) -> &'static str {
        "deadline"
    }

    fn choose(&mut self, now: Instant, waiting: Waiting, paths: &[PathView]) -> PathSet {
        let is_overdue = |path: &PathView| path.overdue >= leave_after(path);
        if paths.iter().any(is_overdue) && !paths.iter().all(is_overdue) {
            let answering: Vec<PathView> =
                paths.iter().copied().filter(|p| !is_overdue(p)).collect();
            return self.bulk.choose(now, waiting, &answering);
        }
        self.bulk.choose(now, waiting, paths)
    }

    fn bounds_paths(&self) -> bool {
        true
    }

    fn set_max_lag(&mut self, lag: Duration) {
        self.bulk.set_max_lag(lag);
    }

    fn is_full(&self, now: Instant, path: &PathView) -> bool {
        self.bulk.is_full(now, path)
    }

    fn has_classes(&self) -> bool {
        true
    }

    fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    fn observe(&mut self, now: Instant, paths: &[PathView]) -> PathSet {
        self.earn(now, paths);
        let mut left = PathSet::NONE;
        for path in paths {
            if self.leg(now, path).observe(now, path) {
                left.insert(path.id);
            }
        }
        left
    }

    fn leg(&self, path: PathId) -> Option<LegStats> {
        let leg = self.legs.get(usize::from(path.0))?;
        leg.as_ref().map(Leg::stats)
    }

    fn allow_parities(&mut self) {
        self.has_parities = true;
    }

    fn wants_parity(&mut self, _now: Instant, path: PathId, paths: &[PathView]) -> bool {
        self.has_parities && self.is_lossy(path, paths)
    }

    fn choose_parity(
        &mut self,
        now: Instant,
        _bytes: Bytes,
        path: PathId,
        paths: &[PathView],
    ) -> Option<PathId> {
        let others = paths.iter().filter(|other| other.id != path);
        let mut active = Vec::new();
        for other in others {
            if !self.leg(now, other).is_left() {
                active.push(*other);
            }
        }
        let found = Self::earliest(active.iter()).map(|found| found.id);
        found.or_else(|| paths.iter().any(|of| of.id == path).then_some(path))
    }

    fn choose_latency(&mut self, now: Instant, waiting: Waiting, paths: &[PathView]) -> PathSet {
        let mut is_active = [false; PathSet::MAX_PATHS as usize];
        for path in paths {
            is_active[usize::from(path.id.0 % PathSet::MAX_PATHS)] =
                self.leg(now, path).is_active();
        }
        let deadline = self.deadline;
        let active = paths
            .iter()
            .filter(|path| is_active[usize::from(path.id.0 % PathSet::MAX_PATHS)]);
        let found = Self::earliest(active.filter(|path| arrival(path) <= deadline));
        let Some(chosen) = found.or_else(|| Self::earliest(paths.iter())) else {
            return PathSet::NONE;
        };
        let mut set = PathSet::one(chosen.id);
        if waiting.next <= self.budget.0
            && let Some(copy) = self.copy(now, chosen.id, paths)
            && self.is_allowed(waiting.next)
        {
            set.insert(copy);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;
    use units::Packets;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Where a packet of 1,000 bytes goes.
    fn takes(scheduler: &mut Deadline, ms: u64, paths: &[PathView]) -> Vec<u8> {
        let waiting = Waiting {
            packets: Packets::new(1),
            next: Bytes::new(1_000),
        };
        scheduler.observe(at_ms(ms), paths);
        let chosen = scheduler.choose_latency(at_ms(ms), waiting, paths);
        chosen.iter().map(|path| path.0).collect()
    }

    fn queued(id: u8, min_ms: u64, srtt_ms: u64) -> PathView {
        PathView {
            srtt: Some(Duration::from_millis(srtt_ms)),
            recent_min_rtt: Some(Duration::from_millis(srtt_ms)),
            ..path(id, 3, 200, 5, min_ms)
        }
    }

    #[test]
    fn arrival_is_half_the_round_trip_and_the_queue() {
        assert_eq!(arrival(&queued(0, 20, 20)), Duration::from_millis(10));
        assert_eq!(arrival(&queued(0, 20, 35)), Duration::from_millis(25));
        // half of what round trips differ by as well
        let jittery = PathView {
            recent_min_rtt: Some(Duration::from_millis(25)),
            ..queued(0, 20, 35)
        };
        assert_eq!(arrival(&jittery), Duration::from_millis(30));
    }

    #[test]
    fn the_earliest_takes_it_whatever_the_priority_and_the_window() {
        let mut scheduler = Deadline::default();
        let preferred = PathView {
            priority: crate::packet::PathPriority::from_bits(9),
            ..queued(0, 20, 45)
        };
        let full = path(1, 2, 10, 10, 30);
        assert_eq!(takes(&mut scheduler, 0, &[preferred, full]), [1]);
    }

    #[test]
    fn a_path_that_stalls_is_left_and_the_copies_after_it_keep_to_their_budget() {
        let mut scheduler = Deadline::default();
        let (fast, slow) = (queued(0, 20, 20), queued(1, 40, 40));
        assert_eq!(takes(&mut scheduler, 0, &[fast, slow]), [0]);
        let stalled = PathView {
            overdue: Duration::from_millis(15),
            ..fast
        };
        assert_eq!(takes(&mut scheduler, 20, &[stalled, slow]), [1]);
        // it has a copy now and then, and is back after a second
        assert_eq!(takes(&mut scheduler, 70, &[fast, slow]), [0, 1]);
        assert_eq!(takes(&mut scheduler, 80, &[fast, slow]), [1]);
        for ms in (100..1_200).step_by(10) {
            let paths = takes(&mut scheduler, ms, &[fast, slow]);
            assert!(paths.contains(&1) || ms > 1_000, "{ms}");
        }
        // a packet each millisecond, 8 Mbit/s; half the windows in a round trip are 90 Mbit/s, an eighth of them 11.25
        let copies = |scheduler: &mut Deadline, paths: &[PathView]| {
            let packets = (1_200..2_200).map(|ms| takes(scheduler, ms, paths).len() - 1);
            packets.sum::<usize>()
        };
        let mut other = scheduler.clone();
        assert_eq!(copies(&mut scheduler, &[fast, slow]), 1_000);
        let narrow = [&fast, &slow].map(|path| PathView {
            cwnd: Packets::new(20),
            ..*path
        });
        // a tenth of it: 140 copies, and what was saved
        let copies = copies(&mut other, &narrow);
        assert!((139..=160).contains(&copies), "{copies}");
    }

    #[test]
    fn bulk_is_kept_from_a_path_that_does_not_answer_unless_none_does() {
        let mut scheduler = Deadline::default();
        let waiting = Waiting {
            packets: Packets::new(1),
            next: Bytes::new(1_000),
        };
        let stalled = |id, rtt| PathView {
            overdue: Duration::from_millis(20),
            ..queued(id, rtt, rtt)
        };
        let mut choose = |paths: &[PathView]| {
            let chosen = scheduler.choose(at_ms(0), waiting, paths);
            chosen.iter().map(|path| path.0).collect::<Vec<_>>()
        };
        assert_eq!(choose(&[stalled(0, 20), queued(1, 40, 40)]), [1]);
        assert_eq!(choose(&[stalled(0, 20), stalled(1, 40)]), [0]);
    }
}
