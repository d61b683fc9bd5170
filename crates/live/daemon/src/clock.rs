//! The one clock: CLOCK_MONOTONIC, whose nanoseconds are a daemon's `units::Instant`.

use rustix::time::{ClockId, clock_gettime};
use units::{Duration, Instant};

/// Now. All processes of this machine share the clock: reports of a source here carry its time.
pub fn now() -> Instant {
    Instant::from_nanos(nanos(ClockId::Monotonic))
}

/// CPU time of this thread since it began.
pub fn thread_cpu() -> Duration {
    Duration::from_nanos(nanos(ClockId::ThreadCPUTime))
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + nanos
}
