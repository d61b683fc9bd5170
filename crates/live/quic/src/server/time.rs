//! The time by which the server's tokens (Retry, RFC 9000 8.1) grow old.

use quinn::TimeSource;
use std::time::{Instant, SystemTime};

/// The system's time when the server began, and from then on the monotonic clock's: the system's clock may be set
/// between a token and its return.
#[derive(Debug)]
pub(super) struct SteadyTime {
    start: SystemTime,
    began: Instant,
}

impl SteadyTime {
    pub(super) fn new() -> Self {
        Self {
            start: SystemTime::now(),
            began: Instant::now(),
        }
    }
}

impl TimeSource for SteadyTime {
    fn now(&self) -> SystemTime {
        self.start + self.began.elapsed()
    }
}
