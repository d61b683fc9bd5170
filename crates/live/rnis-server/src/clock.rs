//! The two clocks: that of reports, and that of the world.

use rnis::mec012::TimeStamp;
use std::time::{SystemTime, UNIX_EPOCH};

pub use daemon::clock::now;

/// Time since 1970, UTC.
pub fn time_stamp() -> TimeStamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    #[cfg(test)]
    let since = since.saturating_sub(std::time::Duration::from_secs(BACK.get()));
    TimeStamp {
        seconds: u32::try_from(since.as_secs()).unwrap_or(u32::MAX),
        nano_seconds: since.subsec_nanos(),
    }
}

#[cfg(test)]
thread_local! {
    /// By how many seconds a test has set the clock back.
    static BACK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Sets the clock back, for the tests of this thread.
#[cfg(test)]
pub(crate) fn step_back(seconds: u64) {
    BACK.set(seconds);
}
