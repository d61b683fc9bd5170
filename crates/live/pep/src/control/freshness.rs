//! Which reports are accepted, and what a cell's silence means.

use rnis::RadioReport;
use units::{Duration, Instant};

/// Reports that go back in time are refused for so long; then the source is taken to have begun
/// anew.
const TIMEOUT: Duration = Duration::from_secs(1);

/// When all reports of a source with a clock of its own have been too old for so long, its clock is
/// taken to have been set back.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How a cell's connections are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Reports arrive: windows follow the radio.
    Following,
    /// Reports are late: windows decay to what was lately delivered (the allocator's safe state).
    Decaying,
    /// Reports have stopped: connections are spliced and nothing more.
    Plain,
}

impl State {
    /// Its name in logs, metrics and status.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::Decaying => "decaying",
            Self::Plain => "plain",
        }
    }

    /// After silence for so long.
    pub(crate) fn after(silence: Duration, max_age: Duration, plain_after: Duration) -> Self {
        if silence > plain_after {
            Self::Plain
        } else if silence > max_age {
            Self::Decaying
        } else {
            Self::Following
        }
    }
}

/// Why a report is not handed to the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It says the same time as the last one.
    Repeated,
    /// It says an earlier time than the last one.
    OutOfOrder,
    /// It was too old when it arrived.
    Old,
}

/// How much faster than ours a source's clock is allowed to fall behind: clocks of machines differ
/// by less.
const DRIFT: i128 = 5_000;

/// Watches the times of one cell's reports.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The source is on another machine: its clock is never taken for ours.
    is_foreign: bool,
    /// Time of the last accepted report, as its source says it.
    newest: Option<Instant>,
    /// When a report was last accepted, on our clock.
    accepted_at: Option<Instant>,
    /// Added to a source's time to be ours: 0 for a source on this machine's clock.
    offset: Option<i128>,
}

/// When a report's period ended, as it says itself.
fn time_of(report: &RadioReport) -> Option<Instant> {
    report.ues.iter().map(|ue| ue.timestamp).max()
}

impl Watch {
    /// Of a source on another machine, or perhaps on this one.
    pub(crate) fn new(is_foreign: bool) -> Self {
        Self {
            is_foreign,
            ..Self::default()
        }
    }

    /// What makes a source's time ours. A time within ten seconds of ours is taken for our own
    /// clock, unless the source is on another machine. Any other clock is set by the report that
    /// needed the least time to come, as if that had needed none; as clocks do not run alike, the
    /// difference may grow a little with each report.
    fn offset(&self, now: Instant, time: Instant) -> i128 {
        const OURS: i128 = 10_000_000_000;
        let difference = i128::from(now.as_nanos()) - i128::from(time.as_nanos());
        match self.offset {
            Some(0) => 0,
            None if !self.is_foreign && difference.abs() <= OURS => 0,
            None => difference,
            Some(offset) => {
                let since = self
                    .newest
                    .map_or(0, |newest| time.saturating_since(newest).as_nanos());
                difference.min(offset + i128::from(since) / DRIFT)
            }
        }
    }

    /// Accepts a report, its times changed to those of our clock, or gives the reason why not.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        report: &mut RadioReport,
        max_age: Duration,
    ) -> Result<(), Refused> {
        let Some(time) = time_of(report) else {
            // nothing is connected: nothing to be late with
            self.accepted_at = Some(now);
            return Ok(());
        };
        if let Some(newest) = self.newest
            && time <= newest
        {
            let silence = self.accepted_at.map(|at| now.saturating_since(at));
            if silence.is_some_and(|silence| silence < TIMEOUT) {
                return Err(if time == newest {
                    Refused::Repeated
                } else {
                    Refused::OutOfOrder
                });
            }
            self.offset = None;
        }
        let offset = self.offset(now, time);
        self.offset = Some(offset);
        let ours = shift(time, offset);
        let age = now.saturating_since(ours);
        if age > max_age {
            self.newest = Some(time);
            let silence = self.silence(now);
            if offset != 0 && silence.is_some_and(|silence| silence >= CLOCK_TIMEOUT) {
                self.offset = None;
            }
            return Err(Refused::Old);
        }
        for ue in &mut report.ues {
            // a time to come is taken for now
            ue.timestamp = shift(ue.timestamp, offset).min(now);
        }
        self.newest = Some(time);
        self.accepted_at = Some(now);
        Ok(())
    }

    /// How long no report has been accepted; none if there never was one.
    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        self.accepted_at.map(|at| now.saturating_since(at))
    }
}

