//! How many answers may leave to those who have shown no connection.

use units::{Duration, Instant};

/// Answers that may leave: so many at once, and one more each interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    burst: u64,
    interval: Duration,
    left: u64,
    since: Instant,
}

impl Budget {
    /// Full.
    pub(super) const fn new(burst: u64, interval: Duration) -> Self {
        Self {
            burst,
            interval,
            left: burst,
            since: Instant::ZERO,
        }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let due = now.saturating_since(self.since).as_nanos() / self.interval.as_nanos();
        if due > 0 {
            self.left = self.left.saturating_add(due).min(self.burst);
            self.since = now;
        }
        let may = self.left > 0;
        self.left -= u64::from(may);
        may
    }
}
