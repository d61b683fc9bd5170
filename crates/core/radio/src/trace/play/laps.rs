//! Going through a trace once or again and again, always forward.

use super::Playback;
use units::{Duration, Instant};

/// Something that a trace gives over time. Times count from the beginning of the lap, and a
/// supply's own position only moves forward within it.
pub(super) trait Supply: Clone + Send {
    /// What is given from the position up to but without `to`; moves to `to`. Nothing if `to` is
    /// not ahead.
    fn advance(&mut self, to: u64) -> u64;
    /// What is given from the position to the end of the lap, instants at its very end included.
    fn finish(&mut self) -> u64;
    /// Back to the beginning of the next lap; what was not given for being a fraction is kept.
    fn rewind(&mut self);
    /// What so many whole laps give, from beginning to beginning.
    fn whole_laps(&mut self, laps: u64) -> u64;
    /// When the position's state next changes, or something is next given. At most the lap's end.
    fn next_change(&self) -> u64;
    /// The local mean rate in bit/s, where the trace states it.
    fn mean_rate(&self) -> Option<u64>;
}

/// A supply, lap after lap. Times are absolute: since the beginning of the trace's first lap.
#[derive(Clone, Debug)]
pub(super) struct Laps<S> {
    pub supply: S,
    period: u64,
    repeat: bool,
    /// Where the first slot begins.
    offset: u64,
    /// Beginning of the current lap.
    begin: u64,
    /// Up to here all has been taken.
    position: u64,
    ended: bool,
}

impl<S: Supply> Laps<S> {
    pub fn new(supply: S, period: Duration, playback: &Playback) -> Self {
        Self {
            supply,
            period: period.as_nanos(),
            repeat: playback.repeat,
            offset: playback.offset.as_nanos(),
            begin: 0,
            position: 0,
            ended: false,
        }
    }

    /// An instant of the run as a time of the trace.
    pub const fn time(&self, instant: Instant) -> u64 {
        self.offset.saturating_add(instant.as_nanos())
    }

    /// Up to here all has been taken.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// True once a trace that is not repeated has given all.
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// What is given from the position up to but without `to`; moves to `to`.
    pub fn take_to(&mut self, to: u64) -> u64 {
        if to <= self.position {
            return 0;
        }
        self.position = to;
        if self.ended {
            return 0;
        }
        let mut taken = 0u64;
        if to - self.begin > self.period {
            taken = self.supply.finish();
            if !self.repeat {
                self.ended = true;
                return taken;
            }
            self.begin += self.period;
            self.supply.rewind();
            let laps = (to - self.begin - 1) / self.period;
            if laps > 0 {
                taken = taken.saturating_add(self.supply.whole_laps(laps));
                self.begin += laps * self.period;
            }
        }
        taken.saturating_add(self.supply.advance(to - self.begin))
    }

    /// The instant of the run from which on a slot of this duration can see something else than
    /// the position's state.
    pub fn changes_at(&self, slot: Duration) -> Instant {
        if self.ended {
            return Instant::MAX;
        }
        let change = self.begin.saturating_add(self.supply.next_change());
        // the last slot that ends by then is over 1 ns before a slot that reaches beyond begins
        let first = change.saturating_sub(slot.as_nanos()).saturating_add(1);
        Instant::from_nanos(first.saturating_sub(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::super::supply::Instants;
    use super::*;
    use crate::trace::{Opportunities, Opportunity};
    use units::{Bytes, Packets};

    /// What stayed behind would be gone through again at each slot.
    #[test]
    fn the_position_moves_on_after_the_end() {
        let duration = Duration::from_millis(1);
        let steps = [Opportunity {
            at: duration,
            packets: Packets::new(1),
        }];
        let trace = Opportunities {
            steps: steps.into(),
            duration,
        };
        let once = Playback {
            repeat: false,
            ..Playback::default()
        };
        let mut laps = Laps::new(Instants::new(trace, Bytes::new(1500)), duration, &once);
        assert_eq!(laps.take_to(2_000_000), 1500);
        assert!(laps.ended());
        assert_eq!(laps.take_to(3_000_000), 0);
        assert_eq!(laps.position(), 3_000_000);
    }
}