fn shift(time: Instant, offset: i128) -> Instant {
    let nanos = i128::from(time.as_nanos()) + offset;
    Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::test_support::report;

    const AGE: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000_000) + Duration::from_millis(ms)
    }

    fn accept(watch: &mut Watch, now: u64, reported: Instant) -> Result<Instant, Refused> {
        let mut report = report(&[1], reported);
        watch.accept(ms(now), &mut report, AGE)?;
        Ok(report.ues[0].timestamp)
    }

    #[test]
    fn repeats_and_jumps_back_are_refused_until_the_source_has_begun_anew() {
        let mut watch = Watch::default();
        assert_eq!(accept(&mut watch, 0, ms(0)), Ok(ms(0)));
        assert_eq!(accept(&mut watch, 1, ms(0)), Err(Refused::Repeated));
        assert_eq!(accept(&mut watch, 2, ms(2)), Ok(ms(2)));
        assert_eq!(accept(&mut watch, 3, ms(1)), Err(Refused::OutOfOrder));
        assert_eq!(watch.silence(ms(10)), Some(Duration::from_millis(8)));
        // the source's clock starts from zero again, and stays there
        let restarted = Instant::from_nanos(5);
        assert_eq!(accept(&mut watch, 500, restarted), Err(Refused::OutOfOrder));
        assert_eq!(accept(&mut watch, 1_500, restarted), Ok(ms(1_500)));
        let later = restarted + Duration::from_millis(10);
        assert_eq!(accept(&mut watch, 1_510, later), Ok(ms(1_510)));
    }

    #[test]
    fn old_reports_are_refused_and_future_ones_are_taken_for_now() {
        let mut watch = Watch::default();
        assert_eq!(accept(&mut watch, 500, ms(0)), Err(Refused::Old));
        assert_eq!(accept(&mut watch, 501, ms(480)), Ok(ms(480)));
        assert_eq!(accept(&mut watch, 502, ms(3_000)), Ok(ms(502)));
    }

    #[test]
    fn a_foreign_clock_is_set_by_the_fastest_report_and_may_run_slower_than_ours() {
        let mut watch = Watch::new(true);
        // five seconds behind ours, which on this machine would be old
        let reported = |real: u64, slow: u64| ms(real - 5_000 - slow);
        assert_eq!(accept(&mut watch, 9_000, reported(8_960, 0)), Ok(ms(9_000)));
        // one that came faster shows that the first was 40 ms old
        assert_eq!(accept(&mut watch, 9_001, reported(9_001, 0)), Ok(ms(9_001)));
        let late = accept(&mut watch, 9_030, reported(9_010, 0)).expect("not old");
        assert!(late.saturating_since(ms(9_010)) < Duration::from_micros(10));
        assert_eq!(
            accept(&mut watch, 9_200, reported(9_020, 0)),
            Err(Refused::Old)
        );
        // an hour later it has lost a third of a second, a little in each
        for second in 10..3_610 {
            let now = second * 1_000;
            let reported = reported(now, second / 10);
            assert!(
                accept(&mut watch, now, reported).is_ok(),
                "after {second} s"
            );
        }
    }

    #[test]
    fn a_foreign_clock_that_was_set_back_is_accepted_again() {
        let mut watch = Watch::new(true);
        let reported = |real: u64| ms(real - 5_000);
        assert_eq!(accept(&mut watch, 9_000, reported(9_000)), Ok(ms(9_000)));
        // after a pause it has lost two seconds
        assert_eq!(
            accept(&mut watch, 12_500, reported(10_500)),
            Err(Refused::Old)
        );
        assert_eq!(
            accept(&mut watch, 14_100, reported(12_100)),
            Err(Refused::Old)
        );
        assert_eq!(accept(&mut watch, 14_101, reported(12_101)), Ok(ms(14_101)));
        // on this machine, what is old stays old
        let mut watch = Watch::new(false);
        assert_eq!(accept(&mut watch, 9_000, ms(9_000)), Ok(ms(9_000)));
        for now in [12_500, 14_100, 14_101, 20_000] {
            assert_eq!(accept(&mut watch, now, ms(now - 2_000)), Err(Refused::Old));
        }
    }

    #[test]
    fn silence_goes_from_following_through_decaying_to_plain() {
        let after = |ms| State::after(Duration::from_millis(ms), AGE, Duration::from_secs(2));
        assert_eq!(after(100), State::Following);
        assert_eq!(after(101), State::Decaying);
        assert_eq!(after(2_001), State::Plain);
    }
}
