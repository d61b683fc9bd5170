//! A value that holds until the trace states another, lap after lap.

use super::Playback;
use units::{Duration, Instant};

/// What holds from a time on, ns since the beginning of the lap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step<T> {
    pub at: u64,
    pub state: T,
}

/// A value over time.
#[derive(Clone, Debug)]
pub(super) struct Steps<T> {
    /// In ascending order from 0, two neighbours never alike.
    steps: Vec<Step<T>>,
    period: u64,
    repeat: bool,
    offset: u64,
    /// The step that holds now.
    index: usize,
    /// Beginning of the current lap.
    begin: u64,
}

impl<T: Copy + PartialEq> Steps<T> {
    /// `steps` begin at 0 and ascend.
    pub fn new(mut steps: Vec<Step<T>>, period: Duration, playback: &Playback) -> Self {
        steps.dedup_by_key(|step| step.state);
        Self {
            steps,
            period: period.as_nanos(),
            repeat: playback.repeat,
            offset: playback.offset.as_nanos(),
            index: 0,
            begin: 0,
        }
    }

    /// What holds at an instant of the run, and until when; none after the end. Instants never go back.
    pub fn at(&mut self, now: Instant) -> Option<(T, Instant)> {
        let time = self.offset.saturating_add(now.as_nanos());
        if !self.seek(time) {
            return None;
        }
        let end = self
            .steps
            .get(self.index + 1)
            .map_or(self.period, |next| next.at);
        let end = self.begin.saturating_add(end).saturating_sub(self.offset);
        Some((self.steps[self.index].state, Instant::from_nanos(end)))
    }

    /// Moves to the step that holds at `time`; false after the end.
    fn seek(&mut self, time: u64) -> bool {
        if time.saturating_sub(self.begin) >= self.period {
            if !self.repeat {
                return false;
            }
            self.begin = time - time % self.period;
            self.index = 0;
        }
        let time = time.saturating_sub(self.begin);
        while self
            .steps
            .get(self.index + 1)
            .is_some_and(|next| next.at <= time)
        {
            self.index += 1;
        }
        true
    }
}
