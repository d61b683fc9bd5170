//! Log lines that strangers can cause: one in ten seconds, with the number of those left out.

use units::{Duration, Instant};

/// Shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// The rate of one kind of line.
#[derive(Clone, Debug, Default)]
pub struct LogLimit {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogLimit {
    /// The first line passes.
    pub const fn new() -> Self {
        Self {
            last: None,
            suppressed: 0,
        }
    }

    /// Whether a line may be written now ([`crate::clock::now`]): the number of lines left out since the last one.
    pub fn admit(&mut self, now: Instant) -> Option<u64> {
        let is_early = |last| now.saturating_since(last) < INTERVAL;
        if self.last.is_some_and(is_early) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_ten_seconds_passes_and_states_how_many_did_not() {
        let mut limit = LogLimit::new();
        let start = Instant::from_nanos(5);
        assert_eq!(limit.admit(start), Some(0));
        for millis in 1..=1_000 {
            assert_eq!(limit.admit(start + Duration::from_millis(millis)), None);
        }
        assert_eq!(limit.admit(start + INTERVAL), Some(1_000));
        assert_eq!(limit.admit(start + INTERVAL + INTERVAL), Some(0));
    }
}
