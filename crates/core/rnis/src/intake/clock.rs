//! A source's times on our clock.

use units::{Duration, Instant};

/// A time of a source on this machine is taken as it is if it is no older than this. Its
/// clock is then CLOCK_MONOTONIC, which all processes share.
const OURS: Duration = Duration::from_secs(10);
/// How far ahead a time of our own clock may be: none, but for the order in which clocks are read.
const AHEAD: Duration = Duration::from_millis(1);
/// Clocks of two machines drift apart by less than one part in so many.
const DRIFT: i128 = 5_000;

/// Turns the times of one source into ours.
///
/// A source on another machine has another clock: the report that took the shortest time to arrive is
/// taken to have needed none, so that a report's age is how much later it came than the fastest.
#[derive(Debug)]
pub struct SourceClock {
    is_foreign: bool,
    /// Added to the source's time to be ours.
    offset: Option<i128>,
    newest: Instant,
}

/// A time on our clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// When it was; never after now.
    pub at: Instant,
    /// It was stamped by a clock that cannot be the one it was taken for; `at` is the time of arrival.
    pub is_skewed: bool,
}

impl SourceClock {
    /// For a source on this machine, or on another, whose clock is foreign.
    pub fn new(is_foreign: bool) -> Self {
        Self {
            is_foreign,
            offset: None,
            newest: Instant::ZERO,
        }
    }

    /// The source's timestamp of a report that arrived at `now`, on our clock.
    pub fn place(&mut self, now: Instant, stamp: Instant) -> Placed {
        if self.is_foreign {
            return Placed {
                at: self.place_foreign(now, stamp),
                is_skewed: false,
            };
        }
        let is_ours = stamp <= now + AHEAD && now.saturating_since(stamp) <= OURS;
        Placed {
            at: if is_ours { stamp.min(now) } else { now },
            is_skewed: !is_ours,
        }
    }

    fn place_foreign(&mut self, now: Instant, stamp: Instant) -> Instant {
        let difference = i128::from(now.as_nanos()) - i128::from(stamp.as_nanos());
        let offset = match self.offset {
            // it was set back, or forth beyond what any report can be late
            Some(offset)
                if stamp >= self.newest && difference - offset < i128::from(OURS.as_nanos()) =>
            {
                let since = i128::from(stamp.saturating_since(self.newest).as_nanos());
                difference.min(offset + since / DRIFT)
            }
            _ => difference,
        };
        self.offset = Some(offset);
        self.newest = stamp;
        let nanos = (i128::from(stamp.as_nanos()) + offset).max(0);
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000_000) + Duration::from_millis(ms)
    }

    #[test]
    fn times_of_this_machine_are_what_they_say() {
        let mut clock = SourceClock::new(false);
        let placed = clock.place(at(100), at(92));
        assert_eq!((placed.at, placed.is_skewed), (at(92), false));
        for wrong in [at(200), Instant::ZERO, at(100) + Duration::from_secs(60)] {
            let placed = clock.place(at(100), wrong);
            assert_eq!((placed.at, placed.is_skewed), (at(100), true));
        }
    }

    #[test]
    fn on_another_clock_age_is_what_the_fastest_report_did_not_need() {
        let mut clock = SourceClock::new(true);
        let stamp = |ms| Instant::from_nanos(5) + Duration::from_millis(ms);
        assert_eq!(clock.place(at(1_030), stamp(0)).at, at(1_030));
        // 20 ms faster: the first was late
        assert_eq!(clock.place(at(1_018), stamp(8)).at, at(1_018));
        // 40 ms later than the fastest
        let late = clock.place(at(1_066), stamp(16)).at;
        let age = at(1_066).saturating_since(late);
        assert!(
            age >= Duration::from_micros(39_990) && age <= Duration::from_millis(40),
            "{age}"
        );
        // set back: begins anew
        assert_eq!(clock.place(at(1_074), stamp(1)).at, at(1_074));
    }

    #[test]
    fn no_time_is_after_now() {
        let mut clock = SourceClock::new(true);
        for (now, stamp) in [(10, 500), (20, 400), (30, 900), (31, 901)] {
            assert!(clock.place(at(now), at(stamp)).at <= at(now));
        }
    }
}
