//! A source's times on our clock.

use units::Instant;

/// The first time of a source on this machine is taken for one of this machine's clock
/// (CLOCK_MONOTONIC, which all processes share) if it is no older than this; of another clock, a
/// report that is later than the fastest by this shows that the clock was set back.
const OURS: i128 = 10_000_000_000;
/// How far ahead a time of our own clock may be, nanoseconds: none, but for the order in which clocks are read.
const AHEAD: i128 = 1_000_000;
/// Clocks of two machines drift apart by less than one part in so many.
const DRIFT: i128 = 5_000;

/// Turns the times of one source into ours.
///
/// A source on another machine has another clock: the report that took the shortest time to arrive is
/// taken to have needed none, so that a report's age is how much later it came than the fastest. As
/// clocks do not run alike, that may be later by one part in 5,000 of the time since.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceClock {
    epoch: Option<Epoch>,
    newest: Instant,
}

/// Where a source's time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Epoch {
    /// With that of our clock.
    Ours,
    /// Elsewhere: this is added to its times, nanoseconds.
    Other(i128),
}

/// A time on our clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// When it was; never after its arrival.
    pub at: Instant,
    /// The source is on this machine, and its clock is not this machine's.
    pub is_skewed: bool,
    /// Added to the source's times, nanoseconds.
    offset: i128,
}

impl Placed {
    /// Another time of the same source on our clock.
    pub(super) fn of(&self, stamp: Instant) -> Instant {
        let nanos = i128::from(stamp.as_nanos()) + self.offset;
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

impl SourceClock {
    /// The source's timestamp of a report that arrived at `now`, on our clock. `is_foreign`: the source
    /// is on another machine, whose clock is never taken for ours.
    pub fn place(&mut self, now: Instant, stamp: Instant, is_foreign: bool) -> Placed {
        let difference = i128::from(now.as_nanos()) - i128::from(stamp.as_nanos());
        let epoch = self.epoch_with(difference, stamp, is_foreign);
        self.epoch = Some(epoch);
        self.newest = stamp;
        let offset = match epoch {
            Epoch::Ours => 0,
            Epoch::Other(offset) => offset,
        };
        let is_ours = epoch == Epoch::Ours && difference >= -AHEAD;
        let mut placed = Placed {
            at: now,
            is_skewed: !is_foreign && !is_ours,
            offset,
        };
        placed.at = placed.of(stamp).min(now);
        placed
    }

    /// The source's clock is this machine's.
    pub fn is_ours(&self) -> bool {
        self.epoch == Some(Epoch::Ours)
    }

    fn epoch_with(&self, difference: i128, stamp: Instant, is_foreign: bool) -> Epoch {
        match self.epoch {
            Some(Epoch::Ours) if !is_foreign => Epoch::Ours,
            // later than the fastest by more than any report can be: the clock was set
            Some(Epoch::Other(offset)) if difference - offset < OURS => {
                let since = i128::from(stamp.saturating_since(self.newest).as_nanos());
                Epoch::Other(difference.min(offset + since / DRIFT))
            }
            None if !is_foreign && (-AHEAD..=OURS).contains(&difference) => Epoch::Ours,
            _ => Epoch::Other(difference),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000_000) + Duration::from_millis(ms)
    }

    #[test]
    fn times_of_this_machine_are_taken_as_they_are() {
        let mut clock = SourceClock::default();
        let placed = clock.place(at(100), at(92), false);
        assert_eq!((placed.at, placed.is_skewed), (at(92), false));
        // what comes late is old
        let placed = clock.place(at(60_000), at(101), false);
        assert_eq!((placed.at, placed.is_skewed), (at(101), false));
        // no time of ours is to come
        let placed = clock.place(at(60_001), at(60_101), false);
        assert_eq!((placed.at, placed.is_skewed), (at(60_001), true));
    }

    #[test]
    fn a_clock_of_this_machine_that_is_not_ours_is_placed_by_its_fastest_report() {
        for begin in [Instant::from_nanos(5), at(100_000)] {
            let mut clock = SourceClock::default();
            let stamp = |ms| begin + Duration::from_millis(ms);
            let first = clock.place(at(50_000), stamp(0), false);
            assert_eq!((first.at, first.is_skewed), (at(50_000), true));
            let late = clock.place(at(50_030), stamp(10), false);
            assert!(late.at.saturating_since(at(50_010)) < Duration::from_micros(10));
            assert!(late.is_skewed && !clock.is_ours());
        }
    }

    #[test]
    fn on_another_clock_age_is_what_the_fastest_report_did_not_need() {
        let mut clock = SourceClock::default();
        let mut place = |now: u64, ms| {
            let stamp = Instant::from_nanos(5) + Duration::from_millis(ms);
            clock.place(at(now), stamp, true).at
        };
        assert_eq!(place(1_030, 0), at(1_030));
        // 20 ms faster: the first was late
        assert_eq!(place(1_018, 8), at(1_018));
        // 40 ms later than the fastest
        let age = at(1_066).saturating_since(place(1_066, 16));
        assert!(
            age >= Duration::from_micros(39_990) && age <= Duration::from_millis(40),
            "{age}"
        );
        // set back by more than a report can be late
        assert_eq!(place(20_000, 17), at(20_000));
    }

    #[test]
    fn no_time_is_after_its_arrival() {
        let mut clock = SourceClock::default();
        for (now, stamp) in [(10, 500), (20, 400), (30, 900), (31, 901)] {
            assert!(clock.place(at(now), at(stamp), true).at <= at(now));
        }
    }
}
