//! How well the bottleneck was used.

use scenario::LinkResult;
use units::{BitRate, Bytes, Duration, Instant};

/// What the bottleneck has done since the run began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// What it could have carried.
    pub capacity: Bytes,
    /// The part of that which was used.
    pub used: Bytes,
}

/// Records the bottleneck while any flow is active.
#[derive(Debug, Default)]
pub struct Bottleneck {
    /// Flows that have started and not ended.
    active: usize,
    since: Option<(Instant, Totals)>,
    used: Bytes,
    capacity: Bytes,
    time: Duration,
}

impl Bottleneck {
    /// A flow starts.
    pub fn start(&mut self, now: Instant, totals: Totals) {
        self.active += 1;
        self.since.get_or_insert((now, totals));
    }

    /// A flow ends.
    pub fn end(&mut self, now: Instant, totals: Totals) {
        self.active -= 1;
        if self.active == 0 {
            self.stop(now, totals);
        }
    }

    /// No flow is active any more.
    pub fn stop(&mut self, now: Instant, totals: Totals) {
        if let Some((since, before)) = self.since.take() {
            self.used += totals.used.saturating_sub(before.used);
            self.capacity += totals.capacity.saturating_sub(before.capacity);
            self.time += now.saturating_since(since);
        }
    }

    /// The result.
    pub fn result(&self) -> LinkResult {
        if self.time.is_zero() || self.capacity.is_zero() {
            return LinkResult::default();
        }
        LinkResult {
            utilisation: self.used.ratio(self.capacity).min(1.0),
            capacity: BitRate::from_bytes_per(self.capacity, self.time),
        }
    }
}
