//! The one clock: CLOCK_MONOTONIC, whose nanoseconds are this crate's `units::Instant`.

use rustix::time::{ClockId, clock_gettime};
use units::Instant;

/// Now. Reports of a source on the same machine carry the same clock's time.
pub(crate) fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000) + nanos)
}
